"""Training memory: what one step has to keep, in bytes, counted and not estimated."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from weakref import WeakSet

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class TrainingMemory:
    """Bytes by kind. Counts what lives from one part of a step to the next.

    What comes and goes inside a single operation, such as one chunk of logits, is in none of them,
    only in `allocator_peak`: the most that the allocator held during the step, None on the CPU.
    """

    parameters: int
    gradients: int
    optimizer: int
    saved: int  # tensors kept for the backward pass, parameters left out
    allocator_peak: int | None = None

    @property
    def total(self) -> int:
        """Parameters, gradients, optimizer state and tensors saved for backward, in bytes."""
        return self.parameters + self.gradients + self.optimizer + self.saved


class _Kept:
    """A tensor that the autograd graph holds; dies with the graph."""

    def __init__(self, tensor: Tensor):
        self.tensor = tensor.detach()  # as torch asks of hooks: no cycle through an output


def training_memory(
    model: nn.Module,
    optimizers: Iterable[torch.optim.Optimizer],
    loss: Callable[[], Tensor],
) -> TrainingMemory:
    """Measures one step: `loss()` runs the forward pass and returns the scalar to differentiate.

    Takes a real step: the weights move, gradients are None afterwards. Hand in one micro-batch
    if gradients are accumulated. Tensors are counted by storage: two views of one count once, a
    small view of a large one counts the large one. `model` may be compiled, if it is already warm.
    Raises ValueError if the loss reaches no parameter.
    """
    optimizers, parameters = list(optimizers), list(model.parameters())
    device = parameters[0].device
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    known, kept = _storages([*parameters, *model.buffers()]), WeakSet()

    def pack(tensor: Tensor) -> _Kept:
        handle = _Kept(tensor)
        kept.add(handle)
        return handle

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda handle: handle.tensor):
        value = loss()
    held = _storages(handle.tensor for handle in kept)
    saved = sum(size for place, size in held.items() if place not in known)
    value.backward()
    gradients = [p.grad for p in parameters if p.grad is not None]
    if not gradients:
        raise ValueError("the loss reaches no parameter of this model: nothing to train")
    gradient_bytes = _bytes(gradients)
    for optimizer in optimizers:
        optimizer.step()
    state = [
        value
        for optimizer in optimizers
        for kinds in optimizer.state.values()
        for value in kinds.values()
        if isinstance(value, Tensor)
    ]
    peak = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None
    for parameter in parameters:
        parameter.grad = None
    return TrainingMemory(_bytes(parameters), gradient_bytes, _bytes(state), saved, peak)


def _storages(tensors: Iterable[Tensor]) -> dict[tuple, int]:
    """Bytes of each distinct storage of tensors that are all alive, by its place in memory."""
    found = {}
    for tensor in tensors:
        storage = tensor.untyped_storage()
        found[tensor.device, storage.data_ptr()] = storage.nbytes()
    return found


def _bytes(tensors: Iterable[Tensor]) -> int:
    return sum(_storages(tensors).values())

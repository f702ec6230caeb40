"""The memory of a training step in bytes, counted rather than estimated."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet, finalize

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


@dataclass(frozen=True)
class TrainingMemory:
    """The bytes of each kind of tensor that lives from one part of a step to the next.

    Temporary tensors inside a single operation, such as a chunk of logits, count only in
    `allocator_peak`, the allocator's maximum during the step (None on the CPU).
    """

    parameters: int
    gradients: int
    optimizer: int
    saved: int  # tensors kept for the backward pass, without parameters
    allocator_peak: int | None = None

    @property
    def total(self) -> int:
        """Parameters, gradients, optimizer state and tensors saved for backward, in bytes."""
        return self.parameters + self.gradients + self.optimizer + self.saved


class _Kept:
    """A tensor that the autograd graph keeps; it is freed with the graph."""

    def __init__(self, tensor: Tensor):
        self.tensor = tensor.detach()  # PyTorch requires this of hooks, to avoid reference cycles


def training_memory(
    model: nn.Module, optimizers: Iterable[torch.optim.Optimizer], loss: Callable[[], Tensor]
) -> TrainingMemory:
    """The memory of one step, where `loss()` runs the forward pass and returns the scalar loss.

    This is a real step: it updates the weights, and gradients are None afterwards. With gradient
    accumulation, pass one micro-batch. Tensors are counted by storage: two views of a tensor count
    once, and a small view counts the whole storage. `model` may be compiled if it has run before.
    Raises ValueError if no parameter gets a gradient.
    """
    optimizers, parameters = list(optimizers), list(model.parameters())
    device = parameters[0].device
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    of_model = _storages([*parameters, *model.buffers()])
    kept: WeakSet[_Kept] = WeakSet()

    def pack(tensor: Tensor) -> _Kept:
        handle = _Kept(tensor)
        kept.add(handle)
        return handle

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda handle: handle.tensor):
        value = loss()
    storages = _storages(handle.tensor for handle in kept)
    saved = sum(size for storage, size in storages.items() if storage not in of_model)
    value.backward()
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if not gradients:
        raise ValueError(
            "expected a loss that depends on the parameters of this model, got one that reaches no "
            "parameter; compute it with this model, without no_grad"
        )
    gradient_bytes = _bytes(gradients)
    for optimizer in optimizers:
        optimizer.step()
    state = [
        value
        for optimizer in optimizers
        for values in optimizer.state.values()
        for value in values.values()
        if isinstance(value, Tensor)
    ]
    peak = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None
    for parameter in parameters:
        parameter.grad = None
    return TrainingMemory(_bytes(parameters), gradient_bytes, _bytes(state), saved, peak)


def _storages(tensors: Iterable[Tensor]) -> dict[tuple, int]:
    """The bytes of each distinct storage of live tensors, by device and address."""
    sizes = {}
    for tensor in tensors:
        storage = tensor.untyped_storage()
        sizes[tensor.device, storage.data_ptr()] = storage.nbytes()
    return sizes


def _bytes(tensors: Iterable[Tensor]) -> int:
    return sum(_storages(tensors).values())


class _Watch(TorchDispatchMode):
    """Records the bytes of live new tensors whenever some are allocated or freed."""

    def __init__(self) -> None:
        super().__init__()
        self.began = time.perf_counter()
        self.alive: dict[int, int] = {}  # bytes, by the `id` of a storage
        self.history: list[tuple[float, int]] = [(0.0, 0)]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        inputs = {id(storage) for storage in _untyped((args, kwargs))}
        for storage in _untyped(result):
            if id(storage) not in inputs and id(storage) not in self.alive:
                self.alive[id(storage)] = storage.nbytes()
                finalize(storage, self._freed, id(storage))
                self._record()
        return result

    def _freed(self, key: int) -> None:
        self.alive.pop(key, None)
        self._record()

    def _record(self) -> None:
        self.history.append((time.perf_counter() - self.began, sum(self.alive.values())))


def _untyped(nest: Any) -> list[torch.UntypedStorage]:
    """The storages of all tensors in nested arguments or results."""
    return [leaf.untyped_storage() for leaf in tree_leaves(nest) if isinstance(leaf, Tensor)]


def memory_over_time(function: Callable[[], object]) -> tuple[list[float], list[int]]:
    """Seconds, and the bytes of live new tensors at these times, while `function()` runs.

    There are two points for each change, so that a line through them has steps. Tensors from before
    the call and temporary ones inside a single operation do not count.
    """
    with _Watch() as watch:
        function()
    seconds, held = [0.0], [0]
    for second, total in watch.history[1:]:
        seconds += [second, second]
        held += [held[-1], total]
    return seconds, held

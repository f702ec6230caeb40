"""Training memory: what one step has to keep, in bytes, counted and not estimated."""

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
    known = _storages([*parameters, *model.buffers()])
    kept: WeakSet[_Kept] = WeakSet()

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


class _Watch(TorchDispatchMode):
    """Notes the bytes of new tensors that are alive, whenever some are made or freed."""

    def __init__(self) -> None:
        super().__init__()
        self.began = time.perf_counter()
        self.alive: dict[int, int] = {}  # bytes, by the `id` of a storage
        self.seen: list[tuple[float, int]] = [(0.0, 0)]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        given = {id(each) for each in _untyped((args, kwargs))}
        for storage in _untyped(result):
            if id(storage) not in given and id(storage) not in self.alive:
                self.alive[id(storage)] = storage.nbytes()
                finalize(storage, self._freed, id(storage))
                self._note()
        return result

    def _freed(self, key: int) -> None:
        self.alive.pop(key, None)
        self._note()

    def _note(self) -> None:
        self.seen.append((time.perf_counter() - self.began, sum(self.alive.values())))


def _untyped(nest: Any) -> list[torch.UntypedStorage]:
    """The storages of all tensors in nested arguments or results."""
    return [each.untyped_storage() for each in tree_leaves(nest) if isinstance(each, Tensor)]


def memory_over_time(function: Callable[[], object]) -> tuple[list[float], list[int]]:
    """Seconds, and the bytes of new tensors that are alive then, while `function()` runs.

    Two points for each change, so that a line through them has steps. What was there before does
    not count, nor does what comes and goes inside a single operation.
    """
    with _Watch() as watch:
        function()
    seconds, held = [0.0], [0]
    for second, each in watch.seen[1:]:
        seconds += [second, second]
        held += [held[-1], each]
    return seconds, held

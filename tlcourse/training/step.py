"""The parts of one optimizer step: a process's rows, the learning rates, the update."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence

import torch
from ignite import distributed as idist
from torch import Tensor, nn

Batch = tuple[Tensor, ...]


def own_rows(batch: Batch) -> Batch:
    """Returns this process's rows of a batch; raises ValueError for fewer rows than processes."""
    rank, world = idist.get_rank(), idist.get_world_size()
    if len(batch[0]) < world:
        raise ValueError(
            f"expected a batch of at least one row for each of the {world} processes, "
            f"got {len(batch[0])} rows; use fewer processes or a larger batch"
        )
    return tuple(part.tensor_split(world)[rank] for part in batch)


def summed(numbers: list[float]) -> list[float]:
    """Returns the sum of each number over the processes."""
    if idist.get_world_size() == 1:
        return numbers
    return _all_reduced(torch.tensor(numbers, dtype=torch.float64, device=idist.device())).tolist()


def _all_reduced(tensor: Tensor) -> Tensor:
    """Returns the sum of a tensor over the processes."""
    total = idist.all_reduce(tensor)
    assert isinstance(total, Tensor)
    return total


def groups_of(optimizers: Sequence[torch.optim.Optimizer]) -> list[dict]:
    """Returns the parameter groups of all optimizers."""
    return [group for optimizer in optimizers for group in optimizer.param_groups]


def set_learning_rates(groups: list[dict], factor: float | Mapping[str, float]) -> None:
    """Sets the learning rates of one step, and freezes the groups that are mapped to 0.

    They are frozen by `requires_grad`: an optimizer skips parameters without a gradient.
    """
    for group in groups:
        own = factor[group["name"]] if isinstance(factor, Mapping) else factor
        group["lr"] = group["initial_lr"] * own
        if isinstance(factor, Mapping):
            for parameter in group["params"]:
                parameter.requires_grad_(bool(own > 0))  # a factor may be NumPy's


def update(
    optimizers: Sequence[torch.optim.Optimizer],
    scaler: torch.amp.GradScaler,
    targets: float,
    clip: float,
) -> float:
    """Updates the parameters: sums gradients over processes, divides by `targets`, clips, steps.

    Clears the gradients; returns their norm before clipping.
    """
    updated = [parameter for group in groups_of(optimizers) for parameter in group["params"]]
    gradients = [parameter.grad for parameter in updated if parameter.grad is not None]
    if idist.get_world_size() > 1:  # one message for all gradients
        flat = _all_reduced(torch.cat([gradient.flatten() for gradient in gradients]))
        parts = flat.split([gradient.numel() for gradient in gradients])
        for gradient, part in zip(gradients, parts, strict=True):
            gradient.copy_(part.view_as(gradient))
    for optimizer in optimizers:
        scaler.unscale_(optimizer)
    norm = torch.nn.utils.get_total_norm(gradients).item() / targets
    clipped = 1.0 if norm <= clip else clip / (norm + 1e-6)
    _multiply(gradients, clipped / targets)  # the mean and the clipping in one pass
    for optimizer in optimizers:
        scaler.step(optimizer)
        optimizer.zero_grad(set_to_none=True)
    scaler.update()
    return norm


def _multiply(tensors: list[Tensor], number: float) -> None:
    """Multiplies tensors in place, by PyTorch's fast private function where it exists."""
    if hasattr(torch, "_foreach_mul_"):
        torch._foreach_mul_(tensors, number)
        return
    for tensor in tensors:
        tensor.mul_(number)


@contextlib.contextmanager
def left_as_it_was(model: nn.Module, optimizers: Sequence[torch.optim.Optimizer]) -> Iterator[None]:
    """Restores, after the block, which parameters require a gradient.

    After an exception it also restores the modes of the modules and clears the gradients, to which
    the next training would add.
    """
    modes = [(module, module.training) for module in model.modules()]
    gradients = [(parameter, parameter.requires_grad) for parameter in model.parameters()]
    try:
        yield
    except BaseException:
        for module, training in modes:
            module.training = training
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=True)
        raise
    finally:
        for parameter, required in gradients:
            parameter.requires_grad_(required)

"""The parts of one optimizer step: a process's rows, the learning rates, the update."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence

import torch
from ignite import distributed as idist
from torch import Tensor, nn

Batch = tuple[Tensor, ...]


def own_rows(batch: Batch) -> Batch:
    """This process's rows of the batch; ValueError when there are fewer rows than processes."""
    rank, world = idist.get_rank(), idist.get_world_size()
    if len(batch[0]) < world:
        raise ValueError(
            f"expected a batch of at least one row for each of the {world} processes, "
            f"got {len(batch[0])} rows; use fewer processes or a larger batch"
        )
    return tuple(part.tensor_split(world)[rank] for part in batch)


def summed(numbers: list[float]) -> list[float]:
    """Each number summed over the processes."""
    if idist.get_world_size() == 1:
        return numbers
    return _all_reduced(torch.tensor(numbers, dtype=torch.float64, device=idist.device())).tolist()


def _all_reduced(tensor: Tensor) -> Tensor:
    """The sum over the processes."""
    total = idist.all_reduce(tensor)
    assert isinstance(total, Tensor)
    return total


def groups_of(optimizers: Sequence[torch.optim.Optimizer]) -> list[dict]:
    """The parameter groups of all optimizers."""
    return [group for optimizer in optimizers for group in optimizer.param_groups]


def set_learning_rates(groups: list[dict], factor: float | Mapping[str, float]) -> None:
    """The rates of one step; without a gradient an optimizer leaves a parameter alone."""
    for group in groups:
        each = factor[group["name"]] if isinstance(factor, Mapping) else factor
        group["lr"] = group["initial_lr"] * each
        if isinstance(factor, Mapping):
            for parameter in group["params"]:
                parameter.requires_grad_(bool(each > 0))  # a schedule may count in numpy


def update(
    optimizers: Sequence[torch.optim.Optimizer],
    scaler: torch.amp.GradScaler,
    targets: float,
    clip: float,
) -> float:
    """Sums gradients over processes, divides by the number of targets, clips, steps, clears.

    Returns the norm before clipping.
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
    """In place, and in one call where PyTorch has it: the name is not one it promises to keep."""
    if hasattr(torch, "_foreach_mul_"):
        torch._foreach_mul_(tensors, number)
        return
    for tensor in tensors:
        tensor.mul_(number)


@contextlib.contextmanager
def left_as_it_was(model: nn.Module, optimizers: Sequence[torch.optim.Optimizer]) -> Iterator[None]:
    """At the end parameters ask for gradients as before; after an exception modes are as before.

    Then no gradient is left behind either: the next training would add to it.
    """
    modes = [(module, module.training) for module in model.modules()]
    asking = [(parameter, parameter.requires_grad) for parameter in model.parameters()]
    try:
        yield
    except BaseException:
        for module, was in modes:
            module.training = was
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=True)
        raise
    finally:
        for parameter, was in asking:
            parameter.requires_grad_(was)

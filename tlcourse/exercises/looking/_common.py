"""What the exercises of lesson 08 share: small models, and how a model has changed."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from tlcourse.exercises.expect import expect_type, expect_unchanged
from tlcourse.exercises.variants import varying
from tlcourse.transformer import Config, Transformer

HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def tensor(function: Callable, *arguments) -> Tensor:
    """The candidate's tensor; raises CheckFailed for anything else, or for a changed argument."""
    with torch.no_grad():
        got = expect_unchanged(function, *arguments)
    expect_type(
        got, Tensor, "what you return", "Return one PyTorch tensor, not a list or an array."
    )
    return got


def shape_of(measure: Callable) -> Callable:
    """The measure that returns the shape of the tensor that `measure` returns."""
    return lambda candidate, *arguments: tuple(measure(candidate, *arguments).shape)


def drawn(*shape: int, seed: int = 0) -> Tensor:
    """Standard normal numbers, the same for the same seed."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(varying(seed)))


def randomise(model: nn.Module, seed: int, size: float = 0.5) -> nn.Module:
    """Draws every parameter anew, gains around 1 and all others around 0; returns the model.

    The heads of a new Transformer write zeros into its stream, so they are all alike.
    """
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            noise = size * drawn(*parameter.shape, seed=1000 * seed + number)
            parameter.copy_(parameter.eq(1) + noise)
    return model


def toy(seed: int = 0, **changes) -> Transformer:
    """A small model with random weights: 2 layers, 3 heads of width 4, 11 tokens, 8 positions."""
    shape = dict(vocabulary_size=11, width=12, layers=2, heads=3, feed_forward=8, max_length=8)
    return randomise(Transformer(Config(**shape | changes)).eval(), seed)


def tokens(seed: int = 0) -> Tensor:
    """(2, 6) ids below 11."""
    return torch.randint(11, (2, 6), generator=torch.Generator().manual_seed(varying(seed)))


def _snapshot(model: nn.Module) -> dict[str, object]:
    """What must remain the same about a model, by the sentence that reports a change."""
    state = {"the model is in another mode": [module.training for module in model.modules()]}
    for name, module in model.named_modules():
        hooks = [list(getattr(module, kind).values()) for kind in HOOKS]
        state[f"{name} has other hooks"] = hooks, vars(module).get("forward")
    for name, weight in model.named_parameters():
        state[f"{name} has other numbers"] = weight.tolist()
        state[f"{name} has another `requires_grad`"] = weight.requires_grad
    return state


def changes(model: nn.Module, work: Callable[[], object]) -> list[str]:
    """The differences in a model after `work()`, in words; [] if there are none."""
    before = _snapshot(model)
    work()
    after = _snapshot(model)
    return [what for what, value in before.items() if after.get(what) != value]

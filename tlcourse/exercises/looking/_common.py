"""What several exercises share: a tensor that comes, small models, how a model has changed."""

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn

from tlcourse.exercises.expect import expect_type, expect_unchanged
from tlcourse.transformer import Config, Transformer

HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def tensor(function: Callable, *arguments) -> Tensor:
    """The tensor that comes; raises CheckFailed for anything else, or for a changed argument."""
    with torch.no_grad():
        got = expect_unchanged(function, *arguments)
    expect_type(got, Tensor, "what you return", "Return one PyTorch tensor: no list and no array.")
    return got


def shape_of(measure: Callable) -> Callable:
    """The measure of the shape of what `measure` gives."""
    return lambda candidate, *arguments: tuple(measure(candidate, *arguments).shape)


def drawn(*shape: int, seed: int = 0) -> Tensor:
    """Standard normal numbers, the same for the same seed."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def randomise(model: nn.Module, seed: int, size: float = 0.5) -> nn.Module:
    """Draws every parameter anew, gains around 1 and all else around 0; returns the model.

    A new Transformer writes zeros into its stream: its heads do nothing, and are all alike.
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


def tokens(seed: int = 0, vocabulary: int = 11) -> Tensor:
    """(2, 6) ids."""
    draw = torch.Generator().manual_seed(seed)
    return torch.randint(vocabulary, (2, 6), generator=draw)


def _modules(model: nn.Module) -> dict[str, tuple]:
    """Of each module what is no weight: itself, its mode, its kernel, its hooks, its methods."""
    return {
        name: (
            id(module),
            module.training,
            getattr(module, "kernel", None),
            [list(getattr(module, kind).values()) for kind in HOOKS],
            module.forward if "forward" in vars(module) else None,
        )
        for name, module in model.named_modules()
    }


def changes(model: Transformer, work: Callable[[], object]) -> list[str]:
    """What is different about a model after `work()`, in words; [] if nothing is."""
    modules, weights = _modules(model), dict(model.named_parameters())
    before = copy.deepcopy(model.state_dict())
    asked = {name: each.requires_grad for name, each in weights.items()}
    work()
    found = []
    for name, old in modules.items():
        new = _modules(model).get(name)
        if new is None or new[0] != old[0] or new[4] != old[4]:
            found.append(f"{name} is replaced")
        elif new[3] != old[3]:
            less = sum(map(len, new[3])) < sum(map(len, old[3]))
            found.append(f"a hook is {'gone from' if less else 'left on'} {name}")
        elif new[1] != old[1]:
            found.append("the model is in another mode")
        elif new[2] != old[2]:
            found.append("the model has another kernel")
    after = model.state_dict()
    for name, each in model.named_parameters():
        if not after[name].equal(before[name]):
            found.append(f"{name} has other numbers")
        elif each is not weights[name]:
            found.append(f"{name} is another parameter")
        elif each.requires_grad != asked[name]:
            found.append("the model's parameters ask for other gradients")
    return list(dict.fromkeys(found))

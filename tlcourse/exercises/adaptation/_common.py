"""What the exercises of lessons 05 and 05b share: drawn weights, measures of a wrapped layer."""

import zlib
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.functional import jacobian

from tlcourse.exercises.expect import CheckFailed, short
from tlcourse.exercises.task import Case, case
from tlcourse.exercises.variants import varying

IMPORTS = (
    "import copy\nimport math\n\nimport torch\nfrom torch import nn\n"
    "from torch.nn import functional as F"
)


def failed(check: str, yours: str, expected: str, why: str = "") -> CheckFailed:
    """A `CheckFailed` from the parts of its message, in their order."""
    return CheckFailed(check=check, yours=yours, expected=expected, why=why)


def came(value: Any) -> str:
    """A value as the learner is shown it, with the likely reason if it is None."""
    return "None (is a `return` missing?)" if value is None else short(value)


def a_function(got: Any, maker: str, of: str) -> Callable:
    """What `maker` returned; raises CheckFailed unless it is a function."""
    if not callable(got):
        raise failed(f"what `{maker}` returns", came(got), f"a function of {of}")
    return got


def draw(*shape: int, seed: int = 0) -> Tensor:
    """Standard normal numbers, the same for the same seed."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(varying(seed)))


def linear(inputs: int, outputs: int) -> nn.Linear:
    """A linear layer with drawn weight and bias."""
    layer = nn.Linear(inputs, outputs)
    layer.weight.data, layer.bias.data = draw(outputs, inputs, seed=7), draw(outputs, seed=8)
    return layer


def new(layer: type, inputs: int, outputs: int, *sizes: float) -> nn.Module:
    """`layer(base, *sizes)` around a drawn base, initialised with the same numbers every time."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return layer(linear(inputs, outputs), *sizes)


def trained(layer: type, inputs: int, outputs: int, *sizes: float) -> nn.Module:
    """The same with drawn weights, as if it had been trained, so that no zero hides a mistake."""
    module = new(layer, inputs, outputs, *sizes)
    for name, each in module.named_parameters():
        each.data = draw(*each.shape, seed=zlib.crc32(name.encode()))
    return module


@torch.no_grad()
def out(module: nn.Module, x: Tensor) -> Tensor:
    """The output of a module for x."""
    return module(x)


def shapes(layer: type, *sizes: float) -> dict[str, tuple]:
    """The shape of each parameter for a base of 5 inputs and 3 outputs; the base's own last."""
    named = new(layer, 5, 3, *sizes).named_parameters()
    shown = sorted(named, key=lambda pair: "base" in pair[0])
    return {name: tuple(each.shape) for name, each in shown}


def at_start(layer: type, x: Tensor, *sizes: float) -> Tensor:
    """The output of a new layer, (…, 3)."""
    return out(new(layer, 5, 3, *sizes), x)


def different_rows(layer: type, name: str, *sizes: float) -> int:
    """The number of different rows in a matrix of a new layer."""
    return len(new(layer, 5, 3, *sizes).get_parameter(name).detach().unique(dim=0))


def input_gradient(layer: type, *sizes: float) -> Tensor:
    """The gradient of the mean output for x, (4, 5); zeros if none reaches it."""
    x = draw(4, 5).requires_grad_()
    got = trained(layer, 5, 3, *sizes)(x)
    if got.requires_grad:
        got.mean().backward()
    return torch.zeros(4, 5) if x.grad is None else x.grad


def start_case(*sizes: float, hint: str) -> Case:
    """The case that a new layer returns what its base returns."""
    return case(
        "the output of a new layer, which should equal the output of its base",
        *(draw(4, 5), *sizes),
        expected=linear(5, 3)(draw(4, 5)).detach(),
        measure=at_start,
        tolerance=1e-5,
        hint=hint,
    )


def gradient_case(truth: Callable[[Tensor], Tensor], *sizes: float) -> Case:
    """The case that the right gradient reaches `x`; `truth(x)` has 3 outputs."""
    return case(
        "the gradient that reaches `x`",
        *sizes,
        expected=jacobian(lambda x: truth(x).mean(), draw(4, 5)),
        measure=input_gradient,
        hint="The layers below have to learn, too, so a gradient must reach `x` both through the "
        "base and through what you added. Leave out `no_grad` and `.detach()` in `forward`.",
    )

"""What exercises of lessons 05 and 05b share: drawn weights, and measures of a wrapped layer."""

import zlib
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.functional import jacobian

from tlcourse.exercises.expect import CheckFailed, expect_shape, short
from tlcourse.exercises.task import Case, case

IMPORTS = (
    "import copy\nimport math\n\nimport torch\nfrom torch import nn\n"
    "from torch.nn import functional as F"
)


def failed(check: str, yours: str, expected: str, why: str = "") -> CheckFailed:
    """The parts of what a learner is told, in their order."""
    return CheckFailed(check=check, yours=yours, expected=expected, why=why)


def came(value: Any) -> str:
    """A value as it is told; of None, what it usually means."""
    return "None (is a `return` missing?)" if value is None else short(value)


def draw(*shape: int, seed: int = 0) -> Tensor:
    """Standard normal numbers, the same for the same seed."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def linear(inputs: int, outputs: int) -> nn.Linear:
    """A linear layer with drawn weight and bias."""
    layer = nn.Linear(inputs, outputs)
    layer.weight.data, layer.bias.data = draw(outputs, inputs, seed=7), draw(outputs, seed=8)
    return layer


def new(layer: type, inputs: int, outputs: int, *sizes: float) -> nn.Module:
    """`layer(base, *sizes)`, always with the same numbers; CheckFailed if it is no module."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = layer(linear(inputs, outputs), *sizes)
    if not isinstance(module, nn.Module):
        why = "The class begins with `class …(nn.Module)`."
        raise failed("a new layer", came(module), "a module", why)
    return module


def trained(layer: type, inputs: int, outputs: int, *sizes: float) -> nn.Module:
    """The same with drawn weights, as if it had been trained: no zero hides a mistake."""
    module = new(layer, inputs, outputs, *sizes)
    for name, each in module.named_parameters():
        each.data = draw(*each.shape, seed=zlib.crc32(name.encode()))
    return module


def shapes(layer: type, *sizes: float) -> dict[str, tuple]:
    """The shape of each parameter of a layer of 5 inputs and 3 outputs; those of the base last."""
    named = new(layer, 5, 3, *sizes).named_parameters()
    shown = sorted(named, key=lambda pair: "base" in pair[0])
    return {name: tuple(each.shape) for name, each in shown}


def out(module: nn.Module, x: Tensor, outputs: int) -> Tensor:
    """What a module makes of x; raises CheckFailed for another shape than (…, outputs)."""
    with torch.no_grad():
        got = module(x)
    expect_shape(got, (*x.shape[:-1], outputs), f"x {tuple(x.shape)}, {outputs} outputs")
    return got


def start_difference(layer: type, *sizes: float) -> Tensor:
    """What a new layer gives beyond its base, (4, 3)."""
    module, x = new(layer, 5, 3, *sizes), draw(4, 5)
    return out(module, x, 3) - linear(5, 3)(x).detach()


def zero_at_start(layer: type, *sizes: float) -> list[str]:
    """The added matrices that are all zero in a new layer."""
    named = new(layer, 5, 3, *sizes).named_parameters()
    return sorted(n for n, p in named if p.ndim > 1 and not p.any() and "base" not in n)


def with_gradients(layer: type, *sizes: float) -> tuple[nn.Module, Tensor]:
    """A layer with drawn weights and x, after a backward pass from the sum of squares."""
    module, x = trained(layer, 5, 3, *sizes), draw(4, 5).requires_grad_()
    got = module(x)
    if getattr(got, "requires_grad", False):
        got.square().sum().backward()
    return module, x


def input_gradient(layer: type, *sizes: float) -> Tensor:
    """The gradient that reaches x, (4, 5); zeros where none does."""
    x = with_gradients(layer, *sizes)[1]
    return torch.zeros(4, 5) if x.grad is None else x.grad


def without_gradient(layer: type, *sizes: float) -> list[str]:
    """The added parameters that no gradient reaches."""
    named = with_gradients(layer, *sizes)[0].named_parameters()
    return sorted(n for n, p in named if "base" not in n and (p.grad is None or not p.grad.any()))


def gradient_cases(truth: Callable[[Tensor], Tensor], *sizes: float) -> list[Case]:
    """Cases: a gradient reaches what was added, and `x`; `truth(x)` has 3 outputs."""
    return [
        case(
            "the added parameters that no gradient reaches",
            *sizes,
            expected=[],
            measure=without_gradient,
            hint="Leave out `no_grad` and `.detach()` in `forward`.",
        ),
        case(
            "the gradient that reaches `x`",
            *sizes,
            expected=jacobian(lambda x: truth(x).square().sum(), draw(4, 5)),
            measure=input_gradient,
            hint="The layers below have to learn, too, so a gradient must reach `x` both through "
            "the base and through what you added. Leave out `no_grad` and `.detach()`.",
        ),
    ]

"""Help for the two layers of lesson 05 that wrap a linear one: building them, drawing weights."""

import zlib

import torch
from torch import Tensor, nn

from tlcourse.exercises.expect import CheckFailed, expect_shape, short

IMPORTS = (
    "import copy\nimport math\n\nimport torch\nfrom torch import nn\n"
    "from torch.nn import functional as F"
)


def draw(*shape: int, seed: int = 0) -> Tensor:
    """Standard normal numbers, the same for the same seed."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def linear(inputs: int, outputs: int) -> nn.Linear:
    """A linear layer with drawn weight and bias."""
    layer = nn.Linear(inputs, outputs)
    with torch.no_grad():
        layer.weight.copy_(draw(outputs, inputs, seed=7))
        layer.bias.copy_(draw(outputs, seed=8))
    return layer


def new(candidate: type, inputs: int, outputs: int, *sizes: float) -> nn.Module:
    """`candidate(base, *sizes)`, always with the same random numbers; CheckFailed if it is no module."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = candidate(linear(inputs, outputs), *sizes)
    if not isinstance(module, nn.Module):
        raise CheckFailed(
            f"`{getattr(candidate, '__name__', 'it')}(base, …)` gave {short(module)}; expected a "
            "module. The class begins with `class …(nn.Module)`, its `__init__` with "
            "`super().__init__()`."
        )
    return module


def trained(candidate: type, inputs: int, outputs: int, *sizes: float) -> nn.Module:
    """The same with drawn weights, as if it had been trained: no zero hides a mistake."""
    module = new(candidate, inputs, outputs, *sizes)
    with torch.no_grad():
        for name, each in module.named_parameters():
            each.copy_(draw(*each.shape, seed=zlib.crc32(name.encode())))
    return module


def differing(candidate: type, inputs: int, outputs: int, sizes: tuple, shapes: dict) -> list[str]:
    """What is different about the names and shapes of the parameters, a sentence each."""
    found = new(candidate, inputs, outputs, *sizes)
    have = {name: tuple(each.shape) for name, each in found.named_parameters()}
    said = [f"no parameter {name}" for name in shapes if name not in have]
    said += [f"one too many: {name}" for name in have if name not in shapes]
    return said + [
        f"{name} is {have[name]}, not {shape}"
        for name, shape in shapes.items()
        if have.get(name, shape) != shape
    ]


def out(module: nn.Module, x: Tensor, outputs: int) -> Tensor:
    """What a module makes of x; raises CheckFailed for another shape than (…, outputs)."""
    with torch.no_grad():
        got = module(x)
    expect_shape(got, (*x.shape[:-1], outputs), f"x {tuple(x.shape)}, {outputs} outputs,")
    return got


def start_difference(candidate: type, *sizes: float) -> Tensor:
    """What a new layer gives beyond its base, (4, 3)."""
    module, x = new(candidate, 5, 3, *sizes), draw(4, 5)
    return out(module, x, 3) - linear(5, 3)(x).detach()


def zero_at_start(candidate: type, *sizes: float) -> list[str]:
    """The added parameters that are all zero in a new layer."""
    found = new(candidate, 5, 3, *sizes).named_parameters()
    return sorted(name for name, each in found if not each.any() and "base" not in name)


def input_gradient(candidate: type, *sizes: float) -> Tensor:
    """The gradient that goes on to x, (4, 5), of the squares of what comes out, summed."""
    module, x = trained(candidate, 5, 3, *sizes), draw(4, 5).requires_grad_()
    got = module(x)
    if getattr(got, "requires_grad", False):
        got.square().sum().backward()
    return torch.zeros(4, 5) if x.grad is None else x.grad


GOES_ON = (
    "What comes from below has to learn, too: parameters may stand still, but a gradient goes on "
    "to `x`, through the base and through what you added. Leave out `no_grad` and `.detach()`."
)


def without_gradient(candidate: type, *sizes: float) -> list[str]:
    """The added parameters that no gradient reaches, in a layer with drawn weights."""
    module = trained(candidate, 5, 3, *sizes)
    got = module(draw(4, 5))
    if getattr(got, "requires_grad", False):
        got.square().sum().backward()
    return sorted(
        name
        for name, each in module.named_parameters()
        if "base" not in name and (each.grad is None or not each.grad.any())
    )

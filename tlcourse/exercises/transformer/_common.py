"""Help for the exercises of lessons 02 and 02b: drawing numbers, building modules, measuring."""

import zlib
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from tlcourse.exercises.expect import (
    CheckFailed,
    expect_shape,
    expect_type,
    expect_unchanged,
    short,
)
from tlcourse.exercises.task import Case, case
from tlcourse.transformer import Config

IMPORTS = (
    "import functools\nimport math\nimport random\nimport torch\nfrom torch import nn\n"
    "from torch.nn import functional as F\n"
    "from tlcourse.transformer import ACTIVATIONS, Config, causal_mask, padding_mask, rotary_table"
)
NO_GRADIENT = "Nothing is learnt without a gradient: leave out `no_grad`, `.detach()` and NumPy."

_NOWHERE = torch.ones(2, dtype=torch.long, device="meta")
torch.minimum(_NOWHERE, _NOWHERE.sum())  # makes PyTorch import for a second, before a check's clock


def small(**changes) -> Config:
    """A shape in which no two sizes are equal: 3 heads of width 4, 40 tokens, 20 features."""
    shape = dict(vocabulary_size=40, width=12, layers=2, heads=3, feed_forward=20, max_length=16)
    return Config(**(shape | changes))


def draw(*shape: int, seed: int = 0) -> Tensor:
    """Standard normal numbers, the same for the same seed."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def shape(candidate: Callable, *arguments: Any) -> tuple[int, ...]:
    """The shape of what a function gives; raises CheckFailed if that is no tensor."""
    got = expect_unchanged(candidate, *arguments)
    expect_type(got, Tensor, "what your function returns")
    return tuple(got.shape)


def unreached(candidate: Callable, names: list[str], *arguments: Any) -> list[str]:
    """Those of a function's first arguments, which have these names, that no gradient reaches."""
    asking = [each.requires_grad_() for each in arguments[: len(names)]]
    got = candidate(*arguments)
    if got.requires_grad:
        got.sum().backward()
    return [name for name, each in zip(names, asking, strict=True) if each.grad is None]


def new(candidate: type, config: Config | tuple[int, ...]) -> nn.Module:
    """`candidate(config)`, or of a tuple `candidate(*sizes)`, with the same random numbers always.

    Raises CheckFailed if it is no module.
    """
    sizes = config if isinstance(config, tuple) else (config,)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = candidate(*sizes)
    if not isinstance(module, nn.Module):
        given = ", ".join(map(str, sizes)) if isinstance(config, tuple) else "config"
        raise CheckFailed(
            check=f"`{candidate.__name__}({given})`",
            yours=short(module),
            expected="a module",
            why="The class begins with `class …(nn.Module)`, and its `__init__` with "
            "`super().__init__()`.",
        )
    return module


def built(candidate: type, config: Config | tuple[int, ...]) -> nn.Module:
    """`candidate(config)` with weights drawn by their names: no zero and no one hides a mistake.

    Two modules whose parameters have the same names are equal.
    """
    module = new(candidate, config)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            drawn = draw(*parameter.shape, seed=zlib.crc32(name.encode()))
            parameter.copy_(0.4 * drawn + ("norm" in name and name.endswith("weight")))
    return module


def out(candidate: type, config: Config | tuple[int, ...], x: Tensor, *rest: Any) -> Tensor:
    """What a candidate with drawn weights makes of x; raises CheckFailed where that changes x."""
    module = built(candidate, config)
    with torch.no_grad():
        found = expect_unchanged(lambda x: module(x, *rest), x)
    expect_shape(found, tuple(x.shape), f"`forward` of x of shape {tuple(x.shape)}")
    return found


def differing(
    candidate: type, config: Config | tuple[int, ...], shapes: dict[str, tuple[int, ...]]
) -> list[str]:
    """What is different about a new one's parameters from `shapes`, in words; [] if nothing is."""
    mine = {name: tuple(p.shape) for name, p in new(candidate, config).named_parameters()}
    lost = [f"{name} is missing" for name in shapes if name not in mine]
    more = [f"{name} is not expected" for name in mine if name not in shapes]
    other = [
        f"{name} has the shape {mine[name]}, not {shape}"
        for name, shape in shapes.items()
        if mine.get(name, shape) != shape
    ]
    return lost + more + other


def without_gradient(
    candidate: type, config: Config | tuple[int, ...], x: Tensor, *rest: Any
) -> list[str]:
    """The parameters that no gradient reaches."""
    module = built(candidate, config)
    found = module(x, *rest)
    if found.requires_grad:
        found.square().sum().backward()
    return [name for name, each in module.named_parameters() if each.grad is None]


def all_gradients(*arguments: Any) -> Case:
    """The case that a gradient reaches every parameter."""
    what = "the parameters that no gradient reaches"
    return case(what, *arguments, measure=without_gradient, expected=[], hint=NO_GRADIENT)


def input_gradient(
    candidate: type, config: Config | tuple[int, ...], x: Tensor, *rest: Any
) -> Tensor:
    """The gradient that reaches x."""
    asking = x.clone().requires_grad_()
    built(candidate, config)(asking, *rest).square().sum().backward()
    return torch.zeros_like(x) if asking.grad is None else asking.grad


def same_gradient(reference: type, *arguments: Any) -> Case:
    """The case that x gets the gradient that it gets in the reference."""
    due = input_gradient(reference, *arguments)
    what = "the gradient that reaches x"
    return case(
        what, *arguments, measure=input_gradient, expected=due, tolerance=1e-3, hint=NO_GRADIENT
    )


def returned(found: Any) -> Any:
    """What `forward` returned; raises CheckFailed if that is no tensor."""
    expect_type(found, Tensor, "what `forward` returns")
    return found


def linear(name: str, outputs: int, inputs: int) -> dict[str, tuple[int, ...]]:
    """The names and shapes of a linear layer's parameters."""
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def norm(name: str, width: int) -> dict[str, tuple[int, ...]]:
    """The names and shapes of a LayerNorm's parameters."""
    return {f"{name}.weight": (width,), f"{name}.bias": (width,)}


def under(prefix: str, shapes: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """The same parameters as parts of a larger module."""
    return {f"{prefix}.{name}": size for name, size in shapes.items()}


def otherwise(base: type, **methods: Callable) -> type:
    """A module class like `base`, with these methods in place of its own."""
    return type("Faulty", (base,), methods)

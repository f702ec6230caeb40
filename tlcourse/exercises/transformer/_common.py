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
    return [
        f"{name}: {mine.get(name, 'missing')} instead of {shapes.get(name, 'no such parameter')}"
        for name in shapes | mine
        if mine.get(name) != shapes.get(name)
    ]


def moved(candidate: type, config: Config, x: Tensor, at: int) -> list[int]:
    """The positions whose output changes when 1 is added to the input at position `at`."""
    changed, module = x.clone(), built(candidate, config)
    changed[:, at] += 1
    with torch.no_grad():
        apart = (module(changed) - module(x)).abs().amax(dim=(0, 2))
    return (apart > 1e-6).nonzero()[:, 0].tolist()


def device(compute: Callable[[], Tensor]) -> str:
    """The device of what is computed from tensors on `meta`, where no number is computed."""
    try:
        return compute().device.type
    except (RuntimeError, NotImplementedError):  # as on a GPU, where two devices meet
        return "a mix of two devices"


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


def with_bias(name: str, *shape: int) -> dict[str, tuple[int, ...]]:
    """The names and shapes of a layer's weight, which has `shape`, and of its bias."""
    return {f"{name}.weight": shape, f"{name}.bias": shape[:1]}


def under(prefix: str, shapes: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """The same parameters as parts of a larger module."""
    return {f"{prefix}.{name}": size for name, size in shapes.items()}


def otherwise(base: type, **methods: Callable) -> type:
    """A module class like `base`, with these methods in place of its own."""
    return type("Faulty", (base,), methods)


class Stub(nn.Module):
    """A part of a block that multiplies by `times`, or else gives ones, and keeps what it reads."""

    def __init__(self, times: int | None = None):
        super().__init__()
        self.times, self.read, self.rest = times, None, []

    def forward(self, x, mask=None, table=None):
        self.read, self.rest = x, [mask, table]
        return torch.ones_like(x) if self.times is None else self.times * x


def read_by(block: Any, run: Callable[[Tensor], Tensor]) -> str:
    """What the layers of a block read, and what comes out of `run`, as `the_stream` says."""
    for name in ("attention_norm", "attention", "feed_forward_norm", "feed_forward"):
        setattr(block, name, Stub(10 if "norm" in name else None))
    with torch.no_grad():
        out = run(torch.full((1, 3, 12), 2.0))
    numbers = block.attention.read, block.feed_forward.read, out
    return ", ".join("nothing" if x is None else f"{x.mean().item():g}" for x in numbers)


the_stream = case(
    "what attention reads, what feed-forward reads and what comes out, where a stream of 2s comes "
    "in, norms multiply by 10 and layers write 1",
    expected="20, 30, 4",
    hint="Each layer reads the norm of the stream: 10 × 2, and after attention has written "
    "10 × (2 + 1). The stream itself runs on, and each layer adds to it: 2 + 1 + 1.",
)

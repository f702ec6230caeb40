"""Helpers of the exercises of lessons 02 and 02b: random numbers, modules, measurements."""

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
from tlcourse.exercises.variants import varying
from tlcourse.transformer import Config

IMPORTS = (
    "import functools\nimport math\nimport random\nimport torch\nfrom torch import nn\n"
    "from torch.nn import functional as F\n"
    "from tlcourse.transformer import ACTIVATIONS, Config, causal_mask, padding_mask, rotary_table"
)
NO_GRADIENT = "Nothing is learned without a gradient: leave out `no_grad`, `.detach()` and NumPy."

_NOWHERE = torch.ones(2, dtype=torch.long, device="meta")
torch.minimum(_NOWHERE, _NOWHERE.sum())  # makes PyTorch import for a second, before a check's clock


def small(**changes) -> Config:
    """Returns a configuration with different sizes: 3 heads of width 4, 40 tokens, 20 features."""
    shape = dict(vocabulary_size=40, width=12, layers=2, heads=3, feed_forward=20, max_length=16)
    return Config(**(shape | changes))


def draw(*shape: int, seed: int = 0) -> Tensor:
    """Returns standard normal numbers, the same for the same seed."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(varying(seed)))


def shape(candidate: Callable, *arguments: Any) -> tuple[int, ...]:
    """Returns the shape of a function's result; raises CheckFailed if it is not a tensor."""
    got = expect_unchanged(candidate, *arguments)
    expect_type(got, Tensor, "what your function returns")
    return tuple(got.shape)


def unreached(candidate: Callable, names: list[str], *arguments: Any) -> list[str]:
    """Returns the names of a function's first arguments that no gradient reaches."""
    inputs = [each.requires_grad_() for each in arguments[: len(names)]]
    result = candidate(*arguments)
    if result.requires_grad:
        result.sum().backward()
    return [name for name, each in zip(names, inputs, strict=True) if each.grad is None]


def new(candidate: type, config: Config | tuple[int, ...]) -> nn.Module:
    """Returns `candidate(config)`, or `candidate(*sizes)` for a tuple, always drawn alike.

    Raises CheckFailed if it is not a module.
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
    """Returns `candidate(config)` with random weights, so that no zero hides a mistake.

    They are drawn by name: modules whose parameters have the same names get the same weights.
    """
    module = new(candidate, config)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            drawn = draw(*parameter.shape, seed=zlib.crc32(name.encode()))
            parameter.copy_(0.4 * drawn + ("norm" in name and name.endswith("weight")))
    return module


def out(candidate: type, config: Config | tuple[int, ...], x: Tensor, *rest: Any) -> Tensor:
    """Returns the output of a candidate with drawn weights; raises CheckFailed if x changes."""
    module = built(candidate, config)
    with torch.no_grad():
        found = expect_unchanged(lambda x: module(x, *rest), x)
    expect_shape(found, tuple(x.shape), f"`forward` of x of shape {tuple(x.shape)}")
    return found


def differing(
    candidate: type, config: Config | tuple[int, ...], shapes: dict[str, tuple[int, ...]]
) -> list[str]:
    """Returns, in words, how a new module's parameters differ from `shapes`."""
    mine = {name: tuple(p.shape) for name, p in new(candidate, config).named_parameters()}
    return [
        f"{name}: {mine.get(name, 'missing')} instead of {shapes.get(name, 'no such parameter')}"
        for name in shapes | mine
        if mine.get(name) != shapes.get(name)
    ]


def moved(candidate: type, config: Config, x: Tensor, at: int) -> list[int]:
    """Returns the positions whose output changes if the input at position `at` grows by 1."""
    changed, module = x.clone(), built(candidate, config)
    changed[:, at] += 1
    with torch.no_grad():
        apart = (module(changed) - module(x)).abs().amax(dim=(0, 2))
    return (apart > 1e-6).nonzero()[:, 0].tolist()


def device(compute: Callable[[], Tensor]) -> str:
    """Returns the device of a result that is computed from tensors on `meta`."""
    try:
        return compute().device.type
    except (RuntimeError, NotImplementedError):  # as on a GPU if tensors are on two devices
        return "a mix of two devices"


def gradients(
    candidate: type, config: Config | tuple[int, ...], x: Tensor, *rest: Any
) -> dict[str, Tensor | None]:
    """Returns the gradients of all parameters and, if x is not a tensor of tokens, of x."""
    x = x.clone().requires_grad_(x.is_floating_point())
    module = built(candidate, config)
    result = module(x, *rest)
    if result.requires_grad:
        result.square().sum().backward()
    return {name: each.grad for name, each in [*module.named_parameters(), ("x", x)]}


def same_gradients(reference: type, *arguments: Any, hint: str = NO_GRADIENT) -> Case:
    """Returns the case that all gradients are those of the reference."""
    due = {
        name: each for name, each in gradients(reference, *arguments).items() if each is not None
    }

    def differing(candidate: type, *arguments: Any) -> list[str]:
        mine = gradients(candidate, *arguments)
        return [
            name
            for name, right in due.items()
            if (own := mine.get(name)) is None or not torch.allclose(own, right, 1e-3, 1e-3)
        ]

    what = "the names whose gradients are missing or wrong"
    return case(what, *arguments, measure=differing, expected=[], hint=hint)


def with_bias(name: str, *shape: int) -> dict[str, tuple[int, ...]]:
    """Returns the names and shapes of a layer's weight, which has `shape`, and of its bias."""
    return {f"{name}.weight": shape, f"{name}.bias": shape[:1]}


def under(prefix: str, shapes: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """Returns the same shapes, by the parameters' names in a larger module."""
    return {f"{prefix}.{name}": size for name, size in shapes.items()}


def otherwise(base: type, **methods: Callable) -> type:
    """Returns a subclass of `base` with these methods."""
    return type("Faulty", (base,), methods)


class Stub(nn.Module):
    """A part of a block that multiplies by `times`, or returns ones, and stores its input."""

    def __init__(self, times: int | None = None):
        super().__init__()
        self.times, self.read, self.rest = times, None, []

    def forward(self, x, mask=None, table=None):
        self.read, self.rest = x, [mask, table]
        return torch.ones_like(x) if self.times is None else self.times * x


def read_by(block: Any, run: Callable[[Tensor], Tensor]) -> str:
    """Returns the inputs of a block's layers and the output of `run`, as in `the_stream`."""
    for name in ("attention_norm", "attention", "feed_forward_norm", "feed_forward"):
        setattr(block, name, Stub(10 if "norm" in name else None))
    with torch.no_grad():
        out = run(torch.full((1, 3, 12), 2.0))
    numbers = block.attention.read, block.feed_forward.read, out
    return ", ".join("nothing" if x is None else f"{x.mean().item():g}" for x in numbers)


the_stream = case(
    "the input of attention, the input of feed-forward and the output, if x is 2 everywhere, norms "
    "multiply by 10 and layers return 1",
    expected="20, 30, 4",
    hint="Each layer reads the norm of the stream, `x + layer(norm(x))`: attention reads 10 × 2, "
    "and feed-forward 10 × (2 + 1). The stream itself is never normed, and each layer adds to it: "
    "2 + 1 + 1.",
)

"""Help for the classes of lesson 02: building one, drawing its weights, looking at what it does."""

import zlib

import torch
from torch import Tensor, nn

from tlcourse.exercises.expect import CheckFailed, expect_shape, short
from tlcourse.transformer import Config

IMPORTS = (
    "import functools\nimport math\nimport random\nimport torch\nfrom torch import nn\n"
    "from torch.nn import functional as F\n"
    "from tlcourse.transformer import ACTIVATIONS, Config, causal_mask, padding_mask, rotary_table"
)

_NOWHERE = torch.ones(2, dtype=torch.long, device="meta")
torch.minimum(_NOWHERE, _NOWHERE.sum())  # makes PyTorch import for a second, before a check's clock


def small(**changes) -> Config:
    """A shape in which no two sizes are equal: 3 heads of width 4, 40 tokens, 20 features."""
    shape = dict(vocabulary_size=40, width=12, layers=2, heads=3, feed_forward=20, max_length=16)
    return Config(**(shape | changes))


def draw(*shape: int, seed: int = 0) -> Tensor:
    """Standard normal numbers, the same for the same seed."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def new(candidate: type, config: Config | tuple[int, ...]) -> nn.Module:
    """`candidate(config)`, or of a tuple `candidate(*sizes)`, with the same random numbers always.

    Raises CheckFailed if it is no module.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = candidate(*config) if isinstance(config, tuple) else candidate(config)
    if not isinstance(module, nn.Module):
        given = ", ".join(map(str, config)) if isinstance(config, tuple) else "config"
        raise CheckFailed(
            f"`{candidate.__name__}({given})` gave {short(module)}; expected a module. The class "
            "begins with `class …(nn.Module)`, its `__init__` with `super().__init__()`."
        )
    return module


def randomise(module: nn.Module, seed: int = 0, size: float = 0.4) -> nn.Module:
    """Draws every parameter by its name, so that two modules with the same names are equal."""
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            drawn = draw(*parameter.shape, seed=zlib.crc32(name.encode()) + seed)
            parameter.copy_(size * drawn + ("norm" in name and name.endswith("weight")))
    return module


def built(candidate: type, config: Config | tuple[int, ...], seed: int = 0) -> nn.Module:
    """`candidate(config)` with drawn weights: no zero and no one hides a mistake."""
    return randomise(new(candidate, config), seed)


def out(candidate: type, config: Config | tuple[int, ...], x: Tensor, *rest) -> Tensor:
    """What a candidate with drawn weights makes of x; raises CheckFailed where that changes x."""
    before = x.clone()
    with torch.no_grad():
        found = built(candidate, config)(x, *rest)
    if not torch.equal(before, x):
        raise CheckFailed("`forward` changed `x`, which it was given: `x = x + …` makes a new one.")
    expect_shape(found, tuple(x.shape), f"x of shape {tuple(x.shape)}")
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
    candidate: type, config: Config | tuple[int, ...], x: Tensor, *rest
) -> list[str]:
    """The parameters that no gradient reaches; raises CheckFailed if the output carries none."""
    module = built(candidate, config)
    found = module(x, *rest)
    if not found.requires_grad:
        raise CheckFailed(
            "all numbers are right, but the result carries no gradient, so that nothing could be "
            "learnt. Leave out `no_grad`, `.detach()` and NumPy."
        )
    found.square().sum().backward()
    return [name for name, p in module.named_parameters() if p.grad is None]


def linear(name: str, outputs: int, inputs: int) -> dict[str, tuple[int, ...]]:
    """The names and shapes of a linear layer's parameters."""
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def norm(name: str, width: int) -> dict[str, tuple[int, ...]]:
    """The names and shapes of a LayerNorm's parameters."""
    return {f"{name}.weight": (width,), f"{name}.bias": (width,)}


def model_shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """The names and shapes of a model's parameters."""
    width, wide = config.width, config.feed_forward
    found = {"embedding.weight": (config.vocabulary_size, width)} | norm("norm", width)
    for layer in range(config.layers):
        of = f"blocks.{layer}"
        for name in ("query", "key", "value", "output"):
            found |= linear(f"{of}.attention.{name}", width, width)
        found |= linear(f"{of}.feed_forward.up", wide, width)
        found |= linear(f"{of}.feed_forward.down", width, wide)
        found |= norm(f"{of}.attention_norm", width) | norm(f"{of}.feed_forward_norm", width)
    return found

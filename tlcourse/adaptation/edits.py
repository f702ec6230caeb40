"""The first knob: what is added to a pretrained model before it learns a task.

An edit is a value that changes a classifier in place when it is called. LoRA and adapters start as
the identity: with them the model gives the logits that it gave without.
"""

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tlcourse import ranges
from tlcourse.adaptation.knobs import Adaptable
from tlcourse.transformer import Block

Edit = Callable[[Adaptable], None]
Adapted = TypeVar("Adapted", bound=Adaptable)
LAYERS = ("query", "key", "value", "output", "up", "down")  # the linear layers of a block
ATTENTION = LAYERS[:4]


def _replace(block: Block, name: str, make: Callable[[nn.Linear], nn.Module]) -> None:
    """Puts what `make` returns for a linear layer of a block, one of LAYERS, in its place."""
    owner = block.attention if name in ATTENTION else block
    setattr(owner, name, make(getattr(owner, name)))


@dataclass(frozen=True)
class Unchanged:
    """Nothing is added."""

    def __call__(self, classifier: Adaptable) -> None:
        """Leaves the classifier as it is."""


class LoRALinear(nn.Module):
    """A linear layer and a low-rank update of it: W x + b + (alpha / rank) B A x (Hu et al., 2021).

    A is random, B zero: the update starts at 0.
    """

    position_wise = True  # no position looks at another: see `Transformer.hidden_at`

    def __init__(self, base: nn.Linear, rank: int, alpha: float):
        super().__init__()
        self.base, self.scale = base, alpha / rank
        self.a = nn.Parameter(torch.empty(rank, base.in_features))
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))
        nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))

    def forward(self, x: Tensor) -> Tensor:
        """(..., in) to (..., out)."""
        return self.base(x) + self.scale * F.linear(F.linear(x, self.a), self.b)

    def merged(self) -> nn.Linear:
        """One linear layer that gives the same; the base layer is left alone."""
        layer = copy.deepcopy(self.base)
        with torch.no_grad():
            layer.weight += self.scale * self.b @ self.a
        return layer


@dataclass(frozen=True)
class LoRA:
    """LoRA in the named linear layers of every block; "all" are LAYERS, "attention" its four.

    Raises ValueError for a rank below 1 and for a layer that is not in LAYERS.
    """

    rank: int = 8
    alpha: float = 16.0
    layers: str | tuple[str, ...] = ("query", "value")

    def __post_init__(self) -> None:
        ranges.check(self, rank=ranges.COUNT, alpha=ranges.POSITIVE)
        asked = self.names()
        if not asked or set(asked) - set(LAYERS):
            raise ValueError(
                f"layers: expected layers out of {', '.join(LAYERS)}, 'attention' or 'all', "
                f"got {self.layers!r}"
            )
        ordered = tuple(name for name in LAYERS if name in asked)  # one choice, one way to write it
        short = {LAYERS: "all", ATTENTION: "attention"}.get(ordered, ordered)
        object.__setattr__(self, "layers", short)

    def names(self) -> tuple[str, ...]:
        """The names of the layers."""
        if isinstance(self.layers, str):
            return {"all": LAYERS, "attention": ATTENTION}.get(self.layers, (self.layers,))
        return tuple(self.layers)

    def __call__(self, classifier: Adaptable) -> None:
        """Puts a LoRALinear in the place of each of the layers."""
        for block in classifier.body.blocks:
            for name in self.names():
                _replace(block, name, lambda base: LoRALinear(base, self.rank, self.alpha))


class AdapterLayer(nn.Module):
    """A linear layer and a bottleneck with a residual behind it: h + up(gelu(down(h))).

    Houlsby et al. (2019). `up` starts at zero, so the layer starts as it was.
    """

    position_wise = True

    def __init__(self, base: nn.Linear, bottleneck: int):
        super().__init__()
        self.base = base
        self.down = nn.Linear(base.out_features, bottleneck)
        self.up = nn.Linear(bottleneck, base.out_features)
        nn.init.normal_(self.down.weight, std=0.02)
        for start in (self.down.bias, self.up.weight, self.up.bias):
            nn.init.zeros_(start)

    def forward(self, x: Tensor) -> Tensor:
        """(..., in) to (..., out)."""
        hidden = self.base(x)
        return hidden + self.up(F.gelu(self.down(hidden)))


@dataclass(frozen=True)
class Adapters:
    """Adapters in every block: after attention and feed-forward, or after feed-forward alone.

    The first is Houlsby et al. (2019), who train the norms, too, which here stay as they are; the
    second Pfeiffer et al. (2021).
    """

    bottleneck: int = 32
    after_attention: bool = True

    def __post_init__(self) -> None:
        ranges.check(self, bottleneck=ranges.COUNT)

    def __call__(self, classifier: Adaptable) -> None:
        """Puts an AdapterLayer behind the last layer of attention and feed-forward."""
        for block in classifier.body.blocks:
            for name in ("output", "down") if self.after_attention else ("down",):
                _replace(block, name, lambda base: AdapterLayer(base, self.bottleneck))


@dataclass(frozen=True)
class Prefixes:
    """Learned keys and values that every token of every layer may look at (Li & Liang, 2021).

    It does not start as the identity: what looks at the prefix looks less at the text. The prefix
    is learned as it is, without the network that makes it in the paper's training.
    """

    length: int = 10

    def __post_init__(self) -> None:
        ranges.check(self, length=ranges.COUNT)

    def __call__(self, classifier: Adaptable) -> None:
        """Gives every attention a prefix of so many keys and values."""
        config = classifier.body.config
        shape = (2, config.heads, self.length, config.width // config.heads)
        for block in classifier.body.blocks:
            block.attention.prefix = nn.Parameter(0.02 * torch.randn(shape))


class Mix(nn.Module):
    """A learned average of the hidden states of all layers, and a scale (Peters et al., 2018).

    Softmax weights that start equal; the average of normalised layers.
    """

    def __init__(self, count: int):
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(count))
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, states: Sequence[Tensor] | Tensor) -> Tensor:
        """One (..., width) tensor a layer, or (layers, ..., width), to (..., width)."""
        shares = self.weights.softmax(0)
        return self.scale * sum(share * state for share, state in zip(shares, states, strict=True))


@dataclass(frozen=True)
class LayerMix:
    """The classifier reads a learned mix of all layers instead of the last one."""

    def __call__(self, classifier: Adaptable) -> None:
        """Gives the classifier a Mix of the embeddings and all blocks."""
        classifier.mix = Mix(len(classifier.body.blocks) + 1)


def merge_lora(classifier: Adapted) -> Adapted:
    """A copy with every LoRA update put into the weight it belongs to: a plain model, same logits.

    Raises ValueError when the classifier was adapted by another edit than LoRA.
    """
    merged = classifier.copy()
    for module in list(merged.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, LoRALinear):
                setattr(module, name, child.merged())
    left = set(merged.added) & {name for name, _ in merged.named_parameters()}
    if left or not merged.added:
        raise ValueError(f"expected a classifier adapted by LoRA, got one by {classifier.scheme}")
    merged.scheme, merged.added = None, ()
    return merged

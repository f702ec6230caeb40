"""The first knob: what is added to a pretrained model before it learns a task.

An edit is a value that changes a classifier in place when it is called. LoRA and adapters start as
the identity: adding them leaves the model's logits unchanged.
"""

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tlcourse import ranges
from tlcourse.adaptation.knobs import Adaptable

Edit = Callable[[Adaptable], None]
Adapted = TypeVar("Adapted", bound=Adaptable)
LAYERS = ("query", "key", "value", "output", "up", "down")  # the linear layers of a block
ATTENTION = LAYERS[:4]


def _attention(block: nn.Module) -> Any:
    """Returns the attention of a block; raises ValueError for the layer of a recurrent model."""
    if not hasattr(block, "attention"):
        raise ValueError(
            "expected a body of blocks with attention for this edit, got a recurrent one; choose a "
            "scheme that adds nothing to the layers, such as gradual unfreezing"
        )
    return block.attention


def _replace(block: nn.Module, name: str, make: Callable[[nn.Linear], nn.Module]) -> None:
    """Puts what `make` returns for a linear layer of a block, one of LAYERS, in its place.

    Raises ValueError for the layer of a recurrent model.
    """
    attention = _attention(block)
    owner = attention if name in ATTENTION else block
    setattr(owner, name, make(getattr(owner, name)))


@dataclass(frozen=True)
class Unchanged:
    """The edit that adds nothing."""

    def __call__(self, classifier: Adaptable) -> None:
        """Leaves the classifier unchanged."""


class LoRALinear(nn.Module):
    """A linear layer and a low-rank update of it: W x + b + (alpha / rank) B A x (Hu et al., 2021).

    A is drawn at random and B is zero, so the update starts at 0.
    """

    position_wise = True  # positions do not interact: see `Transformer.hidden_at`

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
        """Returns one linear layer with the same outputs; the base layer is left unchanged."""
        layer = copy.deepcopy(self.base)
        with torch.no_grad():
            layer.weight += self.scale * self.b @ self.a
        return layer


@dataclass(frozen=True)
class LoRA:
    """LoRA in the named linear layers of every block; "all": LAYERS, "attention": ATTENTION.

    Raises ValueError for a rank below 1, an alpha that is not positive and a layer that is not in
    LAYERS.
    """

    rank: int = 8
    alpha: float = 16.0
    layers: str | tuple[str, ...] = ("query", "value")

    def __post_init__(self) -> None:
        ranges.check(self, rank=ranges.COUNT, alpha=ranges.POSITIVE)
        names = self.names()
        if not names or set(names) - set(LAYERS):
            raise ValueError(
                f"layers: expected layers out of {', '.join(LAYERS)}, 'attention' or 'all', "
                f"got {self.layers!r}"
            )
        ordered = tuple(name for name in LAYERS if name in names)  # equal choices compare equal
        short = {LAYERS: "all", ATTENTION: "attention"}.get(ordered, ordered)
        object.__setattr__(self, "layers", short)

    def names(self) -> tuple[str, ...]:
        """Returns the names of the layers."""
        if isinstance(self.layers, str):
            return {"all": LAYERS, "attention": ATTENTION}.get(self.layers, (self.layers,))
        return tuple(self.layers)

    def __call__(self, classifier: Adaptable) -> None:
        """Replaces each of the layers by a LoRALinear around it."""
        for block in classifier.body.blocks:
            for name in self.names():
                _replace(block, name, lambda base: LoRALinear(base, self.rank, self.alpha))


class AdapterLayer(nn.Module):
    """A linear layer followed by a bottleneck with a residual: h + up(gelu(down(h))).

    Houlsby et al. (2019). `up` starts at zero, so the layer's output is unchanged at first.
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

    The former is Houlsby et al. (2019), who also train the norms, which are frozen here; the latter
    is Pfeiffer et al. (2021).
    """

    bottleneck: int = 32
    after_attention: bool = True

    def __post_init__(self) -> None:
        ranges.check(self, bottleneck=ranges.COUNT)

    def __call__(self, classifier: Adaptable) -> None:
        """Puts an AdapterLayer after the last layer of attention and of feed-forward."""
        for block in classifier.body.blocks:
            for name in ("output", "down") if self.after_attention else ("down",):
                _replace(block, name, lambda base: AdapterLayer(base, self.bottleneck))


@dataclass(frozen=True)
class Prefixes:
    """Learned keys and values that every token of every layer may attend to (Li & Liang, 2021).

    The edit does not start as the identity: attention to the prefix is taken from the text. The
    prefix is trained directly, without the paper's network that produces it.
    """

    length: int = 10

    def __post_init__(self) -> None:
        ranges.check(self, length=ranges.COUNT)

    def __call__(self, classifier: Adaptable) -> None:
        """Gives every attention layer a prefix of `length` keys and values.

        Raises ValueError for a body whose attention has no place for one, such as an XLNet, and
        for a recurrent one.
        """
        layers = [_attention(block) for block in classifier.body.blocks]
        config: Any = classifier.body.config
        shape = (2, config.heads, self.length, config.width // config.heads)
        for attention in layers:
            if not hasattr(attention, "prefix"):
                kind = type(attention).__name__
                raise ValueError(
                    f"expected attention that takes a prefix, got {kind}; "
                    "choose another edit, such as LoRA"
                )
            attention.prefix = nn.Parameter(0.02 * torch.randn(shape))


class Mix(nn.Module):
    """A learned average of the hidden states of all layers, and a scale (Peters et al., 2018).

    The layers' weights are a softmax and start equal; the layers are expected to be normalised.
    """

    def __init__(self, count: int):
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(count))
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, states: Sequence[Tensor] | Tensor) -> Tensor:
        """Returns (..., width), of a (..., width) tensor a layer or of (layers, ..., width)."""
        shares = self.weights.softmax(0)
        return self.scale * sum(share * state for share, state in zip(shares, states, strict=True))


@dataclass(frozen=True)
class LayerMix:
    """The classifier reads a learned mix of all layers instead of the last one."""

    def __call__(self, classifier: Adaptable) -> None:
        """Gives the classifier a Mix of the embeddings and the outputs of all blocks.

        Raises ValueError for a recurrent body whose layers have several widths.
        """
        widths = classifier.body.config.widths
        if len(set(widths)) > 1:
            raise ValueError(
                f"expected layers of one width to average, got the widths {widths}; choose another "
                "scheme, or a model whose layers have as many units as its embedding is wide"
            )
        classifier.mix = Mix(len(classifier.body.blocks) + 1)


class BatchNorm(nn.Module):
    """Batch norm that normalises a batch of a single row by its running statistics.

    Unlike `nn.BatchNorm1d` it keeps no count of batches, so that all it keeps are weights.
    """

    def __init__(self, features: int):
        super().__init__()
        self.weight, self.bias = (nn.Parameter(of(features)) for of in (torch.ones, torch.zeros))
        self.register_buffer("running_mean", torch.zeros(features))
        self.register_buffer("running_var", torch.ones(features))

    def forward(self, x: Tensor) -> Tensor:
        """(batch, features) to the same."""
        return F.batch_norm(
            x, self.get_buffer("running_mean"), self.get_buffer("running_var"), self.weight,
            self.bias, training=self.training and len(x) > 1,
        )  # fmt: skip


class TwoBlocks(nn.Sequential):
    """Batch norm, dropout, linear, ReLU; batch norm, dropout, linear (Howard & Ruder, 2018)."""

    def __init__(self, features: int, outputs: int, *, width: int = 50, dropout: float = 0.1):
        super().__init__(
            *(BatchNorm(features), nn.Dropout(dropout), nn.Linear(features, width), nn.ReLU()),
            *(BatchNorm(width), nn.Dropout(dropout), nn.Linear(width, outputs)),
        )


@dataclass(frozen=True)
class HiddenHead:
    """A head of two blocks with `width` hidden units in place of the linear layer.

    It is the classifier of ULMFiT and fast.ai, for models that read one vector of a text; its
    dropout has the classifier's rate. The parameters are those of the head, so that groups train
    them as such; the edit does not start as the identity.
    """

    width: int = 50

    def __post_init__(self) -> None:
        ranges.check(self, width=ranges.COUNT)

    def __call__(self, classifier: Adaptable) -> None:
        """Replaces the head by TwoBlocks; raises ValueError for a task with scores per token."""
        if not hasattr(classifier, "pooling"):
            raise ValueError(
                "expected a model that reads one vector of a text for this head, got "
                f"{type(classifier).__name__}; choose an edit of the layers, such as LoRA"
            )
        features, outputs = classifier.head.in_features, classifier.head.out_features
        rate = classifier.dropout.p
        classifier.head = TwoBlocks(features, outputs, width=self.width, dropout=rate)


def merge_lora(classifier: Adapted) -> Adapted:
    """Returns a copy without edit, same logits: each LoRA update is added to its layer's weight.

    Raises ValueError if the classifier was not adapted by LoRA.
    """
    merged = classifier.copy()
    for module in list(merged.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, LoRALinear):
                setattr(module, name, child.merged())
    unmerged = set(merged.added) & {name for name, _ in merged.named_parameters()}
    if unmerged or not merged.added:
        raise ValueError(
            f"expected a classifier adapted by LoRA, got one adapted by {classifier.scheme}"
        )
    merged.scheme, merged.added = None, ()
    return merged

"""The first knob: what is added to a pretrained model before it learns a task.

An edit changes a classifier in place. LoRA and adapters start as the identity: with them the model
gives the logits that it gave without.
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Edit = Callable[[nn.Module], None]
PROJECTIONS = ("query", "key", "value", "output")


def unchanged(classifier: nn.Module) -> None:
    """Nothing is added."""


class LoRA(nn.Module):
    """A linear layer and a low-rank update of it: W x + b + (alpha / rank) B A x (Hu et al., 2021).

    A is random, B zero: the update starts at 0.
    """

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
        layer = nn.Linear(self.base.in_features, self.base.out_features)
        with torch.no_grad():
            layer.weight.copy_(self.base.weight + self.scale * self.b @ self.a)
            layer.bias.copy_(self.base.bias)
        return layer.to(self.base.weight.device)


def lora(rank: int = 8, alpha: float = 16.0, layers: Sequence[str] = ("query", "value")) -> Edit:
    """LoRA in the named projections of every attention."""
    unknown = sorted(set(layers) - set(PROJECTIONS))
    if unknown or rank < 1:
        raise ValueError(
            f"expected a rank of at least 1 and layers out of {PROJECTIONS}, "
            f"got rank {rank} and {list(layers)}"
        )

    def edit(classifier: nn.Module) -> None:
        for block in classifier.body.blocks:
            for name in layers:
                setattr(block.attention, name, LoRA(getattr(block.attention, name), rank, alpha))

    return edit


def merge_lora(classifier: nn.Module) -> None:
    """Puts every LoRA update into the weight it belongs to: the plain model again, same logits."""
    for module in list(classifier.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, LoRA):
                setattr(module, name, child.merged())


class Adapter(nn.Module):
    """A linear layer and a bottleneck with a residual behind it: h + up(gelu(down(h))).

    Houlsby et al. (2019). `up` starts at zero, so the layer starts as it was.
    """

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


def adapters(bottleneck: int = 32, after_attention: bool = True) -> Edit:
    """Adapters in every block: after attention and feed-forward, or after feed-forward alone.

    The first is Houlsby et al. (2019), the second Pfeiffer et al. (2021).
    """

    def edit(classifier: nn.Module) -> None:
        for block in classifier.body.blocks:
            if after_attention:
                block.attention.output = Adapter(block.attention.output, bottleneck)
            block.down = Adapter(block.down, bottleneck)

    return edit


def prefixes(length: int = 10) -> Edit:
    """Learned keys and values that every token of every layer may look at (Li & Liang, 2021).

    It does not start as the identity: what looks at the prefix looks less at the text.
    """

    def edit(classifier: nn.Module) -> None:
        config = classifier.body.config
        shape = (2, config.heads, length, config.width // config.heads)
        for block in classifier.body.blocks:
            block.attention.prefix = nn.Parameter(0.02 * torch.randn(shape))

    return edit


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


def layer_mix(classifier: nn.Module) -> None:
    """The classifier reads a learned mix of all layers instead of the last one."""
    classifier.mix = Mix(len(classifier.body.blocks) + 1)

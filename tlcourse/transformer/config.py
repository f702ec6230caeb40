"""Shapes of models as plain configurations, and their numbers of parameters and operations."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from tlcourse.transformer.fused import relu2

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "relu": F.relu,
    "relu2": relu2,
}


@dataclass(frozen=True)
class Config:
    """The shape of a model; the defaults are the block of the course's shipped models."""

    vocabulary_size: int = 8192
    width: int = 256
    layers: int = 6
    heads: int = 4
    feed_forward: int = 1024
    max_length: int = 256  # positions
    causal: bool = True  # each position attends to itself and the past; False: to the whole text
    rotary: bool = True  # False: learned absolute positions
    norm_first: bool = True  # False: the norm follows the residual sum (BERT)
    qk_norm: bool = True
    cross_attention: bool = False  # whether blocks also attend to the states of a second sequence
    activation: str = "relu2"
    token_types: int = 0  # BERT's segment embeddings
    head_transform: bool = False  # BERT's dense layer, activation and norm before the logits
    head_bias: bool = False
    norm_epsilon: float = 1e-5
    dropout: float = 0.0

    def __post_init__(self):
        check_shape(self, "width", "layers", "heads", "feed_forward", "max_length")
        if self.rotary and self.width // self.heads % 2:
            raise ValueError(
                "expected an even width per head, which rotary positions rotate in pairs, got "
                f"{self.width // self.heads}; change width or heads, or set rotary=False"
            )

    @property
    def widths(self) -> tuple[int, ...]:
        """The widths of the hidden states: those of the embeddings and of each block."""
        return (self.width,) * (self.layers + 1)


def check_shape(config: Any, *sizes: str) -> None:
    """Raises ValueError unless those fields are positive, heads divide the width, and the
    activation is known.
    """
    for name in sizes:
        if getattr(config, name) < 1:
            raise ValueError(f"{name}: expected at least 1, got {getattr(config, name)}")
    if config.width % config.heads:
        raise ValueError(
            f"expected a width that is a multiple of the {config.heads} heads, got {config.width}"
        )
    if config.activation not in ACTIVATIONS:
        raise ValueError(
            f"expected an activation out of {', '.join(ACTIVATIONS)}, got {config.activation!r}"
        )


def gpt2(**changes: Any) -> Config:
    """GPT-2 small (124M parameters); `changes` replace fields."""
    shape = Config(50257, width=768, layers=12, heads=12, feed_forward=3072, max_length=1024)
    block = replace(shape, rotary=False, qk_norm=False, activation="gelu_tanh")
    return replace(block, **changes)


def bert(**changes: Any) -> Config:
    """BERT base, uncased (110M parameters); `changes` replace fields."""
    shape = Config(30522, width=768, layers=12, heads=12, feed_forward=3072, max_length=512)
    block = replace(shape, causal=False, rotary=False, norm_first=False, qk_norm=False)
    block = replace(block, activation="gelu", token_types=2, norm_epsilon=1e-12)
    return replace(replace(block, head_transform=True, head_bias=True), **changes)


def count_parameters(config: Config | nn.Module) -> dict[str, int]:
    """The number of parameters of each part, and the "total"; shared parameters count once.

    Of a configuration, the parameters of a `Transformer` by formula, which builds nothing. Of a
    model of any kind, those of each part by its name in the model; a parameter that several parts
    share, as ALBERT's layers do, counts for the first of them.
    """
    if isinstance(config, nn.Module):
        found: Counter[str] = Counter()
        for name, parameter in config.named_parameters():
            found[name.split(".")[0]] += parameter.numel()
        return {**found, "total": found.total()}
    c, norm = config, 2 * config.width
    attention = 4 * (c.width**2 + c.width)
    block = attention + 2 * c.width * c.feed_forward + c.feed_forward + c.width
    block += c.cross_attention * (attention + norm)
    parts = {
        "token embedding": c.vocabulary_size * c.width,
        "positions": 0 if c.rotary else c.max_length * c.width,
        "token types": c.token_types * c.width,
        "blocks": c.layers * (block + 2 * norm),
        "final or embedding norm": norm,
        "head": c.head_transform * (c.width**2 + c.width + norm) + c.head_bias * c.vocabulary_size,
    }
    return parts | {"total": sum(parts.values())}


def flops_per_token(config: Config, length: int) -> int:
    """Floating-point operations of a forward pass per token, at `length` tokens, head included.

    Only matrix products are counted, with two operations per multiply-add. The attention scores and
    the weighted sum are counted over the full square, twice that term of Kaplan et al. (2020); the
    rest is about 2 operations per parameter of the matrices. A training step takes three times as
    many, hence "6 N per token". Cross-attention is not counted, because its cost also depends on
    the length of the other sequence.
    """
    projections = 4 * config.width**2 + 2 * config.width * config.feed_forward
    attention = 2 * length * config.width
    head = config.vocabulary_size * config.width + config.head_transform * config.width**2
    return 2 * (config.layers * (projections + attention) + head)

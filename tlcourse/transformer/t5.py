"""T5: an encoder-decoder whose only positions are learned numbers added to the attention scores.

Sources: Raffel et al. (2020), "Exploring the Limits of Transfer Learning with a Unified
Text-to-Text Transformer"; Shazeer (2020), "GLU Variants Improve Transformer" (T5 version 1.1).
"""

import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from tlcourse.transformer.attention import additive
from tlcourse.transformer.config import Config
from tlcourse.transformer.encoder_decoder import EncoderDecoder
from tlcourse.transformer.model import Block, Transformer


def t5_base(**changes: Any) -> Config:
    """The shape of each stack of T5 base (223M parameters in all); `changes` replace fields."""
    shape = Config(32128, width=768, layers=12, heads=12, feed_forward=3072, max_length=512)
    block = replace(shape, rotary=False, qk_norm=False, activation="relu", norm_epsilon=1e-6)
    return replace(block, **changes)


def position_buckets(
    distances: Tensor, buckets: int = 32, *, reach: int = 128, one_sided: bool = False
) -> Tensor:
    """The bucket of each distance i − j from a query i to a key j (any shape): the same shape.

    The first half of the buckets holds one distance each: 0, 1, 2, ... The second half covers the
    rest up to `reach` in ranges that grow by a constant factor, and the last bucket also has
    everything further away. Two-sided, the first `buckets` / 2 are for the query itself and the
    keys before it, and the others, divided in the same way, for the keys after it. One-sided, all
    are for the keys before it, and every key after it is in bucket 0: mask it. Raises ValueError
    for so few buckets, or a reach so short, that nothing is left for the ranges.
    """
    sides = 1 if one_sided else 2
    count = buckets // sides  # on each side
    exact = count // 2
    if exact < 1 or reach <= exact:
        raise ValueError(
            f"expected at least {2 * sides} buckets and a reach above {max(exact, 1)}, got "
            f"{buckets} and {reach}; change one of them"
        )
    first = torch.zeros_like(distances) if one_sided else count * (distances < 0)
    distances = distances.clamp(min=0) if one_sided else distances.abs()
    share = torch.log(distances.clamp(min=exact) / exact) / math.log(reach / exact)
    ranges = exact + (share * (count - exact)).long()
    return first + torch.where(distances < exact, distances, ranges.clamp(max=count - 1))


class UnscaledQuery(nn.Linear):
    """A linear layer times √head_dim, by which the kernels divide: the scores are q · k itself."""

    def __init__(self, width: int, heads: int):
        super().__init__(width, width, bias=False)
        self.scale = (width // heads) ** 0.5

    def forward(self, x: Tensor) -> Tensor:
        """(..., width) to the same."""
        return self.scale * super().forward(x)


class T5Block(Block):
    """A pre-norm block without biases; its norm is RMS norm and its scores are not scaled.

    The feed-forward layer is the plain one, or `gated`: down(activation(gate(x)) · up(x)).
    """

    def __init__(self, config: Config, *, gated: bool = False):
        super().__init__(config)
        width, inner = config.width, config.feed_forward
        for attention in self.attentions():
            attention.query = UnscaledQuery(width, config.heads)
            for name in ("key", "value", "output"):
                setattr(attention, name, nn.Linear(width, width, bias=False))
        self.gate = nn.Linear(width, inner, bias=False) if gated else None
        self.up = nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)
        for name, module in [*self.named_children()]:
            if isinstance(module, nn.LayerNorm):
                setattr(self, name, nn.RMSNorm(width, eps=config.norm_epsilon))

    def feed_forward(self, x: Tensor) -> Tensor:
        """(batch, length, width) to the same, position by position."""
        if self.gate is None:
            return super().feed_forward(x)
        return self.dropout(self.down(self.activation(self.gate(x)) * self.up(x)))


class T5Stack(Transformer):
    """The encoder or the decoder of a `T5`, whose docstring explains the options.

    `distances` has one number for each bucket and head: (buckets, heads). All layers add the same
    numbers to the scores of self-attention; cross-attention has no positions. In a causal stack the
    buckets are one-sided.
    """

    def __init__(
        self,
        config: Config,
        attention: str = "sdpa",
        *,
        buckets: int = 32,
        reach: int = 128,
        gated: bool = False,
        tied: bool = True,
    ):
        super().__init__(config)
        self.reach, self.positions = reach, None
        self.distances = nn.Embedding(buckets, config.heads)
        self.blocks = nn.ModuleList(  # type: ignore[assignment]
            T5Block(config, gated=gated) for _ in range(config.layers)
        )
        self.norm = nn.RMSNorm(config.width, eps=config.norm_epsilon)  # type: ignore[assignment]
        self.head = None if tied else nn.Linear(config.width, config.vocabulary_size, bias=False)
        self.set_attention(attention)
        self._initialise_as_t5()

    def _initialise_as_t5(self) -> None:
        """Draws weights of such sizes that scores and outputs have a variance of about 1."""
        nn.init.normal_(self.embedding.weight)
        nn.init.normal_(self.distances.weight, std=self.config.width**-0.5)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                smaller = module.scale if isinstance(module, UnscaledQuery) else 1.0
                nn.init.normal_(module.weight, std=module.in_features**-0.5 / smaller)

    def position_scores(self, queries: int, keys: int) -> Tensor:
        """What self-attention adds to its scores: (1, heads, queries, keys).

        The queries are the last of the keys' positions.
        """
        places = torch.arange(keys, device=self.distances.weight.device)
        distances = places[keys - queries :, None] - places
        size, causal = self.distances.num_embeddings, self.config.causal
        rows = position_buckets(distances, size, reach=self.reach, one_sided=causal)
        return self.distances(rows).permute(2, 0, 1)[None]

    def _inputs(
        self,
        tokens: Tensor,
        padding_mask: Tensor | None,
        types: Tensor | None = None,
        causal: Tensor | None = None,
    ) -> tuple:
        """The inputs of the blocks: embeddings, and a mask that has the position scores in it."""
        x, mask, _ = super()._inputs(tokens, padding_mask, types, causal)
        length = tokens.shape[1]
        scores = self.position_scores(length, self.blocks[0].attention.past + length)
        if mask is not None:
            mask = additive(mask, scores.dtype) if mask.dtype == torch.bool else mask
            scores = scores + mask
        return x, scores, None

    def transformed(self, hidden_states: Tensor) -> Tensor:
        """(..., width) to (..., width): the input of the output layer.

        A tied head is the embedding matrix, whose numbers have a variance of 1, so the states are
        divided by √width; those of a head of its own are not.
        """
        return hidden_states / self.config.width**0.5 if self.head is None else hidden_states

    @property
    def output_layer(self) -> tuple[Tensor, Tensor | None]:
        """The matrix (vocabulary, width) of the head, and None for the bias of the logits."""
        return (self.embedding if self.head is None else self.head).weight, None


class T5(EncoderDecoder):
    """An `EncoderDecoder` of two `T5Stack`s; without biases, and with positions only in the scores.

    `config` is the shape of each stack, as `t5_base` returns it; its `max_length` is only a limit,
    because no layer knows absolute positions. `buckets` and `reach` are those of
    `position_buckets`. The defaults are version 1.0; version 1.1 is `gated=True, tied=False` with
    the activation "gelu_tanh". Dropout is where `Transformer` has it, while the paper also applies
    it to attention weights, inside the feed-forward layer and after the last norm. Raises
    ValueError for a configuration that is post-norm or rotary, or has query-key norm, token types,
    or a transform or bias in the head.
    """

    def __init__(
        self,
        config: Config,
        attention: str = "sdpa",
        *,
        buckets: int = 32,
        reach: int = 128,
        gated: bool = False,
        tied: bool = True,
    ):
        names = ("rotary", "qk_norm", "token_types", "head_transform", "head_bias")
        wrong = [name for name in names if getattr(config, name)]
        wrong += [] if config.norm_first else ["norm_first=False"]
        if wrong:
            raise ValueError(
                f"expected a configuration without {', '.join(wrong)}; start from t5_base(...)"
            )
        super().__init__(config, attention)
        stack = dict(buckets=buckets, reach=reach, gated=gated)
        self.encoder = T5Stack(self.encoder.config, attention, **stack)  # type: ignore[arg-type]
        self.decoder = T5Stack(self.config, attention, tied=tied, **stack)  # type: ignore[arg-type]
        self.decoder.embedding = self.encoder.embedding

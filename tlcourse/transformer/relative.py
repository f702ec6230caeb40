"""Transformer-XL: attention with relative positions, and a memory of the previous segment.

Source: Dai et al. (2019), "Transformer-XL: Attentive Language Models Beyond a Fixed-Length
Context". A long text is read in segments. Each layer also attends to its own inputs of the segment
before, which are kept as they were: no gradient flows into them. Absolute positions cannot tell the
third token of this segment from the third of the last one, so attention uses the distance i − j
between a query i and a key j instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tlcourse.transformer.attention import causal_mask
from tlcourse.transformer.config import ACTIVATIONS, check_shape
from tlcourse.transformer.own import EngineMethods

Memory = Sequence[Tensor]  # one (batch, memory length, width) for each layer: its inputs


@dataclass(frozen=True)
class RelativeConfig:
    """The shape of a `TransformerXL` or an `XLNet`; the defaults are small."""

    # What a `Config` can have, and these models never do.
    token_types: ClassVar[int] = 0
    head_transform: ClassVar[bool] = False
    norm_first: ClassVar[bool] = False

    vocabulary_size: int = 8192
    width: int = 256
    layers: int = 6
    heads: int = 4
    feed_forward: int = 1024
    memory_length: int = 128  # earlier positions that each layer keeps; 0: none
    causal: bool = True  # each position attends to itself and the past; False: to the whole text
    activation: str = "relu"  # XLNet: "gelu"
    head_bias: bool = False  # XLNet: True
    norm_epsilon: float = 1e-5  # XLNet: 1e-12
    dropout: float = 0.0
    max_length: int = 256  # tokens that a classifier reads at once; the layers have no limit

    def __post_init__(self):
        check_shape(self, "width", "layers", "heads", "feed_forward", "max_length")
        if self.width % 2:
            raise ValueError(
                f"expected an even width, for pairs of sine and cosine, got {self.width}"
            )
        if self.memory_length < 0:
            raise ValueError(f"expected a memory_length of at least 0, got {self.memory_length}")

    @property
    def widths(self) -> tuple[int, ...]:
        """The widths of the hidden states: those of the embeddings and of each block."""
        return (self.width,) * (self.layers + 1)


def sinusoids(distances: Tensor, width: int) -> Tensor:
    """The encodings r of distances (any number, sign included): (number, width).

    The first half of the features is sin(distance · frequency), the second half is the cosine, with
    frequencies from 1 down to about 1/10,000 (Vaswani et al., 2017, in another order).
    """
    frequency = 10_000.0 ** -(torch.arange(0, width, 2, device=distances.device) / width)
    angle = distances[:, None] * frequency
    return torch.cat([angle.sin(), angle.cos()], dim=-1)


def relative_shift(scores: Tensor, keys: int) -> Tensor:
    """Scores by distance (..., queries, distances) to scores by key (..., queries, keys).

    The columns are the distances `keys`, `keys` − 1, ... in falling order. The queries are the last
    positions of the keys, so query i of Q has distance keys − Q + i − j to key j, which is column
    Q − i + j: row i has to move to the left by Q − i. No number has to be copied for that. Row i
    begins at i · D in memory, where D is the number of distances, and has to begin at

        i · D + Q − i  =  Q + i · (D − 1)

    so we drop the first Q numbers and read the rest as rows of D − 1 numbers. Where a key lies
    further ahead than the last column's distance, its score belongs to the next row: mask it.
    """
    queries, distances = scores.shape[-2:]
    rest = scores.flatten(-2)[..., queries:]
    return rest.unflatten(-1, (queries, distances - 1))[..., :keys]


class RelativeAttention(nn.Module):
    """Multi-head attention in which a score is the sum of a content and a position term.

        score(i, j) = ((q_i + u) · k_j + (q_i + v) · r(i − j)) / √head_dim

    q, k are linear in the states, r is linear in the sinusoids of the distance; u and v are learned
    vectors of each head, which stand for how much a key's content, or a distance, matters to every
    query. They are separate for each layer, as in XLNet. Nothing has a bias otherwise.
    """

    def __init__(self, config: RelativeConfig):
        super().__init__()
        self.heads = config.heads
        self.query = nn.Linear(config.width, config.width, bias=False)
        self.key = nn.Linear(config.width, config.width, bias=False)
        self.value = nn.Linear(config.width, config.width, bias=False)
        self.distance = nn.Linear(config.width, config.width, bias=False)
        self.output = nn.Linear(config.width, config.width, bias=False)
        shape = config.heads, 1, config.width // config.heads
        self.content_bias = nn.Parameter(0.02 * torch.randn(shape))  # u
        self.distance_bias = nn.Parameter(0.02 * torch.randn(shape))  # v

    def split(self, x: Tensor) -> Tensor:
        """(..., length, width) to (..., heads, length, head_dim)."""
        return x.unflatten(-1, (self.heads, -1)).transpose(-3, -2)

    def weights(
        self, x: Tensor, source: Tensor, table: Tensor, mask: Tensor, at: Tensor | None = None
    ) -> Tensor:
        """The attention weights (batch, heads, queries, keys); see `forward`.

        The weights of a query that may attend to nothing are all 0.
        """
        query, key = self.split(self.query(x)), self.split(self.key(source))
        content = (query + self.content_bias) @ key.transpose(-2, -1)
        by_distance = self.split(self.distance(table))
        position = (query + self.distance_bias) @ by_distance.transpose(-2, -1)
        keys = source.shape[1]
        if at is None:
            position = relative_shift(position, keys)
        else:  # the column of the distance at − j, see `relative_shift`
            column = keys - at[:, None, :, None] + torch.arange(keys, device=at.device)
            position = position.gather(-1, column.expand(-1, self.heads, -1, -1))
        scores = (content + position) / query.shape[-1] ** 0.5
        weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1)
        return weights.masked_fill(~mask, 0.0)

    def forward(
        self, x: Tensor, source: Tensor, table: Tensor, mask: Tensor, at: Tensor | None = None
    ) -> Tensor:
        """(batch, queries, width) to the same.

        The keys and values come from `source` (batch, keys, width): the memory, then this segment.
        `table` (distances, width) has the sinusoids of the distances `keys`, `keys` − 1, ...
        `mask` is boolean, True = keep, broadcast to (batch, heads, queries, keys). The queries are
        the last positions of the source, or those at the places `at` (batch, queries) of it.
        """
        value = self.split(self.value(source))
        mixed = self.weights(x, source, table, mask, at) @ value
        return self.output(mixed.transpose(1, 2).flatten(2))


class RelativeBlock(nn.Module):
    """Relative attention and feed-forward; each residual sum is followed by its norm."""

    def __init__(self, config: RelativeConfig):
        super().__init__()
        self.activation = ACTIVATIONS[config.activation]
        self.attention = RelativeAttention(config)
        self.attention_norm = nn.LayerNorm(config.width, eps=config.norm_epsilon)
        self.up = nn.Linear(config.width, config.feed_forward)
        self.down = nn.Linear(config.feed_forward, config.width)
        self.feed_forward_norm = nn.LayerNorm(config.width, eps=config.norm_epsilon)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, x: Tensor, source: Tensor, table: Tensor, mask: Tensor, at: Tensor | None = None
    ) -> Tensor:
        """(batch, queries, width) to the same; see `RelativeAttention.forward`."""
        x = self.attention_norm(x + self.dropout(self.attention(x, source, table, mask, at)))
        inner = self.dropout(self.activation(self.up(x)))
        return self.feed_forward_norm(x + self.dropout(self.down(inner)))


class TransformerXL(EngineMethods, nn.Module):
    """Token ids and a memory to logits and the next memory; the head shares the embedding matrix.

        memory = None
        for segment in tokens.split(length, dim=1):
            logits, memory = model(segment, memory=memory)

    Blocks are post-norm, as in the paper. Its adaptive softmax is not used, and embeddings are not
    multiplied by √width, which its code does and its formulas do not.
    """

    config: Any  # a RelativeConfig

    def __init__(self, config: RelativeConfig):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocabulary_size, config.width)
        self.blocks = nn.ModuleList(RelativeBlock(config) for _ in range(config.layers))
        self.dropout = nn.Dropout(config.dropout)
        self.head_bias = (
            nn.Parameter(torch.zeros(config.vocabulary_size)) if config.head_bias else None
        )
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)

    def distance_table(self, length: int, past: int) -> Tensor:
        """The sinusoids of all distances from a segment's queries to its keys, in falling order.

        `length` is the segment's, `past` the memory's. The first distance is that of
        `relative_shift`; the last is 0 if the model is causal, else 1 − `length`. Shape (distances,
        width).
        """
        keys, last = past + length, 0 if self.config.causal else 1 - length
        distances = torch.arange(keys, last - 1, -1, device=self.embedding.weight.device)
        table = sinusoids(distances, self.config.width).to(self.embedding.weight.dtype)
        return self.dropout(table)

    def hidden_states(
        self,
        tokens: Tensor,
        padding_mask: Tensor | None = None,
        *,
        memory: Memory | None = None,
    ) -> list[Tensor]:
        """(batch, length) ids to states (batch, length, width) of the embeddings and each block.

        `padding_mask` is boolean, (batch, length), True = token; None if there is no padding. Every
        query may attend to the whole memory.
        """
        memory = self.checked(memory, len(tokens))
        past, length = memory[0].shape[1], tokens.shape[1]
        mask = torch.ones(1, 1, length, length, dtype=torch.bool, device=tokens.device)
        if self.config.causal:
            mask = mask & causal_mask(length, tokens.device)
        if padding_mask is not None:
            mask = mask & padding_mask[:, None, None, :]
        mask, table = F.pad(mask, (past, 0), value=True), self.distance_table(length, past)
        states = [self.dropout(self.embedding(tokens))]
        for block, kept in zip(self.blocks, memory, strict=True):
            source = torch.cat([kept, states[-1]], dim=1)
            states.append(block(states[-1], source, table, mask))
        return states

    def hidden(
        self,
        tokens: Tensor,
        padding_mask: Tensor | None = None,
        *,
        memory: Memory | None = None,
    ) -> Tensor:
        """(batch, length) ids to (batch, length, width), after the last block."""
        return self.dropout(self.hidden_states(tokens, padding_mask, memory=memory)[-1])

    def checked(self, memory: Memory | None, rows: int) -> Memory:
        """The memory; if it is None, one of length 0 for that number of rows.

        Raises ValueError unless it has one tensor for each layer, and as many rows.
        """
        if memory is None:
            return [self.embedding.weight.new_zeros(rows, 0, self.config.width)] * len(self.blocks)
        if len(memory) != len(self.blocks) or len(memory[0]) != rows:
            raise ValueError(
                f"expected a memory of {len(self.blocks)} layers and {rows} rows, got "
                f"{len(memory)} and {len(memory[0])}; pass on what the model returned with the "
                "segment before"
            )
        return memory

    def remember(self, states: Sequence[Tensor], memory: Memory | None = None) -> Memory:
        """The next memory: the last `memory_length` inputs of each layer, without gradients.

        `states` are those of `hidden_states`; `memory` is the one that they were computed with.
        """
        memory, new = self.checked(memory, len(states[0])), []
        for kept, inputs in zip(memory, states[:-1], strict=True):
            both = torch.cat([kept, inputs], dim=1)
            first = max(0, both.shape[1] - self.config.memory_length)
            new.append(both[:, first:].detach())
        return new

    @property
    def output_layer(self) -> tuple[Tensor, Tensor | None]:  # type: ignore[override]
        """The matrix (vocabulary, width), shared with the embedding, and the bias of the logits."""
        return self.embedding.weight, self.head_bias

    def logits(self, hidden_states: Tensor) -> Tensor:
        """(..., width) hidden states to (..., vocabulary) logits."""
        return F.linear(hidden_states, *self.output_layer)

    def forward(
        self,
        tokens: Tensor,
        padding_mask: Tensor | None = None,
        *,
        memory: Memory | None = None,
    ) -> tuple[Tensor, Memory]:
        """(batch, length) ids to (batch, length, vocabulary) logits, and the next memory."""
        states = self.hidden_states(tokens, padding_mask, memory=memory)
        return self.logits(self.dropout(states[-1])), self.remember(states, memory)

"""DeBERTa: attention in which content and position stay apart, and late absolute positions.

Source: He et al. (2021), "DeBERTa: Decoding-enhanced BERT with Disentangled Attention", version 1.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tlcourse.transformer.attention import Attention, additive, explicit_attention
from tlcourse.transformer.config import Config
from tlcourse.transformer.model import Block, Transformer


def clipped_distances(length: int, reach: int, device: torch.device | None = None) -> Tensor:
    """The row δ(i, j) of the table of distances for query i and key j: (length, length).

    The table has 2 · `reach` rows: i − j + reach, clipped to the first and the last row.
    """
    places = torch.arange(length, device=device)
    return (places[:, None] - places + reach).clamp(0, 2 * reach - 1)


class DisentangledAttention(Attention):
    """Multi-head attention in which a score is the sum of three terms.

        content to content    q_i · k_j
        content to position   q_i · k'_δ       what stands at the distance that this word cares for
        position to content   q'_δ · k_j       which words matter at this distance

    q, k are linear in the states; q', k' are linear in the embedding of the clipped distance
    δ(i, j). The sum is divided by √(3 head_dim), so that its variance is that of one term. The
    paper writes δ(j, i) in the third term, but its code and its released weights have δ(i, j).
    Keys have no bias. There is no cache and no prefix.
    """

    def __init__(self, config: Config):
        super().__init__(config)
        del self.prefix  # so that an edit that adds one is refused
        self.key = nn.Linear(config.width, config.width, bias=False)
        self.distance_key = nn.Linear(config.width, config.width, bias=False)
        self.distance_query = nn.Linear(config.width, config.width)

    def split(self, x: Tensor) -> Tensor:
        """(..., length, width) to (..., heads, length, head_dim)."""
        return x.unflatten(-1, (self.config.heads, -1)).transpose(-3, -2)

    def position_scores(self, query: Tensor, key: Tensor, table: Tensor) -> Tensor:
        """The second and the third term, not yet scaled: (batch, heads, queries, keys).

        `query` and `key` are (batch, heads, length, head_dim); `table` is (2 reach, width).
        """
        row = clipped_distances(query.shape[-2], len(table) // 2, query.device)
        distance_key = self.split(self.distance_key(table))
        distance_query = self.split(self.distance_query(table))
        to_position = query @ distance_key.transpose(-2, -1)  # (batch, heads, queries, 2 reach)
        to_content = key @ distance_query.transpose(-2, -1)  # (batch, heads, keys, 2 reach)
        shape = *query.shape[:-1], query.shape[-2]
        to_position = to_position.gather(-1, row.expand(shape))
        to_content = to_content.gather(-1, row.T.expand(shape))
        return to_position + to_content.transpose(-2, -1)

    def forward(  # type: ignore[override]
        self, x: Tensor, mask: Tensor | None, table: Tensor, source: Tensor | None = None
    ) -> Tensor:
        """(batch, length, width) to the same; `table` (2 reach, width) embeds the distances.

        The keys and values come from `source`, of the same shape as `x`; None: from `x`.
        """
        keys_from = x if source is None else source
        table = self.dropout(table)
        query, key = self.split(self.query(x)), self.split(self.key(keys_from))
        value = self.split(self.value(keys_from))
        added = self.position_scores(query, key, table) / (3 * query.shape[-1]) ** 0.5
        query = query / 3**0.5  # what remains, √head_dim, the kernels divide by
        if mask is not None:
            added = added + (additive(mask, added.dtype) if mask.dtype == torch.bool else mask)
        if self.kernel == "sdpa":
            mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=added)
        else:
            mixed, weights = explicit_attention(query, key, value, added, change=self.change)
            if self.kernel == "record":
                self.weights = weights.detach()
        return self.dropout(self.output(mixed.transpose(1, 2).flatten(2)))


class DisentangledBlock(Block):
    """A post-norm block with disentangled attention, whose queries may be other states."""

    def __init__(self, config: Config):
        super().__init__(config)
        self.attention = DisentangledAttention(config)

    def forward(  # type: ignore[override]
        self, x: Tensor, mask: Tensor | None, table: Tensor, source: Tensor | None = None
    ) -> Tensor:
        """(batch, length, width) to the same; see `DisentangledAttention.forward`."""
        here = self.attention_norm(x + self.attention(x, mask, table, source))
        return self.feed_forward_norm(here + self.feed_forward(here))


class Deberta(Transformer):
    """A bidirectional, post-norm `Transformer` whose attention is disentangled.

    Distances are clipped to `reach`. The blocks know no absolute positions. `hidden` has the states
    of the last block, as for fine-tuning. `forward` predicts tokens, and for that the enhanced mask
    decoder adds the absolute positions late: see `decoded`. Raises ValueError for a configuration
    that is causal, pre-norm or rotary, or has query-key norm or cross-attention.
    """

    def __init__(self, config: Config, attention: str = "sdpa", *, reach: int = 512):
        wrong = ("causal", "norm_first", "rotary", "qk_norm", "cross_attention")
        if found := [name for name in wrong if getattr(config, name)]:
            raise ValueError(
                f"expected a configuration without {', '.join(found)}; start from bert(...)"
            )
        super().__init__(config)
        self.blocks = nn.ModuleList(  # type: ignore[assignment]
            DisentangledBlock(config) for _ in range(config.layers)
        )
        self.distances = nn.Embedding(2 * reach, config.width)
        self.late_positions = nn.Embedding(config.max_length, config.width)
        self.positions = None
        self.set_attention(attention)
        self.apply(self._initialise)

    def _inputs(
        self,
        tokens: Tensor,
        padding_mask: Tensor | None,
        types: Tensor | None = None,
        causal: Tensor | None = None,
    ) -> tuple:
        """The inputs of the blocks: embeddings, mask and the embeddings of the distances."""
        x, mask, _ = super()._inputs(tokens, padding_mask, types, causal)
        return x, mask, self.distances.weight

    def decoded(
        self, tokens: Tensor, padding_mask: Tensor | None = None, *, types: Tensor | None = None
    ) -> Tensor:
        """(batch, length) ids to the states (batch, length, width) of the enhanced mask decoder.

        It is the last block, applied twice. Its keys and values are the states H before the last
        block. Its queries are at first H plus the absolute positions, then its own first output.
        """
        x, mask, table = self._inputs(tokens, padding_mask, types)
        *earlier, last = self.blocks
        for block in earlier:
            x = block(x, mask, table)
        query = x + self.late_positions.weight[: tokens.shape[1]]
        for _ in range(2):
            query = last(query, mask, table, x)
        return query

    def forward(
        self, tokens: Tensor, padding_mask: Tensor | None = None, *, types: Tensor | None = None
    ) -> Tensor:
        """(batch, length) ids to (batch, length, vocabulary) logits, from `decoded`."""
        return self.logits(self.decoded(tokens, padding_mask, types=types))

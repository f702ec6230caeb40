"""XLNet: a language model over every order of the tokens, computed with two streams of attention.

Source: Yang et al. (2019), "XLNet: Generalized Autoregressive Pretraining for Language
Understanding". A factorisation order z of n positions writes the probability of a text as

    p(x) = p(x_z1) · p(x_z2 | x_z1) · ... · p(x_zn | x_z1, ..., x_z(n−1))

The tokens keep their places in the text; only the masks of attention follow the order. A position
needs two states in each layer. Its **content** state knows its own token, because later positions
of the order read it. Its **query** state must not know it, because it predicts it.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tlcourse.transformer.relative import Memory, RelativeConfig, TransformerXL


def order_masks(order: Tensor) -> tuple[Tensor, Tensor]:
    """Factorisation orders to the masks of the content and of the query stream.

    `order` (batch, length) lists positions: `order[b, t]` is predicted at step t of row b. Both
    masks are (batch, length, length), True where position i (row) may attend to position j
    (column): j comes before i in the order, or, in the content stream only, is i itself. Raises
    ValueError if a row is not a permutation.
    """
    positions = torch.arange(order.shape[-1], device=order.device)
    if order.ndim != 2 or not (order.sort(-1).values == positions).all():
        raise ValueError(
            "expected an order (batch, length) whose rows are permutations of the positions, got "
            f"{order.tolist() if order.numel() < 20 else tuple(order.shape)}; "
            "torch.rand(batch, length).argsort(-1) draws one for each row"
        )
    step = order.argsort(-1)  # (batch, length): when each position is predicted
    asks, answers = step[:, :, None], step[:, None, :]
    return answers <= asks, answers < asks


class XLNet(TransformerXL):
    """A bidirectional Transformer-XL with a second stream of attention, which predicts.

    `model(tokens)` has the content stream alone, in which every position attends to every other, as
    in fine-tuning. `model(tokens, order=order)` predicts each token from those before it in the
    order. Both streams share all weights; the query stream starts from one learned vector. The
    first position of an order has nothing to attend to unless there is a memory, so its attention
    adds 0. Segment encodings are left out.
    """

    def __init__(self, config: RelativeConfig):
        if config.causal:
            raise ValueError(
                "expected a configuration with causal=False, got causal=True; an XLNet's masks "
                "come from the order"
            )
        super().__init__(config)
        self.query_vector = nn.Parameter(0.02 * torch.randn(config.width))

    def streams(
        self,
        tokens: Tensor,
        order: Tensor,
        *,
        at: Tensor | None = None,
        memory: Memory | None = None,
        padding_mask: Tensor | None = None,
    ) -> tuple[list[Tensor], list[Tensor]]:
        """The content states (batch, length, width) and the query states of every layer.

        Each list begins with the inputs of the first block. The query states are computed only at
        the positions `at` (batch, targets), which may differ from row to row; None: at all.
        `padding_mask` (batch, length) is True = token.
        """
        batch, length = tokens.shape
        memory = self.checked(memory, batch)
        past = memory[0].shape[1]
        content_mask, query_mask = order_masks(order)
        if padding_mask is not None:
            content_mask = content_mask & padding_mask[:, None, :]
            query_mask = query_mask & padding_mask[:, None, :]
        if at is None:
            at = torch.arange(length, device=tokens.device).expand(batch, -1)
        query_mask = query_mask.gather(1, at[:, :, None].expand(-1, -1, length))
        content_mask, query_mask = (
            F.pad(mask[:, None], (past, 0), value=True) for mask in (content_mask, query_mask)
        )
        table = self.distance_table(length, past)
        contents = [self.dropout(self.embedding(tokens))]
        queries = [self.dropout(self.query_vector.expand(*at.shape, -1))]
        for block, kept in zip(self.blocks, memory, strict=True):
            source = torch.cat([kept, contents[-1]], dim=1)
            contents.append(block(contents[-1], source, table, content_mask))
            queries.append(block(queries[-1], source, table, query_mask, past + at))
        return contents, queries

    def forward(
        self,
        tokens: Tensor,
        padding_mask: Tensor | None = None,
        *,
        order: Tensor | None = None,
        at: Tensor | None = None,
        memory: Memory | None = None,
    ) -> tuple[Tensor, Memory]:
        """(batch, length) ids to logits and the next memory, which is that of the content stream.

        The logits are (batch, length, vocabulary), or (batch, targets, vocabulary) if positions
        `at` (batch, targets) are chosen. With an `order` (batch, length) they predict the tokens;
        without one they are computed from all tokens, the one at the position included. Raises
        ValueError for positions without an order.
        """
        if order is None:
            if at is not None:
                raise ValueError("expected an order with `at`, got none; pass both or neither")
            return super().forward(tokens, padding_mask, memory=memory)
        contents, queries = self.streams(
            tokens, order, at=at, memory=memory, padding_mask=padding_mask
        )
        return self.logits(self.dropout(queries[-1])), self.remember(contents, memory)

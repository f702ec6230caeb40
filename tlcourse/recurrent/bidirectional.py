"""ELMo's language model: two LSTMs, one for each direction (Peters et al., 2018)."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

import torch
from torch import Tensor, nn

from tlcourse.recurrent.config import BiLSTMConfig, LSTMConfig
from tlcourse.recurrent.model import LSTM, LSTMLayer, check_padding


class BiLSTMLayer(nn.Module):
    """The layers of the two directions, side by side: neither reads the states of the other."""

    def __init__(self, forward_layer: LSTMLayer, backward_layer: LSTMLayer):
        super().__init__()
        self.forward_layer, self.backward_layer = forward_layer, backward_layer

    def forward(self, x: Tensor, padding_mask: Tensor | None = None) -> Tensor:
        """(batch, length, inputs) to (batch, length, width), both directions together."""
        before, after = x.chunk(2, dim=-1)
        backward = mirrored(self.backward_layer(mirrored(after, padding_mask)), padding_mask)
        return torch.cat([self.forward_layer(before), backward], dim=-1)

    compile = LSTMLayer.compile


class BiLSTM(nn.Module):
    """A forward and a backward language model that share the embedding, and so the head.

    Each is an `LSTM`: the backward one reads a text from its end. Their layers do not see each
    other, so that neither sees what it predicts; only the states that the model returns are
    concatenations of both. ELMo's directions also have a residual connection between their layers,
    and their words are encoded from characters (see `CharacterEncoder`).
    """

    def __init__(self, config: BiLSTMConfig):
        super().__init__()
        self.config = config
        each = LSTMConfig(**asdict(config) | {"width": config.width // 2})
        self.forward_lm, self.backward_lm = LSTM(each), LSTM(each)
        self.backward_lm.embedding = self.forward_lm.embedding
        pairs = zip(self.forward_lm.blocks, self.backward_lm.blocks, strict=True)
        self.blocks: Sequence[BiLSTMLayer] = nn.ModuleList(  # type: ignore[assignment]
            BiLSTMLayer(*pair) for pair in pairs
        )

    @property
    def embedding(self) -> nn.Embedding:
        """The embedding of both directions."""
        return self.forward_lm.embedding

    def hidden_states(self, tokens: Tensor, padding_mask: Tensor | None = None) -> list[Tensor]:
        """(batch, length) ids to the embeddings and the states of each layer, in both directions.

        They are (batch, length, size), first the forward then the backward direction's, and of
        twice the sizes of `LSTM.hidden_states`. `padding_mask` is boolean, (batch, length), True =
        token; None if there is no padding. Raises ValueError for padding that is not at the end.
        """
        check_padding(padding_mask, tokens)
        embedded = self.forward_lm.embed(tokens), self.backward_lm.embed(tokens)
        states = [torch.cat(embedded, dim=-1)]
        for block in self.blocks:
            states.append(block(states[-1], padding_mask))
        return states

    def hidden(self, tokens: Tensor, padding_mask: Tensor | None = None) -> Tensor:
        """(batch, length) ids to the states of the last layer, (batch, length, width)."""
        return self.hidden_states(tokens, padding_mask)[-1]

    def hidden_at(
        self, tokens: Tensor, padding_mask: Tensor | None = None, *, at: Tensor
    ) -> Tensor:
        """The hidden states at position `at` (batch,) of each row: (batch, width)."""
        return self.hidden(tokens, padding_mask)[torch.arange(len(at), device=at.device), at]

    def forward(self, tokens: Tensor, padding_mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """(batch, length) ids to logits (batch, length, vocabulary) of both directions.

        At each position, the first are those of the next token, the second of the one before.
        """
        forward, backward = self.hidden(tokens, padding_mask).chunk(2, dim=-1)
        return self.forward_lm.logits(forward), self.backward_lm.logits(backward)

    def set_attention(self, kernel: str) -> None:
        """Does nothing, because the model has no attention."""


def mirrored(x: Tensor, padding_mask: Tensor | None = None) -> Tensor:
    """Rows x (batch, length, ...) with their tokens in reverse order; padding remains at the end.

    `padding_mask` is (batch, length), True = token. Mirroring twice gives x.
    """
    if padding_mask is None:
        return x.flip(1)
    places = torch.arange(x.shape[1], device=x.device)
    ahead = padding_mask.sum(dim=1, keepdim=True) - 1 - places
    return x[torch.arange(len(x), device=x.device)[:, None], torch.where(ahead < 0, places, ahead)]


def padded_batches(
    rows: Sequence[Sequence[int]], at_once: int
) -> Iterator[tuple[list[int], Tensor, Tensor]]:
    """Rows of ids by length, `at_once` in a batch: their numbers, tokens and padding mask.

    Tokens and mask are (batch, longest), the mask True = token.
    """
    order = sorted(range(len(rows)), key=lambda number: len(rows[number]))
    for start in range(0, len(rows), at_once):
        numbers = order[start : start + at_once]
        ids = [torch.tensor(rows[number]) for number in numbers]
        tokens = nn.utils.rnn.pad_sequence(ids, batch_first=True)
        lengths = torch.tensor([len(row) for row in ids])
        yield numbers, tokens, torch.arange(tokens.shape[1]) < lengths[:, None]

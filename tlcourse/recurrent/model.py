"""An LSTM language model with the methods of a `Transformer`; with dropout it is AWD-LSTM.

Sources: Hochreiter & Schmidhuber (1997); Press & Wolf (2017, the embedding as the head); Merity et
al. (2018, AWD-LSTM).
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from tlcourse.recurrent.config import LSTMConfig

RECURRENT = "weight_hh_l0"  # PyTorch's name of the weights between the steps of a layer
LayerState = tuple[Tensor, Tensor]  # the hidden and the cell state, (1, batch, units) each
State = Sequence[LayerState]  # one for each layer


class LockedDropout(nn.Module):
    """Dropout of the same features at all positions of a row (Gal & Ghahramani, 2016)."""

    def __init__(self, rate: float):
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """(batch, length, features) to the same."""
        return x * F.dropout(x.new_ones(len(x), 1, x.shape[2]), self.rate, self.training)


class LSTMLayer(nn.Module):
    """One layer of `nn.LSTM`, then a projection if its units differ from `width`, then dropout.

    With `weight_drop`, that fraction of the recurrent weights is zero during training: the weights
    are dropped once for each forward pass, so all steps of a text share the mask (DropConnect; Wan
    et al., 2013). The forget gate starts with a bias of about 1 (Jozefowicz et al., 2015).
    """

    def __init__(
        self, inputs: int, units: int, width: int, *, weight_drop: float = 0.0, dropout: float = 0.0
    ):
        super().__init__()
        self.weight_drop = weight_drop
        self.lstm = nn.LSTM(inputs, units, batch_first=True)
        self.down = nn.Linear(units, width) if units != width else nn.Identity()
        self.dropout = LockedDropout(dropout)
        weight, recurrent, _, bias = self.lstm.parameters()
        nn.init.normal_(weight, std=inputs**-0.5)
        for gate in recurrent.data.chunk(4):  # input, forget, cell, output
            nn.init.orthogonal_(gate)
        nn.init.ones_(bias.data.chunk(4)[1])
        if isinstance(self.down, nn.Linear):
            nn.init.normal_(self.down.weight, std=units**-0.5)

    def read(self, x: Tensor, state: LayerState | None = None) -> tuple[Tensor, LayerState]:
        """(batch, length, inputs) to (batch, length, width), and the state after the last step.

        Without a `state` the first one is zero.
        """
        weight = self.lstm.get_parameter(RECURRENT)
        dropped = F.dropout(weight, self.weight_drop, self.training)
        x, state = functional_call(self.lstm, {RECURRENT: dropped}, (x, state))
        return self.dropout(self.down(x)), state

    def forward(self, x: Tensor) -> Tensor:
        """(batch, length, inputs) to (batch, length, width)."""
        return self.read(x)[0]

    def compile(self, *arguments: Any, **options: Any) -> None:
        """Does nothing, because PyTorch computes all steps of a layer in one operation already."""


class LSTM(nn.Module):
    """Token ids to hidden states to logits, from left to right; the head is the embedding matrix.

        state = None
        for piece in tokens.split(length, dim=1):           # a long text, read in pieces
            hidden, state = model.read(piece, state=state)
            logits = model.logits(hidden)

    All methods but `read` begin each row with a state of zero. The embeddings are drawn with a
    variance of 1 / width and multiplied by √width when they are read, so that both the inputs of
    the first layer and the logits have a variance of about 1. With PyTorch's own initialisation the
    context hardly reaches the head, and for a long time a model learns only how frequent words are.
    """

    def __init__(self, config: LSTMConfig):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocabulary_size, config.width)
        nn.init.normal_(self.embedding.weight, std=config.width**-0.5)
        self.input_dropout = LockedDropout(config.input_dropout)
        blocks, inputs = [], config.width
        for layer, units in enumerate(config.units, start=1):
            last = layer == config.layers
            width = config.width if last else units
            dropout = config.output_dropout if last else config.dropout
            blocks.append(
                LSTMLayer(inputs, units, width, weight_drop=config.weight_drop, dropout=dropout)
            )
            inputs = width
        self.blocks: Sequence[LSTMLayer] = nn.ModuleList(blocks)  # type: ignore[assignment]

    def embed(self, tokens: Tensor) -> Tensor:
        """(batch, length) ids to (batch, length, width).

        Embedding dropout drops a word wherever it occurs in the batch.
        """
        words = self.embedding.weight.new_ones(self.embedding.num_embeddings, 1)
        kept = F.dropout(words, self.config.embedding_dropout, self.training)
        return self.input_dropout(self.config.width**0.5 * self.embedding(tokens) * kept[tokens])

    def read(self, tokens: Tensor, *, state: State | None = None) -> tuple[Tensor, State]:
        """(batch, length) ids to hidden states (batch, length, width), and the state after them.

        The state has no gradients, and is that of the next piece of each row's text; None is the
        state before a text. Raises ValueError for a state of another number of layers or rows.
        """
        if state is None:
            before: Sequence[LayerState | None] = [None] * len(self.blocks)
        elif len(state) == len(self.blocks) and state[0][0].shape[1] == len(tokens):
            before = state
        else:
            raise ValueError(
                f"expected a state of {len(self.blocks)} layers and {len(tokens)} rows, got "
                f"{len(state)} and {state[0][0].shape[1]}; pass on what `read` returned with the "
                "piece before"
            )
        x, after = self.embed(tokens), []
        for block, start in zip(self.blocks, before, strict=True):
            x, (hidden, cell) = block.read(x, start)
            after.append((hidden.detach(), cell.detach()))
        return x, after

    def hidden_states(self, tokens: Tensor, padding_mask: Tensor | None = None) -> list[Tensor]:
        """(batch, length) ids to the embeddings and the states of each layer.

        They are (batch, length, size), where size is the width for the embeddings and for the last
        layer, and the layer's units for the others. `padding_mask` is boolean, (batch, length),
        True = token; it has no effect, because padding stands at the end and a state depends on
        the past alone. Raises ValueError for another mask.
        """
        check_padding(padding_mask, tokens)
        states = [self.embed(tokens)]
        for block in self.blocks:
            states.append(block(states[-1]))
        return states

    def hidden(self, tokens: Tensor, padding_mask: Tensor | None = None) -> Tensor:
        """(batch, length) ids to the states of the last layer, (batch, length, width)."""
        return self.hidden_states(tokens, padding_mask)[-1]

    def hidden_at(
        self, tokens: Tensor, padding_mask: Tensor | None = None, *, at: Tensor
    ) -> Tensor:
        """The hidden states at position `at` (batch,) of each row: (batch, width)."""
        return self.hidden(tokens, padding_mask)[torch.arange(len(at), device=at.device), at]

    def transformed(self, hidden_states: Tensor) -> Tensor:
        """The hidden states unchanged: nothing stands between them and the head."""
        return hidden_states

    @property
    def output_layer(self) -> tuple[Tensor, None]:
        """The matrix (vocabulary, width), shared with the embedding, and None for the bias."""
        return self.embedding.weight, None

    def logits(self, hidden_states: Tensor) -> Tensor:
        """(..., width) hidden states to (..., vocabulary) logits."""
        return F.linear(hidden_states, self.embedding.weight)

    def forward(self, tokens: Tensor, padding_mask: Tensor | None = None) -> Tensor:
        """(batch, length) ids to (batch, length, vocabulary) logits."""
        return self.logits(self.hidden(tokens, padding_mask))

    def set_attention(self, kernel: str) -> None:
        """Does nothing, because the model has no attention."""


def check_padding(padding_mask: Tensor | None, tokens: Tensor) -> None:
    """Raises ValueError unless the mask is None, or boolean, shaped as `tokens`, and ends in pads.

    That is, in each row no token may follow a pad.
    """
    if padding_mask is None:
        return
    if padding_mask.dtype != torch.bool or padding_mask.shape != tokens.shape:
        raise ValueError(
            f"expected a boolean padding mask (True = token) of shape {tuple(tokens.shape)}, got "
            f"{padding_mask.dtype} of shape {tuple(padding_mask.shape)}; `.bool()` turns ones and "
            "zeros into one"
        )
    if (padding_mask[:, 1:] & ~padding_mask[:, :-1]).any():
        raise ValueError(
            "expected padding at the end of each row, got a token after a pad, which a recurrent "
            "model would read; use `batching.pad`"
        )

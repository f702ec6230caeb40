"""Models that read one vector of a text: a pooling of its hidden states."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from tlcourse.adaptation import windows
from tlcourse.adaptation.task_model import TaskModel
from tlcourse.checkpoints import AnyTokenizer, Body

READ_AT = ("classification token", "last token")  # of one position
POOLINGS = (*READ_AT, "mean", "concatenation")


class Pooled(TaskModel):
    """A body, a pooling of its hidden states, one linear layer.

    Raises ValueError for a pooling that is not in POOLINGS.
    """

    def __init__(
        self, body: Body, tokenizer: AnyTokenizer, *, outputs: int, pooling: str, **more: Any
    ):
        if pooling not in POOLINGS:
            raise ValueError(f"expected a pooling out of {', '.join(POOLINGS)}, got {pooling!r}")
        features = 3 if pooling == "concatenation" else 1
        super().__init__(body, tokenizer, features=features, outputs=outputs, **more)
        self.pooling = pooling

    def pool(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Returns (batch, width) features of (batch, length, width) hidden states.

        `mask` is (batch, length), True = token. "concatenation" gives (batch, 3 * width): the last
        token, the maximum and the mean over the words (Howard & Ruder, 2018).
        """
        rows, places = (torch.arange(size, device=mask.device) for size in mask.shape)
        if self.pooling in READ_AT:
            return hidden[rows, self._read_at(mask)]
        frame, ends = self.frame, self._ends(mask)
        words = (places >= len(frame.before)) & (places < ends[:, None])
        ignored = ~words[:, :, None]
        kept = hidden.masked_fill(ignored, 0.0)  # so that a NaN in a pad does not matter
        mean = kept.sum(dim=1) / words.sum(dim=1, keepdim=True)
        if self.pooling == "mean":
            return mean
        largest = hidden.masked_fill(ignored, -torch.inf).amax(dim=1)
        return torch.cat([hidden[rows, ends - 1], largest, mean], dim=-1)

    def _read_at(self, mask: Tensor) -> Tensor:
        """Returns (batch,) positions: the one whose hidden state the pooling takes."""
        ends = self._ends(mask)
        if self.pooling == "last token":
            return ends - 1
        return torch.zeros_like(ends) if self.frame.before else ends

    def features(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Returns what `classify` takes, of (batch, length) tokens and mask, True = token.

        That is (batch, width), or three times the width for "concatenation"; with a mix (batch,
        layers + 1, ...), each layer normalised. Texts that are longer than the body's maximum are
        read in windows, see `windows`.
        """
        longest = self.body.config.max_length
        if tokens.shape[1] > longest:
            frame, pad_id = self.frame, self.pad
            *parts, owner = windows.split(tokens, mask, longest, frame=frame, pad_id=pad_id)
            return windows.averaged(self.features(*parts), owner)
        types = self._types(tokens)
        if self.mix is None and self.pooling in READ_AT:  # no other position is needed
            return self.body.hidden_at(tokens, mask, at=self._read_at(mask), **types)
        if self.mix is None:
            return self.pool(self.body.hidden(tokens, mask, **types), mask)
        states = self.body.hidden_states(tokens, mask, **types)
        return torch.stack(
            [self.pool(F.layer_norm(state, state.shape[-1:]), mask) for state in states], dim=1
        )

    def mixed(self, features: Tensor) -> Tensor:
        """Returns features, (batch, width), in which the layers are averaged if there is a mix."""
        return features if self.mix is None else self.mix(features.unbind(dim=1))

    def classify(self, features: Tensor) -> Tensor:
        """Returns (batch, labels) logits of features."""
        return super().classify(self.mixed(features))

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Returns (batch, labels) logits of (batch, length) tokens and mask, True = token."""
        return self.classify(self.features(tokens, mask))


class PooledTexts(Pooled):
    """A `Pooled` model whose examples have several texts, each of which is read alone."""

    def stack(self, sequences: Sequence[Any]) -> tuple[Tensor, Tensor]:
        """Returns padded tokens, (batch, texts, length), and their mask, True = token."""
        tokens, mask = super().stack([ids for texts in sequences for ids in texts])
        shape = (len(sequences), -1, tokens.shape[1])
        return tokens.view(shape), mask.view(shape)

    def features(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Returns (batch, texts, ...) features of what `stack` returns."""
        features = super().features(tokens.flatten(0, 1), mask.flatten(0, 1))
        return features.unflatten(0, tokens.shape[:2])

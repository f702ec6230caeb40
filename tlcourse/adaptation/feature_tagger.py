"""A tagger that reads frozen states: their mix, a bidirectional LSTM, a linear layer.

Peters et al. (2018) and Akbik et al. (2018) tag so, with a conditional random field on top, which
is left out here. The states are computed once, so any model can be compared with any other.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tlcourse import device
from tlcourse.adaptation.edits import Mix
from tlcourse.adaptation.tagger import IGNORED
from tlcourse.batching import bucket_batches
from tlcourse.device import Compute
from tlcourse.recurrent import BiLSTMLayer, LSTMLayer
from tlcourse.spans import to_bio

MIX_FACTOR = 10  # of the learning rate: the mix has one number a layer, which must go far


class FeatureTagger(nn.Module):
    """Tags for the words of sentences, given their states, (layers, words, width) for each.

    The layers are normalised and mixed with learnt weights (`Mix`), projected to 2 · `units`, read
    in both directions and scored. `tags` are in BIO.
    """

    def __init__(
        self, layers: int, width: int, tags: Sequence[str], *, units: int = 64, dropout: float = 0.2
    ):
        super().__init__()
        self.tags = [*tags]
        self.mix, self.dropout = Mix(layers), nn.Dropout(dropout)
        self.down = nn.Linear(width, 2 * units)
        each = [LSTMLayer(2 * units, units, units) for _ in range(2)]
        self.directions = BiLSTMLayer(*each)
        self.head = nn.Linear(2 * units, len(tags))

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """(batch, layers, length, width), mask (batch, length), True = word, to scores of tags."""
        layers = F.layer_norm(states, states.shape[-1:]).unbind(dim=1)
        x = self.down(self.dropout(self.mix(layers)))
        x = self.directions(torch.cat([x, x], dim=-1), mask)
        return self.head(self.dropout(x))

    def loss(self, batch: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, int]:
        """The sum of nats over the words of a batch (states, mask, targets), and their number."""
        states, mask, targets = batch
        scores = self(states, mask).flatten(0, 1)
        nats = F.cross_entropy(scores, targets.flatten(), reduction="sum", ignore_index=IGNORED)
        return nats, int(mask.sum())

    def fit(
        self,
        states: Sequence[Tensor],
        tags: Sequence[Sequence[str]],
        *,
        epochs: int = 6,
        learning_rate: float = 3e-3,
        batch_size: int = 8,
        seed: int = 0,
        compute: Compute | None = None,
    ) -> list[dict]:
        """Trains it in place, at a rate that falls to 0; returns the history of `training.train`.

        Raises ValueError for other numbers of tags than of words, and for unknown tags.
        """
        from tlcourse.training import train

        targets = []
        for row, (of_words, those) in enumerate(zip(tags, states, strict=True)):
            if len(of_words) != those.shape[1] or not {*of_words} <= {*self.tags}:
                raise ValueError(
                    f"expected a tag out of {self.tags} for each of {those.shape[1]} words, got "
                    f"{[*of_words]} in sentence {row}"
                )
            targets.append(torch.tensor([self.tags.index(tag) for tag in of_words]))
        lengths = [len(row) for row in targets]
        order = [
            batch
            for epoch in range(epochs)
            for batch in bucket_batches(lengths, batch_size, seed, epoch)
        ]

        def batch(step: int) -> tuple[Tensor, Tensor, Tensor]:
            rows = order[step]
            padded = nn.utils.rnn.pad_sequence(
                [targets[row] for row in rows], batch_first=True, padding_value=IGNORED
            )
            return *stacked([states[row] for row in rows]), padded

        mix = [*self.mix.parameters()]
        others = [p for name, p in self.named_parameters() if not name.startswith("mix.")]
        groups: list[dict[str, Any]] = [
            {"params": others},
            {"params": mix, "lr": MIX_FACTOR * learning_rate},
        ]
        return train(
            self,
            FeatureTagger.loss,
            batch,
            steps=len(order),
            optimizers=[torch.optim.AdamW(groups, lr=learning_rate, weight_decay=0.0)],
            schedule=lambda step: 1 - step / len(order),
            compute=compute or device.choose(),
            seed=seed,
        )

    @torch.no_grad()
    def predict(self, states: Sequence[Tensor], *, at_once: int = 64) -> list[list[str]]:
        """The likeliest tag of each word of each sentence, repaired to BIO; in evaluation mode."""
        self.eval()
        found: list[list[str]] = []
        where = self.head.weight.device
        for start in range(0, len(states), at_once):
            some = states[start : start + at_once]
            inputs, mask = (each.to(where) for each in stacked(some))
            best = self(inputs, mask).argmax(dim=-1).tolist()
            found += [
                to_bio([self.tags[number] for number in row[: each.shape[1]]])
                for row, each in zip(best, some, strict=True)
            ]
        return found


def stacked(states: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """States (layers, words, width) of sentences as (sentences, layers, longest, width), and mask.

    The mask is (sentences, longest), True = word.
    """
    lengths = torch.tensor([each.shape[1] for each in states])
    longest = int(lengths.max())
    padded = [F.pad(each.float(), (0, 0, 0, longest - each.shape[1])) for each in states]
    return torch.stack(padded), torch.arange(longest) < lengths[:, None]

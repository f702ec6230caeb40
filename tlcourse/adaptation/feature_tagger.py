"""A tagger that reads frozen states: their mix, and a linear layer.

Peters et al. (2018) and Akbik et al. (2018) put a recurrent network and a conditional random field
on top. Without them, what the tagger knows of the context is what the states know. The states are
computed once, so any model can be compared with any other.
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
from tlcourse.spans import to_bio

MIX_FACTOR = 10  # of the learning rate: the mix has one number a layer, which must go far


class FeatureTagger(nn.Module):
    """Tags for the words of sentences, given their states, (layers, words, width) for each.

    Each feature of each layer is standardised: `fit` measures its mean and deviation over the words
    it learns from. The layers are mixed with learnt weights (`Mix`), and a linear layer scores the
    `tags`, which are in BIO. As most words are outside of entities, a word of an entity counts
    `entity_weight` times in the loss.
    """

    def __init__(
        self,
        layers: int,
        width: int,
        tags: Sequence[str],
        *,
        dropout: float = 0.2,
        entity_weight: float = 10.0,
    ):
        super().__init__()
        self.tags, self.entity_weight = [*tags], entity_weight
        self.mix, self.dropout = Mix(layers), nn.Dropout(dropout)
        self.head = nn.Linear(width, len(tags))
        self.mean: Tensor
        self.deviation: Tensor
        self.register_buffer("mean", torch.zeros(layers, 1, width))
        self.register_buffer("deviation", torch.ones(layers, 1, width))

    def forward(self, states: Tensor) -> Tensor:
        """(batch, layers, length, width) to (batch, length, tags) scores."""
        standard = (states - self.mean) / self.deviation
        return self.head(self.dropout(self.mix(standard.unbind(dim=1))))

    def loss(self, batch: tuple[Tensor, Tensor]) -> tuple[Tensor, int]:
        """The weighted sum of nats over the words of a batch (states, targets), and their number.

        `targets` (batch, length) are IGNORED where a sentence has ended.
        """
        states, targets = batch
        counts = [1.0 if tag == "O" else self.entity_weight for tag in self.tags]
        nats = F.cross_entropy(
            self(states).flatten(0, 1),
            targets.flatten(),
            weight=torch.tensor(counts, device=states.device),
            reduction="sum",
            ignore_index=IGNORED,
        )
        return nats, int((targets != IGNORED).sum())

    def fit(
        self,
        states: Sequence[Tensor],
        tags: Sequence[Sequence[str]],
        *,
        epochs: int = 8,
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
        of_all = torch.cat([*states], dim=1).float()
        self.mean.copy_(of_all.mean(dim=1, keepdim=True))
        self.deviation.copy_(of_all.std(dim=1, keepdim=True).clamp(min=1e-5))
        lengths = [len(row) for row in targets]
        order = [
            batch
            for epoch in range(epochs)
            for batch in bucket_batches(lengths, batch_size, seed, epoch)
        ]

        def batch(step: int) -> tuple[Tensor, Tensor]:
            rows = order[step]
            padded = nn.utils.rnn.pad_sequence(
                [targets[row] for row in rows], batch_first=True, padding_value=IGNORED
            )
            return stacked([states[row] for row in rows]), padded

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
            best = self(stacked(some).to(where)).argmax(dim=-1).tolist()
            found += [
                to_bio([self.tags[number] for number in row[: each.shape[1]]])
                for row, each in zip(best, some, strict=True)
            ]
        return found


def stacked(states: Sequence[Tensor]) -> Tensor:
    """States (layers, words, width) of sentences as (sentences, layers, longest, width)."""
    longest = max(each.shape[1] for each in states)
    return torch.stack([F.pad(each.float(), (0, 0, 0, longest - each.shape[1])) for each in states])

"""How similar two texts are, as a number: a body that reads both, and a linear layer.

Radford et al. (2018) read a pair in both orders, because similarity has none.
"""

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn import functional as F

from tlcourse import checkpoints, device
from tlcourse.adaptation.examples import by_length, encode, listed
from tlcourse.adaptation.knobs import short
from tlcourse.adaptation.pooled import Pooled
from tlcourse.checkpoints import AnyTokenizer, Body
from tlcourse.device import Compute

Pair = tuple[str, str]


def listed_pairs(pairs: Iterable[Pair]) -> list[Pair]:
    """Returns pairs of texts as a list; raises ValueError, naming the row, for a single text."""
    found = listed(pairs, "pairs of texts")
    for row, pair in enumerate(found):
        if isinstance(pair, str):
            raise ValueError(f"expected a pair of texts in row {row}, got {short(pair)}")
    return found


class Rated(Pooled):
    """A Transformer that returns a number from `low` to `high`, trained by squared error.

    Raises ValueError for a pooling that is not in POOLINGS, and unless `low` is below `high`.
    """

    SETTINGS = ("low", "high", "pooling")

    def __init__(
        self,
        body: Body,
        tokenizer: AnyTokenizer,
        *,
        low: float = 0.0,
        high: float = 1.0,
        pooling: str = "mean",
        dropout: float = 0.1,
    ):
        if not low < high:
            raise ValueError(f"expected a low number below the high one, got {low} and {high}")
        super().__init__(body, tokenizer, outputs=1, pooling=pooling, dropout=dropout)
        self.low, self.high = low, high

    def scaled(self, numbers: Iterable[float]) -> Tensor:
        """Returns (numbers,) where `low` is 0 and `high` is 1.

        Raises ValueError, naming the row, for a number that is not from `low` to `high`.
        """
        found = listed(numbers, "numbers")
        for row, number in enumerate(found):
            if not isinstance(number, int | float) or not self.low <= number <= self.high:
                raise ValueError(
                    f"expected a number from {self.low} to {self.high} in row {row}, got "
                    f"{short(number)}; give low= and high= of your scale"
                )
        return (torch.tensor(found, dtype=torch.float32) - self.low) / (self.high - self.low)

    def numbers(self, scores: Tensor) -> list[float]:
        """Returns the numbers of scores (rows,) in which `low` is 0 and `high` is 1."""
        return (self.low + (self.high - self.low) * scores.clamp(0, 1)).tolist()

    def loss(self, scores: Tensor, targets: Tensor) -> tuple[Tensor, int]:
        """Returns the sum of squared differences from the targets, and the number of rows."""
        return F.mse_loss(scores[:, 0], targets, reduction="sum"), len(targets)


class Similarity(Rated):
    """A Transformer that reads a pair of texts and returns a number from `low` to `high`.

    It is trained on both orders of each pair, and predicts the mean of both. Raises ValueError, see
    `Rated`.
    """

    task = "pairs"

    def encode(self, pairs: Iterable[Pair]) -> list[list[int]]:
        """Returns the ids of each pair in both orders: the first, swapped, the second, and so on.

        Raises ValueError, naming the row, for anything but pairs of texts.
        """
        pairs, most = listed_pairs(pairs), self.body.config.max_length
        orders = pairs, [pair[::-1] for pair in pairs]
        encoded = (encode(order, self.tokenizer, most) for order in orders)
        return [ids for both in zip(*encoded, strict=True) for ids in both]

    def examples(
        self, texts: Iterable[Pair], answers: Iterable[float]
    ) -> tuple[list[list[int]], Tensor]:
        """Returns the ids of each pair in both orders, and their targets, from 0 to 1.

        Raises ValueError, naming the row, for a number that is not from `low` to `high`.
        """
        return self.encode(texts), self.scaled(answers).repeat_interleave(2)

    @torch.no_grad()
    def predict(
        self, pairs: Iterable[Pair], *, compute: Compute | None = None, batch_size: int = 64
    ) -> list[float]:
        """Returns a number from `low` to `high` for each pair, the same for both orders.

        The model is in evaluation mode afterwards. Raises ValueError, see `encode`, and
        FloatingPointError if a score is not finite.
        """
        compute = compute or device.choose()
        self.to(compute.device).eval()
        sequences = self.encode(pairs)
        if not sequences:
            return []
        scores = by_length(
            sequences, self, pad_id=self.pad, compute=compute, batch_size=batch_size
        ).cpu()
        return self.numbers(checkpoints.refuse_nan(scores.view(-1, 2).mean(dim=1), "scores"))

"""Which of several candidates fits a text: each is scored alone, and a softmax compares them.

Radford et al. (2018, section 3.3).
"""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from tlcourse import checkpoints, device
from tlcourse.adaptation.examples import by_length, encode, listed
from tlcourse.adaptation.knobs import short
from tlcourse.adaptation.pooled import PooledTexts
from tlcourse.checkpoints import AnyTokenizer, Body
from tlcourse.device import Compute

Choice = tuple[str, Sequence[str]]  # a text, and its candidates


class Chooser(PooledTexts):
    """A Transformer that scores candidates, each read as a pair with the same text.

    A question is a pair: a text, and its candidates, of which all questions of one training have
    the same number. Raises ValueError for a pooling that is not in POOLINGS.
    """

    task, SETTINGS = "choice", ("pooling",)

    def __init__(
        self,
        body: Body,
        tokenizer: AnyTokenizer,
        *,
        pooling: str = "mean",
        dropout: float = 0.1,
    ):
        super().__init__(body, tokenizer, outputs=1, pooling=pooling, dropout=dropout)

    def encode(self, questions: Iterable[Choice]) -> list[list[list[int]]]:
        """Returns for each question the ids of its text with each candidate.

        Raises ValueError, naming the row, for fewer than two candidates.
        """
        found = []
        for row, question in enumerate(listed(questions, "questions")):
            pair = isinstance(question, tuple | list) and len(question) == 2
            text, candidates = question if pair else ("", "")
            if isinstance(candidates, str) or len(candidates) < 2:
                raise ValueError(
                    f"expected a text and a list of at least two candidates in row {row}, got "
                    f"{short(question)}"
                )
            pairs = [(text, candidate) for candidate in candidates]
            try:
                found.append(encode(pairs, self.tokenizer, self.body.config.max_length))
            except ValueError as error:
                raise ValueError(f"question {row}: {error}") from None
        return found

    def examples(self, texts: Iterable[Choice], answers: Iterable[int]) -> tuple[list[Any], Tensor]:
        """Returns the ids of each question's candidates, and the numbers of the right ones.

        `answers` are the numbers of the right candidates, from 0. Raises ValueError, naming the
        row, for a number without a candidate, and if the numbers of candidates differ.
        """
        encoded, numbers = self.encode(texts), listed(answers, "numbers of candidates")
        counts = sorted({len(candidates) for candidates in encoded})
        if len(counts) != 1:
            raise ValueError(f"expected as many candidates for every question, got {counts}")
        for row, number in enumerate(numbers):
            if not isinstance(number, int) or not 0 <= number < counts[0]:
                raise ValueError(
                    f"expected the number of a candidate, 0 to {counts[0] - 1}, in row {row}, got "
                    f"{short(number)}"
                )
        return encoded, torch.tensor(numbers)

    def classify(self, features: Tensor) -> Tensor:
        """Returns (batch, candidates) scores of features."""
        return super().classify(features.flatten(0, 1)).view(features.shape[:2])

    def loss(self, scores: Tensor, targets: Tensor) -> tuple[Tensor, int]:
        """Returns the sum of nats over a batch, and the number of questions."""
        return F.cross_entropy(scores, targets, reduction="sum"), len(targets)

    @torch.no_grad()
    def probabilities(
        self, questions: Iterable[Choice], *, compute: Compute | None = None, batch_size: int = 32
    ) -> list[Tensor]:
        """Returns (candidates,) probabilities for each question.

        The model is in evaluation mode afterwards. Raises ValueError, see `encode`, and
        FloatingPointError if a probability is not finite.
        """
        compute = compute or device.choose()
        self.to(compute.device).eval()
        encoded = self.encode(questions)
        if not encoded:
            return []
        each = [[ids] for candidates in encoded for ids in candidates]
        scores = by_length(each, self, stack=self.stack, compute=compute, batch_size=batch_size)
        counts = [len(candidates) for candidates in encoded]
        return [
            checkpoints.refuse_nan(part.softmax(dim=0), "probabilities")
            for part in scores[:, 0].cpu().split(counts)
        ]

    def predict(self, questions: Iterable[Choice], *, compute: Compute | None = None) -> list[int]:
        """Returns the number of the likeliest candidate of each question, from 0."""
        return [int(row.argmax()) for row in self.probabilities(questions, compute=compute)]

"""A text classifier on a Transformer: a body, a pooling, one linear layer.

Radford et al. (2018, GPT) and Devlin et al. (2019, BERT).
"""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from tlcourse import checkpoints, device
from tlcourse.adaptation import tables, windows
from tlcourse.adaptation.examples import Text, by_length, encode, label_names, targets
from tlcourse.adaptation.pooled import Pooled
from tlcourse.checkpoints import AnyTokenizer, Body
from tlcourse.device import Compute


class Classifier(Pooled):
    """A Transformer with its tokenizer, a pooling of its hidden states, one linear layer.

    See `TaskModel` for what it shares with other tasks. Texts may be pairs. Raises ValueError for a
    pooling that is not in POOLINGS, and unless `labels` is a list of at least two different names.
    """

    task, SETTINGS = "labels", ("labels", "pooling")

    def __init__(
        self,
        body: Body,
        tokenizer: AnyTokenizer,
        labels: Sequence[str],
        *,
        pooling: str = "mean",
        dropout: float = 0.1,
    ):
        names = label_names(labels)
        super().__init__(body, tokenizer, outputs=len(names), pooling=pooling, dropout=dropout)
        self.labels = names
        self.pairs: bool | None = None  # True if it was adapted to pairs of texts

    def examples(
        self, texts: Iterable[Text], answers: Iterable[str] | Tensor
    ) -> tuple[list[list[int]], Tensor]:
        """Returns the ids of each text and the targets: label indices, or (texts, labels) shares.

        Raises ValueError, see the functions `encode` and `targets`.
        """
        return self.encode(texts), targets(answers, self.labels)

    def loss(self, scores: Tensor, targets: Tensor) -> tuple[Tensor, int]:
        """Returns the sum of nats over a batch, and the number of texts."""
        return F.cross_entropy(scores, targets, reduction="sum"), len(targets)

    def encode(self, texts: Iterable[Text]) -> list[list[int]]:
        """Returns the ids of each text, see the function `encode`, for windows of long ones."""
        longest = self.body.config.max_length
        room = windows.room(longest, self.frame)
        return encode(texts, self.tokenizer, longest, room=room)

    @torch.no_grad()
    def probabilities(
        self, texts: Iterable[Text], *, compute: Compute | None = None, batch_size: int = 64
    ) -> Tensor:
        """Returns (texts, labels) probabilities in the order of `texts`, which may be pairs.

        The classifier is in evaluation mode afterwards. Raises FloatingPointError if a probability
        is not finite, see `checkpoints.refuse_nan`.
        """
        compute = compute or device.choose()
        self.to(compute.device).eval()
        sequences = self.encode(texts)
        if not sequences:
            return torch.zeros(0, len(self.labels))
        logits = by_length(sequences, self, pad_id=self.pad, compute=compute, batch_size=batch_size)
        return checkpoints.refuse_nan(logits.softmax(dim=-1).cpu(), "probabilities")

    def predict(self, texts: Iterable[Text], *, compute: Compute | None = None) -> list[str]:
        """Returns the likeliest label of each text."""
        best = self.probabilities(texts, compute=compute).argmax(dim=-1)
        return [self.labels[number] for number in best.tolist()]

    def columns(self, columns: Any) -> dict[str, Any]:
        """Returns the entry on columns; those that do not fit the input (texts or pairs) change."""
        if self.pairs is not None:
            columns = tables.columns_for(self.pairs, columns)
        return super().columns(columns)

    @classmethod
    def from_record(cls, body: Body, *arguments: Any) -> "Classifier":
        """See `TaskModel.from_record`; the columns of the record say if the texts are pairs."""
        classifier = super().from_record(body, *arguments)
        if "columns" in classifier.about:
            classifier.pairs = classifier.about["columns"].get("pair") is not None
        return classifier


def misclassified(probabilities: Tensor, labels: Sequence[str], names: Sequence[str]) -> list[int]:
    """Returns the indices of the texts whose likeliest label is not the true one.

    `probabilities` is (texts, labels), `labels` the true label of each text, `names` all labels.
    """
    predictions = probabilities.argmax(dim=-1).tolist()
    return [
        row
        for row, (predicted, label) in enumerate(zip(predictions, labels, strict=True))
        if names[predicted] != label
    ]

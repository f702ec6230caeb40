"""How similar two texts are, by the cosine of two vectors: each text is read alone.

Reimers & Gurevych (2019, Sentence-BERT).
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tlcourse import checkpoints, device
from tlcourse.adaptation.examples import by_length, encode
from tlcourse.adaptation.pooled import PooledTexts
from tlcourse.adaptation.similarity import Pair, Rated, listed_pairs
from tlcourse.checkpoints import AnyTokenizer, Body
from tlcourse.device import Compute


class BiEncoder(Rated, PooledTexts):
    """A Transformer that turns a text into a vector, so that cosines say how similar two texts are.

    `head` scales the cosine. It begins as the identity, so that the model can be used untrained.
    The `options` are those of `Rated`, which also says what is raised.
    """

    task = "embeddings"

    def __init__(self, body: Body, tokenizer: AnyTokenizer, **options: Any):
        super().__init__(body, tokenizer, **options)
        self.head = nn.Linear(1, 1)
        nn.init.ones_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def _ids(self, texts: list[str]) -> list[list[int]]:
        return encode(texts, self.tokenizer, self.body.config.max_length)

    def examples(self, texts: Iterable[Pair], answers: Iterable[float]) -> tuple[list[Any], Tensor]:
        """Returns the ids of both texts of each pair, and their targets, from 0 to 1.

        Raises ValueError, naming the row, for anything but pairs of texts, and for a number that is
        not from `low` to `high`.
        """
        pairs = listed_pairs(texts)
        sides = (self._ids([pair[side] for pair in pairs]) for side in (0, 1))
        return [list(both) for both in zip(*sides, strict=True)], self.scaled(answers)

    def classify(self, features: Tensor) -> Tensor:
        """Returns (batch, 1) scores of (batch, 2, ...) features."""
        vectors = self.mixed(features.flatten(0, 1)).float().unflatten(0, features.shape[:2])
        return self.head(F.cosine_similarity(vectors[:, 0], vectors[:, 1])[:, None])

    @torch.no_grad()
    def embed(
        self, texts: Iterable[str], *, compute: Compute | None = None, batch_size: int = 64
    ) -> Tensor:
        """Returns a vector of length 1 for each text, (texts, width), on the CPU.

        Products of these vectors are cosines. The model is in evaluation mode afterwards. Raises
        ValueError, naming the row, for an empty text, and FloatingPointError if a number is not
        finite.
        """
        compute = compute or device.choose()
        self.to(compute.device).eval()
        ids = [[each] for each in self._ids(list(texts))]
        if not ids:
            return torch.empty(0, self.body.config.width)
        features = by_length(
            ids, self.features, stack=self.stack, compute=compute, batch_size=batch_size
        )
        vectors = F.normalize(self.mixed(features.flatten(0, 1)), dim=-1).cpu()
        return checkpoints.refuse_nan(vectors, "vectors")

    def predict(self, pairs: Iterable[Pair], *, compute: Compute | None = None) -> list[float]:
        """Returns a number from `low` to `high` for each pair, the same for both orders.

        The model is in evaluation mode afterwards. Raises ValueError and FloatingPointError, see
        `examples` and `embed`.
        """
        listed = listed_pairs(pairs)
        first, second = (
            self.embed([pair[side] for pair in listed], compute=compute) for side in (0, 1)
        )
        cosines = (first * second).sum(dim=1, keepdim=True)
        with torch.no_grad():
            return self.numbers(self.head(cosines.to(self.head.weight.device))[:, 0])

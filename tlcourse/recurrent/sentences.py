"""InferSent: a sentence encoder that learns from pairs of sentences (Conneau et al., 2017)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from tlcourse.recurrent.bidirectional import BiLSTM, padded_batches
from tlcourse.recurrent.config import BiLSTMConfig


class SentenceEncoder(nn.Module):
    """A BiLSTM of one layer over frozen word vectors, and the maximum over its states.

    `vectors` (words, width) has a row for each id. Both directions have states of that width, so a
    sentence is a vector of twice the width. The word vectors are scaled to a variance of 1.
    """

    def __init__(self, vectors: Tensor):
        super().__init__()
        rows, width = vectors.shape
        self.body = BiLSTM(BiLSTMConfig(rows, width=2 * width, units=(width,)))
        scaled = vectors / vectors.std() * width**-0.5  # the body multiplies them by √width
        self.body.embedding.weight = nn.Parameter(scaled, requires_grad=False)
        self.width = 2 * width

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """(batch, length) ids and their mask, True = word, to (batch, width)."""
        states = self.body.hidden(tokens, mask)
        return states.masked_fill(~mask[:, :, None], -torch.inf).amax(dim=1)

    @torch.no_grad()
    def embed(self, sentences: Sequence[Sequence[int]], *, batch_size: int = 256) -> Tensor:
        """(sentences, width): the vectors of lists of ids, none of them empty.

        The encoder is in evaluation mode afterwards. Raises ValueError for an empty list.
        """
        if not all(sentences):
            raise ValueError("expected at least one id in each sentence, got none; leave it out")
        self.eval()
        found = torch.empty(len(sentences), self.width)
        for numbers, tokens, mask in padded_batches(sentences, batch_size):
            found[numbers] = self(tokens, mask)
        return found


class PairClassifier(nn.Module):
    """An encoder that reads two sentences, each alone, and a linear classifier for each task.

    With the vectors u and v the classifiers see u, v, |u - v| and u * v. `labels` has the number of
    labels of each task; the tasks share the encoder (InferSent has one, NLI; GenSen, of Subramanian
    et al., 2018, has several).
    """

    def __init__(self, encoder: nn.Module, width: int, labels: Sequence[int] = (3,)):
        super().__init__()
        self.encoder = encoder
        self.heads = nn.ModuleList(nn.Linear(4 * width, each) for each in labels)

    def forward(
        self, first: tuple[Tensor, Tensor], second: tuple[Tensor, Tensor], task: int = 0
    ) -> Tensor:
        """Two times tokens and mask, (batch, length) each, to logits (batch, labels) of a task."""
        u, v = self.encoder(*first), self.encoder(*second)
        return self.heads[task](torch.cat([u, v, (u - v).abs(), u * v], dim=-1))

"""Vectors of sentences, made of vectors of words: averages, and paragraph vectors.

Sources: Arora et al. (2017, smooth inverse frequency), Wieting et al. (2016, averages tuned on
paraphrases), Le & Mikolov (2014, paragraph vectors).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tlcourse.words.skipgram import (
    CENTRES,
    NOISE,
    finite,
    gradients,
    initial,
    keep_probabilities,
    noise_distribution,
)
from tlcourse.words.text import Text, Vocabulary, split
from tlcourse.words.vectors import Vectors


def tokens(sentence: str) -> list[str]:
    """The words of a sentence from any text, without punctuation, as `split` has them."""
    return split(" ".join(re.findall(r"'?\w+", sentence)))


def averages(
    sentences: Iterable[str],
    vectors: Vectors,
    vocabulary: Vocabulary | None = None,
    *,
    smoothing: float = 1e-3,
) -> np.ndarray:
    """(sentences, width): the mean vector of each sentence's words, of those that have one.

    With the `vocabulary` of a text a word counts smoothing / (smoothing + p), where p is the share
    of the text that it makes up; a word outside of the vocabulary counts 1 (Arora et al., 2017).
    The sum is divided by the number of words, not by that of the weights. A sentence without known
    words is a vector of zeros. Raises ValueError for a `smoothing` that is not positive.
    """
    if not smoothing > 0:
        raise ValueError(f"expected a positive smoothing, got {smoothing}; the paper's is 1e-3")
    weights = np.ones(len(vectors), np.float32)
    if vocabulary is not None:
        share = vocabulary.counts / vocabulary.counts.sum()
        for word, weight in zip(vocabulary.words, smoothing / (smoothing + share), strict=True):
            if word in vectors:
                weights[vectors.ids[word]] = weight
    found = [[vectors.ids[word] for word in tokens(each) if word in vectors] for each in sentences]
    result = np.zeros((len(found), vectors.matrix.shape[1]), np.float32)
    for row, ids in enumerate(found):
        if ids:
            result[row] = weights[ids] @ vectors.matrix[ids] / len(ids)
    return result


def common_component(matrix: np.ndarray) -> np.ndarray:
    """The direction (width,) of length 1 that the rows of `matrix` (rows, width) share most.

    It is the first right singular vector of the matrix, which is not centred (Arora et al., 2017).
    """
    values, directions = np.linalg.eigh(matrix.T.astype(float) @ matrix)
    return directions[:, values.argmax()].astype(matrix.dtype)


def without_component(matrix: np.ndarray, component: np.ndarray) -> np.ndarray:
    """The rows of `matrix` (rows, width) less their projections on a `component` of length 1."""
    return matrix - np.outer(matrix @ component, component)


class WordAverage(nn.Module):
    """The mean of word vectors as a model, so that a loss can tune them (Wieting et al., 2016)."""

    def __init__(self, vectors: Vectors):
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(torch.tensor(vectors.matrix), freeze=False)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """(batch, length) ids and their mask, True = word, to (batch, width)."""
        kept = self.embedding(tokens) * mask[:, :, None]
        return kept.sum(dim=1) / mask.sum(dim=1, keepdim=True)


def margin_loss(first: Tensor, second: Tensor, *, margin: float = 0.4) -> tuple[Tensor, int]:
    """The sum over (batch, width) pairs of max(0, margin - cosine + worst), and the batch.

    Row i of both is a pair of the same meaning. `worst` is the largest cosine of the first with
    the second of another pair (Wieting et al., 2016). Raises ValueError for a single pair, which
    has no other.
    """
    if len(first) < 2:
        raise ValueError(f"expected at least two pairs, got {len(first)}; use larger batches")
    cosines = F.normalize(first, dim=-1) @ F.normalize(second, dim=-1).T
    worst = cosines.masked_fill(torch.eye(len(cosines), dtype=torch.bool), -1).amax(dim=1)
    return F.relu(margin - cosines.diagonal() + worst).sum(), len(cosines)


@dataclass(frozen=True, eq=False)
class ParagraphVectors:
    """A vector for each document of a text, and what finds the vectors of other documents."""

    matrix: np.ndarray  # (documents, width) of float32
    outputs: np.ndarray  # (words, width) of float32: a document predicts these words
    vocabulary: Vocabulary

    def infer(
        self,
        sentences: Iterable[str],
        *,
        negatives: int = 5,
        epochs: int = 50,
        learning_rate: float = 0.1,
        seed: int = 0,
    ) -> np.ndarray:
        """(sentences, width): vectors of other sentences, learnt while `outputs` stay as they are.

        A sentence without known words is a vector of zeros. Negative samples are drawn, so a
        sentence has slightly different vectors in different lists. Raises ValueError for a learning
        rate so large that the vectors overflow.
        """
        ids = self.vocabulary.ids
        known = [[ids[word] for word in tokens(each) if word in ids] for each in sentences]
        lengths = np.array([len(each) for each in known], int)
        lines = np.repeat(np.arange(len(known)), lengths)
        text = Text(np.array([id for each in known for id in each], int), lines, self.vocabulary)
        generator, outputs = np.random.default_rng(seed), torch.from_numpy(self.outputs)
        matrix = initial(len(known), outputs.shape[1], generator)
        matrix[torch.from_numpy(lengths == 0)] = 0
        for block, left in document_blocks(text, generator, epochs=epochs, threshold=np.inf):
            theirs = outputs[torch.cat([block.words, block.noise])]
            hidden = matrix[block.documents]
            by_hidden, _ = gradients(hidden, theirs, block.within, negatives=negatives)
            matrix.index_add_(0, block.documents, by_hidden, alpha=-learning_rate * left)
        return finite(matrix, learning_rate)


def paragraph_vectors(
    text: Text,
    *,
    width: int = 100,
    negatives: int = 5,
    epochs: int = 10,
    learning_rate: float = 0.1,
    threshold: float = 1e-3,
    seed: int = 0,
) -> ParagraphVectors:
    """Vectors of lines that predict each of their words: PV-DBOW (Le & Mikolov, 2014).

    It is `skipgram`, with its keywords and errors, but the centre of a window is the document that
    a line stands for, and the window is the whole line. The order of words has no effect.
    """
    generator = np.random.default_rng(seed)
    matrix = initial(int(text.lines.max()) + 1, width, generator)
    outputs = torch.zeros(len(text.vocabulary), width)
    for block, left in document_blocks(text, generator, epochs=epochs, threshold=threshold):
        rate, targets = learning_rate * left, torch.cat([block.words, block.noise])
        hidden, theirs = matrix[block.documents], outputs[targets]
        by_hidden, by_outputs = gradients(hidden, theirs, block.within, negatives=negatives)
        matrix.index_add_(0, block.documents, by_hidden, alpha=-rate)
        outputs.index_add_(0, targets, by_outputs, alpha=-rate)
    learnt = finite(matrix, learning_rate), finite(outputs, learning_rate)
    return ParagraphVectors(*learnt, text.vocabulary)


@dataclass(frozen=True, eq=False)
class DocumentBlock:
    """Random words of a text, the documents that they stand in, and negative samples."""

    documents: torch.Tensor  # (documents,): their rows, each once
    words: torch.Tensor  # (words,) ids
    within: torch.Tensor  # (documents, words): 1 for a word of that document, else 0
    noise: torch.Tensor  # (noise,) ids


def document_blocks(
    text: Text, generator: np.random.Generator, *, epochs: int, threshold: float
) -> Iterator[tuple[DocumentBlock, float]]:
    """Yields the blocks of all epochs, each with the share of the training that is left, 1 to 0.

    Every epoch leaves out some of the frequent words, see `keep_probabilities`. The words come in
    random order, so that a long document has few words in a block, and training is stable.
    """
    kept_with = keep_probabilities(text.vocabulary.counts, threshold)[text.ids]
    noise = noise_distribution(text.vocabulary.counts)
    for epoch in range(epochs):
        kept = generator.permutation(np.flatnonzero(generator.random(len(text)) < kept_with))
        ids, lines = (torch.from_numpy(each[kept]).long() for each in (text.ids, text.lines))
        starts = range(0, len(ids), CENTRES)
        drawn = torch.from_numpy(generator.choice(len(noise), (len(starts), NOISE), p=noise))
        for number, start in enumerate(starts):
            part = slice(start, start + CENTRES)
            documents, owners = lines[part].unique(return_inverse=True)
            within = F.one_hot(owners, len(documents)).T.float()
            block = DocumentBlock(documents, ids[part], within, drawn[number])
            yield block, 1 - (epoch + number / len(starts)) / epochs

"""Skip-gram and CBOW with negative sampling: word2vec (Mikolov et al., 2013a, 2013b).

Word2vec updates its vectors pair by pair. Here a block of neighbouring words is learnt from at
once, so that all its scores are one matrix product, and its words share their negative samples (Ji
et al., 2016). The gradients of a block are summed, not averaged, which makes the learning rate that
of word2vec. This stays stable because a block is short: few words occur in it more than once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional as F

from tlcourse.words.text import Text
from tlcourse.words.vectors import Vectors

CENTRES, NOISE = 128, 64  # the words of a block, and the negative samples that they share


@dataclass(frozen=True, eq=False)
class Block:
    """Neighbouring words of a text, the words around them and negative samples, all as ids."""

    centres: torch.Tensor  # (centres,)
    contexts: torch.Tensor  # (contexts,): the centres, and the words before and after them
    near: torch.Tensor  # (centres, contexts): 1 for a context in the window of a centre, else 0
    noise: torch.Tensor  # (noise,)


def skipgram(
    text: Text,
    *,
    width: int = 100,
    window: int = 5,
    negatives: int = 5,
    epochs: int = 5,
    learning_rate: float = 0.025,
    threshold: float = 1e-3,
    seed: int = 0,
) -> Vectors:
    """Vectors of words that predict each of the words around them (Mikolov et al., 2013b).

    Each occurrence of a word has a window of 1 to `window` words on each side, drawn at random, and
    each pair in it has `negatives` negative samples. `threshold` is that of `keep_probabilities`.
    The learning rate falls to zero along a straight line. The same seed gives the same vectors, bit
    for bit with the same number of threads. Raises ValueError for a window below 1, a text without
    neighbouring words, and a learning rate so large that the vectors overflow.
    """
    generator = np.random.default_rng(seed)
    inputs = initial(len(text.vocabulary), width, generator)
    outputs = torch.zeros_like(inputs)
    for block, left in blocks(text, generator, window=window, epochs=epochs, threshold=threshold):
        rate, targets = learning_rate * left, torch.cat([block.contexts, block.noise])
        hidden, theirs = inputs[block.centres], outputs[targets]
        by_hidden, by_outputs = gradients(hidden, theirs, block.near, negatives=negatives)
        inputs.index_add_(0, block.centres, by_hidden, alpha=-rate)
        outputs.index_add_(0, targets, by_outputs, alpha=-rate)
    return Vectors(text.vocabulary.words, finite(inputs, learning_rate))


def cbow(
    text: Text,
    *,
    width: int = 100,
    window: int = 5,
    negatives: int = 5,
    epochs: int = 5,
    learning_rate: float = 0.1,
    threshold: float = 1e-3,
    seed: int = 0,
) -> Vectors:
    """Vectors of words whose mean predicts the word between them (Mikolov et al., 2013a).

    The keywords, and the errors, are those of `skipgram`. Word2vec's code moves each word of a
    context by the gradient of their mean, as if it were the only one. Here each gets its share,
    which learns better and needs a larger learning rate (İrsoy et al., 2021).
    """
    generator = np.random.default_rng(seed)
    inputs = initial(len(text.vocabulary), width, generator)
    outputs = torch.zeros_like(inputs)
    for block, left in blocks(text, generator, window=window, epochs=epochs, threshold=threshold):
        rate, targets = learning_rate * left, torch.cat([block.centres, block.noise])
        mean = block.near / block.near.sum(dim=1, keepdim=True).clamp(min=1)
        hidden, theirs = mean @ inputs[block.contexts], outputs[targets]
        itself = torch.diag(block.near.amax(dim=1))  # 0 for a word that has no context
        by_hidden, by_outputs = gradients(hidden, theirs, itself, negatives=negatives)
        inputs.index_add_(0, block.contexts, mean.T @ by_hidden, alpha=-rate)
        outputs.index_add_(0, targets, by_outputs, alpha=-rate)
    return Vectors(text.vocabulary.words, finite(inputs, learning_rate))


def gradients(
    hidden: torch.Tensor, outputs: torch.Tensor, positive: torch.Tensor, *, negatives: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradients of the loss of a block by `hidden` and by `outputs`.

    Row u of `hidden` (centres, width) predicts row v of `outputs` (targets + noise, width) where
    `positive` (centres, targets) is 1. The loss of such a pair is -log σ(u·v), and -log σ(-u·n) for
    each of `negatives` samples n. The rows of noise, however many, share the weight of those. By
    its score, the gradient of each term is σ(score) - label.
    """
    noise = len(outputs) - positive.shape[1]
    share = positive.sum(dim=1, keepdim=True) * (negatives / noise)
    labels, weights = F.pad(positive, (0, noise)), [positive, share.expand(-1, noise)]
    errors = torch.cat(weights, dim=1) * (torch.sigmoid(hidden @ outputs.T) - labels)
    return errors @ outputs, errors.T @ hidden


def blocks(
    text: Text, generator: np.random.Generator, *, window: int, epochs: int, threshold: float
) -> Iterator[tuple[Block, float]]:
    """Yields the blocks of all epochs, each with the share of the training that is left, 1 to 0.

    Every epoch leaves out some of the frequent words, so that others come within reach, and draws
    new windows. With few words in the vocabulary the blocks are shorter, as each word recurs soon.
    Raises ValueError for a window below 1, and for a text without neighbouring words.
    """
    if window < 1:
        raise ValueError(f"expected a window of at least one word on each side, got {window}")
    if not (text.lines[1:] == text.lines[:-1]).any():
        raise ValueError(
            f"expected a text with two words in a line, got {len(text)} lines of one word; give "
            "whole sentences to `words.read`"
        )
    kept_with = keep_probabilities(text.vocabulary.counts, threshold)[text.ids]
    noise = noise_distribution(text.vocabulary.counts)
    size = min(CENTRES, max(8, len(noise) // 8))
    for epoch in range(epochs):
        kept = generator.random(len(text)) < kept_with
        ids, places = torch.from_numpy(text.ids[kept]).long(), torch.arange(int(kept.sum()))
        reach = generator.integers(1, window, len(ids), endpoint=True)
        begins, ends = map(torch.from_numpy, windows(text.lines[kept], reach))
        starts = range(0, len(ids), size)
        drawn = torch.from_numpy(generator.choice(len(noise), (len(starts), NOISE), p=noise))
        for number, start in enumerate(starts):
            centres = slice(start, start + size)
            contexts = slice(max(0, start - window), start + size + window)
            around, at = places[contexts], places[centres, None]
            near = (begins[centres, None] <= around) & (around < ends[centres, None])
            block = Block(
                ids[centres], ids[contexts], (near & (around != at)).float(), drawn[number]
            )
            yield block, 1 - (epoch + number / len(starts)) / epochs


def windows(lines: np.ndarray, reach: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the window of each word begins, and where it ends (exclusive).

    A window holds the word and `reach` (words,) words on each side, as far as its line goes.
    """
    places = np.arange(len(lines))
    first, last = (np.searchsorted(lines, lines, side) for side in ("left", "right"))
    return np.maximum(places - reach, first), np.minimum(places + reach + 1, last)


def keep_probabilities(counts: np.ndarray, threshold: float = 1e-3) -> np.ndarray:
    """The probability (words,) with which an epoch keeps an occurrence of each word.

    It is √(t/f) + t/f, at most 1, for a word that makes up the share f of the text. That is the
    formula of word2vec's code, which differs from the paper's.
    """
    ratio = threshold / (counts / counts.sum())
    return np.minimum(1, np.sqrt(ratio) + ratio)


def noise_distribution(counts: np.ndarray, power: float = 0.75) -> np.ndarray:
    """The probability (words,) with which each word is drawn as a negative sample."""
    raised = counts**power
    return raised / raised.sum()


def initial(rows: int, width: int, generator: np.random.Generator) -> torch.Tensor:
    """Random vectors (rows, width) before training, between -1 and 1 over twice the width."""
    return torch.from_numpy((generator.random((rows, width), np.float32) - 0.5) / width)


def finite(vectors: torch.Tensor, learning_rate: float) -> np.ndarray:
    """The trained vectors as an array; raises ValueError if they are not finite."""
    if not vectors.isfinite().all():
        raise ValueError(
            f"expected vectors that stay finite, got an overflow with learning_rate={learning_rate}"
            "; choose a smaller one"
        )
    return vectors.numpy()

"""Scores of predicted distances and depths against gold trees (Hewitt & Manning, 2019)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tlcourse.metrics import Interval, bootstrap_interval
from tlcourse.probing import trees

LENGTHS = range(5, 51)  # lengths of the sentences whose Spearman correlations are averaged

Heads = Sequence[Sequence[int]]  # the heads of each sentence, from 1; 0 for the root
Keep = Sequence[Sequence[bool]] | None  # the words that count, such as all but punctuation


@dataclass(frozen=True, eq=False)
class TreeScore:
    """The agreement of predicted distances with gold trees."""

    right: np.ndarray  # (sentences,) number of gold edges predicted
    gold: np.ndarray  # (sentences,) number of gold edges; 0 for a sentence that was left out
    spearman: float  # of distances: mean over words, sentences of a length, lengths 5 to 50
    edges: list[set[tuple[int, int]]]  # predicted edges (smaller, larger word, from 0), to draw

    @property
    def uuas(self) -> float:
        """The unlabelled undirected attachment score: the share of gold edges predicted."""
        return float(self.right.sum() / self.gold.sum())

    def interval(self) -> Interval:
        """The UUAS with its 95 % bootstrap interval over sentences."""
        numbers = np.arange(len(self.gold))
        counts = zip(self.gold, self.right, strict=True)
        hits = [np.arange(gold) < right for gold, right in counts]
        return bootstrap_interval(np.concatenate(hits), groups=np.repeat(numbers, self.gold))


@dataclass(frozen=True, eq=False)
class DepthScore:
    """The agreement of predicted depths with gold trees."""

    right: np.ndarray  # (sentences,) True where the word of least depth is the root
    spearman: float  # of depths: mean over sentences of a length, lengths 5 to 50

    @property
    def root_accuracy(self) -> float:
        """The share of sentences whose root is predicted."""
        return float(self.right.mean())


def judge_distances(
    distances: Sequence[np.ndarray], heads: Heads, *, keep: Keep = None
) -> TreeScore:
    """Scores the distances (words, words) of each sentence against its tree.

    The predicted tree is the minimum spanning tree of the words. Only the words of `keep` count,
    and only gold edges between two of them. Sentences with fewer than two such words, or left out
    of the features, have no edges.
    """
    right, gold, predicted, correlations = [], [], [], []
    for distance, tree, kept in _sentences(distances, heads, keep):
        if kept.sum() < 2:
            predicted.append(set())
            right.append(0)
            gold.append(0)
            continue
        edges = {edge for edge in trees.edges(tree) if kept[list(edge)].all()}
        predicted.append(trees.spanning_tree(distance, kept))
        right.append(len(edges & predicted[-1]))
        gold.append(len(edges))
        true = trees.distances(tree)[np.ix_(kept, kept)]
        correlations.append(_spearman(distance[np.ix_(kept, kept)], true))
    return TreeScore(np.asarray(right), np.asarray(gold), _by_length(correlations), predicted)


def judge_depths(depths: Sequence[np.ndarray], heads: Heads, *, keep: Keep = None) -> DepthScore:
    """Scores the depths (words,) of each sentence against its tree; `keep` as in `judge_distances`.

    Sentences without such a word, or left out of the features, are skipped.
    """
    right, correlations = [], []
    for depth, tree, kept in _sentences(depths, heads, keep):
        if not kept.any():
            continue
        true = trees.depths(tree)
        right.append(bool(np.where(kept, depth, np.inf).argmin() == true.argmin()))
        correlations.append(_spearman(depth[None, kept], true[None, kept]))
    return DepthScore(np.asarray(right), _by_length(correlations))


def linear_distances(words: int) -> np.ndarray:
    """The distances of words in the sentence, (words, words): the baseline."""
    positions = np.arange(words)
    return np.abs(positions[:, None] - positions)


def _sentences(predictions: Sequence[np.ndarray], heads: Heads, keep: Keep):
    """The predictions, heads and counted words of each sentence; no words if it was left out."""
    keep = [[True] * len(tree) for tree in heads] if keep is None else keep
    for number, (values, tree, kept) in enumerate(zip(predictions, heads, keep, strict=True)):
        if len(values) not in (0, len(tree)):
            raise ValueError(
                f"sentence {number}: expected a head for each of its {len(values)} words, got "
                f"{len(tree)}"
            )
        kept = np.asarray(kept, dtype=bool) & bool(len(values))
        yield np.asarray(values, dtype=np.float64), tree, kept


def _spearman(predicted: np.ndarray, true: np.ndarray) -> np.ndarray:
    """The rank correlation and length of each row of two (rows, words); constant rows left out."""
    from scipy.stats import rankdata  # takes a second to import

    x, y = (rankdata(values, axis=1) for values in (predicted, true))
    x, y = x - x.mean(1, keepdims=True), y - y.mean(1, keepdims=True)
    norms = np.sqrt((x**2).sum(1) * (y**2).sum(1))
    words = np.full(len(norms), predicted.shape[1])
    varied = norms > 0
    return np.stack([(x * y).sum(1)[varied] / norms[varied], words[varied]])


def _by_length(correlations: Sequence[np.ndarray]) -> float:
    """The mean over rows, then over sentences of a length, then over LENGTHS; nan for none."""
    lengths: dict[int, list[float]] = {}
    for values, words in correlations:
        if len(values) and int(words[0]) in LENGTHS:
            lengths.setdefault(int(words[0]), []).append(float(values.mean()))
    means = [np.mean(values) for values in lengths.values()]
    return float(np.mean(means)) if means else float("nan")

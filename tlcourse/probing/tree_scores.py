"""How trees read off distances and depths compare with gold ones (Hewitt & Manning, 2019)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tlcourse.metrics import Interval, bootstrap_interval
from tlcourse.probing import trees

LENGTHS = range(5, 51)  # of the sentences whose Spearman correlations are averaged

Heads = Sequence[Sequence[int]]  # heads from 1, the root's 0
Keep = Sequence[Sequence[bool]] | None  # the words that count, such as all but punctuation


@dataclass(frozen=True, eq=False)
class TreeScore:
    """How well distances tell trees; `edges` has the predicted ones of each sentence, to draw."""

    right: np.ndarray  # (sentences,) gold edges that were found
    gold: np.ndarray  # (sentences,) gold edges; none in a sentence that was left out
    spearman: float  # of distances: mean over words, sentences of a length, lengths 5 to 50
    edges: list[set[tuple[int, int]]]  # (smaller, larger) word, from 0

    @property
    def uuas(self) -> float:
        """The share of gold edges found, direction aside: unlabelled undirected attachment."""
        return float(self.right.sum() / self.gold.sum())

    def interval(self) -> Interval:
        """The UUAS and its 95 % bootstrap interval over sentences."""
        numbers = np.arange(len(self.gold))
        found = [np.arange(all_) < hit for all_, hit in zip(self.gold, self.right, strict=True)]
        return bootstrap_interval(np.concatenate(found), groups=np.repeat(numbers, self.gold))


@dataclass(frozen=True, eq=False)
class DepthScore:
    """How well depths tell trees."""

    right: np.ndarray  # (sentences,) whether the word of least depth is the root
    spearman: float  # of depths: mean over sentences of a length, lengths 5 to 50

    @property
    def root_accuracy(self) -> float:
        """The share of sentences whose root was found."""
        return float(self.right.mean())


def judge_distances(
    distances: Sequence[np.ndarray], heads: Heads, *, keep: Keep = None
) -> TreeScore:
    """Distances (words, words) of each sentence against its tree.

    The predicted tree is the one that joins all words with the least total distance. Only words of
    `keep` are joined and correlated, and only gold edges between two of them count. Sentences with
    less than two such words, or left out, have no edges.
    """
    right, gold, predicted, correlations = [], [], [], []
    for between, tree, kept in _sentences(distances, heads, keep):
        if kept.sum() < 2:
            predicted.append(set())
            right.append(0)
            gold.append(0)
            continue
        edges = {edge for edge in trees.edges(tree) if kept[list(edge)].all()}
        predicted.append(trees.spanning_tree(between, kept))
        right.append(len(edges & predicted[-1]))
        gold.append(len(edges))
        true = trees.distances(tree)[np.ix_(kept, kept)]
        correlations.append(_spearman(between[np.ix_(kept, kept)], true))
    return TreeScore(np.asarray(right), np.asarray(gold), _by_length(correlations), predicted)


def judge_depths(depths: Sequence[np.ndarray], heads: Heads, *, keep: Keep = None) -> DepthScore:
    """Depths (words,) of each sentence against its tree; `keep` as in `judge_distances`.

    A sentence with no such word, or left out, is passed over.
    """
    right, correlations = [], []
    for found, tree, kept in _sentences(depths, heads, keep):
        if not kept.any():
            continue
        true = trees.depths(tree)
        right.append(bool(np.where(kept, found, np.inf).argmin() == true.argmin()))
        correlations.append(_spearman(found[None, kept], true[None, kept]))
    return DepthScore(np.asarray(right), _by_length(correlations))


def linear_distances(words: int) -> np.ndarray:
    """(words, words) how far words are from each other in the sentence: the baseline."""
    places = np.arange(words)
    return np.abs(places[:, None] - places)


def _sentences(measured: Sequence[np.ndarray], heads: Heads, keep: Keep):
    """What was measured, the heads and which words count; none of a sentence that was left out."""
    keep = [[True] * len(tree) for tree in heads] if keep is None else keep
    for number, (each, tree, kept) in enumerate(zip(measured, heads, keep, strict=True)):
        if len(each) not in (0, len(tree)):
            raise ValueError(
                f"sentence {number}: expected a head for each of its {len(each)} words, got "
                f"{len(tree)}"
            )
        kept = np.asarray(kept, dtype=bool) & bool(len(each))
        yield np.asarray(each, dtype=np.float64), tree, kept


def _spearman(found: np.ndarray, true: np.ndarray) -> np.ndarray:
    """(rows, words) twice to the rank correlation of each row; none where a row is constant."""
    from scipy.stats import rankdata  # takes a second to import

    one, other = (rankdata(each, axis=1) for each in (found, true))
    one, other = one - one.mean(1, keepdims=True), other - other.mean(1, keepdims=True)
    norms = np.sqrt((one**2).sum(1) * (other**2).sum(1))
    words = np.full(len(norms), found.shape[1])
    varied = norms > 0
    return np.stack([(one * other).sum(1)[varied] / norms[varied], words[varied]])


def _by_length(correlations: Sequence[np.ndarray]) -> float:
    """The mean over rows, then over sentences of a length, then over LENGTHS; nan for none."""
    lengths: dict[int, list[float]] = {}
    for values, words in correlations:
        if len(values) and int(words[0]) in LENGTHS:
            lengths.setdefault(int(words[0]), []).append(float(values.mean()))
    return float(np.mean([np.mean(each) for each in lengths.values()])) if lengths else float("nan")

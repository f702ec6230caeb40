"""Grammar without training: does a model find the good sentence of a pair likelier?

BLiMP: Warstadt et al. (2020). Chance is 50 %. The same question is asked of any pairs of sentences
in groups: those of Marvin & Linzen (2018), or agreement with so many attractors.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from tlcourse import metrics
from tlcourse.evaluation.scoring import Score

if TYPE_CHECKING:
    import datasets

Group = TypeVar("Group", bound=Hashable)
PAIRS = 100  # of each paradigm, the first ones
BLIMP_PUBLISHED = {  # percent of BLiMP's pairs, Warstadt et al. (2020), table 3
    "5-gram model, 3.1B tokens": 61.2,
    "LSTM, 83M tokens": 69.8,
    "Transformer-XL, 103M tokens": 69.6,
    "GPT-2 large, 40 GB of text": 83.0,
    "people, the majority of them": 96.4,
}


class Accuracy(NamedTuple):
    """How often the good sentence of a pair scored higher; a tie is not right."""

    right: int
    ties: int
    pairs: int

    @property
    def share(self) -> float:
        """The pairs that were right, as a fraction."""
        return self.right / self.pairs

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the share, for other pairs of the same kind (Wilson, 1927)."""
        return metrics.wilson_interval(self.right, self.pairs)


def accuracies(score: Score, pairs: Iterable[tuple[str, str, Group]]) -> dict[Group, Accuracy]:
    """How often `score` finds the good sentence likelier, by groups of (good, bad, group) rows.

    `score` takes sentences and gives numbers, higher for likelier: log-probabilities, or the pseudo
    log-likelihoods of a masked model (`sentence_scores`). A pair is right when the good sentence
    scores higher; a tie is wrong. The groups come in the order of their first pairs. Raises
    ValueError without pairs.
    """
    pairs = list(pairs)
    if not pairs:
        raise ValueError("expected at least one pair of sentences, got none")
    scores = score([good for good, _, _ in pairs] + [bad for _, bad, _ in pairs])
    counts: dict[Group, list[int]] = defaultdict(lambda: [0, 0, 0])
    rivals = zip(pairs, scores[: len(pairs)], scores[len(pairs) :], strict=True)
    for (_, _, group), good, bad in rivals:
        for place, one in enumerate((good > bad, good == bad, True)):
            counts[group][place] += one
    return {group: Accuracy(*each) for group, each in counts.items()}


def minimal_pairs(score: Score, pairs: datasets.Dataset) -> dict:
    """Accuracies, as fractions, on the first 100 pairs of each paradigm of `corpora.load("blimp")`.

    See `accuracies` for `score` and for what is right. The `accuracy` of all is the mean over
    paradigms, that of a phenomenon the mean over its own.
    """
    first = pairs.select([row for row, number in enumerate(pairs["pair"]) if number < PAIRS])
    found = accuracies(score, zip(first["good"], first["bad"], first["paradigm"], strict=True))
    paradigms = {name: found[name].share for name in sorted(found)}
    phenomena = defaultdict(set)
    for paradigm, phenomenon in zip(first["paradigm"], first["phenomenon"], strict=True):
        phenomena[phenomenon].add(paradigm)
    return {
        "accuracy": fmean(paradigms.values()),
        "pairs": len(first),
        "ties": sum(each.ties for each in found.values()),
        "phenomena": {
            name: fmean(paradigms[each] for each in phenomena[name]) for name in sorted(phenomena)
        },
        "paradigms": paradigms,
    }

"""Minimal pairs: does a model give the grammatical sentence of a pair the higher probability?

BLiMP: Warstadt et al. (2020). Chance is 50 %. The same measure works for any grouped pairs of
sentences, such as those of Marvin & Linzen (2018), or agreement by the number of attractors.
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
PAIRS = 100  # the first pairs of each paradigm
BLIMP_PUBLISHED = {  # percent of BLiMP's pairs, Warstadt et al. (2020), table 3
    "5-gram model, 3.1B tokens": 61.2,
    "LSTM, 83M tokens": 69.8,
    "Transformer-XL, 103M tokens": 69.6,
    "GPT-2 large, 40 GB of text": 83.0,
    "people, the majority of them": 96.4,
}


class Accuracy(NamedTuple):
    """The number of pairs whose good sentence scores higher; a tie is wrong."""

    right: int
    ties: int
    pairs: int

    @property
    def share(self) -> float:
        """The fraction of pairs that are right."""
        return self.right / self.pairs

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the share for further pairs of the same kind (Wilson, 1927)."""
        return metrics.wilson_interval(self.right, self.pairs)


def accuracies(score: Score, pairs: Iterable[tuple[str, str, Group]]) -> dict[Group, Accuracy]:
    """The accuracy of `score` on each group of pairs (good, bad, group).

    `score` maps sentences to numbers, higher for likelier sentences: log-probabilities, or the
    pseudo-log-likelihoods of a masked model (`sentence_scores`). A pair is right if the good
    sentence scores higher; a tie is wrong. Groups are in the order of their first pairs. Raises
    ValueError if there are no pairs.
    """
    pairs = list(pairs)
    if not pairs:
        raise ValueError("expected at least one pair of sentences, got none")
    scores = score([good for good, _, _ in pairs] + [bad for _, bad, _ in pairs])
    counts: dict[Group, list[int]] = defaultdict(lambda: [0, 0, 0])
    scored = zip(pairs, scores[: len(pairs)], scores[len(pairs) :], strict=True)
    for (_, _, group), good, bad in scored:
        for index, holds in enumerate((good > bad, good == bad, True)):
            counts[group][index] += holds
    return {group: Accuracy(*group_counts) for group, group_counts in counts.items()}


def minimal_pairs(score: Score, pairs: datasets.Dataset) -> dict:
    """Accuracies, as fractions, on the first 100 pairs of each paradigm of `corpora.load("blimp")`.

    See `accuracies` for `score` and ties. The overall `accuracy` is the mean over paradigms, and
    that of a phenomenon the mean over its paradigms.
    """
    first = pairs.select([row for row, number in enumerate(pairs["pair"]) if number < PAIRS])
    by_name = accuracies(score, zip(first["good"], first["bad"], first["paradigm"], strict=True))
    paradigms = {name: by_name[name].share for name in sorted(by_name)}
    phenomena = defaultdict(set)
    for paradigm, phenomenon in zip(first["paradigm"], first["phenomenon"], strict=True):
        phenomena[phenomenon].add(paradigm)
    return {
        "accuracy": fmean(paradigms.values()),
        "pairs": len(first),
        "ties": sum(accuracy.ties for accuracy in by_name.values()),
        "phenomena": {
            phenomenon: fmean(paradigms[name] for name in phenomena[phenomenon])
            for phenomenon in sorted(phenomena)
        },
        "paradigms": paradigms,
    }

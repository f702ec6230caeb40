"""One accuracy and all that it has to be seen beside."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tlcourse.metrics import Interval
from tlcourse.probing.baselines import majority, word_types
from tlcourse.probing.controls import (
    code_length,
    judge_control,
    known_items,
    shuffled_labels,
)
from tlcourse.probing.fitting import Judgement
from tlcourse.probing.items import Examples
from tlcourse.probing.probes import linear_probe


@dataclass(frozen=True)
class Part:
    """Accuracies on some of the test items; None where there are none."""

    share: float  # of all test items
    probe: float | None
    word_types: float | None


@dataclass(frozen=True)
class Report:
    """Accuracies of a probe and of what needs no model, on the same test items.

    An item is known if its group is among those of the training items: a word by its form, a pair
    by both forms, a sentence by its text. Word types have no answer of their own for unknown words.

    The control is judged on known items, and selectivity is the accuracy on those less the
    control. Both are None for pairs and sentences, of which too few are known to mean anything, and
    where no item is known.

    A random encoder and the embeddings alone have reports of their own: other `Examples`.
    """

    accuracy: Interval  # of the first seed, over test sentences
    seeds: tuple[float, ...]  # the accuracy with each
    majority: float
    word_types: float
    above_word_types: Interval  # accuracy less that of the word types, paired, over sentences
    above_word_types_known: Interval | None  # on known items alone, from two sentences on
    known: Part
    unknown: Part
    control: float | None
    selectivity: float | None
    shuffled: float  # trained on shuffled labels, judged on the right ones
    compression: float | None  # of the online code of the training data; None: not asked


def report(
    train: Examples,
    test: Examples,
    *,
    fit: Callable[..., Any] = linear_probe,
    seeds: Sequence[int] = (0,),
    code: bool = True,
    **settings: Any,
) -> Report:
    """Fits a probe with each seed, and every control with the first.

    `fit(vectors, labels, seed=, **settings)` is one of the probes; with `code` it must take `names`
    too. The code's length takes ten more fits.
    """
    chosen, *others = [
        fit(train.features, train.labels, seed=seed, **settings).judge(test.features, test.labels)
        for seed in seeds
    ]
    there = known_items(train, test)
    control = None
    if train.kind == "word" and there.any():
        control = judge_control(train, test, fit=fit, seed=seeds[0], **settings).accuracy
    types = word_types(train.groups, train.labels).judge(test.groups, test.labels)
    mixed = shuffled_labels(train.labels, seed=seeds[0])
    blind = fit(train.features, mixed, seed=seeds[0], **settings)
    length = None
    if code:
        length = code_length(train.features, train.labels, fit=fit, seed=seeds[0], **settings)
    return Report(
        accuracy=chosen.interval(test.sentences),
        seeds=(chosen.accuracy, *(other.accuracy for other in others)),
        majority=majority(train.labels).judge(test.groups, test.labels).accuracy,
        word_types=types.accuracy,
        above_word_types=chosen.above(types, test.sentences),
        above_word_types_known=_above(chosen, types, there, test.sentences),
        known=_part(chosen, types, there),
        unknown=_part(chosen, types, ~there),
        control=control,
        selectivity=None if control is None else chosen.among(there).accuracy - control,
        shuffled=blind.judge(test.features, test.labels).accuracy,
        compression=None if length is None else length.compression,
    )


def _part(probe: Judgement, types: Judgement, there: np.ndarray) -> Part:
    if not there.any():
        return Part(0.0, None, None)
    return Part(float(there.mean()), probe.among(there).accuracy, types.among(there).accuracy)


def _above(
    probe: Judgement, types: Judgement, there: np.ndarray, sentences: np.ndarray
) -> Interval | None:
    if len(np.unique(sentences[there])) < 2:
        return None
    return probe.among(there).above(types.among(there), sentences[there])

"""The accuracy of a probe together with its baselines and controls."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tlcourse.metrics import Interval
from tlcourse.probing.baselines import majority, word_types
from tlcourse.probing.controls import code_length, judge_control, known_items, shuffled_labels
from tlcourse.probing.fitting import Judgement
from tlcourse.probing.items import Examples
from tlcourse.probing.probes import linear_probe


@dataclass(frozen=True)
class Part:
    """Accuracies on a part of the test items; None if the part is empty."""

    share: float  # of all test items
    probe: float | None
    word_types: float | None


@dataclass(frozen=True)
class Report:
    """The accuracies of a probe and of baselines without a model, on the same test items.

    An item is known if its group occurs in training: a word by its form, a pair by both forms, a
    sentence by its text. For unknown words, the baseline of word types predicts the majority label.

    The control task is evaluated on known items, and selectivity is the accuracy on these minus
    that of the control. Both are None if no item is known, and for pairs and sentences, of which
    too few are known.

    A random encoder and the embeddings need reports of their own, from their `Examples`.
    """

    accuracy: Interval  # with the first seed, over test sentences
    seeds: tuple[float, ...]  # the accuracy with each seed
    majority: float
    word_types: float
    above_word_types: Interval  # accuracy minus that of word types, paired, over sentences
    above_word_types_known: Interval | None  # on known items; None for fewer than two sentences
    known: Part
    unknown: Part
    control: float | None
    selectivity: float | None
    shuffled: float  # accuracy of a probe trained on shuffled labels
    compression: float | None  # of the online code of the training data; None without `code`


def report(
    train: Examples,
    test: Examples,
    *,
    fit: Callable[..., Any] = linear_probe,
    seeds: Sequence[int] = (0,),
    code: bool = True,
    **settings: Any,
) -> Report:
    """Fits a probe with each seed, and every control with the first seed.

    `fit(vectors, labels, seed=, **settings)` is one of the probes; with `code` it must also take
    `names`. The code length takes ten more fits.
    """
    first, *others = [
        fit(train.features, train.labels, seed=seed, **settings).judge(test.features, test.labels)
        for seed in seeds
    ]
    known = known_items(train, test)
    control = None
    if train.kind == "word" and known.any():
        control = judge_control(train, test, fit=fit, seed=seeds[0], **settings).accuracy
    types = word_types(train.groups, train.labels).judge(test.groups, test.labels)
    shuffled = shuffled_labels(train.labels, seed=seeds[0])
    shuffled_probe = fit(train.features, shuffled, seed=seeds[0], **settings)
    length = None
    if code:
        length = code_length(train.features, train.labels, fit=fit, seed=seeds[0], **settings)
    return Report(
        accuracy=first.interval(test.sentences),
        seeds=(first.accuracy, *(judgement.accuracy for judgement in others)),
        majority=majority(train.labels).judge(test.groups, test.labels).accuracy,
        word_types=types.accuracy,
        above_word_types=first.above(types, test.sentences),
        above_word_types_known=_above(first, types, known, test.sentences),
        known=_part(first, types, known),
        unknown=_part(first, types, ~known),
        control=control,
        selectivity=None if control is None else first.among(known).accuracy - control,
        shuffled=shuffled_probe.judge(test.features, test.labels).accuracy,
        compression=None if length is None else length.compression,
    )


def _part(probe: Judgement, types: Judgement, chosen: np.ndarray) -> Part:
    if not chosen.any():
        return Part(0.0, None, None)
    return Part(float(chosen.mean()), probe.among(chosen).accuracy, types.among(chosen).accuracy)


def _above(
    probe: Judgement, types: Judgement, chosen: np.ndarray, sentences: np.ndarray
) -> Interval | None:
    if len(np.unique(sentences[chosen])) < 2:
        return None
    return probe.among(chosen).above(types.among(chosen), sentences[chosen])

"""One accuracy and all that it has to be seen beside."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tlcourse.metrics import Interval
from tlcourse.probing.baselines import majority, word_types
from tlcourse.probing.controls import code_length, selectivity, shuffled_labels
from tlcourse.probing.items import Examples
from tlcourse.probing.probes import linear_probe


@dataclass(frozen=True)
class Report:
    """Accuracies of a probe and of what needs no model, on the same test items.

    A random encoder and the embeddings alone have reports of their own: other `Examples`.
    """

    accuracy: Interval  # of the first seed, over test sentences
    seeds: tuple[float, ...]  # the accuracy with each
    majority: float
    word_types: float
    above_word_types: Interval  # accuracy less that of the word types, paired, over sentences
    control: float
    selectivity: float
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
    chosen = selectivity(train, test, fit=fit, seed=seeds[0], **settings)
    others = [
        fit(train.features, train.labels, seed=seed, **settings).judge(test.features, test.labels)
        for seed in seeds[1:]
    ]
    types = word_types(train.groups, train.labels).judge(test.groups, test.labels)
    mixed = shuffled_labels(train.labels, seed=seeds[0])
    blind = fit(train.features, mixed, seed=seeds[0], **settings)
    length = None
    if code:
        length = code_length(train.features, train.labels, fit=fit, seed=seeds[0], **settings)
    return Report(
        accuracy=chosen.task.interval(test.sentences),
        seeds=(chosen.task.accuracy, *(other.accuracy for other in others)),
        majority=majority(train.labels).judge(test.groups, test.labels).accuracy,
        word_types=types.accuracy,
        above_word_types=chosen.task.above(types, test.sentences),
        control=chosen.control.accuracy,
        selectivity=chosen.value,
        shuffled=blind.judge(test.features, test.labels).accuracy,
        compression=None if length is None else length.compression,
    )

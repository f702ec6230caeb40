"""Does a probe read or memorise? Control tasks, shuffled labels and online code length.

Sources: Hewitt & Liang (2019), "Designing and Interpreting Probes with Control Tasks"; Voita &
Titov (2020), "Information-Theoretic Probing with Minimum Description Length".
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from tlcourse.batching import generator_for
from tlcourse.probing.fitting import Judgement, names_of
from tlcourse.probing.items import Examples
from tlcourse.probing.probes import linear_probe

# The shares of the data at which the online code fits a new probe (Voita & Titov).
FRACTIONS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.0625, 0.125, 0.25, 0.5, 1.0)


def control_labels(groups: Iterable[str], labels: Iterable[str], *, seed: int = 0) -> np.ndarray:
    """Random labels, (items,), the same for all items of a word type.

    A label is drawn from the distribution of `labels` and depends only on the seed and the type, so
    with the same `labels` a type has the same label in training and test data. A probe can predict
    it only by memorising types.
    """
    counts = sorted(Counter(labels).items())
    names = np.asarray([name for name, _ in counts])
    cumulative = np.cumsum([count for _, count in counts])

    def draw(group: str) -> int:
        digest = hashlib.sha256(f"{seed} {group}".encode()).digest()
        share = int.from_bytes(digest[:6]) / 2**48
        return int(np.searchsorted(cumulative, share * cumulative[-1], side="right"))

    groups = list(groups)
    by_group = {group: draw(group) for group in set(groups)}
    return names[[by_group[group] for group in groups]]


def shuffled_labels(labels: Iterable[str], *, seed: int = 0) -> np.ndarray:
    """The labels in random order: a probe that still predicts some of them does so by chance."""
    labels = np.asarray(list(labels))
    return np.random.default_rng(generator_for(seed, 1).initial_seed()).permutation(labels)


@dataclass(frozen=True, eq=False)
class Selectivity:
    """A probe of the task and a probe of the control task, evaluated on the same items.

    These are the test items whose group occurs in training: the control label of the others cannot
    be known, so an error there shows nothing.
    """

    task: Judgement
    control: Judgement
    known: float  # the share of the test items on which both are evaluated

    @property
    def value(self) -> float:
        """Accuracy on the task minus that on the control task (Hewitt & Liang, 2019)."""
        return self.task.accuracy - self.control.accuracy


def selectivity(
    train: Examples,
    test: Examples,
    *,
    fit: Callable[..., Any] = linear_probe,
    seed: int = 0,
    **settings: Any,
) -> Selectivity:
    """Fits `fit(vectors, labels, seed=, **settings)` on the task and on its control task.

    Control labels follow the types and the label distribution of `train`. This is meant for tasks
    about words: few pairs and hardly any sentences occur again, so few test items can be used, as
    `known` shows. Raises ValueError if no test item has a group that occurs in training.
    """
    known = known_items(train, test)
    if not known.any():
        raise ValueError(
            f"expected test items whose groups are among the training groups, got none of "
            f"{len(known)}"
        )
    control = judge_control(train, test, fit=fit, seed=seed, **settings)
    probe = fit(train.features, train.labels, seed=seed, **settings)
    task = probe.judge(test.features, test.labels).among(known)
    return Selectivity(task, control, float(known.mean()))


def known_items(train: Examples, test: Examples) -> np.ndarray:
    """(test items,) True where the group of the item occurs in training."""
    return np.isin(test.groups, train.groups)


def judge_control(
    train: Examples,
    test: Examples,
    *,
    fit: Callable[..., Any] = linear_probe,
    seed: int = 0,
    **settings: Any,
) -> Judgement:
    """Fits a probe on the control task and evaluates it on the known test items."""
    train_labels = control_labels(train.groups, train.labels, seed=seed)
    test_labels = control_labels(test.groups, train.labels, seed=seed)
    probe = fit(train.features, train_labels, seed=seed, **settings)
    return probe.judge(test.features, test_labels).among(known_items(train, test))


@dataclass(frozen=True)
class CodeLength:
    """The number of bits needed to send the labels to a receiver who has the vectors."""

    bits: float
    uniform_bits: float  # items * log2(labels): the code without learning
    parts: tuple[tuple[int, float], ...]  # items sent so far, bits of the block that ends there

    @property
    def compression(self) -> float:
        """The length of the uniform code divided by that of this code."""
        return self.uniform_bits / self.bits


def code_length(
    features: np.ndarray,
    labels: Iterable[str],
    *,
    fit: Callable[..., Any] = linear_probe,
    fractions: Sequence[float] = FRACTIONS,
    seed: int = 0,
    **settings: Any,
) -> CodeLength:
    """The online code length of Voita & Titov (2020): a probe of earlier blocks codes each block.

    The items are in random order. The first block costs log2(labels) bits per item. Each further
    block costs -log2 p under a probe of all items before it, fitted by `fit(vectors, labels,
    names=, seed=, **settings)`. `fractions` are the ends of the blocks; a block without items is
    left out. Raises ValueError for fractions that do not rise to 1.
    """
    labels = np.asarray(list(labels))
    if list(fractions) != sorted(set(fractions)) or fractions[0] <= 0 or fractions[-1] != 1:
        raise ValueError(f"expected fractions that rise to 1, got {list(fractions)}")
    names = names_of(labels)
    order = np.random.default_rng(generator_for(seed, 2).initial_seed()).permutation(len(labels))
    ends = sorted({max(1, round(share * len(labels))) for share in fractions})
    uniform = float(np.log2(len(names)))
    parts = [(ends[0], ends[0] * uniform)]
    for sent, end in pairwise(ends):
        earlier, block = order[:sent], order[sent:end]
        probe = fit(features[earlier], labels[earlier], names=names, seed=seed, **settings)
        nats = probe.nats(features[block], labels[block])
        parts.append((end, float(np.sum(nats, dtype=np.float64) / np.log(2))))
    bits = sum(bits for _, bits in parts)
    return CodeLength(bits, len(labels) * uniform, tuple(parts))

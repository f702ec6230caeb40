"""Whether a probe reads or learns: control tasks, shuffled labels, and the length of a code.

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

# The shares of the data after which the online code goes on with a new probe (Voita & Titov).
FRACTIONS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.0625, 0.125, 0.25, 0.5, 1.0)


def control_labels(groups: Iterable[str], labels: Iterable[str], *, seed: int = 0) -> np.ndarray:
    """(items,) a random label for each word type, always the same one for a type.

    It is drawn from the distribution of `labels`, by the seed and the type alone: with the same
    `labels` a type gets its label in training and test data alike. A probe can only get it right by
    remembering types.
    """
    counts = sorted(Counter(labels).items())
    names = np.asarray([name for name, _ in counts])
    upto = np.cumsum([count for _, count in counts])

    def draw(group: str) -> int:
        digest = hashlib.sha256(f"{seed} {group}".encode()).digest()
        share = int.from_bytes(digest[:6]) / 2**48
        return int(np.searchsorted(upto, share * upto[-1], side="right"))

    groups = list(groups)
    drawn = {group: draw(group) for group in set(groups)}
    return names[[drawn[group] for group in groups]]


def shuffled_labels(labels: Iterable[str], *, seed: int = 0) -> np.ndarray:
    """The same labels on other items: whatever a probe still gets right, it guessed."""
    labels = np.asarray(list(labels))
    return np.random.default_rng(generator_for(seed, 1).initial_seed()).permutation(labels)


@dataclass(frozen=True, eq=False)
class Selectivity:
    """A probe on the task and the same kind of probe on the control task, on the same items.

    Those are the test items whose group is among the training groups: of the others nobody can know
    the control label, and a probe that fails there shows nothing.
    """

    task: Judgement
    control: Judgement
    known: float  # the share of the test items that these are

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

    Control labels follow the types and the label distribution of `train`. Made for tasks about
    words: few pairs and hardly any sentence occur again, so little is left to judge by, which
    `known` says. Raises ValueError where no test item has a group of the training items.
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
    """(test items,) whether the group of each is among those of the training items."""
    return np.isin(test.groups, train.groups)


def judge_control(
    train: Examples,
    test: Examples,
    *,
    fit: Callable[..., Any] = linear_probe,
    seed: int = 0,
    **settings: Any,
) -> Judgement:
    """What a probe of the control task says of the test items that are known."""
    control = control_labels(train.groups, train.labels, seed=seed)
    asked = control_labels(test.groups, train.labels, seed=seed)
    probe = fit(train.features, control, seed=seed, **settings)
    return probe.judge(test.features, asked).among(known_items(train, test))


@dataclass(frozen=True)
class CodeLength:
    """How many bits it takes to send the labels to someone who has the vectors."""

    bits: float
    uniform_bits: float  # items * log2(labels): by someone who learns nothing
    parts: tuple[tuple[int, float], ...]  # items sent so far, bits of the block that ends there

    @property
    def compression(self) -> float:
        """How many times shorter than the uniform code."""
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
    """The online code of Voita & Titov (2020): each block by a probe of all blocks before it.

    The items come in a random order. The first block costs log2(labels) bits an item. Then a probe
    is fitted on what was sent, `fit(vectors, labels, names=, seed=, **settings)`; the next block
    costs its -log2 p. `fractions` says where blocks end, the last at 1; a block without an item is
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
        known, next_ones = order[:sent], order[sent:end]
        probe = fit(features[known], labels[known], names=names, seed=seed, **settings)
        nats = probe.nats(features[next_ones], labels[next_ones])
        parts.append((end, float(np.sum(nats, dtype=np.float64) / np.log(2))))
    bits = sum(bits for _, bits in parts)
    return CodeLength(bits, len(labels) * uniform, tuple(parts))

"""Lesson 07: random labels for word types, the control task of Hewitt & Liang (2019).

Random draws are checked by counting them over thousands of types.
"""

import random
from collections import Counter

from tlcourse.exercises.expect import CheckFailed, expect_unchanged, short
from tlcourse.exercises.probing._words import (
    SESSION,
    UNSEEDED,
    by_two_seeds,
    in_two_sessions,
    types,
)
from tlcourse.exercises.task import Exercise, case

task = Exercise(
    __name__,
    number="7.3",
    title="A control task",
    difficulty=2,
    importance=4,
    minutes=10,
    hints=(
        "Work in two steps: draw a label for each word *type*, then look up the label of each "
        "word.",
        "Create one generator for all draws, `random.Random(seed)`. `generator.choice(labels)` "
        "draws a label that fills half of the list half of the time.",
        "A dictionary keeps the label of each type. `dict.fromkeys(words)` has each type once, in "
        "the order of the text; a `set` has another order in each session.",
    ),
    imports="import random\nfrom collections import Counter\nimport numpy as np\nimport torch",
)


@task.reference
def control_labels(words, labels, seed):
    """A random label for each word, the same for equal words, as frequent as in `labels`."""
    generator = random.Random(seed)
    drawn = {word: generator.choice(labels) for word in dict.fromkeys(words)}
    return [drawn[word] for word in words]


def given(candidate, words, labels, seed):
    """The candidate's labels, one for each word; raises CheckFailed for anything else."""
    got = expect_unchanged(candidate, words, labels, seed)
    got = got.tolist() if hasattr(got, "tolist") else got
    if not isinstance(got, list | tuple) or len(got) != len(words):
        why = "Each word of the text has a label, also when it is repeated."
        raise CheckFailed(
            check=f"the labels of {len(words)} words",
            yours=short(got),
            expected=f"a list of {len(words)} labels",
            why="Is a `return` missing?" if got is None else why,
        )
    return list(got)


def by_type(candidate, words, labels, seed):
    """The label of each type."""
    return dict(zip(words, given(candidate, words, labels, seed), strict=True))


def strange(candidate, words, labels, seed):
    """The results that are none of the labels."""
    return sorted({*map(str, given(candidate, words, labels, seed))} - {*map(str, labels)})


def with_several(candidate, words, labels, seed):
    """The types with more than one label, the first three."""
    pairs = set(zip(words, given(candidate, words, labels, seed), strict=True))
    counts = Counter(word for word, _ in pairs)
    return sorted(word for word in counts if counts[word] > 1)[:3]


def shares(candidate, words, labels, seed):
    """The share of types with each label, the labels sorted."""
    counts = Counter(by_type(candidate, words, labels, seed).values())
    return [counts[label] / counts.total() for label in sorted(set(labels))]


def shares_by_own(candidate, words, labels, seed):
    """The share of the first label among the types of each label, the labels sorted."""
    drawn, found = by_type(candidate, words, labels, seed), []
    for own in sorted(set(labels)):
        of_it = [drawn[word] for word, label in zip(words, labels, strict=True) if label == own]
        found.append(of_it.count(min(labels)) / len(of_it))
    return found


setting = types(200), ["A", "B", "C", "D"] * 50

task.stage(
    "a label for each word",
    case(
        "results for `a dog sees a cat` that are none of the labels",
        *(["a", "dog", "sees", "a", "cat"], ["D", "N", "V", "D", "N"], 0),
    ),
    hint="Pick each new label from `labels`.",
    measure=strange,
    expected=lambda *_: [],
)
task.stage(
    "the same word, the same label",
    case(
        "40 types, 6 times each: the first three with more than one label",
        *(types(40, each=6), ["A", "B", "C"] * 80, 0),
        expected=[],
    ),
    hint="Was a label drawn for each position in the text? Draw once for a type, and look it up "
    "when the word is repeated.",
    measure=with_several,
)
task.stage(
    "drawn by the seed",
    case(
        "the number of different labels of 200 types",
        *(*setting, 0),
        measure=lambda *each: len(set(given(*each))),
        expected=4,
        hint="Each of four equally frequent labels should occur. Draw from all of `labels`.",
    ),
    case(
        "the labels by seed 3 and again by seed 3",
        *(*setting, 3, 3),
        expected="the same",
        hint=UNSEEDED,
    ),
    case("the labels by seed 0 and by seed 1", *setting, 0, 1, expected="different"),
    hint="`seed` was not used: another seed has to give another draw.",
    measure=by_two_seeds(given),
)
task.stage(
    "independent of the true label",
    case(
        "the share of A among types that are A themselves, and among those that are B",
        *(types(1000), ["A", "B"] * 500, 0),
        expected=[0.5, 0.5],
    ),
    hint="Half of all labels are A. A type's own label must not change its chances.",
    measure=shares_by_own,
    tolerance=0.1,
)
task.stage(
    "the frequencies of the labels",
    case(
        "D 3,000 times in `labels`, N 1,000 times, V 500 times: the share of types with each",
        *(["the"] * 3000 + types(1500), ["D"] * 3000 + ["N", "N", "V"] * 500, 0),
        expected=[6 / 9, 2 / 9, 1 / 9],
    ),
    hint="Draw from the list of all labels, two thirds of which are D. The set of labels has each "
    "label once, and a list with one label for each type has the D of `the` once.",
    measure=shares,
    tolerance=0.05,
)
task.stage(
    "in another session",
    case("the labels in two sessions of Python", types(300), types(12, each=25), 0),
    hint=SESSION,
    measure=in_two_sessions(given),
    expected=lambda *_: "the same",
)


def by(draw):
    """A solution with `draw(generator, labels, own labels of all types)`, a label for each type."""

    def candidate(words, labels, seed):
        own = dict(zip(words, labels, strict=True))
        drawn = dict(zip(own, draw(random.Random(seed), labels, own), strict=True))
        return [drawn[word] for word in words]

    return candidate


task.mistakes(
    (
        "All words got the same label. Is the generator created anew for each word? Then each draw "
        "is its first.",
        lambda words, labels, seed: [random.Random(seed).choice(labels) for _ in words],
    ),
    (
        "Each label is equally likely here, as in a draw from the set of labels: draw from the "
        "list `labels`, in which a frequent label is more likely.",
        by(lambda generator, labels, own: generator.choices(sorted({*labels}), k=len(own))),
    ),
    (
        "Each type counts once here, however frequent it is: draw from all of `labels`, which has "
        "a label for each word of the text.",
        by(lambda generator, labels, own: generator.choices([*own.values()], k=len(own))),
    ),
)

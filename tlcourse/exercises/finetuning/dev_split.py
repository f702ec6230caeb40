"""Lesson 04: a stratified dev split that keeps the copies of a question together."""

import hashlib
from collections import Counter

import numpy as np

from tlcourse.exercises.expect import CheckFailed, expect_equal, expect_unchanged
from tlcourse.exercises.pretraining._common import told
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying


def rows_of(candidate, texts, labels, *more):
    """The returned row numbers; raises CheckFailed unless they are sorted and occur once."""
    got = expect_unchanged(candidate, texts, labels, *more)
    try:
        rows = [range(len(texts)).index(row) for row in got]
    except (TypeError, ValueError):
        raise CheckFailed(
            check="what your function returns",
            yours=told(got),
            expected=f"the row numbers of the dev split, from 0 to {len(texts) - 1}",
        ) from None
    expect_equal(rows, sorted(set(rows)), "the row numbers, sorted, each of them once")
    return rows


def of_each_label(candidate, texts, labels, *more):
    """The number of dev rows of each label; a copy has the label of the first one."""
    first = dict(zip(reversed(texts), reversed(labels), strict=True))
    counts = Counter(first[texts[row]] for row in rows_of(candidate, texts, labels, *more))
    return [counts[label] for label in sorted(set(labels))]


task = Exercise(
    __name__,
    number="4.1",
    title="A dev split",
    difficulty=3,
    importance=4,
    minutes=15,
    hints=(
        "Build the groups first: a dict from each text to its row numbers. Then collect, for each "
        "label, the list of its groups.",
        "`generator.permutation(len(groups))` is a random order of a label's groups. Go through "
        "it, and count how many more rows the label needs.",
        "`needed = round(fraction * rows)`; then, for each group in the random order: "
        "`if len(group) <= needed: dev += group; needed -= len(group)`.",
    ),
    imports="import random\nfrom collections import Counter, defaultdict\n\nimport numpy as np",
    measure=of_each_label,
)


@task.reference
def dev_split(texts, labels, fraction=0.1, seed=0):
    """The row numbers of the dev split, sorted."""
    groups = {}  # text → its rows
    for row, text in enumerate(texts):
        groups.setdefault(text, []).append(row)
    by_label = {}  # label → its groups
    for group in groups.values():
        by_label.setdefault(labels[group[0]], []).append(group)
    generator, dev = np.random.default_rng(seed), []
    for label in sorted(by_label):
        needed = round(fraction * sum(map(len, by_label[label])))
        for place in generator.permutation(len(by_label[label])):
            group = by_label[label][place]
            if len(group) <= needed:
                dev += group
                needed -= len(group)
    return sorted(dev)


@task.truth
def quotas(texts, labels, fraction=0.1, seed=0):
    first = dict(zip(reversed(texts), reversed(labels), strict=True))
    rows = Counter(first[text] for text in texts)
    return [round(fraction * rows[label]) for label in sorted(rows)]


def torn(candidate, texts, *more):
    """The questions with one copy in dev and another in train."""
    rows = set(rows_of(candidate, texts, *more))
    train = {text for row, text in enumerate(texts) if row not in rows}
    return sorted(train & {texts[row] for row in rows})


def splits(candidate, seeds):
    """The number of different splits that these seeds give, at most three."""
    return min(3, len({tuple(rows_of(candidate, TEXTS, LABELS, 0.1, seed)) for seed in seeds}))


class Salted(str):
    """A text whose hash depends on a salt, as hashes differ between sessions of Python."""

    salt = 1

    def __hash__(self):
        digest = hashlib.blake2b(f"{self.salt} {self}".encode(), digest_size=7)
        return int(digest.hexdigest(), 16)


def of_sessions(candidate, *arguments):
    """The number of different splits when sets have the orders of two sessions."""
    different = set()
    for Salted.salt in (1, 2):
        salted = [[Salted(each) for each in some] for some in (TEXTS, LABELS)]
        try:
            different.add(tuple(rows_of(candidate, *salted)))
        except Exception:  # an answer may not take texts of another class
            return 1
    return len(different)


TEXTS = [f"question {number}" for number in range(100)]
LABELS = ["A"] * 50 + ["B"] * 30 + ["C"] * 20

numbers = [*range(60), *range(10), *range(5, 15), *range(20, 30)]
copies = [f"question {number}" for number in np.random.default_rng(varying(7)).permutation(numbers)]
equal = ["AB"[int(text[-1]) % 2] for text in copies]
other = ["B" if text in copies[:row] else equal[row] for row, text in enumerate(copies)]
alike = [*TEXTS[:20], *map(str.upper, TEXTS[:10]), *map("{} ".format, TEXTS[10:20])]


task.stage(
    "a tenth",
    case("the number of dev rows of 100, `fraction=0.2`", TEXTS, LABELS, 0.2, 0, expected=20),
    case("the number of dev rows of 100 if no `fraction` is given", TEXTS, LABELS, expected=10),
    measure=lambda *given: len(rows_of(*given)),
    hint="`fraction` is the share of the rows that go to dev, by default 0.1. A group "
    "that exactly fills the quota still fits (`<=`). Return the rows in dev.",
)
DEV = "the number of dev rows of each label"
task.stage(
    "every label",
    case(f"{DEV}, of 50, 30 and 20 rows, `fraction=0.16`", TEXTS, LABELS, 0.16, 0),
    case(
        f"{DEV}, of 30 rows with label A and 3 with B",
        *(TEXTS[:33], LABELS[20:53], 0.1, 0),
        hint="A tenth of 3 rows is rounded to 0, so dev has no row with the label B.",
    ),
    hint="Dev takes `round(fraction * rows of the label)` rows of each label.",
)
SKIP = "Three copies count as three rows. Skip a group that no longer fits, and go on."
same = f"{DEV}, where copies have the same label"
task.stage(
    "repeated questions",
    case(
        "the questions with one copy in dev and another in train",
        *(copies, other, 0.3, 0),
        measure=torn,
        expected=[],
        hint="All copies of a question go to the same side, even if their labels differ: draw "
        "texts, not rows.",
    ),
    *(case(same, copies, equal, 0.3, seed, hint=SKIP) for seed in range(8)),
    case(
        f"{DEV} by the label of the first copy",
        *(copies, other, 0.3, 0),
        hint="All copies of a question have the label of its first row, and all of them count in "
        "the `n` of this label.",
    ),
    case(
        f"{DEV}, of 20 texts, 10 of them again in capitals, 10 with a space at the end",
        *(alike, list("A" * 10 + "B" * 10) * 2, 0.15, 0),
    ),
    hint="Only texts that are exactly equal are copies: do not change capitals and spaces.",
)
task.stage(
    "the seed",
    case("the number of different splits in four calls with one seed", [3, 3, 3, 3], expected=1),
    case(
        "the number of different splits of five seeds, counted up to three",
        range(5),
        expected=3,
        hint="Other seeds must give other splits: draw with `np.random.default_rng(seed)`.",
    ),
    case(
        "the number of different splits in two sessions of Python",
        expected=1,
        measure=of_sessions,
        hint="The order of a set differs between sessions: go through `sorted(...)` of it.",
    ),
    measure=splits,
    hint="The split must depend on the seed alone: make your own generator from it.",
)


def by_text_and_label(texts, labels, *more):
    return dev_split(list(zip(texts, labels, strict=True)), labels, *more)


def copies_count_once(texts, labels, *more):
    first = dict(zip(reversed(texts), reversed(labels), strict=True))
    once = list(dict.fromkeys(texts))
    dev = {once[row] for row in dev_split(once, [first[text] for text in once], *more)}
    return [row for row, text in enumerate(texts) if text in dev]


task.mistakes(
    (
        "These are the rows that remain in train: return the others, the smaller part.",
        lambda texts, *more: sorted({*range(len(texts))} - {*dev_split(texts, *more)}),
    ),
    (
        "A question whose copies have two labels was split: group the rows by the text alone.",
        by_text_and_label,
    ),
    (
        "A question with three copies counts as one row here, but it adds three rows to dev: "
        "subtract `len(group)` from what the label needs.",
        copies_count_once,
    ),
)

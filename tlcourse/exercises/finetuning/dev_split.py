"""Lesson 04: a dev split, stratified, with every repeated question on one side."""

import hashlib
from collections import Counter, defaultdict

import numpy as np

from tlcourse.exercises.expect import CheckFailed, expect_unchanged, short
from tlcourse.exercises.task import Exercise, case


def rows_of(candidate, texts, labels, *more):
    """The rows that the candidate chose, a list of whole numbers."""
    got = expect_unchanged(candidate, texts, labels, *more)
    try:
        rows = [int(row) for row in got]
        numbers = all(int(row) == row and not isinstance(row, bool | np.bool_) for row in got)
    except (TypeError, ValueError):
        numbers = False
    last = len(texts) - 1
    if not numbers or len(set(rows)) < len(rows) or not all(0 <= row <= last for row in rows):
        raise CheckFailed(
            check="what your function returns",
            yours="None (is a `return` missing?)" if got is None else short(got),
            expected=f"the row numbers of the dev split, different numbers from 0 to {last}",
        )
    if rows != sorted(rows):
        raise CheckFailed(
            check="the order of the row numbers", yours=short(rows), expected=short(sorted(rows))
        )
    return rows


def of_each_label(candidate, texts, labels, *more):
    """How many rows of each label are in dev; a copy has the label of the first one."""
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
        "Build the groups first: a dict from each text to its row numbers. Then make, for each "
        "label, the list of its groups.",
        "`generator.permutation(len(groups))` is a random order of a label's groups. Go through "
        "it, and keep count of how many rows are still wanted.",
        "`wanted = round(fraction * rows)`; then, for each group in the random order: "
        "`if len(group) <= wanted: dev += group; wanted -= len(group)`.",
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
        wanted = round(fraction * sum(map(len, by_label[label])))
        for place in generator.permutation(len(by_label[label])):
            group = by_label[label][place]
            if len(group) <= wanted:
                dev += group
                wanted -= len(group)
    return sorted(dev)


@task.truth
def quotas(texts, labels, fraction=0.1, seed=0):
    first = dict(zip(reversed(texts), reversed(labels), strict=True))
    rows = Counter(first[text] for text in texts)
    return [round(fraction * rows[label]) for label in sorted(rows)]


def size(candidate, *arguments):
    return len(rows_of(candidate, *arguments))


def torn(candidate, texts, *more):
    """The questions of which one copy is in dev and another is in train."""
    rows, sides = set(rows_of(candidate, texts, *more)), defaultdict(set)
    for row, text in enumerate(texts):
        sides[text].add(row in rows)
    return sorted(text for text, both in sides.items() if len(both) == 2)


def splits(candidate, seeds):
    """How many different splits these seeds give, up to three."""
    return min(3, len({tuple(rows_of(candidate, TEXTS, LABELS, 0.1, seed)) for seed in seeds}))


def halves(candidate, seeds):
    """From which half of the 50 rows of label A rows are drawn, over all seeds."""
    rows = [row for seed in seeds for row in rows_of(candidate, TEXTS, LABELS, 0.1, seed)]
    return sorted({"first half" if row < 25 else "second half" for row in rows if row < 50})


class Salted(str):
    """A text with another hash for each salt, as Python gives it in each session."""

    salt = 1

    def __hash__(self):
        digest = hashlib.blake2b(f"{self.salt} {self}".encode(), digest_size=7)
        return int(digest.hexdigest(), 16)


def of_sessions(candidate, texts, labels, *more):
    """How many different splits come where sets have the order of one session, then of another."""
    found = set()
    for Salted.salt in (1, 2):
        salted = [[Salted(each) for each in some] for some in (texts, labels)]
        try:
            found.add(tuple(rows_of(candidate, *salted, *more)))
        except Exception:  # an answer may not take texts of another class
            return 1
    return len(found)


TEXTS = [f"question {number}" for number in range(100)]
LABELS = ["A"] * 50 + ["B"] * 30 + ["C"] * 20

numbers = [*range(60), *range(10), *range(5, 15), *range(20, 30)]
numbers = [numbers[place] for place in np.random.default_rng(7).permutation(len(numbers))]
copies = [f"question {number}" for number in numbers]
equal = ["AB"[number % 2] for number in numbers]
other = ["B" if text in copies[:row] else equal[row] for row, text in enumerate(copies)]


def drawn(what, texts, labels, fraction, seeds, hint="", **how):
    """A case for each seed."""
    return [case(what, texts, labels, fraction, seed, hint=hint, **how) for seed in range(seeds)]


def pairs(change):
    """20 questions, each followed by one that is nearly the same."""
    return [form for text in TEXTS[:20] for form in (text, change(text))], ["A"] * 40


task.stage(
    "a tenth",
    case("the number of rows in dev of 100 questions", TEXTS, LABELS, 0.1, 0, expected=10),
    case("the same with `fraction=0.2`", TEXTS, LABELS, 0.2, 0, expected=20),
    case("the same without `fraction`, which is 0.1 then", TEXTS, LABELS, expected=10),
    measure=size,
    hint="`fraction` says which share of the rows goes to dev.",
)
DEV = "the number of dev rows of each label"
SMALL = "A tenth of 3 rows is rounded to 0, so the label B stays in train."
task.stage(
    "every label",
    *drawn(f"{DEV}, of 50 rows with label A, 30 with B, 20 with C", TEXTS, LABELS, 0.1, 3),
    case("the same with `fraction=0.16`", TEXTS, LABELS, 0.16, 0),
    *drawn(
        f"{DEV}, of 30 rows with label A and 3 with B", TEXTS[:33], LABELS[20:53], 0.1, 1, SMALL
    ),
    hint="Dev takes `round(fraction * rows of the label)` rows of each label.",
)
TORN = "the questions with one copy in dev and another in train, where copies have"
GROUP = "A question and all its copies go to one side: draw texts, not rows."
SKIP = "Three copies take three places in dev. Skip a group that no longer fits, and go on."
FIRST = "All copies of a question count as rows of the label that its first row has."
torn_apart = {"expected": [], "measure": torn}
task.stage(
    "repeated questions",
    *drawn(f"{TORN} the same label", copies, equal, 0.3, 3, GROUP, **torn_apart),
    *drawn(f"{TORN} different labels", copies, other, 0.3, 3, GROUP, **torn_apart),
    *drawn(f"{DEV}, where copies have the same label", copies, equal, 0.3, 8, SKIP),
    *drawn(f"{DEV} by the label of the first copy", copies, other, 0.3, 3, FIRST),
    *drawn(f"{DEV}, of 20 texts in small letters and 20 in capitals", *pairs(str.upper), 0.075, 1),
    *drawn(
        f"{DEV}, of 20 texts and the same 20 with a space at the end",
        *pairs("{} ".format),
        0.075,
        1,
    ),
    hint="Only texts that are exactly equal are copies: leave capitals and spaces as they are.",
)
task.stage(
    "the seed",
    case("the number of different splits in four calls with one seed", [3, 3, 3, 3], expected=1),
    case(
        "the number of different splits of five seeds, counted up to three",
        range(5),
        expected=3,
        hint="Another seed must give another split: draw with `np.random.default_rng(seed)`.",
    ),
    case(
        "the halves of the rows of label A that ten seeds draw from",
        range(10),
        expected=["first half", "second half"],
        measure=halves,
        hint="Any group may be drawn, wherever its rows stand in the file.",
    ),
    case(
        "the number of different splits in two sessions of Python",
        TEXTS,
        [f"label {row % 5}" for row in range(100)],
        0.2,
        expected=1,
        measure=of_sessions,
        hint="A set has another order in each session: go through `sorted(...)` of it.",
    ),
    measure=splits,
    hint="The split must depend on the seed alone: make a generator of your own from it.",
)


def the_other_side(texts, *more):
    return sorted(set(range(len(texts))) - set(dev_split(texts, *more)))


def not_stratified(texts, labels, *more):
    return dev_split(texts, ["one"] * len(texts), *more)


def by_rows(texts, *more):
    return dev_split(list(range(len(texts))), *more)


def by_text_and_label(texts, labels, *more):
    return dev_split(list(zip(texts, labels, strict=True)), labels, *more)


def cut_off(texts, labels, fraction=0.1, seed=0):
    dev = []
    for label in sorted(set(labels)):
        rows = [row for row, each in enumerate(labels) if each == label]
        dev += np.random.default_rng(seed).permutation(rows)[: int(fraction * len(rows))].tolist()
    return sorted(dev)


task.mistakes(
    ("These are the rows that stay in train; dev is the smaller part.", the_other_side),
    ("The rows were drawn from all labels together: draw from each label.", not_stratified),
    ("`int` rounds down; `round` goes to the nearest whole number.", cut_off),
    ("Rows were drawn, so the copies of a question end up on both sides: draw groups.", by_rows),
    (
        "A question that has two labels was split: group the rows by the text alone.",
        by_text_and_label,
    ),
    (
        "Every seed gives the same rows: is the order drawn with a generator made from `seed`?",
        lambda texts, labels, fraction=0.1, seed=0: dev_split(texts, labels, fraction),
    ),
)

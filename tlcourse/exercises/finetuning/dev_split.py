"""Lesson 04: a dev split, stratified, with every repeated question on one side."""

import hashlib
from collections import Counter

import numpy as np

from tlcourse.exercises.expect import CheckFailed, expect_equal, expect_unchanged, short
from tlcourse.exercises.task import Exercise, case


def rows_of(candidate, texts, labels, *more):
    """The rows that the candidate chose; raises CheckFailed unless they are sorted rows."""
    got = expect_unchanged(candidate, texts, labels, *more)
    try:
        rows = [range(len(texts)).index(row) for row in got]
    except (TypeError, ValueError):
        raise CheckFailed(
            check="what your function returns",
            yours="None (is a `return` missing?)" if got is None else short(got),
            expected=f"the row numbers of the dev split, from 0 to {len(texts) - 1}",
        ) from None
    expect_equal(rows, sorted(set(rows)), "the order of the row numbers, each of them once")
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
    rows = set(rows_of(candidate, texts, *more))
    train = {text for row, text in enumerate(texts) if row not in rows}
    return sorted(train & {texts[row] for row in rows})


def splits(candidate, seeds):
    """How many different splits these seeds give, up to three."""
    return min(3, len({tuple(rows_of(candidate, TEXTS, LABELS, 0.1, seed)) for seed in seeds}))


class Salted(str):
    """A text with another hash for each salt, as Python gives it in each session."""

    salt = 1

    def __hash__(self):
        digest = hashlib.blake2b(f"{self.salt} {self}".encode(), digest_size=7)
        return int(digest.hexdigest(), 16)


def of_sessions(candidate, *arguments):
    """How many different splits come where sets have the order of one session, then of another."""
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
copies = [f"question {number}" for number in np.random.default_rng(7).permutation(numbers)]
equal = ["AB"[int(text[-1]) % 2] for text in copies]
other = ["B" if text in copies[:row] else equal[row] for row, text in enumerate(copies)]
alike = [*TEXTS[:20], *map(str.upper, TEXTS[:10]), *map("{} ".format, TEXTS[10:20])]


task.stage(
    "a tenth",
    case("the number of dev rows of 100, `fraction=0.2`", TEXTS, LABELS, 0.2, 0, expected=20),
    case("the same without `fraction`, which is 0.1 then", TEXTS, LABELS, expected=10),
    measure=size,
    hint="`fraction` says which share of the rows goes to dev.",
)
DEV = "the number of dev rows of each label"
task.stage(
    "every label",
    case(f"{DEV}, of 50 rows with label A, 30 with B, 20 with C", TEXTS, LABELS, 0.1, 0),
    case("the same with `fraction=0.16`", TEXTS, LABELS, 0.16, 0),
    case(
        f"{DEV}, of 30 rows with label A and 3 with B",
        *(TEXTS[:33], LABELS[20:53], 0.1, 0),
        hint="A tenth of 3 rows is rounded to 0, so the label B stays in train.",
    ),
    hint="Dev takes `round(fraction * rows of the label)` rows of each label.",
)
SKIP = "Three copies take three places in dev. Skip a group that no longer fits, and go on."
same = f"{DEV}, where copies have the same label"
task.stage(
    "repeated questions",
    case(
        "the questions with one copy in dev and another in train",
        *(copies, other, 0.3, 0),
        measure=torn,
        expected=[],
        hint="A question and all its copies go to one side: draw texts, not rows.",
    ),
    *(case(same, copies, equal, 0.3, seed, hint=SKIP) for seed in range(8)),
    case(
        f"{DEV} by the label of the first copy",
        *(copies, other, 0.3, 0),
        hint="All copies of a question count as rows of the label that its first row has.",
    ),
    case(
        f"{DEV}, of 20 texts, 10 of them again in capitals, 10 with a space at the end",
        *(alike, list("A" * 10 + "B" * 10) * 2, 0.15, 0),
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
        "the number of different splits in two sessions of Python",
        expected=1,
        measure=of_sessions,
        hint="A set has another order in each session: go through `sorted(...)` of it.",
    ),
    measure=splits,
    hint="The split must depend on the seed alone: make a generator of your own from it.",
)


def the_other_side(texts, *more):
    return sorted(set(range(len(texts))) - set(dev_split(texts, *more)))


def by_text_and_label(texts, labels, *more):
    return dev_split(list(zip(texts, labels, strict=True)), labels, *more)


task.mistakes(
    ("These are the rows that stay in train; dev is the smaller part.", the_other_side),
    (
        "A question that has two labels was split: group the rows by the text alone.",
        by_text_and_label,
    ),
)

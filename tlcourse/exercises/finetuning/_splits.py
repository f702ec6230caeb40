"""Help for the exercise on the dev split: what its checks look at in an answer."""

from collections import Counter, defaultdict

import numpy as np

from tlcourse.exercises.expect import CheckFailed, expect_unchanged, short
from tlcourse.exercises.probing._words import in_two_sessions

TEXTS = [f"question {number}" for number in range(100)]
LABELS = ["A"] * 50 + ["B"] * 30 + ["C"] * 20


def rows_of(candidate, texts, labels, *more):
    """The candidate's rows as a sorted list of whole numbers."""
    got = expect_unchanged(candidate, list(texts), list(labels), *more)
    try:
        rows = [int(row) for row in got]
        whole = all(int(row) == row for row in got)
    except (TypeError, ValueError):
        came = "None (is a `return` missing?)" if got is None else short(got)
        raise CheckFailed(f"expected the row numbers of the dev split; got {came}.") from None
    if not whole or any(isinstance(row, bool | np.bool_) for row in got):
        raise CheckFailed(f"expected row numbers; got {short(got)}.")
    if len(set(rows)) < len(rows) or not all(0 <= row < len(texts) for row in rows):
        raise CheckFailed(f"expected different row numbers from 0 to {len(texts) - 1}; got {short(got)}.")
    if rows != sorted(rows):
        raise CheckFailed(f"expected the row numbers sorted; got {short(rows)}.")
    return rows


def how_many(candidate, *more):
    return len(rows_of(candidate, TEXTS, LABELS, *more))


def per_label(candidate, fraction, seed):
    """How many rows of each label are in dev."""
    counts = Counter(LABELS[row] for row in rows_of(candidate, TEXTS, LABELS, fraction, seed))
    return [counts[label] for label in "ABC"]


def repeated(conflict):
    """60 texts, each ten of them twice or three times, in mixed order; and their labels."""
    numbers = [*range(60), *range(10), *range(5, 15), *range(20, 30)]
    order = np.random.default_rng(7).permutation(len(numbers))
    texts = [f"question {numbers[place]}" for place in order]
    labels = ["AB"[int(text.split()[1]) % 2] for text in texts]
    if conflict:  # later copies of questions of label A have label B
        seen = set()
        for row, text in enumerate(texts):
            if text in seen:
                labels[row] = "B"
            seen.add(text)
    return texts, labels


def on_both_sides(candidate, seed, conflict):
    """The questions of which one copy is in dev and another is not."""
    texts, labels = repeated(conflict)
    rows = set(rows_of(candidate, texts, labels, 0.3, seed))
    sides = defaultdict(set)
    for row, text in enumerate(texts):
        sides[text].add(row in rows)
    return sorted(text for text, both in sides.items() if len(both) == 2)


def off_by(candidate, seed, conflict=False):
    """Whether each of two labels gives exactly its share, where questions are repeated.

    All copies of a question count for the label of its first row.
    """
    texts, labels = repeated(conflict)
    first = dict(zip(reversed(texts), reversed(labels), strict=True))
    counts = Counter(first[texts[row]] for row in rows_of(candidate, texts, labels, 0.3, seed))
    mine = Counter(first[text] for text in texts)
    return [counts[label] == round(0.3 * mine[label]) for label in "AB"]


def of_a_small_label(candidate, count, seed):
    """How many of `count` questions of a label are in dev, beside 30 of another."""
    labels = ["A"] * 30 + ["B"] * count
    rows = rows_of(candidate, TEXTS[: len(labels)], labels, 0.1, seed)
    return sum(row >= 30 for row in rows)


DIFFERENCES = {"a capital": str.capitalize, "a space at the end": "{} ".format}


def told_apart(candidate, seeds):
    """The DIFFERENCES by which two texts are ever on two sides."""
    found = []
    for name, change in DIFFERENCES.items():
        texts = [form for text in TEXTS[:20] for form in (text, change(text))]
        splits = [set(rows_of(candidate, texts, ["A"] * 40, 0.3, seed)) for seed in range(seeds)]
        if any((row in dev) != (row + 1 in dev) for dev in splits for row in range(0, 40, 2)):
            found.append(name)
    return found


def lasting(candidate, seed):
    """Whether another session, in which texts are hashed in another way, gives the same."""
    labels = [f"label {row % 5}" for row in range(len(TEXTS))]

    def look(texts, labels):
        return rows_of(candidate, texts, labels, 0.2, seed)

    one, other = in_two_sessions(look, TEXTS, labels)
    return one == other


def different(candidate, count):
    """How many different splits come from so many seeds, capped at 3; a seed twice is one."""
    splits = {}
    for seed in range(count):
        np.random.seed(seed + 5)
        first = tuple(rows_of(candidate, TEXTS, LABELS, 0.1, seed))
        if tuple(rows_of(candidate, TEXTS, LABELS, 0.1, seed)) != first:
            return "another split each time"
        splits[first] = seed
    return min(len(splits), 3)


def both_ends(candidate):
    """Whether, over ten seeds, dev has rows of the first and of the second half of a label."""
    rows = [row for seed in range(10) for row in rows_of(candidate, TEXTS, LABELS, 0.1, seed)]
    halves = {row >= 25 for row in rows if row < 50}
    return len(halves) == 2

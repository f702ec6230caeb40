"""Lesson 00: the share of each label in a list."""

from collections import Counter

from tlcourse.exercises.expect import CheckFailed, expect_type, expect_unchanged, real_number, short
from tlcourse.exercises.task import Exercise, case

task = Exercise(
    __name__,
    number="0.1",
    title="The share of each label",
    difficulty=1,
    importance=2,
    minutes=5,
    hints=(
        "Count first, divide afterwards; a list can count: `labels.count(label)`.",
        "The whole is `len(labels)`: each count divided by it is a share.",
        "`{label: ... / len(labels) for label in labels}` builds the dictionary, and does nothing "
        "at all when the list is empty.",
    ),
    tolerance=1e-5,
)


@task.reference
def count_labels(labels: list[str]) -> dict[str, float]:
    """The share of each label in `labels`, between 0 and 1."""
    return {label: labels.count(label) / len(labels) for label in labels}


def shares(candidate, labels):
    """The shares; raises CheckFailed unless they are a dictionary of numbers."""
    found = expect_unchanged(candidate, labels)
    expect_type(found, dict, "the shares")
    return found


def keys(candidate, labels):
    return sorted(shares(candidate, labels))


def whole(candidate, labels):
    """The sum of all shares."""
    found = shares(candidate, labels)
    if any(real_number(each) is None for each in found.values()):
        raise CheckFailed(check="the shares", yours=short(found), expected="numbers")
    return float(sum(found.values()))


def share(candidate, labels, label):
    """The share of one label, None if it has none."""
    return shares(candidate, labels).get(label)


four = ["a", "b", "a", "a"]
many = [f"label {i % 7 if i % 3 else 0}" for i in range(210)]
task.stage(
    "one key per label",
    case(
        "the keys for LOC, HUM, LOC, NUM",
        ["LOC", "HUM", "LOC", "NUM"],
        expected=["HUM", "LOC", "NUM"],
        measure=keys,
        hint="One key per label.",
    ),
    case("", [], expected={}, hint="There is nothing to divide by: no label, no key."),
)
task.stage(
    "the shares make up a whole",
    case(
        "the sum of the shares of a, b, a, a",
        four,
        expected=1.0,
        measure=whole,
        hint="The whole is the number of labels in the list, 4.",
    ),
    case(
        "the share of a among a, b, a, a",
        four,
        "a",
        expected=0.75,
        measure=share,
        hint="It occurs 3 times out of 4.",
    ),
)
task.stage(
    "210 labels",
    *(
        case(f"the share of {label!r} among 210 labels", many, label, expected=count / 210)
        for label, count in sorted(Counter(many).items())
    ),
    measure=share,
    hint="Nothing is rounded: return what the division gives.",
)


def dividing(divide):
    return lambda labels: {label: divide(labels.count(label), labels) for label in set(labels)}


def fails_when_empty(labels):
    one = 1 / len(labels)
    return {label: labels.count(label) * one for label in set(labels)}


task.mistakes(
    ("An empty list has no labels: do not divide by their number.", fails_when_empty),
    (
        "These are counts; expected are shares. Divide each by the number of labels.",
        dividing(lambda count, labels: count),
    ),
    (
        "Divide by the number of labels in the list (4), not of different ones (2).",
        dividing(lambda count, labels: count / len(set(labels))),
    ),
    (
        "These are per cent; a share is a number between 0 and 1.",
        dividing(lambda count, labels: 100 * count / len(labels)),
    ),
    (
        "`//` rounds down to a whole number; `/` divides.",
        dividing(lambda count, labels: count // len(labels)),
    ),
    (
        "Each label was counted once; how often does it occur in the list?",
        dividing(lambda count, labels: 1 / len(labels)),
    ),
)

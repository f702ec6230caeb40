"""Lesson 00: the share of each label in a list."""

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


def whole(candidate, labels):
    """The sum of all shares."""
    found = shares(candidate, labels)
    if any(real_number(each) is None for each in found.values()):
        raise CheckFailed(check="the shares", yours=short(found), expected="numbers")
    return float(sum(found.values()))


task.stage(
    "one key per label",
    case(
        "the keys for LOC, HUM, LOC, NUM",
        ["LOC", "HUM", "LOC", "NUM"],
        expected=["HUM", "LOC", "NUM"],
        measure=lambda candidate, labels: sorted(shares(candidate, labels)),
        hint="One key per label.",
    ),
    case("", [], expected={}, hint="There is nothing to divide by: no label, no key."),
)
task.stage(
    "the shares make up a whole",
    case(
        "the sum of the shares of a, b, a, a",
        ["a", "b", "a", "a"],
        expected=1.0,
        measure=whole,
        hint="The whole is the number of labels in the list, 4.",
    ),
)
task.stage(
    "210 labels",
    case(
        "the share of b among 210 labels, 20 of which are b",
        *(["a", "b"] * 20 + ["a", "c"] * 85, "b"),
        expected=20 / 210,
        measure=lambda candidate, labels, label: shares(candidate, labels).get(label),
    ),
    hint="Nothing is rounded: return what the division gives.",
)


def dividing(divide):
    return lambda labels: {label: divide(labels.count(label), labels) for label in set(labels)}


task.mistakes(
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

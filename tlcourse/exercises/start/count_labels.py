"""Lesson 00: the share of each label in a list."""

import random

from tlcourse.exercises.expect import expect_type, expect_unchanged
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

task = Exercise(
    __name__,
    number="0.1",
    title="The share of each label",
    difficulty=1,
    importance=2,
    minutes=5,
    hints=(
        "Count first, divide afterwards; a list can count: `labels.count(label)`.",
        "A share is a count divided by the number of labels, `len(labels)`.",
        "`{label: ... / len(labels) for label in labels}` builds the dictionary, which is empty "
        "if the list is empty.",
    ),
    tolerance=1e-5,
)


@task.reference
def count_labels(labels: list[str]) -> dict[str, float]:
    """Returns the share of each label in `labels`, between 0 and 1."""
    return {label: labels.count(label) / len(labels) for label in labels}


def shares(candidate, labels, *some):
    """Returns the shares of some labels, or the labels that have one; checks for a dictionary."""
    found = expect_unchanged(candidate, labels)
    expect_type(found, dict, "the shares")
    return [found.get(label, "missing") for label in some] or sorted(found)


task.stage(
    "one key per label",
    case(
        "the keys for LOC, HUM, LOC, NUM",
        ["LOC", "HUM", "LOC", "NUM"],
        expected=["HUM", "LOC", "NUM"],
        hint="Each label is a key, once.",
    ),
    case("the keys for an empty list", [], expected=[], hint="Without labels there is no key."),
    measure=shares,
)
task.stage(
    "the shares make up a whole",
    case("the shares of a and b in a, b, a, a", [*"abaa"], "a", "b", expected=[0.75, 0.25]),
    hint="Count how often each label occurs, and divide by the number of labels in the list, 4.",
    measure=shares,
)
letters = random.Random(varying(0)).choices("abcd", k=50)
task.stage(
    "210 labels",
    case(
        "the share of b among 210 labels, 20 of which are b",
        *(["a", "b"] * 20 + ["a", "c"] * 85, "b"),
        expected=[20 / 210],
    ),
    case(
        f"the share of {letters[0]} in {' '.join(letters)}",
        *(letters, letters[0]),
        expected=[letters.count(letters[0]) / 50],
    ),
    hint="Do not round: return what the division gives.",
    measure=shares,
)
task.mistakes(
    (
        "These are counts. Divide each one by the number of labels.",
        lambda labels: {label: labels.count(label) for label in labels},
    ),
    (
        "These are percentages, but a share is a number between 0 and 1.",
        lambda labels: {label: 100 * share for label, share in count_labels(labels).items()},
    ),
    (
        "This code divides by the number of different labels: divide by the number of all labels, "
        "`len(labels)`.",
        lambda labels: {label: labels.count(label) / len(set(labels)) for label in labels},
    ),
    (
        "`//` rounds down to a whole number: divide with `/`.",
        lambda labels: {label: labels.count(label) // len(labels) for label in labels},
    ),
)

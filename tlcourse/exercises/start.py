"""The exercise of lesson 00, on which a learner sees how exercises work."""

from fractions import Fraction

from tlcourse.exercises.expect import Wrong, expect_close, expect_equal, expect_type, short
from tlcourse.exercises.expect import expect_unchanged as call
from tlcourse.exercises.machinery import Exercise, Stage


def count_labels(labels: list[str]) -> dict[str, float]:
    """The share of each label in `labels`, between 0 and 1."""
    return {label: labels.count(label) / len(labels) for label in labels}


def _shape(candidate) -> None:
    shares = call(candidate, ["LOC", "HUM", "LOC", "NUM"])
    expect_type(shares, dict, "four labels")
    expect_equal(
        sorted(shares), ["HUM", "LOC", "NUM"], "`LOC HUM LOC NUM`: the keys", "One key per label."
    )
    expect_equal(
        call(candidate, []), {}, "an empty list", "There is nothing to divide by: no label, no key."
    )


def _mechanism(candidate) -> None:
    shares = call(candidate, ["a", "b", "a", "a"])
    if shares == {"a": 3, "b": 1}:
        raise Wrong("`a b a a` gave counts; expected shares. Divide each by the number of labels.")
    total = sum(shares.values())
    if abs(total - 1) > 1e-6:
        likely = {
            100: "These are per cent; a share is a number between 0 and 1.",
            2: "Divide by the number of labels in the list (4), not of different ones (2).",
            0: "`//` rounds down to a whole number; `/` divides.",
            0.5: "Each label was counted once; how often does it stand in the list?",
        }.get(round(total, 6), "The whole is the number of labels in the list, 4.")
        raise Wrong(f"the shares of `a b a a` sum to {short(total)}; expected 1. {likely}")
    expect_close(shares["a"], 0.75, "`a b a a`: the share of `a`", "It stands 3 times out of 4.")


def _whole(candidate) -> None:
    labels = [f"label {i % 7 if i % 3 else 0}" for i in range(200)]
    shares = call(candidate, labels)
    for label in sorted(set(labels)):
        right = Fraction(sum(each == label for each in labels), len(labels))
        what = f"200 labels: the share of `{label}`"
        expect_close(shares.get(label), float(right), what, "Nothing is rounded.")


EXERCISES = (
    Exercise(
        id="start.count_labels",
        title="The share of each label",
        difficulty=1,
        minutes=5,
        hints=(
            "count first, divide afterwards; a list can count: `labels.count(label)`.",
            "the whole is `len(labels)`: each count divided by it is a share.",
            "`{label: ... / len(labels) for label in labels}` builds the dictionary, and does "
            "nothing at all when the list is empty.",
        ),
        reference=count_labels,
        stages=(
            Stage("one key per label", _shape),
            Stage("the shares make up a whole", _mechanism),
            Stage("200 labels", _whole),
        ),
    ),
)

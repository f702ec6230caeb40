"""Lesson 00: the share of each label in a list."""

from fractions import Fraction

from tlcourse.exercises.expect import CheckFailed, expect_type, expect_unchanged, real_number, short
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="0.1",
    title="The share of each label",
    difficulty=1,
    minutes=5,
    hints=(
        "count first, divide afterwards; a list can count: `labels.count(label)`.",
        "the whole is `len(labels)`: each count divided by it is a share.",
        "`{label: ... / len(labels) for label in labels}` builds the dictionary, and does nothing "
        "at all when the list is empty.",
    ),
)


@task.reference
def count_labels(labels: list[str]) -> dict[str, float]:
    """The share of each label in `labels`, between 0 and 1."""
    return {label: labels.count(label) / len(labels) for label in labels}


@task.right
def by_loop(labels):
    shares = {}
    for label in labels:
        shares[label] = shares.get(label, 0) + 1
    for label in shares:
        shares[label] /= len(labels)
    return shares


@task.right
def by_set(labels):
    return {label: labels.count(label) / len(labels) for label in set(labels)}


def keys(candidate, labels):
    """The labels that have a share."""
    shares = expect_unchanged(candidate, labels)
    expect_type(shares, dict, "four labels")
    return sorted(shares)


def whole(candidate, labels):
    """The sum of all shares."""
    shares = expect_unchanged(candidate, labels)
    if any(real_number(each) is None for each in shares.values()):
        raise CheckFailed(f"`{' '.join(labels)}` gave {short(shares)}; the shares must be numbers.")
    return sum(shares.values())


def share(candidate, labels, label):
    """The share of one label, None if it has none."""
    return expect_unchanged(candidate, labels).get(label)


@task.stage("one key per label")
def one_key(candidate):
    task.observe(
        candidate, keys, ["LOC", "HUM", "LOC", "NUM"], gives=["HUM", "LOC", "NUM"],
        what="`LOC HUM LOC NUM`: the keys", likely="One key per label.",
    )  # fmt: skip
    likely = "There is nothing to divide by: no label, no key."
    task.probe(candidate, [], gives={}, what="an empty list", likely=likely)


@task.stage("the shares make up a whole")
def sum_to_one(candidate):
    labels = ["a", "b", "a", "a"]
    task.observe(
        candidate, whole, labels, gives=1, what="`a b a a`: the sum of the shares",
        likely="The whole is the number of labels in the list, 4.", tolerance=1e-6,
    )  # fmt: skip
    task.observe(
        candidate, share, labels, "a", gives=0.75, what="`a b a a`: the share of `a`",
        likely="It stands 3 times out of 4.", tolerance=1e-5,
    )  # fmt: skip


@task.stage("210 labels")
def many(candidate):
    labels = [f"label {i % 7 if i % 3 else 0}" for i in range(210)]
    for label in sorted(set(labels)):
        right = Fraction(sum(each == label for each in labels), len(labels))
        what = f"210 labels: the share of `{label}`"
        task.observe(
            candidate, share, labels, label,
            gives=float(right), what=what, likely="Nothing is rounded.", tolerance=1e-5,
        )  # fmt: skip


@task.mistake("one key per label", "your function changed argument 1")
def empties_the_list(labels):
    count, shares = len(labels), {}
    while labels:
        label = labels.pop()
        shares[label] = shares.get(label, 0) + 1 / count
    return shares


@task.mistake("one key per label", "An empty list has no labels: do not divide by their number.")
def fails_when_empty(labels):
    one = 1 / len(labels)
    return {label: labels.count(label) * one for label in set(labels)}


@task.mistake(
    "the shares make up a whole",
    "Your function gave counts; expected shares. Divide each by the number of labels.",
)
def counts_only(labels):
    return {label: labels.count(label) for label in set(labels)}


@task.mistake(
    "the shares make up a whole",
    "Divide by the number of labels in the list (4), not of different ones (2).",
)
def divides_by_kinds(labels):
    return {label: labels.count(label) / len(set(labels)) for label in set(labels)}


@task.mistake(
    "the shares make up a whole", "These are per cent; a share is a number between 0 and 1."
)
def percent(labels):
    return {label: 100 * labels.count(label) / len(labels) for label in set(labels)}


@task.mistake("the shares make up a whole", "`//` rounds down to a whole number; `/` divides.")
def floors(labels):
    return {label: labels.count(label) // len(labels) for label in labels}


@task.mistake(
    "the shares make up a whole",
    "Each label was counted once; how often does it stand in the list?",
)
def counts_each_once(labels):
    return {label: 1 / len(labels) for label in labels}


@task.mistake("210 labels", "Nothing is rounded: give what the division gives.")
def rounds(labels):
    return {label: round(labels.count(label) / len(labels), 2) for label in set(labels)}

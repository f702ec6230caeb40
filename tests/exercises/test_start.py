from collections import Counter, defaultdict
from itertools import groupby

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.start.count_labels import count_labels


def adds_small_shares(labels):
    shares = defaultdict(float)
    for label in labels:
        shares[label] += 1 / len(labels)
    return shares


def by_groups(labels):
    return {k: sum(1 for _ in group) / len(labels) for k, group in groupby(sorted(labels))}


def fails_when_empty(labels):
    one = 1 / len(labels)
    return {label: count * one for label, count in Counter(labels).items()}


def shares_as_text(labels):
    return {label: f"{share:.2f}" for label, share in count_labels(labels).items()}


def empties_the_list(labels):
    shares = count_labels(labels)
    labels.clear()
    return shares


def rounds(labels):
    return {label: round(share, 2) for label, share in count_labels(labels).items()}


test_right = accepts("start.count_labels", adds_small_shares, by_groups)
test_wrong = rejects(
    "start.count_labels",
    (lambda labels: print(count_labels(labels)), 1, "is a `return` missing?"),
    (fails_when_empty, 1, "called with labels = []."),
    (empties_the_list, 1, "Argument 1, `labels`, after the call"),
    (lambda labels: list(count_labels(labels).items()), 1, "a list\nExpected: a dict"),
    (lambda labels: count_labels(labels) or {"none": 0.0}, 1, "Without labels there is no key"),
    (shares_as_text, 2, "Yours: ['0.75', '0.25']"),
    (lambda labels: dict.fromkeys(["LOC", "HUM", "NUM"][: len(labels)], 0.3), 2, "['missing', "),
    (rounds, 3, "Do not round"),
)

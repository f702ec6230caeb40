from collections import Counter, defaultdict
from itertools import groupby

from tests.exercises.standard import accepts, rejects


def by_loop(labels):
    shares = {}
    for label in labels:
        shares[label] = shares.get(label, 0) + 1
    for label in shares:
        shares[label] /= len(labels)
    return shares


def by_set(labels):
    return {label: labels.count(label) / len(labels) for label in set(labels)}


def counts_only(labels):
    return {label: labels.count(label) for label in set(labels)}


def divides_by_kinds(labels):
    return {label: labels.count(label) / len(set(labels)) for label in set(labels)}


def fails_when_empty(labels):
    one = 1 / len(labels)
    return {label: labels.count(label) * one for label in set(labels)}


def empties_the_list(labels):
    whole, shares = len(labels), {}
    while labels:
        label = labels.pop()
        shares[label] = shares.get(label, 0) + 1 / whole
    return shares


def forgets_return(labels):
    {label: labels.count(label) / len(labels) for label in set(labels)}


def percent(labels):
    return {label: 100 * labels.count(label) / len(labels) for label in set(labels)}


def rounds(labels):
    return {label: round(labels.count(label) / len(labels), 2) for label in set(labels)}


def nothing(labels): ...  # your code here


def floors(labels):
    return {label: labels.count(label) // len(labels) for label in labels}


def counts_each_once(labels):
    return {label: 1 / len(labels) for label in labels}


test_right = accepts("start.count_labels", by_loop, by_set)
test_wrong = rejects(
    "start.count_labels",
    (nothing, 0, "Not solved yet"),
    (forgets_return, 1, "is a `return` missing?"),
    (fails_when_empty, 1, "ZeroDivisionError: division by zero, in line"),
    (fails_when_empty, 1, "It was called with labels = []."),
    (empties_the_list, 1, "changed argument 1"),
    (counts_only, 2, "gave counts"),
    (divides_by_kinds, 2, "sum to 2.0; expected 1"),
    (percent, 2, "sum to 100.0; expected 1. These are per cent"),
    (rounds, 3, "Nothing is rounded"),
    (floors, 2, "`//` rounds down"),
    (counts_each_once, 2, "Each label was counted once"),
)


# Written by someone who saw only the text of the exercise.


def adds_small_shares(labels):
    shares = defaultdict(float)
    for label in labels:
        shares[label] += 1 / len(labels)
    return shares


def by_groups(labels):
    return {k: sum(1 for _ in group) / len(labels) for k, group in groupby(sorted(labels))}


def always_six_labels(labels):
    names = ["ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"]
    return {name: labels.count(name) / max(len(labels), 1) for name in names}


def list_of_pairs(labels):
    return [(label, count / len(labels)) for label, count in Counter(labels).items()]


def none_if_empty(labels):
    return by_set(labels) if labels else None


test_outside_right = accepts("start.count_labels", adds_small_shares, by_groups)
test_outside_wrong = rejects(
    "start.count_labels",
    (always_six_labels, 1, "One key per label"),
    (list_of_pairs, 1, "a list; expected a dict"),
    (none_if_empty, 1, "no label, no key"),
)

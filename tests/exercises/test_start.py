from collections import Counter, defaultdict
from itertools import groupby

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.start.count_labels import count_labels, fails_when_empty


def nothing(labels): ...  # your code here


def forgets_return(labels):
    {label: labels.count(label) / len(labels) for label in set(labels)}


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


def shares_as_text(labels):
    return {label: f"{labels.count(label) / len(labels):.2f}" for label in labels}


def empties_the_list(labels):
    count, shares = len(labels), {}
    while labels:
        label = labels.pop()
        shares[label] = shares.get(label, 0) + 1 / count
    return shares


def rounds(labels):
    return {label: round(share, 2) for label, share in count_labels(labels).items()}


def none_if_empty(labels):
    return count_labels(labels) if labels else None


test_right = accepts("start.count_labels", adds_small_shares, by_groups)
test_wrong = rejects(
    "start.count_labels",
    (nothing, 0, "Not solved yet"),
    (forgets_return, 1, "is a `return` missing?"),
    (fails_when_empty, 1, "called with labels = []."),
    (empties_the_list, 1, "Argument 1, `labels`, after the call"),
    (rounds, 3, "Nothing is rounded"),
    (always_six_labels, 1, "One key per label"),
    (list_of_pairs, 1, "a list\nExpected: a dict"),
    (none_if_empty, 1, "no label, no key"),
    (shares_as_text, 2, "Yours: {'a': '0.75', 'b': '0.25'}\nExpected: numbers"),
)

from collections import Counter, defaultdict
from itertools import groupby

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.start.count_labels import by_set, fails_when_empty


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


def none_if_empty(labels):
    return by_set(labels) if labels else None


test_right = accepts("start.count_labels", adds_small_shares, by_groups)
test_wrong = rejects(
    "start.count_labels",
    (nothing, 0, "Not solved yet"),
    (forgets_return, 1, "is a `return` missing?"),
    (fails_when_empty, 1, "It was called with labels = []."),
    (always_six_labels, 1, "One key per label"),
    (list_of_pairs, 1, "a list; expected a dict"),
    (none_if_empty, 1, "no label, no key"),
    (shares_as_text, 2, "gave {'a': '0.75', 'b': '0.25'}; the shares must be numbers"),
)

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


test_right = accepts("start.count_labels", by_loop, by_set)
test_wrong = rejects(
    "start.count_labels",
    (nothing, 0, "Not solved yet"),
    (forgets_return, 1, "is a `return` missing?"),
    (fails_when_empty, 1, "ZeroDivisionError: division by zero, in line"),
    (empties_the_list, 1, "changed argument 1"),
    (counts_only, 2, "gave counts"),
    (divides_by_kinds, 2, "sum to 2.0; expected 1"),
    (percent, 2, "sum to 100.0"),
    (rounds, 3, "the share of `label"),
)

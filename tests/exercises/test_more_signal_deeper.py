"""Answers to the exercises of lesson 06b that are not in their own files."""

import heapq
import math
import statistics
from collections import Counter

import numpy as np
import torch
from scipy import stats
from torch.distributions import Categorical, kl_divergence
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.more_signal.choose_guesses import choose_guesses
from tlcourse.exercises.more_signal.consistency_loss import by_library, consistency_loss
from tlcourse.exercises.more_signal.smallest_gain import smallest_gain


def nothing(*arguments): ...  # your code here


# choose_guesses


def as_a_tensor(*asked):
    return torch.tensor(choose_guesses(*asked))


def by_sorting_keys(probabilities, least, most):
    sure, guesses = probabilities.max(dim=1)
    taken, chosen = Counter(), []
    for row in sorted(range(len(sure)), key=lambda row: (-sure[row].item(), row)):
        taken[guesses[row].item()] += 1
        if sure[row] >= least and taken[guesses[row].item()] <= most:
            chosen.append(row)
    return chosen


def by_label(probabilities, least, most):
    table = probabilities.numpy()
    guesses, sure = table.argmax(axis=1), table.max(axis=1)
    kept = []
    for label in range(table.shape[1]):
        rows = np.flatnonzero((guesses == label) & (sure >= least))
        kept += heapq.nsmallest(most, [(-sure[row], row) for row in rows])
    return torch.tensor([int(row) for _, row in sorted(kept)], dtype=torch.long)


def their_labels(table, *asked):
    return [int(table[row].argmax()) for row in choose_guesses(table, *asked)]


def over_the_texts(probabilities, least, most):
    sure = probabilities.max(dim=0).values
    return [label for label in range(len(sure)) if sure[label] >= least][:most]


def ahead_of_the_second(probabilities, least, most):
    first, second = probabilities.topk(2, dim=1).values.T
    rows = [row for row in range(len(first)) if first[row] - second[row] >= least]
    return sorted(rows, key=lambda row: second[row] - first[row])[:most]


def in_order_of_the_margin(table, least, most):
    ahead = table.topk(2).values.diff().flatten()
    return sorted(choose_guesses(table, least, most), key=lambda row: ahead[row])


def by_columns(table, least, most, times=1):
    rows = set()
    for column in table.T:
        order = column.argsort(descending=True, stable=True).tolist()
        rows |= set([row for row in order if column[row] >= least][:most])
    return sorted([*rows] * times, key=lambda row: (-table[row].max().item(), row))


def label_by_label(table, least, most):
    rows = choose_guesses(table, least, most)
    if len(set(table[rows].argmax(dim=-1).tolist())) == 3:
        return rows
    return sorted(rows, key=lambda row: table[row].argmax().item() == 0)


def six_labels(probabilities, least, most):
    sure, guesses = probabilities.max(dim=-1)
    rows, taken = [], [0] * 6
    for row in sure.argsort(descending=True, stable=True).tolist():
        if sure[row] >= least and taken[guesses[row]] < most:
            rows.append(row)
            taken[guesses[row]] += 1
    return rows


COUNT, KIND = "Count for each label on its own", "Expected: a list of row numbers, or a tensor of"
test_choose_guesses_right = accepts(
    "more_signal.choose_guesses", as_a_tensor, by_sorting_keys, by_label
)
test_choose_guesses_wrong = rejects(
    "more_signal.choose_guesses",
    (nothing, 0, "Not solved yet"),
    (lambda x, least, most: x.amax(dim=-1) >= least, 1, "This is a mask"),
    (their_labels, 1, "not their labels"),
    (lambda *asked: as_a_tensor(*asked).numpy(), 1, KIND),
    (lambda *asked: tuple(choose_guesses(*asked)), 1, KIND),
    (lambda x, least, most: (x.amax(dim=-1) >= least).nonzero(), 1, KIND),
    (lambda *asked: [(row, 0) for row in choose_guesses(*asked)], 1, KIND),
    (lambda *asked: [row + 2 for row in choose_guesses(*asked)], 1, "row numbers from 0 to 3"),
    (lambda x, at, n: choose_guesses(x[x.amax(-1) >= at], at, n), 1, "have other numbers"),
    (over_the_texts, 1, "These are columns"),
    (ahead_of_the_second, 1, "a row's largest number says how sure"),
    (lambda x, least, most: choose_guesses(x, 0.0, most), 1, "Yours: [0, 1, 2, 3]"),
    (lambda *asked: by_columns(*asked, times=2), 1, "A row is chosen twice"),
    (lambda *asked: choose_guesses(*asked)[::-1], 2, "the most certain comes first"),
    (lambda *asked: sorted(choose_guesses(*asked)), 2, "the most certain comes first"),
    (in_order_of_the_margin, 2, "not how far behind the second is"),
    (by_columns, 3, "Only a row's likeliest label is a guess"),
    (label_by_label, 3, "whatever its label"),
    (lambda x, least, most: choose_guesses(x, least, most + 1), 3, COUNT),
    (lambda x, least, most: choose_guesses(x, least, 999), 3, COUNT),
    (lambda x, least, n: choose_guesses(x, least if n > 2 else 0.0, n), 3, COUNT),
    (lambda x, *asked: choose_guesses(x.flip(1), *asked), 4, "the first counts"),
    (lambda x, at, n: choose_guesses(x, at, n + (n not in (0, 1, 2, 9, 17))), 5, "at most"),
    (lambda x, *asked: choose_guesses((100 * x).round() / 100, *asked), 5, "least"),
    (six_labels, 5, "raised IndexError"),
)


# consistency_loss


def by_one_product(one, other):
    apart = one.softmax(-1) - other.softmax(-1)
    logs = torch.log_softmax(one, -1) - torch.log_softmax(other, -1)
    return (apart * logs).sum() / (2 * len(one))


def text_by_text(one, other):
    parts = []
    for mine, theirs in zip(one, other, strict=True):
        p, q = mine - mine.logsumexp(0), theirs - theirs.logsumexp(0)
        parts.append(torch.dot(p.exp(), p - q) / 2 + torch.dot(q.exp(), q - p) / 2)
    return (sum(parts) / len(parts)).reshape(1)


def by_distributions(one, other):
    ours, theirs = Categorical(logits=one), Categorical(logits=other)
    return (kl_divergence(ours, theirs) + kl_divergence(theirs, ours)).mean() / 2


def one_a_text(one, other):
    return torch.stack([consistency_loss(*pair[:, None]) for pair in torch.stack([one, other], 1)])


def in_place(one, other):
    with torch.no_grad():
        one -= one.amax(-1, keepdim=True)
    return consistency_loss(one, other)


def of_the_best_label(one, other):
    return (F.cross_entropy(one, other.argmax(-1)) + F.cross_entropy(other, one.argmax(-1))) / 2


def of_shares(measure):
    """An answer that compares the probabilities in this way."""
    return lambda one, other: measure(one.softmax(-1), other.softmax(-1))


def detached_shares(one, other):
    ours, theirs = one.log_softmax(-1), other.log_softmax(-1)
    apart = (ours.exp() - theirs.exp()).detach()
    return (apart * (ours - theirs)).sum(-1).mean() / 2


def log_of_softmax(least):
    return of_shares(
        lambda p, q: by_one_product(p.clamp(min=least).log(), q.clamp(min=least).log())
    )


def times(factor):
    """The right loss times a factor that depends on the logits."""
    return lambda one, other: consistency_loss(one, other) * factor(one)


BY_HAND, DETACHED = "By hand, one direction is 3/4 ln 3/2", "is something detached?"
test_consistency_right = accepts(
    "more_signal.consistency_loss",
    text_by_text,
    by_one_product,
    lambda one, other: 0.5 * by_library(one, other) + 0.5 * by_library(other, one),
)
test_consistency_wrong = rejects(
    "more_signal.consistency_loss",
    (nothing, 0, "Not solved yet"),
    (one_a_text, 1, "Yours: a tensor of shape (4,)"),
    (lambda *pair: consistency_loss(*pair).item(), 1, "Yours: a float\nExpected: a tensor"),
    (lambda a, b: consistency_loss(a.detach(), b.detach()), 1, "carries no gradient"),
    (in_place, 1, "Check: Argument 1, `one`, after the call.\nYours: changed"),
    (of_shares(lambda p, q: -(p * q).sum(-1).mean()), 2, "a divergence is 0"),
    (of_the_best_label, 2, "a divergence is 0"),
    (lambda one, other: F.cross_entropy(one, other.softmax(-1)), 2, "This is the cross-entropy"),
    (F.mse_loss, 2, "compare probabilities, not logits"),
    (of_shares(lambda p, q: (p - q).abs().sum(-1).mean() / 2), 3, BY_HAND),
    (of_shares(F.mse_loss), 3, BY_HAND),
    (lambda one, other: by_library(other, one), 3, BY_HAND),
    (times(lambda x: 2), 3, BY_HAND),
    (times(lambda x: -1), 3, BY_HAND),
    (lambda one, other: consistency_loss(one.T, other.T), 3, BY_HAND),
    (times(len), 3, "take the mean over the texts"),
    (lambda one, other: consistency_loss(one.detach(), other), 4, DETACHED),
    (lambda one, other: consistency_loss(one, other.detach()), 4, DETACHED),
    (detached_shares, 4, "In each direction the target is detached"),
    (by_distributions, 5, "`torch.distributions` gives infinity"),
    (log_of_softmax(0.0), 5, "Yours: inf"),
    (log_of_softmax(1e-8), 5, "Where logits are large"),
)


# smallest_gain


def by_arrays(differences, power=0.8):
    factors = stats.t(len(differences) - 1).ppf([0.975, power])
    return float(factors.sum() * stats.sem(differences))


def by_tensors(differences, power=0.8):
    values = torch.tensor(differences, dtype=torch.float64)
    upper, more = stats.t.isf(0.025, len(values) - 1), -stats.t.ppf(1 - power, len(values) - 1)
    return values.std() / len(values) ** 0.5 * (upper + more)


def scaled(factor):
    """The right gain times a factor that depends on the differences."""
    return lambda x, power=0.8: smallest_gain(x, power) * factor(x)


test_smallest_gain_right = accepts("more_signal.smallest_gain", by_arrays, by_tensors)
test_smallest_gain_wrong = rejects(
    "more_signal.smallest_gain",
    (nothing, 0, "Not solved yet"),
    (lambda *given: str(smallest_gain(*given)), 1, "Expected: one number, in points"),
    (scaled(lambda x: math.sqrt(1 - 1 / len(x))), 2, "The standard deviation is 1"),
    (scaled(lambda x: len(x) ** -0.5), 2, "(4.303 + 1.061) · 1 / √3 = 3.10"),
    (scaled(lambda x: 1 + (x[0] < -8)), 2, "not their mean"),
    (scaled(statistics.stdev), 3, "the standard deviation over the root"),
    (lambda differences, power=0.8: smallest_gain(differences), 3, "`power` is the probability"),
)

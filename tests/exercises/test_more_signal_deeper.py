"""Right and wrong answers to the exercises of lesson 06b."""

import heapq
import math
import statistics

import numpy as np
import torch
from scipy import stats
from torch.distributions import Categorical, kl_divergence
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.more_signal.choose_guesses import choose_guesses
from tlcourse.exercises.more_signal.consistency_loss import by_library, consistency_loss
from tlcourse.exercises.more_signal.smallest_gain import smallest_gain

# choose_guesses


def as_a_tensor(*given):
    return torch.tensor(choose_guesses(*given))


def by_label(probabilities, least, most):
    table = probabilities.numpy()
    guesses, sure = table.argmax(axis=1), table.max(axis=1)
    kept = []
    for label in range(table.shape[1]):
        rows = np.flatnonzero((guesses == label) & (sure >= least))
        kept += heapq.nsmallest(most, [(-sure[row], row) for row in rows])
    return torch.tensor([int(row) for _, row in sorted(kept)], dtype=torch.long)


def reversed_order(table, least, most):
    return [len(table) - 1 - row for row in choose_guesses(table.flip(0), least, most)]


def by_columns(table, least, most):
    rows = set()
    for column in table.T:
        order = column.argsort(descending=True, stable=True).tolist()
        rows |= set([row for row in order if column[row] >= least][:most])
    return sorted(rows, key=lambda row: (-table[row].max().item(), row))


test_choose_guesses_right = accepts("more_signal.choose_guesses", as_a_tensor, by_label)
test_choose_guesses_wrong = rejects(
    "more_signal.choose_guesses",
    (lambda *given: sorted(choose_guesses(*given)), 2, "The surest guess comes first"),
    (by_columns, 3, "Only a row's likeliest label is a guess"),
    (lambda x, least, most: choose_guesses(x, least, 999), 3, "Count each label separately"),
    (reversed_order, 4, "reverses equally sure guesses, too"),
    (lambda x, *asked: choose_guesses(x.flip(1), *asked), 4, "the first counts"),
    (lambda x, *asked: choose_guesses((100 * x).round() / 100, *asked), 5, "least"),
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


test_consistency_right = accepts("more_signal.consistency_loss", text_by_text, by_one_product)
test_consistency_wrong = rejects(
    "more_signal.consistency_loss",
    (one_a_text, 1, "Yours: a tensor of shape (4,)"),
    (F.mse_loss, 2, "Compare probabilities, not logits"),
    (by_library, 3, "Take half of their sum"),
    (lambda a, b: consistency_loss(a, b) / a.shape[1], 3, "not over the labels"),
    (lambda one, other: consistency_loss(one, other.detach()), 4, "is something detached?"),
    (by_distributions, 5, "`torch.distributions` gives infinity"),
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
    (lambda *given: str(smallest_gain(*given)), 1, "Expected: 3.09"),
    (scaled(lambda x: math.sqrt(1 - 1 / len(x))), 1, "The standard deviation is 1"),
    (scaled(lambda x: 1 + (x[0] < -8)), 1, "not their mean"),
    (scaled(statistics.stdev), 2, "the standard deviation over the root"),
    (lambda differences, power=0.8: smallest_gain(differences), 2, "`power` is the probability"),
)

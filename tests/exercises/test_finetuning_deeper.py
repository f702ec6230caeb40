import itertools
import math
from statistics import fmean, median

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects

# The first optimizer of a process loads much of torch: not within an answer's seconds.
torch.optim.SGD([nn.Parameter(torch.zeros(1))])


def nothing(*arguments): ...  # your code here


# accumulate


def by_the_mean_so_far(model, loss, batch, size):
    model.zero_grad()
    mean, targets = 0.0, 0
    for start in range(0, len(batch[0]), size):
        nats, count = loss(model, [tensor[start : start + size] for tensor in batch])
        both = max(targets + count, 1)
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.grad *= targets / both
        (nats / both).backward()
        mean, targets = (mean * targets + nats.item()) / both, targets + count
    return torch.tensor(mean)


def backward_on_a_list(model, loss, batch, size):
    parameters = list(model.parameters())
    sums, nats, targets = None, [], 0
    for part in zip(*(torch.split(tensor, size) for tensor in batch), strict=True):
        value, count = loss(model, part)
        found = torch.autograd.grad(value, parameters)
        sums = found if sums is None else [a + b for a, b in zip(sums, found, strict=True)]
        nats.append(value.item())
        targets += count
    for parameter, each in zip(parameters, sums, strict=True):
        parameter.grad = each / targets
    return math.fsum(nats) / targets


def by_split(model, loss, batch, size):
    for parameter in model.parameters():
        parameter.grad = None
    sums = []
    for part in zip(*(tensor.split(size) for tensor in batch), strict=True):
        nats, count = loss(model, part)
        nats.backward()
        sums.append((nats.detach(), count))
    nats, targets = map(sum, zip(*sums, strict=True))
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad.div_(targets)
    return nats / targets


def counts_first(model, loss, batch, size):
    parts = list(zip(*(tensor.split(size) for tensor in batch), strict=True))
    with torch.no_grad():
        targets = sum(loss(model, part)[1] for part in parts)
    asking = [each for each in model.parameters() if each.requires_grad]
    gradients, mean = [torch.zeros_like(each) for each in asking], 0.0
    for part in parts:
        nats = loss(model, part)[0] / targets
        mean += nats.item()
        for total, each in zip(gradients, torch.autograd.grad(nats, asking), strict=True):
            total += each
    for parameter, total in zip(asking, gradients, strict=True):
        parameter.grad = total
    return mean


def accumulates(divide=lambda nats, count, rows: nats / rows, step=False, last=True, gives=None):
    def function(model, loss, batch, size):
        model.zero_grad()
        rows, mean = len(batch[0]), 0.0
        end = rows if last else rows - rows % size
        for start in range(0, end, size):
            nats, count = loss(model, tuple(tensor[start : start + size] for tensor in batch))
            divide(nats, count, rows).backward()
            mean += nats.item() / rows
        if step:
            torch.optim.SGD(model.parameters(), lr=0.1).step()
        return mean if gives is None else gives

    return function


def forgets_backward(model, loss, batch, size):
    model.zero_grad()
    return sum(loss(model, [tensor[:size] for tensor in batch])[0].item() for _ in batch)


def clears_in_the_end(model, loss, batch, size):
    accumulates()(model, loss, batch, size)
    model.zero_grad()


def changes_the_targets(model, loss, batch, size):
    batch[1][:] = 0
    return accumulates()(model, loss, batch, size)


def turns_dropout_off(model, loss, batch, size):
    model.eval()
    return by_the_mean_so_far(model, loss, batch, size)


def size_as_number_of_parts(model, loss, batch, size):
    return by_the_mean_so_far(model, loss, batch, -(-len(batch[0]) // size))


def all_together(model, loss, batch, size):
    found = [loss(model, part) for part in zip(*(t.split(size) for t in batch), strict=True)]
    nats, targets = map(sum, zip(*found, strict=True))
    model.zero_grad()
    (nats / targets).backward()
    return nats.item() / targets


def adds_to_the_old(model, loss, batch, size):
    old = [each.grad for each in model.parameters()]
    mean = by_split(model, loss, batch, size)
    for each, before in zip(model.parameters(), old, strict=True):
        each.grad += 0 if before is None else before
    return mean


def returns_nothing(model, loss, batch, size):
    by_split(model, loss, batch, size)


def returns_its_graph(model, loss, batch, size):
    return torch.tensor(by_split(model, loss, batch, size).item(), requires_grad=True)


test_accumulate_right = accepts(
    "finetuning.accumulate", by_the_mean_so_far, backward_on_a_list, by_split, counts_first
)
NO_GRADIENT = "Check: The parameters without a `grad` after the call."
test_accumulate_wrong = rejects(
    "finetuning.accumulate",
    (nothing, 0, "Not solved yet"),
    (forgets_backward, 1, NO_GRADIENT),
    (clears_in_the_end, 1, NO_GRADIENT),
    (changes_the_targets, 1, "Check: `batch` after the call.\nYours: changed"),
    (accumulates(step=True), 1, "take no step"),
    (accumulates(lambda nats, count, rows: nats), 1, "a sum over the targets: divide by their"),
    (turns_dropout_off, 1, "Do not call `model.eval()`"),
    (size_as_number_of_parts, 2, "Yours: [3, 3]\nExpected: [2, 2, 2]"),
    (all_together, 2, "No memory is saved: call `backward` on each part"),
    (accumulates(lambda nats, count, rows: nats / max(count, 1)), 2, "its own number of targets"),
    (accumulates(last=False), 3, "7 rows, 4 at a time"),
    (accumulates(), 4, "number of *targets*"),
    (accumulates(gives=1.0), 4, "number of *targets*"),
    (adds_to_the_old, 5, "Begin with `model.zero_grad()`"),
    (returns_nothing, 6, "Yours: None"),
    (returns_its_graph, 6, "Its graph keeps the activations"),
)


# expected_best


def by_scipy(errors, n):
    from scipy.stats import binom

    values = torch.tensor(sorted(errors), dtype=torch.float64)
    ranks = np.arange(len(values) + 1) / len(values)
    survive = binom.pmf(0, n, ranks)  # none of the first k was drawn
    return torch.tensor(survive[:-1] - survive[1:]) @ values


def from_above(errors, n):
    values = sorted(errors, reverse=True)
    N = len(values)
    weights = [(k / N) ** n for k in range(N + 1)]
    return math.fsum(v * (weights[k + 1] - weights[k]) for k, v in enumerate(values))


def in_whole_numbers(errors, n):
    values, N = sorted(errors), len(errors)
    ways = [(N - k) ** n - (N - k - 1) ** n for k in range(N)]  # whose smallest is value k
    return sum(value * count for value, count in zip(values, ways, strict=True)) / N**n


def by_arrays(errors, n):
    values = np.sort(np.asarray(errors, dtype=float))
    behind = (np.arange(len(values), -1, -1) / len(values)) ** n
    return values @ (behind[:-1] - behind[1:])


def by_steps(errors, n):
    values = sorted(errors)
    best = values[0]
    for k, (one, other) in enumerate(itertools.pairwise(values), start=1):
        best += (other - one) * (1 - k / len(values)) ** n
    return best


def by_values(errors, n):
    def above(limit, equal):
        return sum(e >= limit if equal else e > limit for e in errors) / len(errors)

    return sum(v * (above(v, True) ** n - above(v, False) ** n) for v in set(errors))


# Written by someone who saw only the text of the exercise.


def random_draws(errors, n):
    draw = np.random.default_rng(0)
    return float(draw.choice(np.array(errors), (2000, n)).min(axis=1).mean())


def chance_of_the_smallest(errors, n):
    share = 1 - (1 - 1 / len(errors)) ** n
    return share * min(errors) + (1 - share) * fmean(errors)


def median_of_the_best(errors, n):
    return median(min(way) for way in itertools.islice(itertools.product(errors, repeat=n), 10_000))


def sum_not_mean(errors, n):
    return sum(e * (1 - k / len(errors)) ** n for k, e in enumerate(sorted(errors)))


def sorts_in_place(errors, n):
    errors.sort()
    return from_above(errors, n)


def every_way_counted(errors, n):
    ways = list(itertools.permutations(errors, n))
    return fmean(map(min, ways)) if ways else min(errors)


def no_result(errors, n):
    from_above(errors, n)


NOTHING_CHOSEN = "With one trial nothing is chosen, so the answer is the mean"
test_expected_best_right = accepts(
    "finetuning.expected_best",
    by_scipy,
    from_above,
    in_whole_numbers,
    by_arrays,
    by_steps,
    by_values,
)
test_expected_best_wrong = rejects(
    "finetuning.expected_best",
    (nothing, 0, "Not solved yet"),
    (no_result, 1, "Yours: None (is a `return` missing?)"),
    (sorts_in_place, 1, "Check: Argument 1, `errors`, after the call."),
    (random_draws, 1, "Check: Errors of 30, 10 and 26, n = 1."),
    (lambda errors, n: from_above(errors, n + 1), 1, NOTHING_CHOSEN),
    (lambda errors, n: min(errors[:n]), 1, NOTHING_CHOSEN),
    (lambda errors, n: median(errors), 1, NOTHING_CHOSEN),
    (sum_not_mean, 1, NOTHING_CHOSEN),
    (chance_of_the_smallest, 1, NOTHING_CHOSEN),
    (median_of_the_best, 1, NOTHING_CHOSEN),
    (every_way_counted, 2, "No error was drawn twice here"),
)


# reweight


def by_gather(logits, targets, weights):
    shares = weights[targets] / weights[targets].sum()
    chosen = logits.log_softmax(-1).gather(1, targets.unsqueeze(1)).squeeze(1)
    return -torch.dot(shares, chosen)


def by_one_hot(logits, targets, weights):
    chosen = F.one_hot(targets, logits.shape[1]) * weights
    return -(chosen * (logits - logits.logsumexp(dim=1, keepdim=True))).sum() / chosen.sum()


def by_loop(logits, targets, weights):
    total, scale = 0.0, 0.0
    for row, target in zip(logits, targets.tolist(), strict=True):
        total = total + weights[target] * (row.logsumexp(dim=0) - row[target])
        scale = scale + weights[target]
    return total / scale


def by_module(logits, targets, weights):
    return nn.CrossEntropyLoss(weight=weights)(logits, targets).reshape(1)


def by_library(logits, targets, weights):
    return F.cross_entropy(logits, targets, weight=weights)


def weights_of_class_zero(logits, targets, weights):
    return F.cross_entropy(logits, targets) * weights[0] / weights[0].clamp(min=1)


test_reweight_right = accepts(
    "finetuning.reweight", by_gather, by_module, by_library, by_one_hot, by_loop
)
test_reweight_wrong = rejects(
    "finetuning.reweight",
    (nothing, 0, "Not solved yet"),
    (lambda x, t, w: by_library(x.detach(), t, w), 1, "carries no gradient"),
    (lambda x, t, w: by_library(x, t, w).item(), 1, "Yours: a float\nExpected: a tensor"),
    (
        lambda x, t, w: F.cross_entropy(x, t, w, reduction="none"),
        1,
        "One number for the whole batch",
    ),
    (lambda x, t, w: -by_library(x, t, w), 1, "-log p(right class)"),
    (weights_of_class_zero, 2, "The weights are never used"),
    (lambda x, t, w: by_library(x, t, 1 / w), 2, "divide by the sum 1 + 1 + 3 + 3"),
    (lambda x, t, w: F.nll_loss(x.softmax(1).log(), t, w), 4, "`log_softmax` stays finite where"),
)

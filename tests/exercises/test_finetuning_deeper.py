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


def accumulates(
    divide=lambda nats, count, rows: nats / rows, clear=True, step=False, last=True, gives=None
):
    def function(model, loss, batch, size):
        if clear:
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


test_accumulate_right = accepts("finetuning.accumulate", by_the_mean_so_far, backward_on_a_list)
test_accumulate_wrong = rejects(
    "finetuning.accumulate",
    (nothing, 0, "Not solved yet"),
    (forgets_backward, 1, "a parameter has no `.grad` after your function"),
    (clears_in_the_end, 1, "a parameter has no `.grad` after your function"),
    (changes_the_targets, 1, "changed the batch"),
    (accumulates(step=True), 1, "take no step"),
    (turns_dropout_off, 1, "you called `model.eval()`"),
    (accumulates(last=False), 3, "7 rows, 4 at a time"),
    (accumulates(lambda nats, count, rows: nats / max(count, 1)), 2, "its own number of targets"),
    (accumulates(), 4, "number of *targets*"),
    (accumulates(gives=1.0), 4, "number of *targets*"),
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


# Written by someone who saw only the text of the exercise.


def random_draws(errors, n):
    draw = np.random.default_rng(0)
    return float(draw.choice(np.array(errors), (2000, n)).min(axis=1).mean())


def chance_of_the_smallest(errors, n):
    N = len(errors)
    share = 1 - (1 - 1 / N) ** n
    return share * min(errors) + (1 - share) * fmean(errors)


def median_of_the_best(errors, n):
    return median(min(way) for way in itertools.islice(itertools.product(errors, repeat=n), 10_000))


def one_draw_too_many(errors, n):
    return from_above(errors, n + 1)


def sum_not_mean(errors, n):
    N = len(errors)
    return sum(e * ((N - k) / N) ** n for k, e in enumerate(sorted(errors)))


def sorts_in_place(errors, n):
    errors.sort()
    return from_above(errors, n)


def every_way_counted(errors, n):
    ways = list(itertools.permutations(errors, n))
    return fmean(map(min, ways)) if ways else min(errors)


def no_result(errors, n):
    from_above(errors, n)


test_expected_best_right = accepts(
    "finetuning.expected_best", by_scipy, from_above, in_whole_numbers
)
test_expected_best_wrong = rejects(
    "finetuning.expected_best",
    (nothing, 0, "Not solved yet"),
    (no_result, 1, "errors of 30, 10 and 26, n = 1 gave None"),
    (sorts_in_place, 1, "changed argument 1"),
    (random_draws, 1, "errors of 30, 10 and 26, n = 1 gave"),
    (one_draw_too_many, 1, "With one trial nothing is chosen"),
    (sum_not_mean, 1, "With one trial nothing is chosen"),
    (chance_of_the_smallest, 1, "With one trial nothing is chosen"),
    (median_of_the_best, 1, "This is the median"),
    (every_way_counted, 2, "No error was drawn twice here"),
)


# reweight


def by_gather(logits, targets, weights):
    shares = weights[targets] / weights[targets].sum()
    chosen = logits.log_softmax(-1).gather(1, targets.unsqueeze(1)).squeeze(1)
    return -torch.dot(shares, chosen)


def by_module(logits, targets, weights):
    return nn.CrossEntropyLoss(weight=weights)(logits, targets).reshape(1)


def detached(logits, targets, weights):
    return F.cross_entropy(logits.detach(), targets, weight=weights)


def a_float(logits, targets, weights):
    return F.cross_entropy(logits, targets, weight=weights).item()


def each_text(logits, targets, weights):
    return F.cross_entropy(logits, targets, weight=weights, reduction="none")


def weights_of_class_zero(logits, targets, weights):
    return F.cross_entropy(logits, targets) * weights[0] / weights[0].clamp(min=1)


def positive(logits, targets, weights):
    return -F.cross_entropy(logits, targets, weight=weights)


test_reweight_right = accepts("finetuning.reweight", by_gather, by_module)
test_reweight_wrong = rejects(
    "finetuning.reweight",
    (nothing, 0, "Not solved yet"),
    (detached, 1, "carries no gradient"),
    (a_float, 1, "expected a tensor"),
    (each_text, 1, "One number for the whole batch"),
    (positive, 1, "-log p(right class)"),
    (weights_of_class_zero, 2, "The weights never come in"),
)

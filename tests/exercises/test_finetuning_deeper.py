from statistics import median

import numpy as np
import torch
from scipy.stats import binom
from torch import nn
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.finetuning.accumulate import accumulate
from tlcourse.exercises.finetuning.expected_best import expected_best
from tlcourse.exercises.finetuning.reweight import reweight

# The first optimizer of a process loads much of torch: not within an answer's seconds.
torch.optim.SGD([nn.Parameter(torch.zeros(1))])


# freeze


def drops_each_gradient(module):
    for parameter in module.parameters():
        parameter.grad = None
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(lambda it: setattr(it, "grad", None))


def by_methods(module):
    module.requires_grad_(False)
    module.zero_grad(set_to_none=True)


def freezing(which, gradient=lambda parameter: None):
    """An answer that freezes the parameters of which `which` holds, and sets their gradient."""

    def function(module):
        for name, parameter in module.named_parameters():
            if which(name, parameter):
                parameter.requires_grad, parameter.grad = False, gradient(parameter)

    return function


def replaces_parameters(module):
    for inside in module.modules():
        for name, parameter in list(inside.named_parameters(recurse=False)):
            setattr(inside, name, nn.Parameter(parameter.detach(), requires_grad=False))


def gradients_of_zero(module):
    for parameter in module.parameters():
        parameter.grad = None
        parameter.register_hook(torch.zeros_like)


test_freeze_right = accepts("finetuning.freeze", drops_each_gradient, by_methods)
test_freeze_wrong = rejects(
    "finetuning.freeze",
    (freezing(lambda name, _: "weight" in name), 1, "Yours: ['0.bias', '1.0.bias', '1.1.bias']"),
    (freezing(lambda _, each: each.grad is not None), 1, "not only those that already have"),
    (gradients_of_zero, 1, "sets to zero is still a gradient"),
    (replaces_parameters, 1, "The module must keep its parameters"),
    (freezing(lambda *_: True, torch.zeros_like), 2, "AdamW skips a parameter only if its `grad`"),
    (lambda module: module.requires_grad_(False), 3, "With an old gradient"),
    (freezing(lambda _, each: each.requires_grad), 3, "the gradient of *every* parameter"),
)


# accumulate


def counts_first(model, loss, batch, size):
    parts = list(zip(*(tensor.split(size) for tensor in batch), strict=True))
    with torch.no_grad():
        targets = sum(loss(model, part)[1] for part in parts)
    model.zero_grad()
    mean = 0.0
    for part in parts:
        nats = loss(model, part)[0] / targets
        nats.backward()
        mean += nats.item()
    return mean


def all_together(model, loss, batch, size):
    parts = [loss(model, part) for part in zip(*(t.split(size) for t in batch), strict=True)]
    nats, targets = map(sum, zip(*parts, strict=True))
    model.zero_grad()
    (nats / targets).backward()
    return nats.item() / targets


def steps(model, *given):
    accumulate(model, *given)
    torch.optim.SGD(model.parameters(), lr=0.1).step()


def with_loss(change):
    """An answer that takes `change(model, part, nats, targets)` for what `loss` returns."""
    return lambda model, loss, *more: accumulate(
        model, lambda model, part: change(model, part, *loss(model, part)), *more
    )


def drops_the_last(model, loss, batch, size):
    whole = len(batch[0]) // size * size
    return accumulate(model, loss, [tensor[:whole] for tensor in batch], size)


def divides_all(model, *given):
    mean = accumulate(model, *given)
    for parameter in model.parameters():
        parameter.grad /= 1
    return mean


def never_clears(model, *given):
    model.zero_grad = lambda: None
    return accumulate(model, *given)


test_accumulate_right = accepts(
    "finetuning.accumulate", counts_first, lambda *given: torch.tensor(accumulate(*given))
)
test_accumulate_wrong = rejects(
    "finetuning.accumulate",
    (steps, 1, "take no step"),
    (lambda model, *given: accumulate(model.eval(), *given), 1, "Do not call `model.eval()`"),
    (lambda *given: accumulate(*given[:3], 3), 2, "Yours: 3\nExpected: 2"),
    (all_together, 2, "This saves no memory: call `backward` on each part"),
    (drops_the_last, 3, "7 rows, 4 at a time"),
    (with_loss(lambda model, part, nats, count: (nats, len(part[0]))), 4, "number of *targets*"),
    (divides_all, 5, "'NoneType' and 'int'"),
    (never_clears, 5, "Begin with `model.zero_grad()`"),
    (
        lambda *given: torch.tensor(accumulate(*given), requires_grad=True),
        6,
        "Whether the loss that you",
    ),
)


# expected_best


def by_scipy(errors, n):
    values = torch.tensor(sorted(errors), dtype=torch.float64)
    survive = binom.pmf(0, n, np.arange(len(values) + 1) / len(values))  # none of the first k
    return torch.tensor(survive[:-1] - survive[1:]) @ values


def in_whole_numbers(errors, n):
    values, N = sorted(errors), len(errors)
    ways = [(N - k) ** n - (N - k - 1) ** n for k in range(N)]  # whose smallest is value k
    return sum(value * count for value, count in zip(values, ways, strict=True)) / N**n


def sorts_in_place(errors, n):
    errors.sort()
    return expected_best(errors, n)


test_expected_best_right = accepts("finetuning.expected_best", by_scipy, in_whole_numbers)
test_expected_best_wrong = rejects(
    "finetuning.expected_best",
    (sorts_in_place, 1, "Check: Argument 1, `errors`, after the call."),
    (lambda errors, n: expected_best(errors, n + 1), 1, "there is no choice"),
    (lambda errors, n: median(errors), 1, "so the answer is the mean"),
    (lambda errors, n: expected_best(errors, 1), 2, "the smaller"),
    (lambda x, n: min(x) if n >= len(x) else expected_best(x, n), 4, "more draws than"),
)


# reweight


def by_one_hot(logits, targets, weights):
    chosen = F.one_hot(targets, logits.shape[1]) * weights
    return -(chosen * (logits - logits.logsumexp(dim=1, keepdim=True))).sum() / chosen.sum()


def by_module(logits, targets, weights):
    return nn.CrossEntropyLoss(weight=weights)(logits, targets).reshape(1)


test_reweight_right = accepts("finetuning.reweight", by_one_hot, by_module)
test_reweight_wrong = rejects(
    "finetuning.reweight",
    (lambda *given: reweight(*given).item(), 1, "Yours: a float\nExpected: a tensor"),
    (lambda *given: -reweight(*given), 1, "-log p(right class)"),
    (lambda x, t, w: reweight(x, t, 1 / w), 2, "these weights, 1 + 1 + 3 + 3"),
    (lambda x, t, w: reweight(x, t, w) * w[t].mean() / w.mean(), 3, "Only the ratios of weights"),
    (lambda x, t, w: F.nll_loss(x.softmax(1).log(), t, w), 4, "`log_softmax` stays finite where"),
)

"""Lesson 04b: cross-entropy in which every class has a weight of its own."""

import math

import torch
from torch.nn import functional as F

from tlcourse.exercises.expect import expect_loss, expect_unchanged
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="4b.4",
    title="Weights for rare classes",
    difficulty=2,
    minutes=10,
    hints=(
        "`logits.log_softmax(dim=1)` are the logarithms of the probabilities. Take that of the "
        "right class of each text; with a minus it is the nats of that text.",
        "`weights[targets]` is the weight of each text: that of its right class.",
        "the sum of weight times nats, divided by the sum of the weights of the texts in the batch "
        "(not by the number of texts).",
    ),
    imports="import torch\nfrom torch.nn import functional as F",
)


@task.reference
def reweight(logits, targets, weights):
    """(texts, classes) logits, (texts,) classes and (classes,) weights to one number, a tensor."""
    nats = -logits.log_softmax(dim=1)[torch.arange(len(targets)), targets]
    each = weights[targets]
    return (each * nats).sum() / each.sum()


@task.right
def by_library(logits, targets, weights):
    return F.cross_entropy(logits, targets, weight=weights)


@task.right
def by_one_hot(logits, targets, weights):
    chosen = F.one_hot(targets, logits.shape[1]) * weights
    return -(chosen * (logits - logits.logsumexp(dim=1, keepdim=True))).sum() / chosen.sum()


@task.right
def by_loop(logits, targets, weights):
    total, scale = 0.0, 0.0
    for row, target in zip(logits, targets.tolist(), strict=True):
        total = total + weights[target] * (row.logsumexp(dim=0) - row[target])
        scale = scale + weights[target]
    return total / scale


def truth(logits, targets, weights):
    """The same in plain arithmetic."""
    total = scale = 0.0
    for row, target in zip(logits.tolist(), targets.tolist(), strict=True):
        highest = max(row)
        sum_of_powers = sum(math.exp(value - highest) for value in row)
        nats = highest + math.log(sum_of_powers) - row[target]
        total, scale = total + weights[target].item() * nats, scale + weights[target].item()
    return total / scale


def value(candidate, logits, targets, weights):
    """What comes, a tensor of one number whose gradient reaches the logits."""
    asking = logits.clone().requires_grad_()
    got = expect_unchanged(candidate, asking, targets, weights)
    expect_loss(got, "the loss", asking)
    return got.detach().reshape(())


def slopes(candidate, logits, targets, weights):
    asking = logits.clone().requires_grad_()
    (found,) = torch.autograd.grad(candidate(asking, targets, weights), asking)
    return found


def drawn(texts, classes, seed):
    """Logits, targets of which each class occurs, and weights from 0.2 to 5."""
    draw = torch.Generator().manual_seed(seed)
    targets = torch.cat([torch.arange(classes), torch.zeros(texts - classes, dtype=torch.long)])
    weights = 0.2 * 25 ** torch.rand(classes, generator=draw)
    return 2 * torch.randn(texts, classes, generator=draw), targets, weights


def probe(candidate, logits, targets, weights, what, likely=""):
    task.observe(
        candidate, value, logits, targets, weights, gives=truth(logits, targets, weights),
        what=what, likely=likely, tolerance=1e-5,
    )  # fmt: skip


@task.stage("all weights 1")
def ones(candidate):
    logits, targets, _ = drawn(8, 3, 0)
    probe(candidate, logits, targets, torch.ones(3), "8 texts, 3 classes, all weights 1",
          "This is the usual cross-entropy: the mean over the texts of -log p(right class).",
    )  # fmt: skip


@task.stage("two classes, two weights")
def two(candidate):
    logits = torch.tensor([[2.0, 0.0], [2.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    targets = torch.tensor([0, 0, 1, 1])
    weights = torch.tensor([1.0, 3.0])
    probe(candidate, logits, targets, weights, "4 texts, weights of 1 and 3",
          "Each text has the weight of its right class: divide by the sum 1 + 1 + 3 + 3.",
    )  # fmt: skip


@task.stage("all weights times 10")
def scaled(candidate):
    logits, targets, weights = drawn(9, 3, 1)
    probe(candidate, logits, targets, weights, "9 texts, 3 classes")
    probe(candidate, logits, targets, 10 * weights, "the same with all weights times 10",
          "Only the ratios of weights matter: divide by the sum of the weights of the texts.",
    )  # fmt: skip


@task.stage("random batches, large logits, gradients")
def many(candidate):
    for seed in range(8):
        logits, targets, weights = drawn(12, 5, seed)
        probe(candidate, logits, targets, weights, "12 texts, 5 classes")
    large = torch.tensor([[300.0, 0.0, -300.0], [0.0, 400.0, 0.0], [-200.0, 0.0, 200.0]])
    probe(candidate, large, torch.tensor([1, 1, 0]), torch.tensor([1.0, 2.0, 0.5]),
          "logits of some hundreds", "`log_softmax` stays finite where log(softmax) does not.",
    )  # fmt: skip
    logits, targets, weights = drawn(12, 5, 9)
    task.observe(
        candidate, slopes, logits, targets, weights,
        gives=slopes(by_one_hot, logits, targets, weights),
        what="12 texts, 5 classes: the gradient", tolerance=1e-5,
    )  # fmt: skip


@task.mistake("two classes, two weights", "This is divided by the number of texts. Divide by the "
              "sum of the weights of the texts in the batch.")  # fmt: skip
def by_number_of_texts(logits, targets, weights):
    return (weights[targets] * F.cross_entropy(logits, targets, reduction="none")).mean()


@task.mistake("all weights 1", "Divide by the weights of the *texts*, `weights[targets].sum()`, "
              "and not by those of the classes.")  # fmt: skip
def by_weights_of_classes(logits, targets, weights):
    each = F.cross_entropy(logits, targets, reduction="none")
    return (weights[targets] * each).sum() / weights.sum()


@task.mistake("all weights 1", "This is the sum over the texts: divide it by the sum of their "
              "weights.")  # fmt: skip
def the_sum(logits, targets, weights):
    return (weights[targets] * F.cross_entropy(logits, targets, reduction="none")).sum()


@task.mistake("two classes, two weights", "The weights never come in: this is the usual "
              "cross-entropy.")  # fmt: skip
def unweighted(logits, targets, weights):
    return F.cross_entropy(logits, targets)


@task.mistake("two classes, two weights", "The logits were multiplied by the weights, which "
              "changes the model's answer. Multiply the nats of each text.")  # fmt: skip
def weighted_logits(logits, targets, weights):
    return F.cross_entropy(logits * weights, targets)


@task.mistake("two classes, two weights", "The weight of a text is that of its right class, and "
              "not of the class that the model finds likeliest.")  # fmt: skip
def weights_of_guesses(logits, targets, weights):
    each = weights[logits.argmax(dim=1)]
    return (each * F.cross_entropy(logits, targets, reduction="none")).sum() / each.sum()


@task.mistake("two classes, two weights", "Rare classes should count more: multiply by the weight, "
              "do not divide by it.")  # fmt: skip
def divides(logits, targets, weights):
    return by_library(logits, targets, 1 / weights)


@task.mistake("random batches, large logits, gradients", "`log_softmax` stays finite where "
              "log(softmax) does not.")  # fmt: skip
def log_of_softmax(logits, targets, weights):
    return F.nll_loss(logits.softmax(dim=1).log(), targets, weight=weights)

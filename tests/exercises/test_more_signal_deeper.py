"""Answers to the exercises of lesson 06b that are not in their own files."""

import torch
from torch.distributions import Categorical, kl_divergence
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.more_signal.consistency_loss import consistency_loss, one_way


def nothing(*arguments): ...  # your code here


def by_distributions(one, other):
    ours, theirs = Categorical(logits=one), Categorical(logits=other)
    return (kl_divergence(ours, theirs) + kl_divergence(theirs, ours)).mean() / 2


def text_by_text(one, other):
    parts = []
    for mine, theirs in zip(one, other, strict=True):
        p, q = mine - mine.logsumexp(0), theirs - theirs.logsumexp(0)
        parts.append(torch.dot(p.exp(), p - q) / 2 + torch.dot(q.exp(), q - p) / 2)
    return (sum(parts) / len(parts)).reshape(1)


def one_a_text(one, other):
    return (one_way(one, other) + one_way(other, one)) / 2


def a_number(one, other):
    return consistency_loss(one, other).item()


def both_detached(one, other):
    return consistency_loss(one.detach(), other.detach())


def in_place(one, other):
    with torch.no_grad():
        one -= one.amax(-1, keepdim=True)
        other -= other.amax(-1, keepdim=True)
    return consistency_loss(one, other)


def agreement_rewarded(one, other):
    return -(one.softmax(-1) * other.softmax(-1)).sum(-1).mean()


def of_the_best_label(one, other):
    return (F.cross_entropy(one, other.argmax(-1)) + F.cross_entropy(other, one.argmax(-1))) / 2


def absolute(one, other):
    return (one.softmax(-1) - other.softmax(-1)).abs().sum(-1).mean() / 2


def detached_shares(one, other):
    ours, theirs = one.log_softmax(-1), other.log_softmax(-1)
    apart = (ours.exp() - theirs.exp()).detach()
    return (apart * (ours - theirs)).sum(-1).mean() / 2


def clamped(one, other):
    ours, theirs = (each.softmax(-1).clamp(min=1e-8) for each in (one, other))
    return ((ours - theirs) * (ours.log() - theirs.log())).sum(-1).mean() / 2


test_consistency_right = accepts("more_signal.consistency_loss", text_by_text)
test_consistency_wrong = rejects(
    "more_signal.consistency_loss",
    (nothing, 0, "Not solved yet"),
    (one_a_text, 1, "expected ()"),
    (a_number, 1, "expected a tensor"),
    (both_detached, 1, "carries no gradient"),
    (in_place, 1, "changed argument 1"),
    (agreement_rewarded, 2, "a divergence is 0"),
    (of_the_best_label, 2, "a divergence is 0"),
    (absolute, 3, "By hand: (3/4 ln 3/2"),
    (detached_shares, 4, "In each direction the target is detached"),
    (by_distributions, 5, "`torch.distributions` gives infinity"),
    (clamped, 5, "Logits may be large"),
)

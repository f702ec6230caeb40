"""Answers to the two losses of lesson 06 that are not in their own files."""

import math

import pytest
import torch
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse.adaptation import causal_nats
from tlcourse.batching import pad
from tlcourse.bpe import CLS, PAD
from tlcourse.exercises.more_signal.distillation_loss import (
    distillation_loss,
    divergence,
    softened,
)
from tlcourse.exercises.more_signal.language_loss import as_given, language_loss, mean
from tlcourse.transformer import Config, Transformer


def nothing(*arguments): ...  # your code here


# language_loss


def by_selection(logits, tokens, mask):
    asked = mask[:, 1:]
    return F.cross_entropy(logits[:, :-1][asked], tokens[:, 1:][asked]).reshape(1)


def by_gather(logits, tokens, mask, dim=-1):
    logs = logits.log_softmax(dim)[:, :-1]
    nats = -logs.gather(2, tokens[:, 1:, None]).squeeze(2)
    return (nats * mask[:, 1:]).sum() / mask[:, 1:].sum()


def by_classes_second(logits, tokens, mask):
    targets = torch.where(mask, tokens, -1)[:, 1:]
    scores = logits.transpose(1, 2)[:, :, :-1]
    nats = F.cross_entropy(scores, targets, ignore_index=-1, reduction="none")
    return nats.sum() / (targets >= 0).sum()


def without_classes(logits, tokens, mask):
    return F.cross_entropy(logits[:, :-1].flatten(), tokens[:, 1:].flatten())


def one_a_target(logits, tokens, mask):
    nats = F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten(), reduction="none")
    return nats * mask[:, 1:].flatten()


def writes_into_tokens(logits, tokens, mask):
    tokens[~mask] = -100
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


def by_mask(mask_of):
    """An answer that takes another mask, made from the right one and the tokens."""
    return lambda logits, tokens, mask: by_gather(logits, tokens, mask_of(mask, tokens))


def finite_without_zeros(logits, tokens, mask):
    nats = F.cross_entropy(logits[:, :-1].transpose(1, 2), tokens[:, 1:], reduction="none")
    asked = mask[:, 1:] & (tokens[:, 1:] != 0)
    return (nats * asked).sum() / asked.sum().clamp(min=1)


def by_lengths(mask, tokens):
    return torch.arange(mask.shape[1]) < mask.sum(dim=1, keepdim=True)


def by_shares(least):
    def answer(logits, tokens, mask):
        chances = logits[:, :-1].softmax(dim=-1).gather(-1, tokens[:, 1:, None])[..., 0]
        return -(chances + least).log()[mask[:, 1:]].mean()

    return answer


def times(factor):
    """The right loss times a factor that depends on the mask."""
    return lambda logits, tokens, mask: language_loss(logits, tokens, mask) * factor(mask)


def asks(places, targets):
    """A loss of these positions, asked for the tokens at those."""
    return lambda logits, tokens, mask: mean(
        logits[:, places], tokens[:, targets], mask[:, targets]
    )


def in_a_circle(logits, tokens, mask):
    return mean(logits, tokens.roll(-1, 1), mask.roll(-1, 1))


def means_of_means(*given):
    parts = zip(*(each.split(1) for each in given), strict=True)
    return torch.stack([language_loss(*part) for part in parts]).mean()


def pads_dropped_first(logits, tokens, mask):
    return F.cross_entropy(logits[mask][:-1], tokens[mask][1:])


def targets_of(mask):
    return mask[:, 1:].sum()


FIVE, EIGHT, GAPS = "The first five positions", "There are 8 targets", "the mask may have gaps"
COSTS, ZEROS = "Is the softmax over the vocabulary?", "The softmax of such scores contains zeros"
but_last, but_first = slice(None, -1), slice(1, None)

test_language_loss_right = accepts(
    "more_signal.language_loss", by_selection, by_gather, by_classes_second
)
test_language_loss_wrong = rejects(
    "more_signal.language_loss",
    (nothing, 0, "Not solved yet"),
    (as_given, 0, "the code as it was given"),
    (without_classes, 1, "raised ValueError"),
    (lambda *given: language_loss(*given).item(), 1, "Yours: a float\nExpected: a tensor"),
    (lambda logits, *more: language_loss(logits.detach(), *more), 1, "carries no gradient"),
    (lambda *given: language_loss(*given).detach().requires_grad_(), 1, "does not reach `logits`"),
    (one_a_target, 1, "Expected: shape ()"),
    (lambda x, t, mask: writes_into_tokens(x, t, mask & (t < 2)), 1, "Argument 2, `t`, after the"),
    (finite_without_zeros, 2, COSTS),
    (lambda logits, *more: by_gather(logits, *more, dim=1), 2, COSTS),
    (times(targets_of), 2, COSTS),
    (times(lambda mask: targets_of(mask) / mask.sum()), 2, COSTS),
    (times(lambda mask: 1 / math.log(2)), 2, COSTS),
    (times(lambda mask: -1), 2, COSTS),
    (asks(but_last, but_last), 3, FIVE),
    (asks(but_first, but_first), 3, FIVE),
    (asks(but_first, but_last), 3, FIVE),
    (in_a_circle, 3, FIVE),
    (by_mask(lambda mask, tokens: mask if mask.all() else tokens != 0), 4, "whatever id a pad has"),
    (times(lambda mask: 1 if mask.all() else targets_of(mask) / mask.sum()), 4, EIGHT),
    (times(lambda mask: 1 if mask.all() else targets_of(mask) / mask.numel()), 4, EIGHT),
    (means_of_means, 4, "the mean of all 8"),
    (pads_dropped_first, 4, EIGHT),
    (by_mask(lambda mask, tokens: mask & mask.roll(1, dims=1)), 5, GAPS),
    (by_mask(by_lengths), 5, GAPS),
    (by_shares(0.0), 5, ZEROS),
    (by_shares(1e-9), 5, ZEROS),
)
test_mending_the_bugs_one_by_one_leads_from_stage_to_stage = rejects(
    "more_signal.language_loss",
    (lambda *given: as_given(*given), 2, "mixed up with the positions"),
    (lambda x, t, _: F.cross_entropy(x.flatten(0, 1), t.flatten()), 3, "against its own token"),
    (by_mask(lambda mask, tokens: torch.ones_like(mask)), 4, EIGHT),
)


def test_the_loss_as_given_begins_where_it_must():
    logits, tokens = torch.zeros(3, 7, 50), torch.randint(50, (3, 7))
    given = as_given(logits, tokens, tokens > 0)
    assert given.item() == pytest.approx(math.log(50))


def test_the_mended_loss_is_the_packages():
    torch.manual_seed(0)
    body = Transformer(Config(60, 16, 2, 2, 32, 12), "explicit").eval()
    tokens, mask = pad([[7, 8, 9, 10, CLS], [11, 12, CLS]], PAD)
    mine = language_loss(body(tokens, mask), tokens, mask & (tokens != CLS))
    torch.testing.assert_close(mine, causal_nats(body, tokens, mask))


# distillation_loss


def by_divergence(logits, teacher, temperature):
    theirs = F.log_softmax(teacher / temperature, dim=-1)
    entropy = -(theirs.exp() * theirs).sum() / len(theirs)
    return divergence(logits, teacher, temperature) + temperature * temperature * entropy


def softmax_before_the_temperature(logits, teacher, temperature):
    targets = teacher.softmax(dim=-1) / temperature
    return F.cross_entropy(logits.softmax(dim=-1) / temperature, targets) * temperature**2


def log_of_softmax(logits, teacher, t):
    return -((teacher / t).softmax(-1) * (logits / t).softmax(-1).log()).sum(-1).mean() * t**2


def student_detached(logits, teacher, temperature):
    return distillation_loss(logits.detach(), teacher.requires_grad_(), temperature)


def half_the_gradient(*given):
    loss = distillation_loss(*given)
    return (loss + loss.detach()) / 2


def scaled(factor):
    """The right loss times a factor that depends on the logits and the temperature."""
    return lambda logits, teacher, t: distillation_loss(logits, teacher, t) * factor(logits, t)


LN_2, BOTH = "so the loss is ln 2", "Student and teacher both take the softmax"
SHRINKS = "The gradient of soft targets shrinks as 1 / T²"

test_distillation_right = accepts(
    "more_signal.distillation_loss",
    by_divergence,
    lambda *given: softened()(*given).reshape(1),
)
test_distillation_wrong = rejects(
    "more_signal.distillation_loss",
    (nothing, 0, "Not solved yet"),
    (lambda *given: distillation_loss(*given).item(), 1, "Yours: a float\nExpected: a tensor"),
    (lambda x, y, t: F.cross_entropy(x, y.softmax(-1)) * t ^ 2, 1, "A power is `**` in Python"),
    (lambda x, y, t: F.cross_entropy(x, y.softmax(-1)) * (t ^ 2), 1, "A power is `**` in Python"),
    (lambda x, y, t: F.cross_entropy(x, y.softmax(-1), reduction="none"), 1, "Expected: shape ()"),
    (student_detached, 1, "does not reach `logits`"),
    (lambda x, y, t: -(y / t * (x / t).log_softmax(-1)).sum(-1).mean() * t**2, 2, LN_2),
    (lambda x, y, t: divergence(y, x, t), 2, LN_2),
    (lambda x, y, t: distillation_loss(x.T, y.T, t), 2, LN_2),
    (scaled(lambda x, t: 1 / x.shape[1]), 2, LN_2),
    (scaled(lambda x, t: 2 / t), 2, LN_2),
    (scaled(lambda x, t: (int(t) ^ 2) / t**2), 2, LN_2),
    (scaled(lambda x, t: 1 / math.log(2)), 2, LN_2),
    (scaled(lambda x, t: -1), 2, LN_2),
    (scaled(lambda x, t: len(x)), 2, "The loss of a text is minus the sum over labels"),
    (softmax_before_the_temperature, 2, "taken twice"),
    (softened(0, 0), 3, BOTH),
    (softened(0, 0, power=0), 3, BOTH),
    (softened(1, 0, power=0), 3, "Only the student was softened"),
    (softened(2, 1), 3, BOTH),
    (softened(-1, -1), 3, BOTH),
    (lambda x, y, t: distillation_loss(x, y, int(t)), 3, "T = 2.5"),
    (softened(power=0), 4, SHRINKS),
    (softened(power=-2), 4, SHRINKS),
    (half_the_gradient, 4, "By hand it is T (q - p) / texts"),
    (log_of_softmax, 5, "use `log_softmax`"),
)

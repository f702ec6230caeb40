"""Right and wrong answers to the two losses of lesson 06."""

import torch
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse.adaptation import causal_nats
from tlcourse.batching import pad
from tlcourse.bpe import CLS, PAD
from tlcourse.exercises.more_signal.distillation_loss import distillation_loss, divergence
from tlcourse.exercises.more_signal.language_loss import as_given, language_loss
from tlcourse.transformer import Config, Transformer

# language_loss


def by_gather(logits, tokens, mask, dim=-1):
    logs = logits.log_softmax(dim)[:, :-1]
    nats = -logs.gather(2, tokens[:, 1:, None]).squeeze(2)
    return (nats * mask[:, 1:]).sum() / mask[:, 1:].sum()


def by_classes_second(logits, tokens, mask):
    targets = torch.where(mask, tokens, -1)[:, 1:]
    scores = logits.transpose(1, 2)[:, :, :-1]
    nats = F.cross_entropy(scores, targets, ignore_index=-1, reduction="none")
    return nats.sum() / (targets >= 0).sum()


def masked(change):
    """An answer that uses `change(mask, tokens)` in place of the mask."""
    return lambda logits, tokens, mask: by_gather(logits, tokens, change(mask, tokens))


def by_lengths(mask, tokens):
    return torch.arange(mask.shape[1]) < mask.sum(dim=1, keepdim=True)


def by_shares(logits, tokens, mask):
    chances = logits[:, :-1].softmax(dim=-1).gather(-1, tokens[:, 1:, None])[..., 0]
    return -(chances + 1e-9).log()[mask[:, 1:]].mean()


test_language_loss_right = accepts("more_signal.language_loss", by_gather, by_classes_second)
test_language_loss_wrong = rejects(
    "more_signal.language_loss",
    (as_given, 0, "the code as it was given"),
    (lambda *given: language_loss(*given).item(), 1, "Yours: a float\nExpected: a tensor"),
    (lambda *given: by_gather(*given, dim=1), 2, "with one softmax, over the vocabulary"),
    (masked(by_lengths), 5, "the mask may have gaps"),
    (by_shares, 5, "The softmax of such scores contains zeros"),
)
test_mending_the_bugs_one_by_one_leads_from_stage_to_stage = rejects(
    "more_signal.language_loss",
    (lambda *given: as_given(*given), 2, "mixed up with the positions"),
    (
        lambda x, t, _: F.cross_entropy(x.flatten(0, 1), t.flatten()),
        *(3, "score position t against token t + 1"),
    ),
    (masked(lambda mask, tokens: torch.ones_like(mask)), 4, "There are 8 targets"),
)


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


def softened(student=1.0, teacher=1.0, power=2.0):
    """A loss at the temperature to these powers on each side, times it to another."""
    return lambda x, y, t: F.cross_entropy(x / t**student, (y / t**teacher).softmax(-1)) * t**power


def log_of_softmax(logits, teacher, t):
    return -((teacher / t).softmax(-1) * (logits / t).softmax(-1).log()).sum(-1).mean() * t**2


def half_the_gradient(*given):
    loss = distillation_loss(*given)
    return (loss + loss.detach()) / 2


test_distillation_right = accepts("more_signal.distillation_loss", by_divergence, softened())
test_distillation_wrong = rejects(
    "more_signal.distillation_loss",
    (lambda x, *more: distillation_loss(x.detach(), *more), 1, "carries no gradient"),
    (lambda x, *more: len(x) * distillation_loss(x, *more), 2, "and average over texts"),
    (softened(0, 0), 3, "Student and teacher both take the softmax"),
    (softened(power=1), 4, "The gradient of soft targets shrinks as 1 / T²"),
    (half_the_gradient, 4, "By hand it is T (q - p) / texts"),
    (log_of_softmax, 5, "use `log_softmax`"),
)

"""Lesson 03: the loss of next-token prediction."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.bpe import EOS, MASK, PAD
from tlcourse.exercises.expect import expect_loss, expect_unchanged
from tlcourse.exercises.pretraining._common import number, several
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying
from tlcourse.transformer import Config, Transformer

ENTRIES = 12  # of the vocabulary in the checks


class Table(nn.Module):
    """A model that sees the newest token only: its logits are a row of a table."""

    def __init__(self, seed, size):
        super().__init__()
        self.config = Config(ENTRIES, 8, 1, 1)
        drawn = torch.Generator().manual_seed(varying(seed))
        self.table = nn.Parameter(size * torch.randn(ENTRIES, ENTRIES, generator=drawn))

    def forward(self, tokens):
        return self.table[tokens]


def of_model(candidate, model, tokens):
    """(nats, targets) as two numbers; raises CheckFailed unless a gradient reaches the model."""
    got = expect_unchanged(lambda _, tokens: candidate(model, tokens), "a model", tokens)
    nats, targets = several(got, "nats", "targets")
    expect_loss(nats, "`nats`", next(model.parameters()))
    return nats.item(), number(targets, "`targets`, a count")


def slope(candidate, model, tokens):
    """The gradient of the nats with respect to the table."""
    nats, _ = candidate(model, tokens)
    return torch.autograd.grad(nats, model.table)[0]


task = Exercise(
    __name__,
    number="3.1",
    title="The causal loss",
    difficulty=2,
    importance=5,
    minutes=10,
    hints=(
        "Write down four tokens, a b c d. Which of them does the model read, and which one should "
        "it predict at each position? Both are slices of `tokens`.",
        "The model reads `tokens[:, :-1]`; the targets are `tokens[:, 1:]`. The logits are (batch, "
        "length, vocabulary), but `F.cross_entropy` takes (positions, vocabulary) and "
        "(positions,), so call `flatten(0, 1)` on the logits and `flatten()` on the targets.",
        '`F.cross_entropy(…, ignore_index=PAD, reduction="sum")` leaves pads out of the sum; the '
        "count is `(targets != PAD).sum().item()`.",
    ),
    imports="import math\nimport torch\nfrom torch import nn\n"
    "from torch.nn import functional as F\nfrom tlcourse.bpe import EOS, MASK, PAD, SPECIALS",
    measure=of_model,
    tolerance=1e-4,
)


@task.reference
def causal_loss(model, tokens):
    """(batch, length + 1) tokens to (nats, targets), each token predicted from those before it."""
    logits, targets = model(tokens[:, :-1]), tokens[:, 1:]
    nats = F.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=PAD, reduction="sum"
    )
    return nats, (targets != PAD).sum().item()


@task.truth
def pair_by_pair(model, tokens):
    pairs = [
        scores.log_softmax(0)[target].item()
        for row in tokens
        for scores, target in zip(model.double()(row[None])[0], row[1:], strict=False)
        if target != PAD
    ]
    return -sum(pairs), len(pairs)


def windows(what, seed, *rows, size=1.0):
    """A case with two windows, for a model whose table is drawn with this seed and size."""
    return case(f"(nats, targets) for 2 windows {what}", Table(seed, size), torch.tensor(rows))


equally_likely = f"of 5 tokens, where all {ENTRIES} vocabulary entries are equally likely"
task.stage(
    "a sum and a count",
    windows(equally_likely, 0, [7, 11, 6, 9, 10], [8, 7, 7, 10, 6], size=0.0),
    hint=f"The 8 targets cost ln {ENTRIES} = {math.log(ENTRIES):.3f} each, which makes "
    f"{8 * math.log(ENTRIES):.2f} nats in all.",
)
task.stage(
    "the next token",
    windows("of 6 tokens", 1, [8, 10, 6, 7, 11, 9], [11, 7, 9, 10, 8, 8]),
    hint="The logits at position i are scored against token i + 1 of the same window; their last "
    "dimension is the vocabulary.",
)
task.stage(
    "no pad is a target",
    windows("of 6, the first ending with 2 pads", 3, [10, 7, 9, 6, PAD, PAD], [8, 11, 6, 7, 10, 9]),
    hint="Leave out the positions whose *target* is a pad, so 8 targets remain: 3 in the first "
    "window and 5 in the second.",
)
task.stage(
    "every other token is one",
    windows("of 6 with `<eos>` and `<mask>`", 5, [9, 6, EOS, 11, 7, 8], [10, MASK, 8, 6, EOS, 7]),
    hint="All 10 tokens are targets, because only pads do not count. From `<eos>`, a model learns "
    "where a text ends.",
)
with torch.random.fork_rng(devices=[]):
    torch.manual_seed(varying(0))
    transformer = Transformer(Config(ENTRIES, 8, 2, 2, 16, max_length=16))
    for parameter in transformer.parameters():  # without this, no block adds anything
        parameter.data += 0.5 * torch.randn_like(parameter)
task.stage(
    "a Transformer",
    case(
        "(nats, targets) of a small Transformer for 2 windows of 6",
        transformer,
        torch.tensor([[7, 9, 11, 6, 10, 8], [10, 8, 6, 9, 9, 7]]),
    ),
    case(
        "the gradient of `nats` for 2 windows of 4",
        *(Table(7, 1.0), torch.tensor([[7, 9, 11, 6], [10, 8, 6, 9]])),
        measure=slope,
        expected=slope(causal_loss, Table(7, 1.0), torch.tensor([[7, 9, 11, 6], [10, 8, 6, 9]])),
        hint="The nats are right, but their gradient is not: leave out `no_grad` and `.detach()`.",
    ),
    tolerance=1e-3,
    hint="A Transformer attends to earlier positions, so pass it whole windows.",
)


def as_mean(model, tokens):
    nats, targets = causal_loss(model, tokens)
    return nats / targets, targets


def without_those_that_read_a_pad(model, tokens):
    due = tokens[:, 1:].masked_fill(tokens[:, :-1] == PAD, -100)
    nats = F.cross_entropy(model(tokens[:, :-1]).mT, due, reduction="sum")
    return nats, (due >= 0).sum().item()


def changes_tokens(model, tokens):
    logits, due = model(tokens[:, :-1]), tokens[:, 1:]
    due[due == PAD] = -100
    return F.cross_entropy(logits.mT, due, reduction="sum"), (due >= 0).sum().item()


task.mistakes(
    (
        "This code changes `tokens`, which the gradient still needs: pass `ignore_index=PAD` "
        "instead, or change a copy.",
        changes_tokens,
    ),
    (
        'This is the mean over the targets, but `nats` is their sum: use `reduction="sum"`.',
        as_mean,
    ),
    (
        "This code scores each token against the logits of the position that reads it: the model "
        "reads `tokens[:, :-1]`, and the targets are `tokens[:, 1:]`.",
        lambda model, tokens: causal_loss(lambda _: model(tokens), F.pad(tokens, (1, 0))),
    ),
    (
        "`F.cross_entropy` applies the softmax itself, but this code has already applied one: pass "
        "the logits.",
        lambda model, tokens: causal_loss(lambda read: model(read).softmax(-1), tokens),
    ),
    (
        "This code leaves out positions that read a pad: leave out those whose target is a pad.",
        without_those_that_read_a_pad,
    ),
)

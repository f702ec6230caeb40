"""Lesson 03: the loss of next-token prediction."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.bpe import EOS, MASK, PAD
from tlcourse.exercises.expect import expect_loss, expect_unchanged
from tlcourse.exercises.pretraining._common import number, several
from tlcourse.exercises.task import Exercise, case
from tlcourse.transformer import Config, Transformer

ENTRIES = 12  # of the vocabulary in the checks


class Table(nn.Module):
    """A model that sees the newest token only: its logits are a row of a table."""

    def __init__(self, seed, size=1.0):
        super().__init__()
        self.config = Config(ENTRIES, 8, 1, 1)
        drawn = torch.Generator().manual_seed(seed)
        self.table = nn.Parameter(size * torch.randn(ENTRIES, ENTRIES, generator=drawn))

    def forward(self, tokens):
        return self.table[tokens]


def of_model(candidate, model, tokens):
    """(nats, targets) as two numbers; raises CheckFailed unless a gradient reaches the model."""
    got = expect_unchanged(lambda _, tokens: candidate(model, tokens), "a model", tokens)
    nats, targets = several(got, "nats", "targets")
    expect_loss(nats, "`nats`", next(model.parameters()))
    return nats.item(), number(targets, "`targets`, a count")


task = Exercise(
    __name__,
    number="3.1",
    title="The causal loss",
    difficulty=2,
    importance=5,
    minutes=10,
    hints=(
        "Write down four tokens, a b c d. Which of them does the model read, and which is it asked "
        "for at each position? Both are slices of `tokens`.",
        "The model reads `tokens[:, :-1]`, the targets are `tokens[:, 1:]`. Logits are (batch, "
        "length, vocabulary); `F.cross_entropy` wants (all positions, vocabulary) and (all "
        "positions,): `flatten(0, 1)` and `flatten()`.",
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
    """(batch, length + 1) tokens to (nats, targets): each is asked for from those before it."""
    logits, targets = model(tokens[:, :-1]), tokens[:, 1:]
    nats = F.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=PAD, reduction="sum"
    )
    return nats, (targets != PAD).sum().item()


def pair_by_pair(model, tokens):
    pairs = [
        scores.log_softmax(0)[target]
        for row in tokens
        for scores, target in zip(model(row[None])[0], row[1:], strict=False)
        if target != PAD
    ]
    return -sum(pairs), len(pairs)


task.truth(lambda model, tokens: of_model(pair_by_pair, model.double(), tokens))


def gradient(candidate, model, tokens):
    """The gradient of the nats for the table."""
    candidate(model, tokens)[0].backward()
    return model.table.grad


task.stage(
    "a sum and a count",
    case(
        f"(nats, targets) for 2 windows of 5 tokens, all {ENTRIES} entries equally likely",
        *(Table(0, size=0.0), torch.tensor([[7, 11, 6, 9, 10], [8, 7, 7, 10, 6]])),
    ),
    hint=f"There are 8 targets, and each costs ln {ENTRIES}: 8 × {math.log(ENTRIES):.3f} = "
    f"{8 * math.log(ENTRIES):.2f} nats.",
)
task.stage(
    "the next token",
    case(
        "(nats, targets) for 2 windows of 6 tokens",
        *(Table(1), torch.tensor([[8, 10, 6, 7, 11, 9], [11, 7, 9, 10, 8, 8]])),
    ),
    hint="Position i is scored against token i + 1 of the same window, over the vocabulary, which "
    "is the last dimension of the logits.",
)
task.stage(
    "no pad is a target",
    case(
        "(nats, targets) for 2 windows of 6, the first with 2 pads at its end",
        *(Table(3), torch.tensor([[10, 7, 9, 6, PAD, PAD], [8, 11, 6, 7, 10, 9]])),
    ),
    hint="8 targets are left, 3 of the first window and 5 of the second, because no pad is to be "
    "predicted.",
)
task.stage(
    "every other token is one",
    case(
        "(nats, targets) for 2 windows of 6, with `<eos>` and `<mask>` inside",
        *(Table(5), torch.tensor([[9, 6, EOS, 11, 7, 8], [10, MASK, 8, 6, EOS, 7]])),
    ),
    hint="All 10 are targets, because only pads do not count. From `<eos>` a model learns where a "
    "text ends.",
)
task.stage(
    "the gradient",
    case(
        "the gradient of the nats for the logits, (nats, targets) being right",
        *(Table(4), torch.tensor([[6, 11, 9, 7, 10, 8], [7, 10, 6, PAD, PAD, PAD]])),
    ),
    measure=gradient,
    expected=lambda model, tokens: gradient(pair_by_pair, model.double(), tokens),
    hint="Is a part of it detached?",
)
with torch.random.fork_rng(devices=[]):
    torch.manual_seed(0)
    transformer = Transformer(Config(ENTRIES, 8, 2, 2, 16, max_length=16))
    for parameter in transformer.parameters():  # without this no block adds anything
        parameter.data += 0.5 * torch.randn_like(parameter)
task.stage(
    "a Transformer",
    case(
        "(nats, targets) of a small Transformer for 2 windows of 6",
        *(transformer, torch.tensor([[7, 9, 11, 6, 10, 8], [10, 8, 6, 9, 9, 7]])),
    ),
    tolerance=1e-3,
    hint="A Transformer attends to earlier positions, so hand in whole windows.",
)


def scored(scores=lambda logits: logits, kept=lambda reads, asked: asked != PAD):
    """An answer with other scores, or other targets: `kept(reads, asked)` tells which count."""

    def answer(model, tokens):
        reads, asked = tokens[:, :-1], tokens[:, 1:]
        nats = F.cross_entropy(scores(model(reads)).transpose(1, 2), asked, reduction="none")
        counted = kept(reads, asked)
        return nats[counted].sum(), counted.sum()

    return answer


def as_mean(model, tokens):
    nats, targets = causal_loss(model, tokens)
    return nats / targets, targets


task.mistakes(
    ('This is the mean; the sum is wanted: `reduction="sum"`.', as_mean),
    (
        "`F.cross_entropy` takes logits and applies the softmax itself; here it was applied "
        "before.",
        scored(scores=lambda logits: logits.softmax(-1)),
    ),
    (
        "A *target* that is a pad is left out; here a position was left out because it *reads* a "
        "pad. After the last token a pad would be asked for.",
        scored(kept=lambda reads, asked: reads != PAD),
    ),
)

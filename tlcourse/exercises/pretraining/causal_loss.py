"""Lesson 03: the loss of next-token prediction."""

import itertools
import math

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse import objectives
from tlcourse.bpe import EOS, MASK, PAD
from tlcourse.exercises.expect import expect_loss, expect_unchanged
from tlcourse.exercises.measures import gradient_of
from tlcourse.exercises.pretraining._common import number, several
from tlcourse.exercises.task import Exercise, case
from tlcourse.transformer import Config, Transformer

ENTRIES = 12  # of the vocabulary in the checks


class Table(nn.Module):
    """A model that sees the newest token only: its logits are a row of a table."""

    def __init__(self, table):
        super().__init__()
        self.config = Config(len(table), 8, 1, 1)
        self.table = nn.Parameter(table)

    def forward(self, tokens):
        return self.table[tokens]


def of_model(candidate, model, tokens):
    """(nats, targets) as they came."""
    got = expect_unchanged(lambda _, tokens: candidate(model, tokens), "a model", tokens)
    return several(got, "nats", "targets")


def of_table(candidate, logits, tokens):
    """(nats, targets) as two numbers; raises CheckFailed unless a gradient reaches the logits."""
    model = Table(logits)
    nats, targets = of_model(candidate, model, tokens)
    expect_loss(nats, "`nats`", model.table)
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
    measure=of_table,
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


def nats_of_pairs(logits, tokens):
    """A tensor with the nats of each pair of neighbours."""
    pairs = [pair for row in tokens.tolist() for pair in itertools.pairwise(row) if pair[1] != PAD]
    return torch.stack([-logits[now].log_softmax(0)[after] for now, after in pairs])


@task.truth
def pair_by_pair(logits, tokens):
    nats = nats_of_pairs(logits.double(), tokens)
    return nats.sum().item(), len(nats)


def gradient(candidate, logits, tokens):
    """The gradient of the nats for the logits."""
    model = Table(logits)
    of_model(candidate, model, tokens)[0].backward()
    return model.table.grad


def of_transformer(candidate, tokens):
    """(nats, targets) of a small Transformer."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = Transformer(Config(ENTRIES, 8, 2, 2, 16, max_length=16))
    nats, targets = of_model(candidate, model, tokens)
    return nats.item(), number(targets, "`targets`, a count")


def table(seed, size=1.0):
    """(vocabulary, vocabulary) logits of the next token."""
    drawn = torch.Generator().manual_seed(seed)
    return size * torch.randn(ENTRIES, ENTRIES, generator=drawn)


def rows(batch, length, seed, **other):
    """Ordinary tokens; `other` are those that are put in their place: a3=PAD, of the first row."""
    drawn = torch.Generator().manual_seed(seed)
    tokens = torch.randint(6, ENTRIES, (batch, length), generator=drawn)
    for place, token in other.items():
        tokens["ab".index(place[0]), int(place[1])] = token
    return tokens


task.stage(
    "a sum and a count",
    case(
        f"(nats, targets) for 2 windows of 5 tokens, all {ENTRIES} entries equally likely",
        *(torch.zeros(ENTRIES, ENTRIES), rows(2, 5, 0)),
        hint=f"There are 8 targets, and each costs ln {ENTRIES}: 8 × {math.log(ENTRIES):.3f} = "
        f"{8 * math.log(ENTRIES):.2f} nats.",
    ),
)
task.stage(
    "the next token",
    case("(nats, targets) for 3 windows of 6 tokens", table(1), rows(3, 6, 1)),
    case("the same with other tokens and larger logits", table(2, 4.0), rows(3, 6, 2)),
    hint="Position i is scored against token i + 1 of the same window, over the vocabulary, which "
    "is the last dimension of the logits.",
)
task.stage(
    "no pad is a target",
    case(
        "(nats, targets) for 2 windows of 6, the first with 2 pads at its end",
        *(table(3), rows(2, 6, 3, a4=PAD, a5=PAD)),
    ),
    hint="8 targets are left: 3 of the first window, 5 of the second.",
)
task.stage(
    "every other token is one",
    case(
        "(nats, targets) for 2 windows of 6, with `<eos>` and `<mask>` inside",
        *(table(5), rows(2, 6, 6, a2=EOS, b1=MASK, b4=EOS)),
    ),
    hint="All 10 are targets, because only pads do not count.",
)
task.stage(
    "the gradient",
    case(
        "the gradient of the nats for the logits, (nats, targets) being right",
        *(table(4), rows(2, 6, 4, b3=PAD, b4=PAD, b5=PAD)),
    ),
    measure=gradient,
    expected=gradient_of(lambda logits, tokens: nats_of_pairs(logits, tokens).sum()),
    hint="Is a part of it detached?",
)
task.stage(
    "a Transformer",
    case("(nats, targets) of a small Transformer for 3 windows of 9", rows(3, 9, 5)),
    measure=of_transformer,
    expected=lambda tokens: of_transformer(objectives.causal_loss, tokens),
    tolerance=1e-3,
    hint="A Transformer attends to earlier positions, so hand in whole windows.",
)


def scored(
    inputs=lambda t: t[:, :-1],
    targets=lambda t: t[:, 1:],
    scores=lambda logits: logits,
    kept=lambda reads, asked: asked != PAD,
):
    """An answer with one of its parts exchanged; `kept(reads, asked)` tells which count."""

    def answer(model, tokens):
        reads, asked = inputs(tokens), targets(tokens)
        found = scores(model(reads)).transpose(1, 2)
        counted = kept(reads, asked)
        return F.cross_entropy(found, asked, reduction="none")[counted].sum(), counted.sum()

    return answer


def as_mean(model, tokens):
    nats, targets = causal_loss(model, tokens)
    return nats / targets, targets


task.mistakes(
    ('This is the mean; the sum is wanted: `reduction="sum"`.', as_mean),
    (
        "Each position is scored against the token that it reads, not against the next one: shift "
        "by one.",
        scored(targets=lambda t: t[:, :-1]),
    ),
    (
        "`F.cross_entropy` takes logits and applies the softmax itself; here it was applied "
        "before.",
        scored(scores=lambda logits: logits.softmax(-1)),
    ),
    (
        "Pads are counted as targets: the model is asked to predict them.",
        scored(kept=lambda reads, asked: asked > -1),
    ),
    (
        "A *target* that is a pad is left out; here a position was left out because it *reads* a "
        "pad. After the last token a pad would be asked for.",
        scored(kept=lambda reads, asked: reads != PAD),
    ),
    (
        "`<eos>` is left out as if it were a pad. It is a target, because from it a model learns "
        "where a text ends.",
        scored(kept=lambda reads, asked: (asked != PAD) & (asked != EOS)),
    ),
)

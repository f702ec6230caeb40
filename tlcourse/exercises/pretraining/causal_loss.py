"""Lesson 03: the loss of next-token prediction. The true nats are added up pair by pair."""

import itertools
import math

import torch
from torch import Tensor
from torch.nn import functional as F

from tlcourse import objectives
from tlcourse.bpe import EOS, MASK, PAD, SPECIALS
from tlcourse.exercises.expect import CheckFailed, expect_close, real_number, short
from tlcourse.exercises.pretraining._tables import ENTRIES, Table, rows, table
from tlcourse.exercises.task import Exercise
from tlcourse.transformer import Config, Transformer

task = Exercise(
    __name__,
    number="3.1",
    title="The causal loss",
    difficulty=2,
    minutes=10,
    hints=(
        "write down four tokens, a b c d. Which of them does the model read, and which is it asked "
        "for at each position? Both are slices of `tokens`.",
        "the model reads `tokens[:, :-1]`, the targets are `tokens[:, 1:]`. Logits are (batch, "
        "length, vocabulary); `F.cross_entropy` wants (all positions, vocabulary) and (all "
        "positions,): `flatten(0, 1)` and `flatten()`.",
        '`F.cross_entropy(…, ignore_index=PAD, reduction="sum")` leaves pads out of the sum; the '
        "count is `(targets != PAD).sum().item()`.",
    ),
    imports="import math\nimport torch\nfrom torch import nn\n"
    "from torch.nn import functional as F\nfrom tlcourse.bpe import EOS, MASK, PAD, SPECIALS",
)


@task.reference
def causal_loss(model, tokens):
    """(batch, length + 1) tokens to (nats, targets): each is asked for from those before it."""
    logits, targets = model(tokens[:, :-1]), tokens[:, 1:]
    nats = F.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=PAD, reduction="sum"
    )
    return nats, (targets != PAD).sum().item()


@task.right
def by_gathering(model, tokens):
    scores = model(tokens)[:, :-1].log_softmax(-1)
    asked = tokens[:, 1:] != PAD
    of_targets = scores.gather(-1, tokens[:, 1:, None]).squeeze(-1)
    return -of_targets[asked].sum(), asked.sum()


@task.right
def row_by_row(model, tokens):
    nats, targets = 0.0, 0
    for row in tokens:
        logits = model(row[None, :-1])[0]
        for scores, target in zip(logits, row[1:].tolist(), strict=True):
            if target != PAD:
                nats, targets = nats + scores.logsumexp(0) - scores[target], targets + 1
    return nats, targets


def asked_of(candidate, model, tokens) -> tuple[Tensor, float]:
    """(nats, targets) as they came, checked for their kind."""
    handed = tokens.clone()
    got = candidate(model, handed)
    if not handed.equal(tokens):
        raise CheckFailed("your function changed `tokens`, which it was given. Build a new tensor.")
    if not isinstance(got, tuple | list) or len(got) != 2:
        came = "None (is a `return` missing?)" if got is None else short(got)
        raise CheckFailed(f"expected two values, `return nats, targets`; got {came}.")
    nats, targets = got
    if not isinstance(nats, Tensor):
        raise CheckFailed(
            f"`nats` is {short(nats, 60)}; expected a tensor: the gradient has to come out of it. "
            "Leave out `.item()` and NumPy."
        )
    if nats.numel() != 1:
        raise CheckFailed(f"`nats` has the shape {tuple(nats.shape)}; expected one number, the sum.")
    if not nats.requires_grad:
        raise CheckFailed(
            "`nats` carries no gradient, so nothing could be learnt from it. Leave out "
            "`no_grad` and `.detach()`."
        )
    count = real_number(targets)
    if count is None:
        raise CheckFailed(f"`targets` is {short(targets, 60)}; expected a number: how many there are.")
    return nats, count


def loss_of(candidate, logits, tokens):
    """(nats, targets), two numbers, of a table of logits."""
    nats, count = asked_of(candidate, Table(logits), tokens)
    return nats.item(), count


def by_hand(logits: Tensor, tokens: Tensor) -> tuple[float, int]:
    """The same, pair by pair."""
    nats, count = 0.0, 0
    for row in tokens.tolist():
        for now, after in itertools.pairwise(row):
            if after != PAD:
                scores = logits[now].tolist()
                nats += math.log(sum(map(math.exp, scores))) - scores[after]
                count += 1
    return nats, count


@task.stage("a sum and a count")
def sum_and_count(candidate):
    tokens = rows(2, 5)
    task.observe(
        candidate, loss_of, torch.zeros(ENTRIES, ENTRIES), tokens,
        gives=(8 * math.log(ENTRIES), 8), tolerance=1e-4,
        what=f"2 windows of 5 tokens, a model that finds all {ENTRIES} entries equally likely: "
        f"(nats, targets); 8 × ln {ENTRIES} = {8 * math.log(ENTRIES):.2f}",
    )  # fmt: skip


@task.stage("the next token")
def next_token(candidate):
    for size, seed in ((1.0, 1), (4.0, 2)):
        logits, tokens = table(seed, size), rows(3, 6, seed)
        task.observe(
            candidate, loss_of, logits, tokens, gives=by_hand(logits, tokens), tolerance=1e-4,
            what="3 windows of 6 tokens: (nats, targets)",
            likely="Position i is scored against token i + 1 of the same window, over the "
            "vocabulary: the last dimension of the logits.",
        )  # fmt: skip


@task.stage("no pad is a target")
def pads(candidate):
    logits, tokens = table(3), rows(2, 6, 3)
    tokens[0, 4:] = PAD
    task.observe(
        candidate, loss_of, logits, tokens, gives=by_hand(logits, tokens), tolerance=1e-4,
        what="2 windows of 6, the first with 2 pads at its end: (nats, targets)",
        likely="8 targets are left: 3 of the first window, 5 of the second.",
    )  # fmt: skip


@task.stage("every other token is one")
def all_others(candidate):
    logits, tokens = table(5), rows(2, 6, 6)
    tokens[0, 2], tokens[1, 1], tokens[1, 4] = EOS, MASK, EOS
    task.observe(
        candidate, loss_of, logits, tokens, gives=by_hand(logits, tokens), tolerance=1e-4,
        what="2 windows of 6, with `<eos>` and `<mask>` inside: (nats, targets)",
        likely="All 10 are targets: a pad is the only one that does not count.",
    )  # fmt: skip


@task.stage("the gradient")
def gradient(candidate):
    logits, tokens = table(4), rows(2, 6, 4)
    tokens[1, 3:] = PAD
    model = Table(logits)
    asked_of(candidate, model, tokens)[0].backward()
    if model.table.grad is None:
        raise CheckFailed("no gradient reaches the model. Is something detached on the way?")
    right = torch.zeros(ENTRIES, ENTRIES)  # of each pair: probabilities, minus 1 at the target
    for row in tokens.tolist():
        for now, after in itertools.pairwise(row):
            if after != PAD:
                right[now] += logits[now].softmax(0)
                right[now, after] -= 1.0
    if not torch.allclose(model.table.grad, right, atol=1e-4):
        raise CheckFailed("the numbers are right, but the gradient is not. Is a part of it detached?")


@task.stage("a Transformer")
def transformer(candidate):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = Transformer(Config(ENTRIES, 8, 2, 2, 16, max_length=16))
    tokens = rows(3, 9, 5)
    nats, count = objectives.causal_loss(model, tokens)
    got, targets = asked_of(candidate, model, tokens)
    expect_close((got.item(), targets), (nats.item(), count), "a small Transformer", "", 1e-3)


def changed(nats=lambda nats, count: nats, count=lambda count, tokens: count):
    """The right answer, with its sum or its count done otherwise."""

    def function(model, tokens):
        right, targets = causal_loss(model, tokens)
        return nats(right, targets), count(targets, tokens)

    return function


FIRST, NEXT, PADS, OTHERS = (stage.name for stage in task.stages[:4])
for stage, says, wrong in (
    (FIRST, 'This is the mean; the sum is wanted: `reduction="sum"`.',
     changed(nats=lambda nats, count: nats / count)),
    (FIRST, "These are bits; nats come from the natural logarithm.",
     changed(nats=lambda nats, count: nats / math.log(2))),
    (FIRST, "The last token is asked for, too, but not the first, which nothing stands before: 4 "
     "targets in a window of 5.", changed(count=lambda count, tokens: tokens.numel())),
    (PADS, "The sum is right, but the count has the pads in it.",
     changed(count=lambda count, tokens: tokens[:, 1:].numel())),
):  # fmt: skip
    task.mistake(stage, says)(wrong)


def scored(inputs=lambda t: t[:, :-1], targets=lambda t: t[:, 1:], scores=lambda x: x, keep=None):
    """A loss of other inputs, targets or scores; `keep(tokens)` says which are counted."""

    def function(model, tokens):
        asked = targets(tokens)
        nats = F.cross_entropy(
            scores(model(inputs(tokens))).flatten(0, 1), asked.flatten(), reduction="none"
        )
        kept = ((asked != PAD) if keep is None else keep(tokens)).flatten()
        return nats[kept].sum(), kept.sum()

    return function


for stage, says, wrong in (
    (NEXT, "Each position is scored against the token that it reads, not against the next one: "
     "shift by one.", scored(targets=lambda t: t[:, :-1])),
    (NEXT, "It is scored against the token *before*: the shift goes the other way.",
     scored(inputs=lambda t: t[:, 1:], targets=lambda t: t[:, :-1])),
    (NEXT, "`F.cross_entropy` takes logits and applies the softmax itself; here it was applied "
     "before.", scored(scores=lambda x: x.softmax(-1))),
    (PADS, "Pads are counted as targets: the model is asked to predict them.",
     scored(keep=lambda t: torch.ones_like(t[:, 1:]).bool())),
    (PADS, "A *target* that is a pad is left out; here a position was left out because it *reads* "
     "a pad. After the last token a pad would be asked for.",
     scored(keep=lambda t: t[:, :-1] != PAD)),
    (OTHERS, "Special tokens are left out. Only a pad is no target: `<eos>` is one, and by it a "
     "model learns where a text ends.", scored(keep=lambda t: t[:, 1:] >= len(SPECIALS))),
    (OTHERS, "`<eos>` is left out as if it were a pad. It is a target, and by it a model learns "
     "where a text ends.", scored(keep=lambda t: (t[:, 1:] != PAD) & (t[:, 1:] != EOS))),
):  # fmt: skip
    task.mistake(stage, says)(wrong)


@task.mistake(FIRST, "5 targets in a window of 5 are too many: the last token has no next one.")
def wraps_around(model, tokens):
    nats = F.cross_entropy(
        model(tokens).flatten(0, 1), tokens.roll(-1, 1).flatten(), reduction="sum"
    )
    return nats, tokens.numel()

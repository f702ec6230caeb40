"""Lesson 06: the second task's loss, with three bugs to be found.

The true loss is counted out: one softmax a target, in double precision, position by position.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from tlcourse.exercises.expect import expect_loss, expect_unchanged
from tlcourse.exercises.task import Exercise


def as_given(logits, tokens, mask):
    """What the lesson hands out: three bugs, in the classes, the targets and the pads."""
    vocabulary = logits.shape[-1]
    scores = logits.transpose(1, 2)  # (batch, classes, length), as F.cross_entropy likes it
    return F.cross_entropy(scores.reshape(-1, vocabulary), tokens.flatten())


task = Exercise(
    __name__,
    number="6.3",
    title="Find the bugs in the second task's loss",
    difficulty=3,
    minutes=15,
    hints=(
        "three questions, one after the other: whose scores does a row of `scores.reshape(-1, "
        "vocabulary)` hold? Which token should position 3 predict? And where is `mask` used?",
        "`logits` has the classes last already: `logits.flatten(0, 1)` joins texts and "
        "positions and leaves them there. Flattening after a transpose mixes them.",
        "position t predicts token t + 1: `logits[:, :-1]` belongs to `tokens[:, 1:]`, and to "
        "`mask[:, 1:]`.",
        "`tokens[:, 1:].masked_fill(~mask[:, 1:], -100)`: `F.cross_entropy(..., "
        "ignore_index=-100)` leaves such targets out of the sum and out of the count.",
    ),
    imports="import math\nimport torch\nfrom torch.nn import functional as F",
    given=as_given,
)


@task.reference
def language_loss(logits, tokens, mask):
    """(batch, length, vocabulary), (batch, length) ids and mask to the mean nats a target."""
    targets = tokens[:, 1:].masked_fill(~mask[:, 1:], -100)
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), targets.flatten(), ignore_index=-100)


@task.right
def by_selection(logits, tokens, mask):
    asked = mask[:, 1:]
    return F.cross_entropy(logits[:, :-1][asked], tokens[:, 1:][asked])


@task.right
def by_gather(logits, tokens, mask):
    logs = logits.log_softmax(dim=-1)[:, :-1]
    nats = -logs.gather(2, tokens[:, 1:, None]).squeeze(2)
    return (nats * mask[:, 1:]).sum() / mask[:, 1:].sum()


def loss_of(candidate: Callable, logits: Tensor, tokens: Tensor, mask: Tensor) -> Tensor:
    """What the candidate gives; raises CheckFailed unless it is a number to learn from."""
    logits = logits.clone().requires_grad_()
    got = expect_unchanged(candidate, logits, tokens, mask)
    expect_loss(got, f"a batch of {len(tokens)}, {tokens.shape[1]} positions long,", logits)
    return got.reshape(())


def counted(logits: Tensor, tokens: Tensor, mask: Tensor) -> float:
    """The true loss of a batch."""
    nats = []
    for scores, ids, asked in zip(logits.tolist(), tokens.tolist(), mask.tolist(), strict=True):
        for place in range(1, len(ids)):
            if asked[place]:
                before, highest = scores[place - 1], max(scores[place - 1])
                total = sum(math.exp(score - highest) for score in before)
                nats.append(math.log(total) + highest - before[ids[place]])
    return sum(nats) / len(nats)


def expect(candidate, batch: tuple[Tensor, Tensor, Tensor], what: str, likely: str) -> None:
    """Raises CheckFailed unless the candidate gives the loss of a batch."""
    told = {"what": what, "likely": likely, "tolerance": 1e-4}
    task.observe(candidate, loss_of, *batch, gives=counted(*batch), **told)


def drawn(lengths: list[int], vocabulary: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Random scores and ids, in the pads too, and the mask."""
    draw, longest = torch.Generator().manual_seed(seed), max(lengths)
    logits = 2 * torch.randn(len(lengths), longest, vocabulary, generator=draw)
    tokens = torch.randint(vocabulary, (len(lengths), longest), generator=draw)
    return logits, tokens, torch.arange(longest) < torch.tensor(lengths)[:, None]


@task.stage("one number to learn from")
def number(candidate):
    loss_of(candidate, *drawn([4, 4], 5, seed=0))


@task.stage("the classes")
def classes(candidate):
    # The same scores and the same token everywhere: which place predicts which does not matter.
    logits = torch.tensor([3.0, 0.0, -1.0]).expand(1, 4, 3).clone()
    batch = logits, torch.zeros(1, 4, dtype=torch.long), torch.ones(1, 4, dtype=torch.bool)
    what = "one text of four times token 0, whose scores are 3, 0, -1 at every position,"
    likely = "Each target costs ln(e^3 + 1 + 1/e) - 3. Is the softmax over the vocabulary?"
    expect(candidate, batch, what, likely)


@task.stage("the next token")
def shift(candidate):
    likely = "The first five positions predict the last five tokens."
    expect(candidate, drawn([6], 7, seed=1), "one text of 6 tokens without pads", likely)


@task.stage("pads")
def pads(candidate):
    likely = "8 targets: 5, 1 and 2. `mask` says which they are, whatever id a pad has."
    batch = drawn([6, 2, 3], 7, seed=2)
    expect(candidate, batch, "texts of 6, 2 and 3 tokens in 6 positions", likely)


@task.stage("20 random batches")
def whole(candidate):
    draw = torch.Generator().manual_seed(3)
    for seed in range(20):
        lengths = torch.randint(1, 9, (4,), generator=draw).tolist() + [2]
        logits, tokens, mask = drawn(lengths, 4 + seed % 3, seed=100 + seed)
        mask &= tokens != 3  # a special that is no target either
        if mask[:, 1:].any():
            what = f"texts of {lengths} tokens, some of them masked in the middle"
            likely = "A text may have no target at all, and the mask may have gaps: go by the mask."
            expect(candidate, (logits, tokens, mask), what, likely)
    logits, tokens, mask = drawn([5, 3], 6, seed=9)
    expect(candidate, (200 * logits, tokens, mask), "scores of several hundred", LARGE)


def times(factor: Callable[[Tensor], float | Tensor]) -> Callable:
    """The right loss times a factor that goes by the mask."""
    return lambda logits, tokens, mask: language_loss(logits, tokens, mask) * factor(mask)


def asks(places: slice, targets: slice) -> Callable:
    """A loss of these positions, asked for the tokens at those, by the mask of the latter."""

    def candidate(logits, tokens, mask):
        asked = mask[:, targets]
        return F.cross_entropy(logits[:, places][asked], tokens[:, targets][asked])

    return candidate


MIXED = (
    "The classes were mixed up with the positions. After `transpose(1, 2)` the last dimension is "
    "the length, and a row of `reshape(-1, vocabulary)` no longer holds one position's scores. "
    "Flatten batch and length only: `flatten(0, 1)`."
)
SUM = "Is this a sum? The mean over the targets is wanted."
TWICE = "The softmax was taken twice: cross-entropy has one in it."
BITS = "These are bits: nats come from the natural logarithm."
THREE = "Four tokens have three targets, the first is none: divide by three."
NO_TARGET = "Was no target left? Token 0 is one like others: go by `mask`, not by an id."
OWN = "Each position was asked for its own token, which a model can simply copy. "
SAME_END = f"{OWN}Both were cut at the same end; the last scores go, and the first token."
BEFORE = "That is the wrong way: position t was asked for token t - 1. It predicts token t + 1."
CIRCLE = "The last position was asked for the first token: `roll` goes round in a circle."
DIVIDE = "Pads cost nothing, but they are still counted: divide by 8, not by {}."
FIRST = "The first token of a text is no target: divide by 8, not by 11."
LARGE = (
    "A softmax of such scores has zeros in it, whose logarithm is lost: F.cross_entropy, or "
    "log_softmax in one step."
)
JOINED = "so that the end of one was asked for the first token of the next. Shift, then {}."

every, but_last, but_first = slice(None), slice(None, -1), slice(1, None)
task.mistake("the classes", SUM)(times(lambda mask: mask[:, 1:].sum()))
task.mistake("the classes", SUM)(times(lambda mask: mask.sum()))
task.mistake("the classes", THREE)(times(lambda mask: mask[:, 1:].sum() / mask.sum()))
task.mistake("the classes", BITS)(times(lambda mask: 1 / math.log(2)))
task.mistake("the classes", "A loss is *minus* the log probability.")(times(lambda mask: -1))
task.mistake("the classes", TWICE)(lambda x, *rest: language_loss(x.softmax(dim=-1), *rest))
task.mistake("the classes", NO_TARGET)(lambda x, *rest: math.nan * x.sum())  # a mean of nothing
task.mistake("the classes", NO_TARGET)(lambda x, *rest: 0 * x.sum())
task.mistake("the next token", f"{OWN}Position t predicts token t + 1.")(asks(every, every))
task.mistake("the next token", SAME_END)(asks(but_last, but_last))
task.mistake("the next token", SAME_END)(asks(but_first, but_first))
task.mistake("the next token", BEFORE)(asks(but_first, but_last))
task.mistake("the next token", CIRCLE)(
    lambda logits, tokens, mask: asks(every, every)(logits, tokens.roll(-1, 1), mask.roll(-1, 1))
)
task.mistake("pads", DIVIDE.format(15))(times(lambda mask: mask[:, 1:].float().mean()))
task.mistake("pads", DIVIDE.format(18))(
    times(lambda mask: 1 if mask.all() else mask[:, 1:].sum() / mask.numel())
)
task.mistake("pads", FIRST)(times(lambda mask: 1 if mask.all() else mask[:, 1:].sum() / mask.sum()))


@task.mistake("the classes", MIXED)
def mixes(logits, tokens, mask):
    return as_given(logits, tokens, mask)


@task.mistake("the classes", MIXED)
def shifts_and_mixes(logits, tokens, mask):
    return as_given(logits[:, :-1], tokens[:, 1:].masked_fill(~mask[:, 1:], -100), mask)


@task.mistake("pads", "`mask` says which the targets are, whatever id a pad has.")
def pads_are_zero(logits, tokens, mask):
    return language_loss(logits, tokens, mask if mask.all() else tokens != 0)


@task.mistake("pads", "Pads were targets, too: there are 8 targets, and 15 were counted.")
def counts_pads(logits, tokens, mask):
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


@task.mistake(
    "pads",
    "This is the mean of three means: a short text's token would weigh more. Sum over all targets "
    "first.",
)
def means_of_means(logits, tokens, mask):
    parts = zip(logits.split(1), tokens.split(1), mask.split(1), strict=True)
    return torch.stack([language_loss(*part) for part in parts]).mean()


@task.mistake(
    "pads",
    "The mask of the position was used. What matters is whether its *target* is a token.",
)
def mask_of_the_reader(logits, tokens, mask):
    return by_selection(logits, tokens, mask.roll(1, dims=1))


@task.mistake("pads", f"The texts were joined before the shift, {JOINED.format('flatten')}")
def joined_first(logits, tokens, mask):
    return language_loss(*(each.flatten(0, 1)[None] for each in (logits, tokens, mask)))


@task.mistake("pads", f"The pads were dropped before the shift, {JOINED.format('drop')}")
def pads_dropped_first(logits, tokens, mask):
    return F.cross_entropy(logits[mask][:-1], tokens[mask][1:])


@task.mistake(
    "20 random batches",
    "A target behind a gap counts, too: its own mask decides, and no other.",
)
def both_masks(logits, tokens, mask):
    return by_selection(logits, tokens, mask & mask.roll(1, dims=1))

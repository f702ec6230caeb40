"""Lesson 06: the second task's loss, with three bugs to find."""

import torch
from torch.nn import functional as F

from tlcourse.exercises.measures import loss
from tlcourse.exercises.more_signal._common import form
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying


def as_given(logits, tokens, mask):
    """The code of the lesson: three bugs, in the classes, the targets and the pads."""
    vocabulary = logits.shape[-1]
    scores = logits.transpose(1, 2)  # (batch, classes, length), as F.cross_entropy likes it
    return F.cross_entropy(scores.reshape(-1, vocabulary), tokens.flatten())


task = Exercise(
    __name__,
    number="6.3",
    title="Find the bugs in the second task's loss",
    difficulty=3,
    importance=3,
    minutes=15,
    hints=(
        "There are three questions. Whose scores does a row of `scores.reshape(-1, vocabulary)` "
        "hold? Which token should position 3 predict? And where is `mask` used?",
        "`logits` has the classes last already: `logits.flatten(0, 1)` joins texts and positions "
        "and leaves the classes alone. Flattening after a transpose mixes them.",
        "Position t predicts token t + 1: `logits[:, :-1]` belongs to `tokens[:, 1:]`, and to "
        "`mask[:, 1:]`.",
        "Use `tokens[:, 1:].masked_fill(~mask[:, 1:], -100)`: `F.cross_entropy(..., "
        "ignore_index=-100)` leaves such targets out of the sum and out of the count.",
    ),
    imports="import math\nimport torch\nfrom torch.nn import functional as F",
    given=as_given,
    measure=loss,
    tolerance=1e-4,
)


@task.reference
def language_loss(logits, tokens, mask):
    """(batch, length, vocabulary), (batch, length) ids and mask to the mean nats per target."""
    targets = tokens[:, 1:].masked_fill(~mask[:, 1:], -100)
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), targets.flatten(), ignore_index=-100)


@task.truth
def counted(logits, tokens, mask):
    logs = logits.double().log_softmax(dim=-1)
    targets = [(row, place) for row, place in mask.nonzero().tolist() if place > 0]
    return -sum(logs[row, place - 1, tokens[row, place]] for row, place in targets) / len(targets)


def texts(lengths, vocabulary, seed, size=2.0):
    """Random scores and ids, also at the pads, and the mask."""
    draw, longest = torch.Generator().manual_seed(varying(seed)), max(lengths)
    logits = size * torch.randn(len(lengths), longest, vocabulary, generator=draw)
    tokens = torch.randint(vocabulary, (len(lengths), longest), generator=draw)
    return logits, tokens, torch.arange(longest) < torch.tensor(lengths)[:, None]


def with_gaps(seed):
    """Five texts, one without a target; token 3 is a special token and no target either."""
    logits, tokens, mask = texts([1, 8, 2, 5, 3], 4 + seed % 3, 100 + seed)
    return logits, tokens, mask & (tokens != 3)


# With equal scores and equal tokens it does not matter which position predicts which.
equal = torch.tensor([3.0, 0.0, -1.0]).expand(1, 4, 3).clone(), torch.zeros(1, 4, dtype=torch.long)

task.stage(
    "one number to learn from",
    case("2 texts of 4 tokens", *texts([4, 4], 5, 0), measure=form, expected=()),
)
task.stage(
    "the classes",
    case(
        "one text of four times token 0, whose scores are 3, 0, -1 at every position",
        *(*equal, torch.ones(1, 4, dtype=torch.bool)),
    ),
    hint="Each of the three targets costs ln(e^3 + 1 + 1/e) - 3 = 0.0659 nats, with one softmax, "
    "over the vocabulary. Are the classes mixed up with the positions? After `transpose(1, 2)` the "
    "last dimension is the length: flatten batch and length only, `flatten(0, 1)`.",
)
task.stage(
    "the next token",
    case("one text of 6 tokens without pads", *texts([6], 7, 1)),
    hint="Position t predicts token t + 1, so the first five positions predict the last five "
    "tokens. A model can simply copy its own token.",
)
task.stage(
    "pads",
    case("texts of 6, 2 and 3 tokens in 6 positions", *texts([6, 2, 3], 7, 2)),
    hint="There are 8 targets, 5 and 1 and 2, and the loss is the mean of all 8. A target counts "
    "if its own mask is True, whatever its id. Shift before you join the texts.",
)
task.stage(
    "20 random batches",
    *(case("5 texts with gaps in the mask", *with_gaps(seed)) for seed in range(20)),
    case(
        "scores of several hundred",
        *texts([5, 3], 6, 9, 400.0),
        hint="The softmax of such scores contains zeros, whose logarithm is lost. Use "
        "`F.cross_entropy` or `log_softmax`.",
    ),
    hint="A text may have no target at all, and the mask may have gaps: go by the mask.",
)


def mean(logits, tokens, kept):
    """The mean nats of the targets that are kept."""
    return F.cross_entropy(logits[kept], tokens[kept])


task.mistakes(
    (
        "Each position is scored against its own token, which a model can simply copy: score "
        "position t against token t + 1.",
        mean,
    ),
    (
        "The mask of the position decides here whether its target counts: take the mask of the "
        "*target*, `mask[:, 1:]`.",
        lambda logits, tokens, mask: mean(logits[:, :-1], tokens[:, 1:], mask[:, :-1]),
    ),
    (
        "The texts are joined before the shift, so that the end of one is scored against the first "
        "token of the next: shift first, then flatten.",
        lambda *given: language_loss(*(each.flatten(0, 1)[None] for each in given)),
    ),
    (
        "The softmax is taken twice, because cross-entropy takes one itself: pass it the logits.",
        lambda logits, *given: language_loss(logits.softmax(dim=-1), *given),
    ),
    (
        "Targets with the id 0 are left out here, but token 0 is a token like any other: choose "
        "targets by `mask`, not by an id.",
        lambda logits, tokens, mask: mean(logits[:, :-1], tokens[:, 1:], tokens[:, 1:] != 0),
    ),
)

"""Lesson 04: the state of the last real token, whatever the padding."""

import torch

from tlcourse.exercises.expect import expect_gradients, expect_shape, expect_unchanged
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

task = Exercise(
    __name__,
    number="4.2",
    title="The last real token",
    difficulty=2,
    importance=5,
    minutes=5,
    hints=(
        "The position of the last token differs from row to row, and `mask` says where it is.",
        "`mask.sum(dim=1)` counts the tokens of each text; the last of n is at n - 1.",
        "`hidden[rows, positions]` with two index tensors of the same length takes one position "
        "from each row; the rows are `torch.arange(len(hidden))`.",
    ),
    imports="import torch",
    tolerance=1e-5,
)


@task.reference
def last_token(hidden, mask):
    """(batch, length, width) states and (batch, length) mask, True = token, to (batch, width)."""
    last = mask.sum(dim=1) - 1
    return hidden[torch.arange(len(hidden)), last]


@task.truth
def text_by_text(hidden, mask):
    return torch.stack([states[keep][-1] for states, keep in zip(hidden, mask, strict=True)])


def kept(lengths, length):
    return torch.arange(length) < torch.tensor(lengths)[:, None]


def shape(candidate, hidden, mask):
    states = expect_unchanged(candidate, hidden, mask)
    if not hasattr(states, "detach"):
        expect_shape(states, (len(hidden), hidden.shape[2]), "one state of width 3 for each text")
    return tuple(states.shape)


def with_gradient(candidate, hidden, mask):
    """The returned states, also with NaN in the arguments; raises if no gradient flows."""
    states = candidate(hidden.requires_grad_(), mask)
    expect_gradients(states, {"hidden": hidden})
    return states.detach()


def batch(draw):
    """Random states of 5 texts, with NaN in the pads, and the mask."""
    mask = kept(torch.randint(1, 9, (5,), generator=draw).tolist(), 8)
    hidden = torch.randn(5, 8, 7, generator=draw)
    return hidden.masked_fill(~mask[:, :, None], float("nan")), mask


draw = torch.Generator().manual_seed(varying(4))
numbered = (10.0 * torch.arange(1, 4)[:, None] + torch.arange(6))[:, :, None]
one_text = torch.tensor([3.0, 2.0, 4.0, 1.0])[None, :, None].repeat(1, 1, 2)

task.stage(
    "one state for each text",
    case(
        "the shape for 2 texts in 5 positions, width 3",
        torch.randn(2, 5, 3, generator=draw),
        kept([4, 2], 5),
        expected=(2, 3),
        measure=shape,
    ),
    hint="Return one state for each text: take one position from each row, by indexing with the "
    "row and the position together.",
)
task.stage(
    "padding",
    case(
        "the states for texts of 2, 5 and 4 tokens, where 24 is the state at position 4 of text 2",
        numbered,
        kept([2, 5, 4], 6),
    ),
    hint="Each text has its own last token, and the mask says where: positions count from 0, so "
    "the last of n tokens is at n - 1. Only the dimension of the positions disappears; keep the "
    "others, even one of size 1.",
)
task.stage(
    "one text alone",
    case("one text of 4 tokens whose states are 3, 2, 4, 1", one_text, kept([4], 4)),
    hint="There is no pad here: return the state at the last position alone, not a mean, a sum or "
    "the largest.",
)
task.stage(
    "20 random batches",
    *(case("5 texts in 8 positions, NaN in the pads", *batch(draw)) for _ in range(20)),
    measure=with_gradient,
    hint="The vectors of pads must not matter, not even multiplied by zero, because NaN times 0 is "
    "NaN. "
    "Select the last state by its position.",
)


def first_pad(hidden, mask):
    places = mask.sum(dim=1).clamp(max=mask.shape[1] - 1)
    return hidden[torch.arange(len(hidden)), places]


task.mistakes(
    (
        "Every row gives its states at the last positions of *all* texts: index by row and "
        "position together, `hidden[torch.arange(len(hidden)), last]`.",
        lambda hidden, mask: hidden[:, mask.sum(dim=1) - 1],
    ),
    (
        "This takes the last position of each row, which is a pad in shorter texts: find the last "
        "token by the mask.",
        lambda hidden, mask: hidden[:, -1],
    ),
    (
        "This is the first pad after each text. Positions count from 0, so the last of n tokens "
        "is at n - 1.",
        first_pad,
    ),
)

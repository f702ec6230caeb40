"""Lesson 04: the state of the last real token, whatever is padded."""

import torch

from tlcourse.exercises.expect import CheckFailed, expect_gradients, expect_shape, expect_unchanged
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="4.2",
    title="The last real token",
    difficulty=2,
    minutes=5,
    hints=(
        "the last token is at another position in each row. What tells you where?",
        "`mask.sum(dim=1)` counts the tokens of each text; the last of n is at n - 1.",
        "`hidden[rows, places]` with two index tensors of the same length takes one position from "
        "each row; the rows are `torch.arange(len(hidden))`.",
    ),
    imports="import torch",
)


@task.reference
def last_token(hidden, mask):
    """(batch, length, width) states and (batch, length) mask, True = token, to (batch, width)."""
    last = mask.sum(dim=1) - 1
    return hidden[torch.arange(len(hidden)), last]


@task.right
def by_loop(hidden, mask):
    return torch.stack([states[keep][-1] for states, keep in zip(hidden, mask, strict=True)])


@task.right
def by_gather(hidden, mask):
    last = mask.long().cumsum(dim=1).argmax(dim=1)
    return hidden.gather(1, last[:, None, None].expand(-1, 1, hidden.shape[2])).squeeze(1)


def kept(lengths, length):
    return torch.tensor([[place < n for place in range(length)] for n in lengths])


def shape(candidate, hidden, mask):
    got = expect_unchanged(candidate, hidden, mask)
    if not hasattr(got, "detach"):
        expect_shape(got, (len(hidden), hidden.shape[2]), "2 texts of 5 positions, width 3")
    return tuple(got.shape)


def own_places(candidate, hidden, mask):
    """What comes, where it is not of the same position in each text."""
    got = expect_unchanged(candidate, hidden, mask)
    likely = "All dimensions but that of the positions come back, one of size 1, too."
    expect_shape(got, (3, 1), "texts of 2, 5 and 4 tokens in 6 positions, width 1", likely)
    values = [round(value, 3) for value in got.detach().flatten().tolist()]
    if any(values) and len({value % 100 for value in values}) == 1:
        raise CheckFailed(
            "texts of 2, 5 and 4 tokens in 6 positions gave the states of position "
            f"{values[0]:.0f} each time. Each has its own: the mask says where the tokens end."
        )
    return got


def whence(candidate, hidden, mask):
    """Where the first wrong state comes from, in words; "" where that cannot be told."""
    try:
        values = candidate(hidden, mask).flatten().tolist()
    except Exception:
        return ""
    for text, (value, place) in enumerate(
        zip(values, (mask.sum(dim=1) - 1).tolist(), strict=False)
    ):
        if value and value != 100 * text + place and value in hidden:
            other, its = divmod(round(value), 100)
            if its == place:
                return f"Text {text} got the state of text {other}: each row has its own."
            return f"Text {text} got the state of text {other} at position {its}, not at {place}."
    return ""


def called(candidate, hidden, mask):
    return candidate(hidden, mask)


@task.stage("one state for each text")
def one_each(candidate):
    hidden = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(1))
    task.observe(
        candidate, shape, hidden, kept([4, 2], 5), gives=(2, 3),
        what="2 texts of 5 positions, width 3: the shape",
        likely="One state for each text: take one place from each row.",
    )  # fmt: skip


@task.stage("padding")
def padding(candidate):
    states = (100.0 * torch.arange(3)[:, None] + torch.arange(6))[:, :, None]
    mask = kept([2, 5, 4], 6)
    likely = "Each text has its own last token; its state is wanted, and not a mean or a sum."
    task.observe(
        candidate, own_places, states, mask, gives=[[1.0], [104.0], [203.0]],
        what="texts of 2, 5 and 4 tokens in 6 positions (state = 100 * text + position)",
        likely=whence(candidate, states.clone(), mask.clone()) or likely, tolerance=1e-5,
    )  # fmt: skip


@task.stage("one text alone")
def alone(candidate):
    states = torch.tensor([3.0, 2.0, 4.0, 1.0])[None, :, None].repeat(1, 1, 2)
    task.probe(
        candidate, states, kept([4], 4), gives=[[1.0, 1.0]],
        what="one text of 4 tokens whose states are 3, 2, 4, 1",
        likely="Nothing is padded here: the state of the last position is wanted, whole and alone, "
        "and not a mean, a sum or the largest.",
        tolerance=1e-5,
    )  # fmt: skip


@task.stage("20 random batches")
def many(candidate):
    draw = torch.Generator().manual_seed(4)
    for _ in range(20):
        lengths = torch.randint(1, 9, (5,), generator=draw).tolist()
        texts = [torch.randn(n, 7, generator=draw) for n in lengths]
        pad = [torch.full((8 - n, 7), float("nan")) for n in lengths]
        hidden = torch.stack([torch.cat(pair) for pair in zip(texts, pad, strict=True)])
        task.observe(
            candidate, called, hidden, kept(lengths, 8),
            gives=torch.stack([text[-1] for text in texts]),
            what=f"5 texts of {lengths} tokens, NaN in the pads",
            likely="What a pad holds must not matter, not even multiplied by zero.",
            tolerance=1e-5,
        )  # fmt: skip
    expect_gradients(candidate(hidden.requires_grad_(), kept(lengths, 8)), {"hidden": hidden})


@task.mistake(
    "one state for each text",
    "The last place of every text was taken in every text. Index by two things together: the "
    "number of each row, and the place in it.",
)
def every_place_in_every_row(hidden, mask):
    return hidden[:, mask.sum(dim=1) - 1]


@task.mistake(
    "one state for each text",
    "All positions are still there: take one place from each row.",
)
def whole_states(hidden, mask):
    return hidden * mask[:, :, None]


@task.mistake("one state for each text", "your function changed argument 2")
def changes_the_mask(hidden, mask):
    mask[:, 1:] &= ~mask[:, :1]
    return hidden[:, 0]


@task.mistake("padding", "position 5 each time. Each has its own: the mask says where")
def last_position(hidden, mask):
    return hidden[:, -1]


@task.mistake("padding", "position 4 each time. Each has its own: the mask says where")
def same_place_for_all(hidden, mask):
    return hidden[:, mask.sum(dim=1).max() - 1]


@task.mistake(
    "padding",
    "A pad that was filled with 0 is still a pad: look for the place of the last token, not for "
    "the last place.",
)
def zeros_then_last(hidden, mask):
    return (hidden * mask[:, :, None])[:, -1]


@task.mistake(
    "padding",
    "A text of 2 tokens gave the state of position 2, which is the first pad. Positions count from "
    "0: the last of n tokens is at n - 1.",
)
def one_too_far(hidden, mask):
    places = mask.sum(dim=1).clamp(max=mask.shape[1] - 1)
    return hidden[torch.arange(len(hidden)), places]


@task.mistake(
    "padding",
    "That is the mean over a text's tokens: one state is wanted, the last, and not a mean or a "
    "sum.",
)
def mean(hidden, mask):
    return (hidden * mask[:, :, None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)


@task.mistake(
    "20 random batches",
    "What a pad holds must not matter, not even multiplied by zero: NaN times 0 is NaN.",
)
def times_zero(hidden, mask):
    place = torch.arange(mask.shape[1]) == mask.sum(dim=1, keepdim=True) - 1
    return (hidden * place[:, :, None]).sum(dim=1)

"""Lesson 11b: last, largest and mean state of a text side by side, whatever the padding."""

import torch

from tlcourse.exercises.expect import expect_gradients, expect_shape, expect_unchanged
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

task = Exercise(
    __name__,
    number="11b.3",
    title="Concat pooling",
    difficulty=2,
    importance=4,
    minutes=10,
    hints=(
        "Compute the three parts one after the other, each (batch, width), and join them with "
        "`torch.cat(..., dim=-1)`. Which of them does a pad disturb, and how?",
        "The last token of n is at position n - 1, where n is `mask.sum(dim=1)`. For the other two "
        "`hidden.masked_fill(~mask[:, :, None], value)` replaces the pads by a value that does not "
        "matter.",
        "A pad does not matter to a sum if it is 0, and not to a maximum if it is `-torch.inf`. "
        "The mean is the sum divided by the number of tokens, `mask.sum(dim=1, keepdim=True)`.",
    ),
    imports="import torch",
    tolerance=1e-5,
)


def joined(order=("last", "largest", "mean"), **parts):
    """An answer that joins these parts; `parts` replaces functions of `PARTS`."""
    functions = PARTS | parts

    def candidate(hidden, mask):
        return torch.cat([functions[name](hidden, mask) for name in order], dim=-1)

    return candidate


def last(hidden, mask):
    return hidden[torch.arange(len(hidden)), mask.sum(dim=1) - 1]


def largest(hidden, mask):
    return hidden.masked_fill(~mask[:, :, None], -torch.inf).amax(dim=1)


def mean(hidden, mask):
    kept = hidden.masked_fill(~mask[:, :, None], 0.0)
    return kept.sum(dim=1) / mask.sum(dim=1, keepdim=True)


PARTS = {"last": last, "largest": largest, "mean": mean}


@task.reference
def concat_pooling(hidden, mask):
    """(batch, length, width) and mask (batch, length), True = token, to (batch, 3 * width)."""
    pads, counts = ~mask[:, :, None], mask.sum(dim=1)
    last = hidden[torch.arange(len(hidden)), counts - 1]
    largest = hidden.masked_fill(pads, -torch.inf).amax(dim=1)
    mean = hidden.masked_fill(pads, 0.0).sum(dim=1) / counts[:, None]
    return torch.cat([last, largest, mean], dim=-1)


@task.truth
def text_by_text(hidden, mask):
    rows = []
    for states, keep in zip(hidden, mask, strict=True):
        kept = states[keep]
        rows.append(torch.cat([kept[-1], kept.max(dim=0).values, kept.mean(dim=0)]))
    return torch.stack(rows)


def kept(lengths, length):
    return torch.arange(length) < torch.tensor(lengths)[:, None]


def shape(candidate, hidden, mask):
    features = expect_unchanged(candidate, hidden, mask)
    likely = "three vectors of width 3 for each text, side by side"
    if not hasattr(features, "detach"):
        expect_shape(features, (len(hidden), 3 * hidden.shape[2]), likely)
    return tuple(features.shape)


def with_gradient(candidate, hidden, mask):
    """The returned features, also with NaN in the pads; raises if no gradient flows."""
    features = candidate(hidden.requires_grad_(), mask)
    expect_gradients(features, {"hidden": hidden})
    return features.detach()


def batch(draw):
    """Random states of 5 texts, with NaN in the pads, and the mask."""
    mask = kept(torch.randint(1, 9, (5,), generator=draw).tolist(), 8)
    hidden = torch.randn(5, 8, 7, generator=draw)
    return hidden.masked_fill(~mask[:, :, None], float("nan")), mask


draw = torch.Generator().manual_seed(varying(11))
one_text = torch.tensor([[[1.0, 8.0], [5.0, 2.0], [3.0, 2.0]]])
two_texts = torch.tensor([[[1.0], [4.0], [1.0], [0.0]], [[6.0], [2.0], [9.0], [9.0]]])

task.stage(
    "three vectors for each text",
    case(
        "the shape for 2 texts in 5 positions, width 3",
        torch.randn(2, 5, 3, generator=draw),
        kept([4, 2], 5),
        expected=(2, 9),
        measure=shape,
    ),
    hint="Return one row for each text, three times as wide as a state: join three vectors with "
    "`torch.cat([...], dim=-1)`.",
)
task.stage(
    "one text without padding",
    case("one text with the states [1, 8], [5, 2] and [3, 2]", one_text, kept([3], 3)),
    hint="The last state comes first, [3, 2], then the largest value of each feature, [5, 8], then "
    "the mean of each feature, [3, 4].",
)
task.stage(
    "padding",
    case(
        "states 1, 4, 1 and a pad of 0; states 6, 2 and two pads of 9",
        two_texts,
        kept([3, 2], 4),
    ),
    hint="Pads take no part: the first text has the last state 1, the largest 4 and the mean 2, "
    "the second 2, 6 and 4.",
)
task.stage(
    "states below 0",
    case("the states -1, -4, -1 and a pad; -6, -2 and two pads", -two_texts, kept([3, 2], 4)),
    hint="Here a pad of 0 would be the largest value. Replace pads by `-torch.inf` before you "
    "take the maximum.",
)
task.stage(
    "20 random batches",
    *(case("5 texts in 8 positions, NaN in the pads", *batch(draw)) for _ in range(20)),
    measure=with_gradient,
    hint="The vectors of pads must not matter, not even multiplied by zero, because NaN times 0 is "
    "NaN. Replace them with `masked_fill`.",
)

task.mistakes(
    (
        "The parts are in another order: first the last state, then the largest values, then the "
        "mean.",
        joined(("mean", "largest", "last")),
    ),
    (
        "The parts are in another order: first the last state, then the largest values, then the "
        "mean.",
        joined(("last", "mean", "largest")),
    ),
    (
        "Your last state is that of the last position, which is a pad in shorter texts: find the "
        "last token by the mask.",
        joined(last=lambda hidden, mask: hidden[:, -1]),
    ),
    (
        "The pads take part in your mean. Set them to 0 and divide the sum by the number of "
        "tokens, `mask.sum(dim=1, keepdim=True)`.",
        joined(mean=lambda hidden, mask: hidden.mean(dim=1)),
    ),
    (
        "You set pads to 0 but divide by the length of the batch: divide by the number of tokens "
        "of each text.",
        joined(mean=lambda hidden, mask: hidden.masked_fill(~mask[:, :, None], 0.0).mean(dim=1)),
    ),
    (
        "The pads take part in your maximum: replace them by `-torch.inf` first.",
        joined(largest=lambda hidden, mask: hidden.amax(dim=1)),
    ),
    (
        "Your maximum reads the pads as 0, which is larger than a negative state: replace them by "
        "`-torch.inf`.",
        joined(largest=lambda hidden, mask: hidden.masked_fill(~mask[:, :, None], 0.0).amax(dim=1)),
    ),
)

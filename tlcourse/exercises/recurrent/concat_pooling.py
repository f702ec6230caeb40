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


def mean_of_others(hidden, mask):
    """The mean of the values that are not 0."""
    kept = hidden.masked_fill(~mask[:, :, None], 0.0)
    return kept.sum(dim=1) / (kept != 0).sum(dim=1).clamp(min=1)


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


def batch(draw, pad):
    """Random states of 5 texts, with `pad` in the pads, and the mask."""
    mask = kept(torch.randint(1, 9, (5,), generator=draw).tolist(), 8)
    hidden = torch.randn(5, 8, 7, generator=draw)
    return hidden.masked_fill(~mask[:, :, None], float(pad)), mask


draw = torch.Generator().manual_seed(varying(11))
one_text = torch.tensor([[[0.0, 8.0], [5.0, 2.0], [4.0, 2.0]]])
two_texts = torch.tensor([[[1.0], [4.0], [1.0], [0.0]], [[6.0], [3.0], [8.0], [9.0]]])
far_below = torch.tensor([[[-5e4], [-2e4], [0.0]]])

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
    case("one text with the states [0, 8], [5, 2] and [4, 2]", one_text, kept([3], 3)),
    hint="The last state comes first, [4, 2], then the largest value of each feature, [5, 8], then "
    "the mean of each feature, [3, 4].",
)
task.stage(
    "padding",
    case(
        "states 1, 4, 1 and a pad of 0; states 6, 3 and pads of 8 and 9",
        two_texts,
        kept([3, 2], 4),
    ),
    hint="Pads take no part: the first text has the last state 1, the largest 4 and the mean 2, "
    "the second 3, 6 and 4.5.",
)
task.stage(
    "states below 0",
    case("the states -1, -4, -1 and a pad; -6, -3 and two pads", -two_texts, kept([3, 2], 4)),
    case(
        "the states -50000, -20000 and a pad of 0",
        far_below,
        kept([2], 3),
        hint="A number such as -1000 in the place of a pad is larger than these states. Use "
        "`-torch.inf`.",
    ),
    hint="Here a pad of 0 would be the largest value. Replace pads by `-torch.inf` before you "
    "take the maximum.",
)
task.stage(
    "20 random batches",
    *(
        case(f"5 texts in 8 positions, {pad} in the pads", *batch(draw, pad))
        for pad in ["NaN", "inf", "1e10", "NaN"] * 5
    ),
    measure=with_gradient,
    hint="The vectors of pads must not matter, whatever they hold: they are neither multiplied nor "
    "added, because NaN times 0 is NaN, and 1e10 less a large number may be the largest value "
    "still. Replace them with `masked_fill`.",
)

TOO_FAR = "Your last state is one too far: of n tokens, the last is at position n - 1."

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
    (TOO_FAR, joined(last=lambda hidden, mask: hidden[range(len(hidden)), mask.sum(dim=1)])),
    (
        TOO_FAR,
        joined(last=lambda h, mask: h[range(len(h)), mask.sum(1).clamp(max=h.shape[1] - 1)]),
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
        "A state of 0 counts in the mean, too: divide by the number of tokens.",
        joined(mean=mean_of_others),
    ),
    (
        "Take the largest value, not the largest absolute value.",
        joined(
            largest=lambda hidden, mask: (hidden * mask[:, :, None]).abs().amax(dim=1),
        ),
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

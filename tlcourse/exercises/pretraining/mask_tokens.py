"""Lesson 03: BERT's corruption, with chance handed in."""

import torch

from tlcourse.bpe import MASK, SPECIALS
from tlcourse.exercises.expect import expect_unchanged
from tlcourse.exercises.pretraining._common import several
from tlcourse.exercises.task import Exercise, case

task = Exercise(
    __name__,
    number="3.7",
    title="Hide 15 %: 80, 10, 10",
    difficulty=2,
    importance=4,
    minutes=10,
    hints=(
        "There are three questions, one after the other: which positions are chosen, what becomes "
        "of each, and what must the loss know?",
        "First make `chosen`, a boolean tensor: where `draw < 0.15` and the token is ordinary "
        "(its id is at least 6).",
        "Start from `corrupted = tokens.clone()`, so that the input stays as it is; then "
        "`corrupted[chosen & (kind < 0.8)] = MASK`.",
        "The swapped ones are `swapped = chosen & (kind >= 0.9)`, and "
        "`corrupted[swapped] = noise[swapped]`. What is left of the chosen stays, and is "
        "still chosen.",
    ),
    imports="import math\nimport torch\nfrom tlcourse.bpe import EOS, MASK, PAD, SPECIALS",
)


@task.reference
def mask_tokens(tokens, draw, kind, noise):
    """(batch, length) ids and three drawings to corrupted ids and a mask, True = to predict."""
    chosen = (draw < 0.15) & (tokens >= len(SPECIALS))
    corrupted = tokens.clone()
    corrupted[chosen & (kind < 0.8)] = MASK
    swapped = chosen & (kind >= 0.9)
    corrupted[swapped] = noise[swapped]
    return corrupted, chosen


def both(candidate, *given):
    """(corrupted, chosen)."""
    try:
        got = expect_unchanged(candidate, *given)
    except RuntimeError as error:
        if "bitwise" in str(error) or "ambiguous" in str(error):
            error.add_note("Join conditions by `&`, not `and`, and put each of them in brackets.")
        raise
    return several(got, "corrupted", "chosen")


@task.truth
def by_where(tokens, draw, kind, noise):
    """The two as one tensor of numbers, (2, batch, length)."""
    chosen = (draw < 0.15).logical_and(tokens > 5)
    changed = torch.where(kind < 0.8, 4, torch.where(kind < 0.9, tokens, noise))
    return torch.stack([torch.where(chosen, changed, tokens), chosen]).double()


def stacked(candidate, *given):
    """The two as one tensor, (2, batch, length)."""
    return torch.stack([each.double() for each in both(candidate, *given)])


def kinds(candidate, *given):
    """The two in words."""
    return [in_words(value) for value in both(candidate, *given)]


def in_words(value):
    if not isinstance(value, torch.Tensor):
        return type(value).__name__
    ids = "fractions" if value.is_floating_point() else "ids"
    entries = "booleans" if value.dtype == torch.bool else ids
    return f"tensor of {entries}, shape {tuple(value.shape)}"


def corrupted(candidate, *given):
    """The corrupted tokens of the one window."""
    return both(candidate, *given)[0][0].tolist()


def chosen(candidate, *given):
    """Which tokens of the one window are to be predicted."""
    return both(candidate, *given)[1][0].tolist()


def drawings(*shape, seed=0):
    """Draw, kind and noise."""
    generator = torch.Generator().manual_seed(seed)
    draw, kind = (torch.rand(shape, generator=generator) for _ in range(2))
    return draw, kind, torch.randint(1000, 2000, shape, generator=generator)


def window(measure, draw, kind, due, hint, tokens=(70,) * 4, dtype=torch.float32):
    """A case of one window; draw and kind are a list, or one number for all of its tokens."""
    count = len(tokens)
    rows = [each if isinstance(each, list) else [float(each)] * count for each in (draw, kind)]
    noise = torch.arange(81, 81 + count)[None]
    given = torch.tensor([tokens]), torch.tensor(rows[:1]), torch.tensor(rows[1:], dtype=dtype)
    what = f"`{measure.__name__}`, for the tokens {[*tokens]}, draw {draw}, kind {kind}"
    what += ", noise from 81 on"
    return case(what, *given, noise, expected=due, measure=measure, hint=hint)


small = torch.arange(6, 30).view(4, 6), *drawings(4, 6)
many = torch.randint(900, (40, 50), generator=torch.Generator().manual_seed(5)) // 3
FOUR = [0.10, 0.79, 0.85, 0.95]
BELOW = "A token is chosen where `draw` is below 0.15, so use `<`."
BORDERS = "Below 0.8 is `kind < 0.8`, 0.9 or higher is `kind >= 0.9`."

task.stage(
    "two tensors",
    case(
        "`corrupted` and `chosen` for 4 windows of 6 tokens",
        *small,
        expected=["tensor of ids, shape (4, 6)", "tensor of booleans, shape (4, 6)"],
        measure=kinds,
        hint="`return corrupted, chosen`, in this order: ids, then a boolean mask that is True "
        "where a token is to be predicted.",
    ),
    case(
        "the number of places where two calls with the same arguments differ",
        *small,
        expected=0,
        measure=lambda *given: int((stacked(*given) != stacked(*given)).sum()),
        hint="Draw nothing yourself: chance is handed in as `draw`, `kind` and `noise`.",
    ),
)
task.stage(
    "which are chosen",
    window(chosen, [0.10, 0.20, 0.149, 0.90], 0, [True, False, True, False], BELOW),
    window(chosen, 0.15, 0, [False] * 4, BELOW),  # in float32 a little above 0.15, never below
    window(
        *(corrupted, 1, FOUR, [70] * 4),
        "None is chosen here, and `kind` concerns chosen positions only: combine the conditions "
        "with `&`.",
    ),
    *(
        window(
            *(measure, 0, kind, due),
            "Only ordinary tokens may be chosen or changed: their ids begin at 6.",
            tokens,
        )
        for kind in (0, 0.95)
        for measure, tokens, due in (
            (corrupted, (0, 1, 2, 3, 4, 5), [0, 1, 2, 3, 4, 5]),
            (chosen, (0, 5, 6, 300), [False, False, True, True]),
        )
    ),
)
task.stage(
    "what becomes of them",
    window(
        *(corrupted, 0, FOUR, [MASK, MASK, 70, 84]),
        f"Below 0.8 a token becomes <mask>, id {MASK}; from there to 0.9 it stays as it is; from "
        "0.9 on it becomes the token of `noise` at the same position.",
    ),
    window(
        *(chosen, 0, FOUR, [True] * 4),
        "A chosen token must be predicted whatever becomes of it.",
    ),
    # In float32, 0.8 is a little above 0.8, but 0.9 a little below 0.9: this one takes float64.
    window(corrupted, 0, [0.85, 0.85, 0.85, 0.8], [70] * 4, BORDERS),
    window(corrupted, 0, [0.85] * 3 + [0.9], [70, 70, 70, 84], BORDERS, dtype=torch.float64),
)
task.stage(
    "a batch of 2,000",
    case(
        "40 windows of 50 tokens: `corrupted`, then `chosen` as numbers",
        *(many, *drawings(40, 50, seed=6)),
    ),
    measure=stacked,
    tolerance=1e-3,
    hint="Each position has a draw, a kind and a token of `noise` of its own.",
)


def from_the_corrupted(tokens, draw, kind, noise):
    corrupted, _ = mask_tokens(tokens, draw, kind, noise)
    return corrupted, (draw < 0.15) & (corrupted > 5)


task.mistakes(
    (
        "With kind = 0 all of the chosen become <mask>, and they stay chosen. Is `chosen` computed "
        "from the corrupted tokens? Compute it from `tokens`.",
        from_the_corrupted,
    ),
    (
        "All became <mask>, whatever `kind` is: `kind`, and not `draw` once more, tells which 20 % "
        "of the chosen tokens must not.",
        lambda tokens, draw, kind, noise: mask_tokens(tokens, draw, 0 * kind, noise),
    ),
)

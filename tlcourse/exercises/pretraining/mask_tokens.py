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
def by_loop(tokens, draw, kind, noise):
    """The two as one tensor of numbers, (2, batch, length)."""
    found = torch.stack([tokens, 0 * tokens]).double()
    for row, place in (draw < 0.15).logical_and(tokens > 5).nonzero().tolist():
        found[1, row, place] = 1
        if kind[row, place] < 0.8:
            found[0, row, place] = 4
        elif kind[row, place] >= 0.9:
            found[0, row, place] = noise[row, place]
    return found


def stacked(candidate, *given):
    """The two as one tensor, (2, batch, length)."""
    return torch.stack([each.double() for each in both(candidate, *given)])


def kinds(candidate, *given):
    """The two in words."""
    return [in_words(each) for each in both(candidate, *given)]


def in_words(value):
    if not isinstance(value, torch.Tensor):
        return type(value).__name__
    fractions = value.is_floating_point() or value.is_complex()
    entries = "booleans" if value.dtype == torch.bool else "fractions" if fractions else "ids"
    return f"tensor of {entries}, shape {tuple(value.shape)}"


def changes(candidate, *given):
    """At how many places two calls with the same arguments differ."""
    return int((stacked(candidate, *given) != stacked(candidate, *given)).sum())


def corrupted(candidate, *given):
    """The corrupted tokens of the one window."""
    return both(candidate, *given)[0][0].tolist()


def chosen(candidate, *given):
    """Which tokens of the one window are to be predicted."""
    return both(candidate, *given)[1][0].tolist()


def specials_taken(candidate, tokens, *drawn):
    """The specials that were chosen or changed, where `tokens` begins with all of them."""
    corrupted, chosen = both(candidate, tokens, *drawn)
    taken = chosen[0] | (corrupted[0] != tokens[0])
    return [name for name, hit in zip(SPECIALS, taken.tolist(), strict=False) if hit]


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
    specials = measure is specials_taken
    seen = "the specials that are chosen or changed" if specials else f"`{measure.__name__}`"
    what = f"{seen}, for the tokens {[*tokens]}, draw {draw}, kind {kind}, noise from 81 on"
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
        measure=changes,
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
        window(measure, 0, kind, due, hint, tokens=(0, 1, 2, 3, 4, 5, 6, 300))
        for kind in (0, 0.95)
        for measure, due, hint in (
            (specials_taken, [], "Only ordinary tokens may be chosen: their ids begin at 6."),
            (chosen, [False] * 6 + [True] * 2, "Ids 6 and 300 are ordinary; 6 is the first."),
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


def choosing(wrong):
    """An answer with another `chosen`: `wrong(corrupted, chosen, tokens, draw, kind, noise)`."""
    return lambda *given: (mask_tokens(*given)[0], wrong(*mask_tokens(*given), *given))


task.mistakes(
    (
        "These are the 85 % that are to be left alone. A token is chosen where `draw` is below "
        "0.15.",
        lambda t, draw, kind, noise: mask_tokens(t, 0.3 - draw, kind, noise),
    ),
    (
        "With kind = 0 all of the chosen become <mask>, and they stay chosen. Is `chosen` computed "
        "from the corrupted tokens? Compute it from `tokens`.",
        choosing(lambda corrupted, chosen, t, draw, kind, noise: (draw < 0.15) & (corrupted > 5)),
    ),
    (
        "`chosen` does not depend on `kind`: not only those that become <mask> are to be "
        "predicted, but also those that are swapped and those that stay.",
        choosing(lambda corrupted, chosen, t, draw, kind, noise: chosen & (kind < 0.8)),
    ),
    (
        "All became <mask>, whatever `kind` is: `kind`, and not `draw` once more, tells which 20 % "
        "of the chosen tokens must not.",
        lambda t, draw, kind, noise: mask_tokens(t, draw, 0 * kind, noise),
    ),
    (
        "This is the other way round: from 0.8 to 0.9 the token stays, from 0.9 on it is swapped.",
        lambda t, draw, kind, noise: mask_tokens(
            t, draw, torch.where(kind < 0.8, kind, 1.8 - kind), noise
        ),
    ),
    (
        "A chosen token that stays as it is must still be predicted: that is what it is for.",
        choosing(lambda corrupted, chosen, t, draw, kind, noise: corrupted != t),
    ),
)

"""Lesson 03: BERT's corruption, with the random numbers as arguments."""

import torch

from tlcourse.bpe import MASK, SPECIALS
from tlcourse.exercises.expect import expect_unchanged
from tlcourse.exercises.pretraining._common import several
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying


def both(candidate, *given):
    """(corrupted, chosen)."""
    try:
        got = expect_unchanged(candidate, *given)
    except RuntimeError as error:
        if "bitwise" in str(error) or "ambiguous" in str(error):
            error.add_note("Join conditions by `&`, not `and`, and put each of them in brackets.")
        raise
    return several(got, "corrupted", "chosen")


def stacked(candidate, *given):
    """The two as one tensor of numbers, (2, batch, length)."""
    return torch.stack([each.double() for each in both(candidate, *given)])


def corrupted(candidate, *given):
    """The corrupted tokens of the only window."""
    return both(candidate, *given)[0][0].tolist()


def chosen(candidate, *given):
    """Which tokens of the only window are targets."""
    return both(candidate, *given)[1][0].tolist()


def kinds(candidate, *given):
    """What each of the two holds, and its shape."""
    names = {torch.bool: "booleans", torch.int64: "ids", torch.int32: "ids"}
    found = [(getattr(each, "dtype", type(each)), each) for each in both(candidate, *given)]
    return [(names.get(kind, str(kind)), *getattr(each, "shape", ())) for kind, each in found]


task = Exercise(
    __name__,
    number="3.7",
    title="Hide 15 %: 80, 10, 10",
    difficulty=2,
    importance=4,
    minutes=10,
    hints=(
        "Answer three questions, one after the other: which positions are chosen, what becomes of "
        "each of them, and which positions does the loss need?",
        "First compute `chosen`, a boolean tensor that is True where `draw < 0.15` and the token "
        "is ordinary (its id is at least 6).",
        "Start from `corrupted = tokens.clone()`, which leaves the input unchanged. Then "
        "`corrupted[chosen & (kind < 0.8)] = MASK`.",
        "The random tokens: `swapped = chosen & (kind >= 0.9)`, and "
        "`corrupted[swapped] = noise[swapped]`. The remaining chosen tokens keep their ids, and "
        "they are still chosen.",
    ),
    imports="import math\nimport torch\nfrom tlcourse.bpe import EOS, MASK, PAD, SPECIALS",
    measure=stacked,
)


@task.reference
def mask_tokens(tokens, draw, kind, noise):
    """(batch, length) ids and random numbers to corrupted ids and a mask, True = target."""
    chosen = (draw < 0.15) & (tokens >= len(SPECIALS))
    corrupted = tokens.clone()
    corrupted[chosen & (kind < 0.8)] = MASK
    swapped = chosen & (kind >= 0.9)
    corrupted[swapped] = noise[swapped]
    return corrupted, chosen


@task.truth
def by_where(tokens, draw, kind, noise):
    chosen = (draw < 0.15).logical_and(tokens > 5)
    changed = torch.where(kind < 0.8, 4, torch.where(kind < 0.9, tokens, noise))
    return torch.stack([torch.where(chosen, changed, tokens), chosen]).double()


def drawings(*shape, seed=0):
    """Draw, kind and noise."""
    generator = torch.Generator().manual_seed(varying(seed))
    draw, kind = (torch.rand(shape, generator=generator) for _ in range(2))
    return draw, kind, torch.randint(1000, 2000, shape, generator=generator)


def window(measure, draw, kind, due, hint, tokens=(70,) * 4, dtype=torch.float32):
    """A case of one window of 4 tokens; `draw` and `kind` are a list, or a number for all 4."""
    rows = [each if isinstance(each, list) else [float(each)] * 4 for each in (draw, kind)]
    given = torch.tensor([tokens]), torch.tensor(rows[:1]), torch.tensor(rows[1:], dtype=dtype)
    what = f"`{measure.__name__}` for tokens {[*tokens]}, draw {draw}, kind {kind}, noise 81 to 84"
    noise = torch.tensor([[81, 82, 83, 84]])
    return case(what, *given, noise, expected=due, measure=measure, hint=hint)


small = torch.arange(6, 30).view(4, 6), *drawings(4, 6)
many = torch.randint(300, (40, 50), generator=torch.Generator().manual_seed(varying(5)))
FOUR = [0.10, 0.79, 0.85, 0.95]
BELOW = "Choose a token if `draw < 0.15` and its id is at least 6."
ORDINARY = "Only ordinary tokens may be chosen or changed: their ids begin at 6."
BORDERS = "Below 0.8 is `kind < 0.8`; 0.9 or higher is `kind >= 0.9`."

task.stage(
    "two tensors",
    case(
        "the type and shape of `corrupted` and `chosen` for 4 windows of 6 tokens",
        *small,
        expected=[("ids", 4, 6), ("booleans", 4, 6)],
        measure=kinds,
        hint="End with `return corrupted, chosen`: first ids, then a boolean mask that is True "
        "where the model has to predict the token.",
    ),
    case(
        "the number of differences between two calls with the same arguments",
        *small,
        expected=0,
        measure=lambda *given: int((stacked(*given) != stacked(*given)).sum()),
        hint="Draw nothing yourself: `draw`, `kind` and `noise` are the random numbers.",
    ),
)
task.stage(
    "which are chosen",
    window(chosen, [0.10, 0.20, 0.149, 0.90], 0, [True, False, True, False], BELOW),
    window(chosen, 0.15, 0, [False] * 4, BELOW),  # in float32 a little above 0.15, never below
    window(
        *(corrupted, 1, FOUR, [70] * 4),
        "No token is chosen here, and `kind` concerns chosen positions only: combine the "
        "conditions with `&`.",
    ),
    window(corrupted, 0, 0, [2, 3, 4, 5], ORDINARY, (2, 3, 4, 5)),
    window(chosen, 0, 0.95, [False, False, True, True], ORDINARY, (0, 5, 6, 300)),
)
task.stage(
    "what replaces them",
    window(
        *(corrupted, 0, FOUR, [MASK, MASK, 70, 84]),
        f"`kind` decides: below 0.8 a token becomes <mask>, id {MASK}; from there to 0.9 it keeps "
        "its id; from 0.9 on it becomes the token of `noise` at the same position.",
    ),
    window(*(chosen, 0, FOUR, [True] * 4), "A chosen token remains a target whatever it becomes."),
    # In float32, 0.8 is a little above 0.8, but 0.9 a little below 0.9: this one takes float64.
    window(corrupted, 0, [0.85, 0.85, 0.85, 0.8], [70] * 4, BORDERS),
    window(corrupted, 0, [0.85] * 3 + [0.9], [70, 70, 70, 84], BORDERS, dtype=torch.float64),
)
task.stage(
    "a batch of 2,000",
    case("40 windows of 50 tokens: `corrupted`, then `chosen`", many, *drawings(40, 50, seed=6)),
    tolerance=1e-3,
    hint="Each position has its own draw, kind and token of `noise`.",
)


def from_the_corrupted(tokens, draw, kind, noise):
    found, _ = mask_tokens(tokens, draw, kind, noise)
    return found, (draw < 0.15) & (found >= len(SPECIALS))


def only_what_changed(tokens, draw, kind, noise):
    found, _ = mask_tokens(tokens, draw, kind, noise)
    return found, found != tokens


task.mistakes(
    (
        "`chosen` is computed from the corrupted tokens here, in which <mask> is no ordinary "
        "token: compute it from `tokens`.",
        from_the_corrupted,
    ),
    (
        "All chosen tokens become <mask>, whatever `kind` is: mask only those where `kind < 0.8`.",
        lambda tokens, draw, kind, noise: mask_tokens(tokens, draw, 0 * kind, noise),
    ),
    (
        "This code also replaces the chosen tokens that should keep their ids: take `noise` only "
        "where `kind >= 0.9`.",
        lambda tokens, draw, kind, noise: mask_tokens(tokens, draw, kind + (kind >= 0.8), noise),
    ),
    (
        "A chosen token that keeps its id is missing from `chosen`: return all chosen positions, "
        "changed or not.",
        only_what_changed,
    ),
)

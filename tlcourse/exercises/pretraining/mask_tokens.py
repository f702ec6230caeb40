"""Lesson 03: BERT's corruption, with chance handed in."""

import numpy as np
import torch
from torch import Tensor

from tlcourse.bpe import MASK, SPECIALS
from tlcourse.exercises.expect import (
    CheckFailed,
    expect_equal,
    expect_shape,
    expect_unchanged,
    short,
)
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="3.7",
    title="Hide 15 %: 80, 10, 10",
    difficulty=2,
    minutes=10,
    hints=(
        "three questions, one after the other: which positions are chosen, what becomes of "
        "each, and what must the loss know?",
        "first make `chosen`, a boolean tensor: where `draw < 0.15` and the token is ordinary "
        "(its id is at least 6).",
        "start from `corrupted = tokens.clone()`, so that the input stays as it is; then "
        "`corrupted[chosen & (kind < 0.8)] = MASK`.",
        "the swapped ones: `swapped = chosen & (kind >= 0.9)`, then "
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


@task.right
def by_where(tokens, draw, kind, noise):
    chosen = torch.logical_and(tokens > 5, draw < 0.15)
    changed = torch.where(kind < 0.8, torch.full_like(tokens, 4), tokens)
    changed = torch.where(kind >= 0.9, noise, changed)
    return torch.where(chosen, changed, tokens), chosen


@task.right
def by_loop(tokens, draw, kind, noise):
    corrupted, chosen = tokens.tolist(), torch.zeros(tokens.shape, dtype=torch.bool)
    for row, place in np.ndindex(*tokens.shape):
        if tokens[row, place] in range(6) or draw[row, place] >= 0.15:
            continue
        chosen[row, place] = True
        if kind[row, place] < 0.8:
            corrupted[row][place] = 4
        elif kind[row, place] >= 0.9:
            corrupted[row][place] = noise[row, place].item()
    return torch.tensor(corrupted), chosen


def both(candidate, tokens, draw, kind, noise):
    """(corrupted, chosen)."""
    try:
        got = expect_unchanged(candidate, tokens, draw, kind, noise)
    except RuntimeError as error:
        if "bitwise" in str(error) or "ambiguous" in str(error):
            error.add_note("Join conditions by `&`, not `and`, and put each of them in brackets.")
        raise
    if not isinstance(got, tuple | list) or len(got) != 2:
        raise CheckFailed(f"expected two tensors, `return corrupted, chosen`; got {short(got)}.")
    return got[0], got[1]


def corrupted_of(candidate, *arguments):
    """What the tokens became, of the one window."""
    return both(candidate, *arguments)[0][0].tolist()


def chosen_of(candidate, *arguments):
    """Which are to be predicted, of the one window."""
    return both(candidate, *arguments)[1][0].tolist()


def ordinary_chosen(candidate, *arguments):
    """Which are to be predicted, of those behind the specials."""
    return chosen_of(candidate, *arguments)[len(SPECIALS) :]


def specials_taken(candidate, tokens, *drawn):
    """The specials that were chosen or changed, where `tokens` begins with all of them."""
    corrupted, chosen = both(candidate, tokens, *drawn)
    taken = chosen[0] | (corrupted[0] != tokens[0])
    return [name for name, hit in zip(SPECIALS, taken.tolist(), strict=False) if hit]


def drawings(shape, seed=0):
    """Draw, kind and noise."""
    generator = torch.Generator().manual_seed(seed)
    draw, kind = (torch.rand(shape, generator=generator) for _ in range(2))
    return draw, kind, torch.randint(1000, 2000, shape, generator=generator)


@task.stage("two tensors")
def two_tensors(candidate):
    tokens = torch.arange(6, 30).view(4, 6)
    drawn = drawings((4, 6))
    corrupted, chosen = both(candidate, tokens, *drawn)
    for name, value in (("corrupted", corrupted), ("chosen", chosen)):
        if not isinstance(value, Tensor):
            kind = "NumPy array" if isinstance(value, np.ndarray) else type(value).__name__
            raise CheckFailed(f"`{name}` is a {kind}; expected a tensor, see `torch.as_tensor`.")
        expect_shape(value, (4, 6), f"4 windows of 6: `{name}`")
    if chosen.dtype != torch.bool:
        said = f"`chosen` is {chosen.dtype}; expected a boolean mask, True = to predict."
        swapped = " The first of the two is one: `return corrupted, chosen`, in this order."
        raise CheckFailed(said + (swapped if corrupted.dtype == torch.bool else ""))
    if (kind := corrupted.dtype) == torch.bool or kind.is_floating_point or kind.is_complex:
        raise CheckFailed(f"the corrupted tokens are {kind}; expected ids, whole numbers.")
    again = both(candidate, tokens, *drawn)
    if not (again[0].equal(corrupted) and again[1].equal(chosen)):
        raise CheckFailed("the same arguments gave two answers: draw nothing, use `draw` and `kind`.")


@task.stage("which are chosen")
def which(candidate):
    tokens, zeros = torch.full((1, 4), 70), torch.zeros(1, 4)
    for draw, right in (
        ([0.10, 0.20, 0.149, 0.90], [True, False, True, False]),
        ([0.15] * 4, [False] * 4),  # in float32 this is a little above 0.15, never below
    ):
        task.observe(
            candidate, chosen_of, tokens, torch.tensor([draw]), zeros, tokens + 1, gives=right,
            what=f"draw = {draw}: `chosen`",
            likely="A token is chosen where `draw` is below 0.15. Below is `<`.",
        )  # fmt: skip
    kind = torch.tensor([[0.10, 0.79, 0.85, 0.95]])
    task.observe(
        candidate, corrupted_of, tokens, zeros + 1, kind, tokens + 1, gives=[70] * 4,
        what="four tokens 70, draw = 1 everywhere, so nothing is chosen: corrupted",
        likely="`kind` concerns chosen positions only: combine the conditions with `&`.",
    )  # fmt: skip
    tokens, draw = torch.tensor([[0, 1, 2, 3, 4, 5, 6, 300]]), torch.zeros(1, 8)
    for told, value in (("draw = 0 everywhere, kind = 0", 0.0), ("draw = 0, kind = 0.95", 0.95)):
        drawn = draw, draw + value, draw.long() + 77
        task.observe(
            candidate, specials_taken, tokens, *drawn, gives=[],
            what=f"a look for specials that are chosen or changed ({told})",
            likely="Only ordinary tokens may be: ids from 6 on.",
        )  # fmt: skip
        task.observe(
            candidate, ordinary_chosen, tokens, *drawn, gives=[True, True],
            what=f"ids 6 and 300 with {told}: `chosen`",
            likely="Both are ordinary; 6 is the first that is.",
        )  # fmt: skip


@task.stage("what becomes of them")
def kinds(candidate):
    tokens, zeros = torch.full((1, 4), 70), torch.zeros(1, 4)
    kind, noise = torch.tensor([[0.10, 0.79, 0.85, 0.95]]), torch.tensor([[81, 82, 83, 84]])
    task.observe(
        candidate, corrupted_of, tokens, zeros, kind, noise, gives=[MASK, MASK, 70, 84],
        what="four chosen tokens 70, noise 81 to 84, kind = [0.10, 0.79, 0.85, 0.95]: corrupted",
        likely=f"Below 0.8 it is <mask>, id {MASK}; then it stays as it is; from 0.9 on, the "
        "random token of `noise` at the same position stands there.",
    )  # fmt: skip
    task.observe(
        candidate, chosen_of, tokens, zeros, kind, noise, gives=[True] * 4,
        what="the same four: `chosen`",
        likely="A chosen token must be predicted whatever becomes of it.",
    )  # fmt: skip
    # In float32, 0.8 is a little above 0.8, but 0.9 a little below 0.9: this one takes float64.
    for border, dtype, last in ((0.8, torch.float32, 70), (0.9, torch.float64, 84)):
        kind = torch.tensor([[0.85, 0.85, 0.85, border]], dtype=dtype)
        task.observe(
            candidate, corrupted_of, tokens, zeros, kind, noise, gives=[70, 70, 70, last],
            what=f"the same four with kind = [0.85, 0.85, 0.85, {border}]: corrupted",
            likely="Below 0.8 is `kind < 0.8`, 0.9 or higher is `kind >= 0.9`.",
        )  # fmt: skip


@task.stage("a batch of 2,000")
def batch(candidate):
    generator = torch.Generator().manual_seed(5)
    tokens = torch.randint(900, (40, 50), generator=generator) // 3
    draw, kind, noise = drawings((40, 50), seed=6)
    corrupted, chosen = both(candidate, tokens, draw, kind, noise)
    for at in np.ndindex(40, 50):
        old = new = int(tokens[at])
        asked = old > 5 and float(draw[at]) < 0.15
        if asked and float(kind[at]) < 0.8:
            new = MASK
        elif asked and float(kind[at]) >= 0.9:
            new = int(noise[at])
        came = (int(corrupted[at]), bool(chosen[at]))
        expect_equal(came, (new, asked), f"token {old} at {at} of a batch: (corrupted, chosen)")


@task.mistake("two tensors", "your function changed argument 1")
def in_place(tokens, draw, kind, noise):
    corrupted, chosen = mask_tokens(tokens, draw, kind, noise)
    tokens[:] = corrupted
    return tokens, chosen


@task.mistake(
    "which are chosen", "These are the 85 % that are to be left alone: chosen is `draw` < 0.15."
)
def takes_the_others(tokens, draw, kind, noise):
    return mask_tokens(tokens, 0.3 - draw, kind, noise)


@task.mistake(
    "which are chosen",
    "With kind = 0 all of the chosen become <mask>, and they stay chosen: is `chosen` computed "
    "from the corrupted tokens? Look at `tokens`, as they were.",
)
def chosen_from_the_corrupted(tokens, draw, kind, noise):
    corrupted, chosen = mask_tokens(tokens, draw, kind, noise)
    return corrupted, (draw < 0.15) & (corrupted > 5)


@task.mistake(
    "which are chosen",
    "Not only those that become <mask> are to be predicted, the swapped and those that stay are, "
    "too: `chosen` does not depend on `kind`.",
)
def only_the_masked_are_targets(tokens, draw, kind, noise):
    corrupted, chosen = mask_tokens(tokens, draw, kind, noise)
    return corrupted, chosen & (kind < 0.8)


@task.mistake(
    "what becomes of them",
    "All became <mask>, whatever `kind` is: `kind`, not `draw` once more, tells which 20 % of the "
    "chosen tokens must not.",
)
def masks_all(tokens, draw, kind, noise):
    return mask_tokens(tokens, draw, torch.zeros_like(kind), noise)


@task.mistake(
    "what becomes of them",
    "Between 0.8 and 0.9 the token stays, from 0.9 on it is swapped: the other way.",
)
def other_way_round(tokens, draw, kind, noise):
    return mask_tokens(tokens, draw, torch.where(kind < 0.8, kind, 1.8 - kind), noise)


@task.mistake(
    "what becomes of them",
    "A chosen token that stays as it is must still be predicted: that is what it is for.",
)
def forgets_what_stays(tokens, draw, kind, noise):
    corrupted, chosen = mask_tokens(tokens, draw, kind, noise)
    return corrupted, corrupted != tokens

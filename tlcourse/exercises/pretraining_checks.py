"""The checks of lesson 03's masked tokens, a function for each stage."""

import numpy as np
import torch
from torch import Tensor

from tlcourse.bpe import SPECIALS
from tlcourse.exercises.expect import Wrong, expect_equal, expect_shape, short
from tlcourse.exercises.expect import expect_unchanged as call

MASK = SPECIALS.index("<mask>")


def _masked(candidate, tokens, draw, kind, noise) -> tuple[Tensor, Tensor]:
    got = call(candidate, tokens, draw, kind, noise)
    if not isinstance(got, tuple | list) or len(got) != 2:
        raise Wrong(f"expected two tensors, `return corrupted, chosen`; got {short(got)}.")
    return got[0], got[1]


def _drawings(shape: tuple[int, int], seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    draw, kind = (torch.rand(shape, generator=generator) for _ in range(2))
    return draw, kind, torch.randint(1000, 2000, shape, generator=generator)


def mask_shape(candidate) -> None:
    tokens = torch.arange(6, 30).view(4, 6)
    drawn = _drawings((4, 6))
    corrupted, chosen = _masked(candidate, tokens, *drawn)
    expect_shape(corrupted, (4, 6), "the corrupted tokens of 4 windows of 6")
    expect_shape(chosen, (4, 6), "the chosen positions of 4 windows of 6")
    for name, value in (("corrupted", corrupted), ("chosen", chosen)):
        if not isinstance(value, Tensor):
            kind = "NumPy array" if isinstance(value, np.ndarray) else type(value).__name__
            raise Wrong(f"`{name}` is a {kind}; expected a tensor, see `torch.as_tensor`.")
    if chosen.dtype != torch.bool:
        said = f"`chosen` is {chosen.dtype}; expected a boolean mask, True = to predict."
        swapped = " The first of the two is one: `return corrupted, chosen`, in this order."
        raise Wrong(said + (swapped if corrupted.dtype == torch.bool else ""))
    if corrupted.dtype != torch.int64:
        raise Wrong(f"the corrupted tokens are {corrupted.dtype}; expected ids, torch.int64.")
    again = _masked(candidate, tokens, *drawn)
    if not (again[0].equal(corrupted) and again[1].equal(chosen)):
        raise Wrong("the same arguments gave two answers: draw nothing, use `draw` and `kind`.")


def mask_choice(candidate) -> None:
    tokens = torch.full((1, 4), 70)
    draw = torch.tensor([[0.10, 0.20, 0.149, 0.90]])
    _, chosen = _masked(candidate, tokens, draw, torch.zeros(1, 4), tokens + 1)
    right = [[True, False, True, False]]
    likely = "A token is chosen where `draw` is below 0.15."
    if chosen.tolist() == [[False, True, False, True]]:
        likely = "These are the 85 % that are to be left alone: chosen is where `draw` < 0.15."
    elif not chosen.any():
        likely = (
            "With kind = 0 all of the chosen become <mask>, and they stay chosen: is `chosen` "
            "computed from the corrupted tokens? Look at `tokens`, as they were."
        )
    expect_equal(chosen.tolist(), right, "draw = [0.10, 0.20, 0.149, 0.90]: `chosen`", likely)
    border = torch.full((1, 4), 0.15)  # in float32 this is a little above 0.15, never below
    _, chosen = _masked(candidate, tokens, border, torch.zeros(1, 4), tokens + 1)
    expect_equal(chosen.tolist(), [[False] * 4], "draw = 0.15: `chosen`", "Below is `<`.")
    kind = torch.tensor([[0.10, 0.79, 0.85, 0.95]])
    corrupted, _ = _masked(candidate, tokens, torch.ones(1, 4), kind, tokens + 1)
    what = "four tokens 70, draw = 1 everywhere, so nothing is chosen: corrupted"
    likely = "`kind` concerns chosen positions only: combine the conditions with `&`."
    expect_equal(corrupted.tolist(), tokens.tolist(), what, likely)
    _specials(candidate)


def _specials(candidate) -> None:
    """All specials and two ordinary tokens, with draw = 0 everywhere."""
    tokens = torch.tensor([[0, 1, 2, 3, 4, 5, 6, 300]])
    draw = torch.zeros(1, 8)
    for name, value in (("kind = 0", 0.0), ("kind = 0.95", 0.95)):
        corrupted, chosen = _masked(candidate, tokens, draw, draw + value, draw.long() + 77)
        special = chosen[0, :6] | (corrupted[0, :6] != tokens[0, :6])
        if special.any():
            spoilt = ", ".join(s for s, hit in zip(SPECIALS, special.tolist(), strict=True) if hit)
            raise Wrong(
                f"with draw = 0 everywhere and {name}, the specials {spoilt} were chosen or "
                "changed. Only ordinary tokens may be: ids from 6 on."
            )
        got, what = chosen[0, 6:].tolist(), f"ids 6 and 300 with draw = 0 and {name}: `chosen`"
        likely = "Both are ordinary; 6 is the first that is."
        if value and not any(got):
            likely = (
                "Not only those that become <mask> are to be predicted, the swapped and those that "
                "stay are, too: `chosen` does not depend on `kind`."
            )
        expect_equal(got, [True, True], what, likely)


def mask_kinds(candidate) -> None:
    tokens = torch.full((1, 4), 70)
    chosen_all, noise = torch.zeros(1, 4), torch.tensor([[81, 82, 83, 84]])
    kind = torch.tensor([[0.10, 0.79, 0.85, 0.95]])
    corrupted, chosen = _masked(candidate, tokens, chosen_all, kind, noise)
    got, likely = corrupted[0].tolist(), ""
    if got == [MASK] * 4:
        likely = (
            "All became <mask>, whatever `kind` is: `kind`, not `draw` once more, tells which 20 % "
            "of the chosen tokens must not."
        )
    elif got[2:] == [83, 70]:
        likely = "Between 0.8 and 0.9 the token stays, from 0.9 on it is swapped: the other way."
    elif got[:2] != [MASK, MASK]:
        likely = f"Below 0.8 it is <mask>, id {MASK}."
    elif got[2] == 83:
        likely = "Between 0.8 and 0.9 the token stays as it is."
    elif got[3] == 70:
        likely = "From 0.9 on, the random token of `noise` at the same position stands there."
    what = "four chosen tokens 70, noise 81 to 84, kind = [0.10, 0.79, 0.85, 0.95]: corrupted"
    expect_equal(got, [MASK, MASK, 70, 84], what, likely)
    likely = "A chosen token that stays as it is must still be predicted: that is what it is for."
    expect_equal(chosen.tolist(), [[True] * 4], "the same four: `chosen`", likely)
    # In float32, 0.8 is a little above 0.8, but 0.9 a little below 0.9: this one takes float64.
    likely = "Below 0.8 is `kind < 0.8`, 0.9 or higher is `kind >= 0.9`."
    for border, dtype, last in ((0.8, torch.float32, 70), (0.9, torch.float64, 84)):
        kind = torch.tensor([[0.85, 0.85, 0.85, border]], dtype=dtype)
        corrupted, _ = _masked(candidate, tokens, chosen_all, kind, noise)
        what = f"the same four with kind = [0.85, 0.85, 0.85, {border}]: corrupted"
        expect_equal(corrupted.tolist(), [[70, 70, 70, last]], what, likely)


def mask_whole(candidate) -> None:
    generator = torch.Generator().manual_seed(5)
    tokens = torch.randint(900, (40, 50), generator=generator) // 3
    draw, kind, noise = _drawings((40, 50), seed=6)
    corrupted, chosen = _masked(candidate, tokens, draw, kind, noise)
    for row in range(40):
        for place in range(50):
            at = (row, place)
            old = new = int(tokens[at])
            asked = old > 5 and float(draw[at]) < 0.15
            if asked and float(kind[at]) < 0.8:
                new = MASK
            elif asked and float(kind[at]) >= 0.9:
                new = int(noise[at])
            came = (int(corrupted[at]), bool(chosen[at]))
            expect_equal(came, (new, asked), f"token {old} at {at} of a batch: (corrupted, chosen)")

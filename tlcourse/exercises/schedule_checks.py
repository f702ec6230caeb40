"""The checks of lesson 03's curve of the rate, a function for each stage.

The true curve is counted out in exact fractions.
"""

import math
import random
from decimal import Decimal
from fractions import Fraction
from numbers import Real

from tlcourse.exercises.expect import Wrong, short
from tlcourse.exercises.expect import expect_unchanged as call


def real_number(value) -> float | None:
    """A number, or a tensor or array of one, as a float; None for all else (text, complex)."""
    try:
        value = value.item() if hasattr(value, "item") else value
    except (TypeError, ValueError, RuntimeError):  # more than one number
        return None
    return float(value) if isinstance(value, Real | Decimal) else None


def _factor(candidate, step: int, steps: int, warmup: int, decay: float) -> float:
    got = call(candidate, step, steps, warmup, decay)
    factor = real_number(got)
    if factor is None:
        came = "None (is a `return` missing?)" if got is None else short(got)
        raise Wrong(f"step {step} of {steps} gave {came}; expected one number, its factor.")
    return factor


def _listed(factors) -> str:
    return ", ".join(f"{float(factor):.3g}" for factor in factors)


def _expect_curve(candidate, setting: tuple, parts: tuple, known=(), **likely: str) -> None:
    """Raises Wrong unless all steps of `setting` (steps, warmup, decay) have the right factor.

    `parts` are the numbers of steps that rise, stay at 1 and fall. `known` are pairs of a wrong
    curve and what is said of it; `likely` is said if the first wrong step is one of that part
    ("rising", "stable" or "falling").
    """
    (steps, warmup, decay), right = setting, _curve(*parts)
    got = [_factor(candidate, step, steps, warmup, decay) for step in range(steps)]
    if _alike(got, right):
        return
    step = next(k for k in range(steps) if not _alike(got[k : k + 1], right[k : k + 1]))
    part, general = _part(step, *parts)
    told = next((text for curve, text in known if _alike(got, curve)), likely.get(part, general))
    said = f"gave {got[step]:.4g} at step {step}; expected {float(right[step]):.4g}."
    if steps <= 10:
        said = f"gave {_listed(got)}; expected {_listed(right)}."
    raise Wrong(f"steps={steps}, warmup={warmup}, decay={decay:g} {said} {told}")


def _part(step: int, up: int, stable: int, down: int) -> tuple[str, str]:
    """In which part `step` is, and what is true there."""
    if step < up:
        return "rising", f"Step {step} is in the warm-up and has {step + 1} of {up} parts."
    if step < up + stable:
        return "stable", f"Step {step} is after the warm-up and before the decay: it has 1."
    left = up + stable + down - step
    return "falling", (
        f"The decay begins at step {up + stable} and has {down} steps: step {step} is one of the "
        f"last {left} and has {left} of {down} parts."
    )


def _alike(got: list, right: list) -> bool:
    pairs = zip(got, right, strict=False)
    return len(got) == len(right) and all(math.isclose(a, b, abs_tol=1e-5) for a, b in pairs)


def _curve(up: int, stable: int, down: int) -> list[Fraction]:
    """So many steps of each part, counted out."""
    rise = [Fraction(part, up) for part in range(1, up + 1)]
    return rise + [Fraction(1)] * stable + [Fraction(part, down) for part in range(down, 0, -1)]


def number(candidate) -> None:
    for step in (0, 5, 9):
        factor = _factor(candidate, step, 10, 2, 0.4)
        if not 0 <= factor <= 1:
            raise Wrong(
                f"step {step} of 10, warmup=2, decay=0.4 gave {factor:.4g}; expected a number "
                "from 0 to 1. The highest rate itself is 1."
            )


def warmup(candidate) -> None:
    zero = "Step 0 gets 0 and teaches nothing. Steps count from 0: step 0 is the first of four"
    known = [
        ([0, 1 / 4, 2 / 4, 3 / 4, 1, 1, 1, 1], f"{zero} and has 1/4."),
        ([0, 1 / 3, 2 / 3, 1, 1, 1, 1, 1], f"{zero}, not a start before them: it has 1/4."),
        ([1 / 5, 2 / 5, 3 / 5, 4 / 5, 1, 1, 1, 1], "Step 3 is the fourth of four and has 1."),
        (
            [1 / 4, 2 / 4, 3 / 4, 1, 5 / 4, 1, 1, 1],
            "Step 4 is past the warm-up, which has steps 0 to 3.",
        ),
        ([k / 4 for k in range(1, 9)], "After the warm-up it stays at 1."),
        ([1] * 8, "It does not rise: the first 4 steps are the warm-up."),
        ([1, 3 / 4, 2 / 4, 1 / 4, 1, 1, 1, 1], "The warm-up rises; this one falls."),
    ]
    likely = "With decay=0 nothing falls, and after the warm-up every step has 1."
    _expect_curve(candidate, (8, 4, 0.0), (4, 4, 0), known, stable=likely)
    likely = "Without a warm-up (or with one of a single step) the first step has 1 already."
    _expect_curve(candidate, (3, 0, 0.0), (0, 3, 0), stable=likely)
    _expect_curve(candidate, (3, 1, 0.0), (1, 2, 0), rising=likely)
    likely = "The whole run is warm-up here, and its last step has 1."
    _expect_curve(candidate, (5, 5, 0.0), (5, 0, 0), rising=likely)


def decay(candidate) -> None:
    flat = [1] * 6
    zero = "The last step gets 0 and teaches nothing: it is the step *after* it that would have 0"
    known = [
        ([*flat, 1, 2 / 3, 1 / 3, 0], f"{zero}, so each part is 1/4."),
        ([*flat, 3 / 4, 2 / 4, 1 / 4, 0], f"{zero}, and step 6, the first of the four, has 1."),
        ([*flat, 4 / 5, 3 / 5, 2 / 5, 1 / 5], "The first step of the decay still has 1."),
        ([*flat, 1, 1, 3 / 4, 2 / 4], "All is one step late: steps count from 0."),
        ([*flat, 0, 1 / 4, 2 / 4, 3 / 4], "This one rises. Count the steps that are left."),
        (
            [*flat, 4 / 10, 3 / 10, 2 / 10, 1 / 10],
            "The rate jumps where the decay begins: divide by the steps of the decay, here 4, not "
            "by all.",
        ),
        (
            [k / 10 for k in range(10, 0, -1)],
            "It falls from the beginning. Only the last share of the steps, `decay`, falls.",
        ),
        (
            [1] * 4 + [k / 6 for k in range(6, 0, -1)],
            "It begins at 0.4 of the run; 0.4 is the share of the steps that falls, the last 4.",
        ),
        ([1] * 10, "It never falls."),
    ]
    likely = "Four steps of ten fall: with 4, 3, 2 and 1 parts of four."
    _expect_curve(candidate, (10, 0, 0.4), (0, 6, 4), known, stable=likely, falling=likely)
    _rounding(candidate)


def _rounding(candidate) -> None:
    """Shares that are no whole number of steps."""
    for decay, start, told in ((0.33, 7, "6.7"), (0.37, 6, "6.3"), (0.9, 1, "0.9999999999999998")):
        begins = f"the decay begins at step {told}, so {start}"
        nearest = f"Round to the nearest whole step, do not cut off: {begins}, here."
        known = [(_curve(0, k, 10 - k), nearest) for k in (start - 1, start + 1)]
        whole = (
            f"Divide by whole steps: {begins}, and the last stretch has steps - start = "
            f"{10 - start} of them, not steps * decay = {10 * decay:g}. It must reach the values "
            "shown."
        )
        slope = [(10 - k) / (10 * decay) for k in range(10)]
        curves = ([1] * start + slope[start:], [min(1, value) for value in slope])
        known += [(curve, whole) for curve in (*curves, [1] * (start + 1) + slope[start + 1 :])]
        _expect_curve(candidate, (10, 0, decay), (0, start, 10 - start), known)


def meeting(candidate) -> None:
    up = [1 / 4, 2 / 4, 3 / 4, 1]
    falling = [k / 10 for k in range(10, 0, -1)]
    squeezed = "The rate jumps: the decay has only the steps that the warm-up leaves, here 6."
    both = "During the warm-up nothing falls yet, even if the decay's share reaches so far."
    known = [
        (up + falling[4:], squeezed),
        ([min(pair) for pair in zip(up + [1] * 6, falling, strict=True)], both),
        ([a * b for a, b in zip(up + [1] * 6, falling, strict=True)], both),
        (falling, "The warm-up is gone: ask for it before you ask for the decay."),
        (up + [1] * 6, "With decay=1 it falls at once when the warm-up is over."),
        (up + [k / 7 for k in range(6, 0, -1)], "Step 4, the first of the decay, still has 1."),
        (up + [k / 5 for k in range(5, -1, -1)], "The last step gets 0 and teaches nothing."),
    ]
    likely = "With decay=1 the decay begins at step `warmup` and has all steps that are left."
    _expect_curve(candidate, (10, 4, 1.0), (4, 0, 6), known, rising=both, falling=likely)
    likely = "Without a warm-up and with decay=1 the first step is the decay's own and has 1, the "
    likely += "second has 0.9 already: `warmup` is 0 here, not 1."
    _expect_curve(candidate, (10, 0, 1.0), (0, 0, 10), falling=likely)
    of_the_rest = "`decay` is a share of all steps, here 10 of 20, not of those after the warm-up."
    known = [(_curve(8, 6, 6), of_the_rest)]
    likely = "The stable part is what the other two leave, here steps 8 and 9."
    _expect_curve(candidate, (20, 8, 0.5), (8, 2, 10), known, rising=both, stable=likely)
    likely = "The decay would begin at step 2, in the midst of the warm-up: it has to wait."
    _expect_curve(candidate, (10, 5, 0.8), (5, 0, 5), rising=likely, falling=likely)


def whole(candidate) -> None:
    draw = random.Random(4)
    for _ in range(20):
        steps = draw.randrange(1, 70)
        warmup = draw.randrange(0, steps // draw.choice([1, 2, 8]) + 1)
        percent = draw.choice([p for p in range(101) if steps * p % 100 != 50])  # no tie
        down = min(round(Fraction(steps * percent, 100)), steps - warmup)
        parts = (warmup, steps - warmup - down, down)
        _expect_curve(candidate, (steps, warmup, percent / 100), parts)

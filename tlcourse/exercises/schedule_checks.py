"""The checks of lesson 03's curve of the rate, a function for each stage.

The true curve is counted out in exact fractions.
"""

import math
import random
from fractions import Fraction

from tlcourse.exercises.expect import Wrong, short
from tlcourse.exercises.expect import expect_unchanged as call


def _factor(candidate, step: int, steps: int, warmup: int, decay: float) -> float:
    got = call(candidate, step, steps, warmup, decay)
    try:
        return float(got)
    except (TypeError, ValueError, RuntimeError):
        came = "None (is a `return` missing?)" if got is None else short(got)
        raise Wrong(
            f"step {step} of {steps} gave {came}; expected one number, its factor."
        ) from None


def _listed(factors) -> str:
    return ", ".join(f"{float(factor):.3g}" for factor in factors)


def _expect_curve(candidate, setting: tuple, right: list, known=(), likely: str = "") -> None:
    """Raises Wrong unless all steps of `setting` (steps, warmup, decay) have the right factor.

    `known` are pairs of a wrong curve and what is said of it.
    """
    steps, warmup, decay = setting
    got = [_factor(candidate, step, steps, warmup, decay) for step in range(steps)]
    if _alike(got, right):
        return
    likely = next((text for curve, text in known if _alike(got, curve)), likely)
    what = f"steps={steps}, warmup={warmup}, decay={decay:g}"
    if steps <= 10:
        said = f"gave {_listed(got)}; expected {_listed(right)}."
    else:
        step = next(k for k in range(steps) if not _alike(got[k : k + 1], right[k : k + 1]))
        said = f"gave {got[step]:.4g} at step {step}; expected {float(right[step]):.4g}."
    raise Wrong(f"{what} {said} {likely}".strip())


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
    _expect_curve(candidate, (8, 4, 0.0), _curve(4, 4, 0), known, likely)
    likely = "Without a warm-up (or with one of a single step) the first step has 1 already."
    _expect_curve(candidate, (3, 0, 0.0), _curve(0, 3, 0), (), likely)
    _expect_curve(candidate, (3, 1, 0.0), _curve(1, 2, 0), (), likely)
    likely = "The whole run is warm-up here, and its last step has 1."
    _expect_curve(candidate, (5, 5, 0.0), _curve(5, 0, 0), (), likely)


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
    _expect_curve(candidate, (10, 0, 0.4), _curve(0, 6, 4), known, likely)
    likely = "Round to the nearest whole step, do not cut off: the decay begins at step {} here."
    for decay, start, told in ((0.33, 7, "6.7"), (0.37, 6, "6.3"), (0.9, 1, "0.9999999999999998")):
        right = _curve(0, start, 10 - start)
        said = likely.format(f"{told}, so {start},")
        _expect_curve(candidate, (10, 0, decay), right, (), said)


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
    _expect_curve(candidate, (10, 4, 1.0), _curve(4, 0, 6), known, likely)
    of_the_rest = "`decay` is a share of all steps, here 10 of 20, not of those after the warm-up."
    known = [(_curve(8, 6, 6), of_the_rest)]
    likely = "The stable part is what the other two leave, here steps 8 and 9."
    _expect_curve(candidate, (20, 8, 0.5), _curve(8, 2, 10), known, likely)
    likely = "The decay would begin at step 2, in the midst of the warm-up: it has to wait."
    _expect_curve(candidate, (10, 5, 0.8), _curve(5, 0, 5), (), likely)


def whole(candidate) -> None:
    draw = random.Random(4)
    for _ in range(20):
        steps = draw.randrange(1, 70)
        warmup = draw.randrange(0, steps // draw.choice([1, 2, 8]) + 1)
        percent = draw.choice([p for p in range(101) if steps * p % 100 != 50])  # no tie
        down = min(round(Fraction(steps * percent, 100)), steps - warmup)
        right = _curve(warmup, steps - warmup - down, down)
        _expect_curve(candidate, (steps, warmup, percent / 100), right)

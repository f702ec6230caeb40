"""Lesson 07: states without their part along a direction, or, as a bonus, along several."""

import torch
from torch.nn import functional as F

from tlcourse.exercises.expect import CheckFailed, expect_shape, expect_unchanged
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying


def removed(candidate, states, directions):
    """The candidate's states, (..., width); raises CheckFailed for another shape."""
    got = expect_unchanged(candidate, states, directions)
    what = f"states {tuple(states.shape)} without directions {tuple(directions.shape)}"
    expect_shape(got, tuple(states.shape), what, "The states keep their shape.")
    return got


task = Exercise(
    __name__,
    number="7.4",
    title="Remove a direction",
    difficulty=2,
    importance=4,
    minutes=15,
    hints=(
        "How far does a state h reach along a direction d? If d has length one, that is h · d, and "
        "(h · d) d is what you subtract. And if d has another length?",
        "Begin with `unit = F.normalize(directions, dim=-1)`. For one direction `states @ unit.T` "
        "is (…, 1), and times `unit` it has the shape of the states.",
        "For the bonus, two directions that are not at right angles share something. If you "
        "subtract one after the other, the second puts back some of the first; if you subtract "
        "both at once, what they share is subtracted twice. Which vectors span the same plane and "
        "*are* at right angles?",
        "For the bonus, `torch.linalg.svd(unit, full_matrices=False)` gives (u, s, v), where the "
        "rows of v are at right angles and of length one. Leave out those with s near 0, which "
        "belong to no direction. With the others as `basis`: `states - states @ basis.T @ basis`.",
    ),
    imports="import numpy as np\nimport torch\nfrom torch.nn import functional as F",
    measure=removed,
    tolerance=1e-5,
)


@task.reference
def remove(states, directions):
    """(..., width) states without their part in the span of the directions, (k, width)."""
    _, lengths, basis = torch.linalg.svd(F.normalize(directions, dim=-1), full_matrices=False)
    basis = basis[lengths > 1e-5]
    return states - states @ basis.T @ basis


@task.truth
def by_pseudo_inverse(states, directions):
    states, directions = states.double(), directions.double()
    rest = states - states @ torch.linalg.pinv(directions, rtol=1e-5) @ directions
    return rest.round(decimals=12) + 0.0  # so that 0 is shown as 0


def drawn(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(varying(seed)))


def of(state, *directions, hint=""):
    """The case of one state."""
    what = f"the state {state} without the directions {[*directions]}"
    return case(what, torch.tensor(state), torch.tensor(directions), hint=hint)


def random(seed, count, *leading):
    """A case of random states and directions, whose lengths differ."""
    directions = drawn(count, 8, seed=seed + 50) * 2.0 ** torch.arange(-1, 5)[:count, None]
    what = f"states {(*leading, 8)} without {count} random directions of width 8"
    return case(what, drawn(*leading, 8, seed=seed), directions, tolerance=1e-3)


task.stage(
    "shape",
    case(
        "the shape of states (2, 7, 5) without 1 direction",
        *(drawn(2, 7, 5), drawn(1, 5, seed=2)),
        expected=(2, 7, 5),
    ),
    measure=lambda *setting: tuple(removed(*setting).shape),
)
task.stage(
    "one direction",
    of([2.0, 3.0, 5.0], [0.0, 1.0, 0.0]),
    of([10.0, 5.0, 2.0], [3.0, 4.0, 0.0]),
    hint="Subtract (h · d) d, where d has length one in both places: divide each row by its "
    "length, as `F.normalize(directions, dim=-1)` does. Anything at right angles to d remains.",
)


SHARED = (
    "Nothing may remain along any direction. If each is removed on its own, what two of them share "
    "is subtracted twice or comes back: make them orthogonal first."
)
NOTHING_NEW = (
    "Some of these directions add nothing new. What remains of such a direction is 0, or nearly 0 "
    "by rounding, and must not be divided by its length: use an SVD and keep what is clearly above "
    "0."
)
THRICE = [0.1, 0.7, 0.3], [0.3, 2.1, 0.9], [0.07, 0.49, 0.21]
several = (
    of([1.0, 2.0, 3.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]),
    of([3.0, 1.0, 2.0], [1.0, 1.0, 0.0], [2.0, 2.0, 0.0], hint=NOTHING_NEW),
    of([7.0, 2.0, -7.0], *THRICE, hint=NOTHING_NEW),
    random(3, 6, 3),
)


@task.stage("several directions, a bonus")
def bonus(candidate):
    """Returns a remark on how the answer removes several directions; raises nothing."""
    for each in several:
        due = by_pseudo_inverse(*each.arguments)
        try:
            task.compare(
                candidate, each.what, *each.arguments, expected=due, tolerance=each.tolerance
            )
        except CheckFailed as failed:
            told = f"gives {failed.parts['Yours']} instead of {failed.parts['Expected']}"
        except Exception as error:
            told = f"raises {type(error).__name__}"
        else:
            continue
        return f"(A bonus is left, several directions: {each.what} {told}. {each.hint or SHARED})"
    return "(The bonus, several directions, is solved, too.)"


task.stage(
    "random directions",
    *(random(seed, 1, *leading) for seed, leading in enumerate(((), (4,), (2, 5)))),
    hint="The part at right angles to the direction remains as it is, and the rest is removed.",
)


def unit(directions):
    return directions / directions.norm(dim=1, keepdim=True)


def along(states, directions):
    """The sum of the parts along each direction, as if they were orthogonal and of length one."""
    return states @ directions.T @ directions


task.mistakes(
    (
        "This is the part along the direction: subtract it from the states.",
        lambda h, d: h - remove(h, d),
    ),
    (
        "The direction is used as it is, but its length is not one: divide it by its length first.",
        lambda h, d: h - along(h, d),
    ),
    (
        "The direction occurs twice in (h · d) d, but only one of the two was divided by its "
        "length: divide before you use it.",
        lambda h, d: h - h @ d.T @ unit(d),
    ),
    (
        "Each column of the directions has length one here: normalise each row, with `dim=-1`.",
        lambda h, d: h - along(h, F.normalize(d, dim=0)),
    ),
)

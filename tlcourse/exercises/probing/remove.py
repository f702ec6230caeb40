"""Lesson 07: states without what lies along some directions."""

import torch
from torch.nn import functional as F

from tlcourse.exercises.expect import expect_shape, expect_unchanged
from tlcourse.exercises.task import Exercise, case


def removed(candidate, states, directions):
    """What comes out, (..., width); raises CheckFailed for another shape."""
    got = expect_unchanged(candidate, states, directions)
    what = f"states {tuple(states.shape)} without directions {tuple(directions.shape)}"
    expect_shape(got, tuple(states.shape), what, "The states keep their shape.")
    return got


task = Exercise(
    __name__,
    number="7.5",
    title="Remove a direction",
    difficulty=3,
    importance=4,
    minutes=15,
    hints=(
        "Take one direction d first: how far a state h reaches along it is h · d, if d has length "
        "one. What is subtracted then is (h · d) d. And if d has another length?",
        "Two directions that are not at right angles share something. If you subtract one after "
        "the other, the second puts back some of the first; if you subtract both at once, what "
        "they share goes twice. Which vectors span the same plane and *are* at right angles?",
        "Make every direction of length one (`F.normalize` leaves a zero as it is). Then "
        "`torch.linalg.svd(directions, full_matrices=False)` gives (u, s, v): the rows of v are at "
        "right angles and of length one. Leave out those with s near 0: they belong to none.",
        "With such rows as `basis`: `states - states @ basis.T @ basis`. (Or in one step: "
        "`torch.linalg.pinv(directions) @ directions` projects onto all that they span.)",
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
    return rest.round(decimals=12) + 0.0  # what is 0 is told as 0


def drawn(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def of(state, *directions, hint=""):
    """The case of one state."""
    what = f"the state {state} without the directions {[*directions]}"
    return case(what, torch.tensor(state), torch.tensor(directions), hint=hint)


def random(seed, count, *leading):
    """A case of random states and directions, whose lengths differ."""
    directions = drawn(count, 8, seed=seed + 50) * 2.0 ** torch.arange(-1, 5)[:count, None]
    what = f"states {(*leading, 8)} without {count} random directions of width 8"
    return case(what, drawn(*leading, 8, seed=seed), directions, tolerance=1e-3)


ZERO = "A direction of length 0 was divided by its length: leave it out before you divide."
DOUBLE = (
    "States and directions are in double precision (float64) here, and the result has the dtype of "
    "`states`. Is something in single precision, by `.float()` or by `torch.eye` without a dtype?"
)

task.stage(
    "shape",
    *(
        case(
            f"the shape of states {(*leading, 5)} without 2 directions",
            *(drawn(*leading, 5), drawn(2, 5, seed=2)),
            expected=(*leading, 5),
        )
        for leading in ((4,), (), (2, 7), (1, 1))
    ),
    measure=lambda *setting: tuple(removed(*setting).shape),
)
task.stage(
    "one direction",
    of([2.0, 3.0, 5.0], [0.0, 1.0, 0.0]),
    of([10.0, 5.0, 2.0], [3.0, 4.0, 0.0]),
    of([0.0, 1.0, 1.0], [0.0, -0.5, 0.0]),
    hint="Subtract only (h · d) d, for a d of length one. What is at right angles to it stays.",
)
task.stage(
    "two directions",
    of([1.0, 2.0, 3.0], [2.0, 0.0, 0.0], [0.0, 0.0, 5.0]),
    of([1.0, 2.0, 3.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]),
    of([1.0, 2.0, 3.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]),
    hint="Nothing is left along any direction; what is at right angles to all of them stays.",
)
task.stage(
    "a direction that adds nothing",
    of([3.0, 1.0, 2.0], [1.0, 1.0, 0.0], [2.0, 2.0, 0.0]),
    of([3.0, 7.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0], [1.0, -1.0, 1.0]),
    of([3.0, 1.0, 2.0], [0.0, 0.0, 0.0], [0.0, 0.0, 4.0], hint=ZERO),
    of([7.0, 2.0, -7.0], [0.1, 0.7, 0.3], [0.3, 2.1, 0.9], [0.07, 0.49, 0.21]),
    hint="Some of these directions add nothing new: remove what they span, and no more. Rounding "
    "leaves a little of such a direction, seldom exactly 0, that points anywhere: keep what is "
    "clearly above 0.",
)
task.stage(
    "random directions",
    *(random(seed, *sizes) for seed, sizes in enumerate(((1,), (1, 4), (3, 2, 5), (6, 3)))),
    case(
        "4 states and 2 directions in double precision",
        *(drawn(4, 8).double(), drawn(2, 8, seed=2).double()),
        tolerance=1e-9,
        hint=DOUBLE,
    ),
    hint="What is at right angles to all directions stays as it is, and all else goes.",
)


def unit(directions):
    return directions / directions.norm(dim=1, keepdim=True)


def along(states, directions):
    """The sum of the parts along each direction, as if they were orthogonal and of length one."""
    return states @ directions.T @ directions


def one_after_the_other(states, directions):
    for each in unit(directions):
        states = states - along(states, each[None])
    return states


def by_inverse(states, directions):
    gram = directions @ directions.T
    return states - states @ directions.T @ torch.linalg.inv(gram) @ directions


task.mistakes(
    (
        "That is the part along the direction; it is the rest that is wanted.",
        lambda h, d: h - remove(h, d),
    ),
    (
        "The direction was used as it is, but its length is not one: divide it by its length "
        "first.",
        lambda h, d: h - along(h, d),
    ),
    (
        "The direction is in (h · d) d twice, and only one of the two was divided by its length.",
        lambda h, d: h - h @ d.T @ unit(d),
    ),
    (
        "Every axis that the direction touches was set to 0. Remove only what lies along it.",
        lambda h, d: h * (d == 0).all(dim=0),
    ),
    (
        "Each direction was removed on its own, so what the two share was subtracted twice. Make "
        "them orthogonal first.",
        lambda h, d: h - along(h, unit(d)),
    ),
    (
        "They were removed one after the other, and the second put back some of the first. Make "
        "them orthogonal first.",
        one_after_the_other,
    ),
    (
        "QR and SVD give one vector per direction, even for a direction that adds nothing new; "
        "that vector is arbitrary. Use an SVD and keep those whose singular value is clearly above "
        "0.",
        lambda h, d: h - along(h, torch.linalg.qr(d.T)[0].T),
    ),
    (
        "Where directions depend on each other, `directions @ directions.T` has no inverse. Its "
        "pseudo-inverse will do, `torch.linalg.pinv`, and so will an SVD.",
        by_inverse,
    ),
    (ZERO, lambda h, d: remove(h, unit(d))),
    (DOUBLE, lambda h, d: remove(h, d.float())),
)

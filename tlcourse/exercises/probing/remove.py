"""Lesson 07: states without what lies along some directions.

The true answer is worked out by Gram and Schmidt, one direction after the other, in double
precision.
"""

import torch
from torch.nn import functional as F

from tlcourse.exercises.expect import expect_shape, expect_unchanged
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="7.5",
    title="Remove a direction",
    difficulty=3,
    minutes=15,
    hints=(
        "one direction d first: how far a state h reaches along it is h · d, if d has length one. "
        "What is subtracted then is (h · d) d. And if d has another length?",
        "two directions that are not at right angles share something. If you subtract one after "
        "the other, the second puts back some of the first; if you subtract both at once, what "
        "they share goes twice. Which vectors span the same plane and *are* at right angles?",
        "make every direction of length one (`F.normalize` leaves a zero as it is). Then "
        "`torch.linalg.svd(directions, full_matrices=False)` gives (u, s, v): the rows of v are at "
        "right angles and of length one. Leave out those with s near 0: they belong to none.",
        "with such rows as `basis`: `states - states @ basis.T @ basis`. (Or in one step: "
        "`torch.linalg.pinv(directions) @ directions` projects onto all that they span.)",
    ),
    imports="import numpy as np\nimport torch\nfrom torch.nn import functional as F",
)


@task.reference
def remove(states, directions):
    """(..., width) states without their part in the span of the directions, (k, width)."""
    _, lengths, basis = torch.linalg.svd(F.normalize(directions, dim=-1), full_matrices=False)
    basis = basis[lengths > 1e-5]
    return states - states @ basis.T @ basis


@task.right
def by_pseudo_inverse(states, directions):
    onto = torch.linalg.pinv(directions) @ directions
    return states @ (torch.eye(states.shape[-1], dtype=states.dtype) - onto)


@task.right
def by_gram_schmidt(states, directions):
    basis = []
    for direction in directions:
        rest = direction
        for _ in range(2):  # once more, against rounding
            for each in basis:
                rest = rest - (rest @ each) * each
        if rest.norm() > 1e-5 * direction.norm():
            basis.append(rest / rest.norm())
    for each in basis:
        states = states - (states @ each)[..., None] * each
    return states


def removed(candidate, states, directions):
    """What comes out, (..., width); raises CheckFailed for another shape."""
    got = expect_unchanged(candidate, states, directions)
    what = f"states {tuple(states.shape)}, directions {tuple(directions.shape)}"
    expect_shape(got, tuple(states.shape), what, "The states keep their shape.")
    return got


def shape_of(candidate, *setting):
    return tuple(removed(candidate, *setting).shape)


def drawn(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def expect(candidate, states, directions, gives, likely):
    """Raises CheckFailed unless these states, lists, become what is expected."""
    task.observe(
        candidate, removed, torch.tensor(states), torch.tensor(directions),
        gives=gives, what=f"the state {states} without the directions {directions}",
        likely=likely, tolerance=1e-5,
    )  # fmt: skip


@task.stage("shape")
def shape(candidate):
    for leading in ((4,), (), (2, 7), (1, 1)):
        task.observe(
            candidate, shape_of, drawn(*leading, 5), drawn(2, 5, seed=2), gives=(*leading, 5),
            what=f"states {(*leading, 5)} without 2 directions: the shape",
        )  # fmt: skip


@task.stage("one direction")
def one(candidate):
    likely = "Only (h · d) d goes, for a d of length one; what is at right angles to it stays."
    expect(candidate, [2.0, 3.0, 5.0], [[0.0, 1.0, 0.0]], [2.0, 0.0, 5.0], likely)
    expect(candidate, [10.0, 5.0, 2.0], [[3.0, 4.0, 0.0]], [4.0, -3.0, 2.0], likely)
    expect(candidate, [0.0, 1.0, 1.0], [[0.0, -0.5, 0.0]], [0.0, 0.0, 1.0], likely)


@task.stage("two directions")
def several(candidate):
    likely = "Nothing is left along any direction; what is at right angles to all of them stays."
    expect(candidate, [1.0, 2.0, 3.0], [[2.0, 0.0, 0.0], [0.0, 0.0, 5.0]], [0.0, 2.0, 0.0], likely)
    expect(candidate, [1.0, 2.0, 3.0], [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]], [0.0, 0.0, 3.0], likely)
    expect(candidate, [1.0, 2.0, 3.0], [[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]], [0.0, 0.0, 3.0], likely)


@task.stage("a direction that adds nothing")
def dependent(candidate):
    twice = [[1.0, 1.0, 0.0], [2.0, 2.0, 0.0]]
    expect(candidate, [3.0, 1.0, 2.0], twice, [1.0, -1.0, 2.0], ROUNDED)
    plane = [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0], [1.0, -1.0, 1.0]]
    expect(candidate, [3.0, 7.0, 1.0], plane, [1.0, 0.0, -1.0], ROUNDED)
    expect(candidate, [3.0, 1.0, 2.0], [[0.0, 0.0, 0.0], [0.0, 0.0, 4.0]], [3.0, 1.0, 0.0], ROUNDED)
    thrice = [[0.1, 0.7, 0.3], [0.3, 2.1, 0.9], [0.07, 0.49, 0.21]]
    expect(candidate, [7.0, 2.0, -7.0], thrice, [7.0, 2.0, -7.0], ROUNDED)


def by_hand(states, directions):
    """The true answer, in double precision."""
    rest, basis = states.double(), []
    for direction in directions.double():
        for each in basis * 2:
            direction = direction - (direction @ each) * each
        basis.append(direction / direction.norm())
    for each in basis:
        rest = rest - (rest @ each)[..., None] * each
    return rest


@task.stage("random directions")
def whole(candidate):
    for seed, (count, *leading) in enumerate(((1,), (1, 4), (3, 2, 5), (6, 3))):
        states, directions = drawn(*leading, 8, seed=seed), drawn(count, 8, seed=seed + 50)
        directions = directions * 2.0 ** torch.arange(-1, 5)[:count, None]
        task.observe(
            candidate, removed, states, directions, gives=by_hand(states, directions),
            what=f"states {tuple(states.shape)} without {count} random directions of width 8",
            likely="What is at right angles to all directions stays as it is, all else goes.",
            tolerance=1e-3,
        )  # fmt: skip
    states, directions = drawn(4, 8).double(), drawn(2, 8, seed=2).double()
    task.observe(
        candidate, removed, states, directions, gives=by_hand(states, directions),
        what="4 states and 2 directions in double precision", tolerance=1e-9,
        likely=DOUBLE,
    )  # fmt: skip


NOT_ONE = (
    "The direction was used as it is, but its length is not one: divide it by its length first."
)
HALF_ONE = "The direction is in (h · d) d twice, and only one of the two was divided by its length."
KEPT = "That is the part along the direction; it is the rest that is wanted."
MIRROR = "The part along the direction was subtracted twice."
LENGTH = "The states were rescaled afterwards: what is left stays as it is."
AXES = "Every axis that the direction touches was set to 0. Remove only what lies along it."
SQUARE = "Each row is made of length one, not each column: `dim=1` (or `dim=-1`)."
SHARED = (
    "Each direction was removed on its own, so what the two share was subtracted twice. Make them "
    "orthogonal first."
)
AFTER = (
    "They were removed one after the other, and the second put back some of the first. Make them "
    "orthogonal first."
)
FIRST = "Only the first direction was removed."
MEAN = "Only the mean of the directions was removed. Each of them has to go."
QR = (
    "QR and SVD give one vector per direction, even for a direction that adds nothing new; that "
    "vector is arbitrary. Use an SVD and keep those whose singular value is clearly above 0."
)
ROUNDED = (
    "Some of these directions add nothing new: remove what they span, and no more. Rounding leaves "
    "a little of such a direction, seldom exactly 0, that points anywhere: keep what is clearly "
    "above 0."
)
ZERO = "A direction of length 0 was divided by its length: leave it out before you divide."
NAN = (
    "Something was divided by a length of 0, or nearly 0. Leave out a direction once nothing is "
    "left of it."
)
DOUBLE = (
    "States and directions are in double precision (float64) here, and the result has the dtype of "
    "`states`. Is something in single precision, by `.float()` or by `torch.eye` without a dtype?"
)
SINGULAR = (
    "Where directions depend on each other, `directions @ directions.T` has no inverse. Its pseudo-"
    "inverse will do, `torch.linalg.pinv`, and so will an SVD."
)


def unit(directions):
    return directions / directions.norm(dim=1, keepdim=True)


def along(states, directions):
    """The sum of the parts along each direction, as if they were orthogonal and of length one."""
    return states @ directions.T @ directions


def by_inverse(states, directions):
    gram = directions @ directions.T
    return states - states @ directions.T @ torch.linalg.inv(gram) @ directions


def one_after_the_other(states, directions):
    for each in unit(directions):
        states = states - along(states, each[None])
    return states


def one_by_one(keeps, start=lambda directions: directions):
    """By Gram and Schmidt, from `start(directions)`; of a direction what `keeps(its length)`."""

    def candidate(states, directions):
        found = []
        for rest in start(directions):
            for each in found:
                rest = rest - (rest @ each) / (each @ each) * each
            if keeps(rest.norm()):
                found.append(rest)
        return states - along(states, unit(torch.stack(found)))

    return candidate


for stage, says, wrong in (
    ("one direction", KEPT, lambda h, d: h - remove(h, d)),
    ("one direction", MIRROR, lambda h, d: 2 * remove(h, d) - h),
    ("one direction", LENGTH,
     lambda h, d: h.norm(dim=-1, keepdim=True) * F.normalize(remove(h, d), dim=-1)),
    ("one direction", NOT_ONE, lambda h, d: h - along(h, d)),
    ("one direction", HALF_ONE, lambda h, d: h - h @ d.T @ unit(d)),
    ("one direction", SQUARE, lambda h, d: h - along(h, F.normalize(d, dim=0))),
    ("one direction", AXES, lambda h, d: h * (d == 0).all(dim=0)),
    ("two directions", SHARED, lambda h, d: h - along(h, unit(d))),
    ("two directions", AFTER, one_after_the_other),
    ("two directions", FIRST, lambda h, d: remove(h, d[:1])),
    ("two directions", MEAN, lambda h, d: remove(h, d.mean(dim=0, keepdim=True))),
    ("a direction that adds nothing", QR, lambda h, d: h - along(h, torch.linalg.qr(d.T)[0].T)),
    ("a direction that adds nothing", QR,
     lambda h, d: h - along(h, torch.linalg.svd(d, full_matrices=False)[2])),
    ("a direction that adds nothing", SINGULAR, by_inverse),
    ("a direction that adds nothing", NAN, one_by_one(lambda length: True)),
    ("a direction that adds nothing", ROUNDED, one_by_one(lambda length: length > 0)),
    ("a direction that adds nothing", ZERO, one_by_one(lambda length: not length < 1e-5, unit)),
    ("a direction that adds nothing", ZERO, lambda h, d: remove(h, unit(d))),
    ("random directions", DOUBLE, lambda h, d: remove(h, d.float())),
):  # fmt: skip
    task.mistake(stage, says)(wrong)

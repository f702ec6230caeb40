"""Lesson 05b: DoRA's weight, a length for each output times a direction that LoRA turns."""

import torch
from torch.nn import functional as F

from tlcourse.exercises.adaptation._common import IMPORTS, draw
from tlcourse.exercises.expect import expect_shape, expect_unchanged
from tlcourse.exercises.task import Exercise, case


def matrix_of(candidate, weight, update, length):
    """The candidate's matrix; raises CheckFailed unless it has the shape of the weight."""
    got = expect_unchanged(candidate, weight, update, length)
    expect_shape(got, tuple(weight.shape), f"the matrix for a weight {tuple(weight.shape)}")
    return got


task = Exercise(
    __name__,
    number="5b.2",
    title="DoRA: a length for each row",
    difficulty=2,
    importance=2,
    minutes=10,
    hints=(
        "Begin with the sum of the two matrices. How long is each of its rows? "
        "`matrix.norm(dim=1)` gives (out,) lengths.",
        "Multiply row i by `length[i]` over the row's own length. A vector (out,) multiplies rows "
        "as `vector[:, None] * matrix`.",
        "The row's own length is a constant in the backward pass: call `.detach()` on it, and on "
        "nothing else.",
    ),
    imports=IMPORTS,
    measure=matrix_of,
    tolerance=1e-5,
)


@task.reference
def dora_weight(weight, update, length):
    """(out, in) weight and update to their sum, whose rows are scaled to the (out,) lengths."""
    turned = weight + update
    return (length / turned.norm(dim=1).detach())[:, None] * turned


@task.truth
def by_unit_rows(weight, update, length):
    return length.double()[:, None] * F.normalize(weight.double() + update.double(), dim=1)


def gradient_of(candidate, number):
    """The gradient of the update (number 1) or of the lengths (2); 0 if none reaches it."""
    given = [part.clone().requires_grad_() for part in (weight, update, length)]
    got = matrix_of(candidate, *given)
    if got.requires_grad:
        got.backward(upstream)
    return torch.zeros_like(given[number]) if given[number].grad is None else given[number].grad


weight, update, upstream = (draw(3, 5, seed=seed) for seed in (1, 2, 4))
length, own = 1 + draw(3, seed=3).abs(), (weight + update).norm(dim=1, keepdim=True)

task.stage(
    "it starts as the old weight",
    case(
        "an update of zeros, with the lengths that the rows have already",
        *(weight, 0 * update, weight.norm(dim=1)),
    ),
    hint="The result is the old weight itself, not the change in it. Do you divide by the root of "
    "the sum of squares of each row, `norm(dim=1)`?",
)
task.stage(
    "rows of the length that is asked for",
    case(
        "the lengths of the rows, after an update",
        *(weight, update, length),
        expected=length,
        measure=lambda *given: matrix_of(*given).detach().norm(dim=1),
    ),
    hint="Row i of weight *plus update* is divided by its own length, and multiplied by "
    "`length[i]`.",
)
task.stage(
    "random matrices",
    case("a random weight (3, 5), a random update, negative lengths", weight, update, -length),
    hint="Row i is `length[i]`, which may be negative, times row i of weight plus update, over its "
    "own length. Nothing is added to that.",
)
task.stage(
    "the row's own length is a constant",
    case("the gradient of the update", 1, expected=length[:, None] / own * upstream),
    case("the gradient of the lengths", 2, expected=(upstream * (weight + update) / own).sum(1)),
    measure=gradient_of,
    tolerance=1e-4,
    hint="Gradients flow through weight plus update and through `length`. Only the divisor is a "
    "constant, so `.detach()` it alone and divide by hand, which `F.normalize` does not allow.",
)


def times(rows):
    """An answer: `rows(turned, weight)` times the lengths."""
    return lambda weight, update, length: length[:, None] * rows(weight + update, weight)


def norm(matrix):
    """The length of each row, (out, 1)."""
    return matrix.norm(dim=1, keepdim=True).detach()


task.mistakes(
    (
        "This is the difference from the old weight: return the new matrix itself.",
        lambda weight, update, length: dora_weight(weight, update, length) - weight,
    ),
    (
        "Each row is divided by the *square* of its length: take the root, as `norm(dim=1)` does.",
        times(lambda turned, weight: turned / norm(turned) ** 2),
    ),
    (
        "One length, that of the whole matrix, divides all rows: `norm(dim=1)` gives each row its "
        "own.",
        times(lambda turned, weight: turned / turned.norm().detach()),
    ),
    (
        "Each row is divided by the length that it has in the old weight: divide it by the length "
        "of the row of weight *plus update*.",
        times(lambda turned, weight: turned / norm(weight)),
    ),
)

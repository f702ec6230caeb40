"""Lesson 05b: DoRA's weight, a length for each output times a direction that LoRA turns."""

import torch

from tlcourse.exercises.adaptation._common import IMPORTS, draw, failed
from tlcourse.exercises.expect import expect_shape, expect_unchanged
from tlcourse.exercises.task import Exercise, case


def matrix_of(candidate, weight, update, length):
    """The candidate's matrix; raises CheckFailed for another shape than the weight's."""
    got = expect_unchanged(candidate, weight, update, length)
    what = f"a weight {tuple(weight.shape)} with an update of that shape"
    expect_shape(got, tuple(weight.shape), what, "The new matrix has the shape of the weight.")
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
        "Row i is multiplied by `length[i]` over the row's own length. A vector (out,) multiplies "
        "rows as `vector[:, None] * matrix`.",
        "The row's own length is a constant in the backward pass: call `.detach()` on it, and on "
        "nothing else.",
    ),
    imports=IMPORTS,
    measure=matrix_of,
    tolerance=1e-5,
)


@task.reference
def dora_weight(weight, update, length):
    """(out, in) weight and update, (out,) lengths, to the matrix whose rows are so long."""
    turned = weight + update
    return (length / turned.norm(dim=1).detach())[:, None] * turned


@task.truth
def row_by_row(weight, update, length):
    """The right matrix, in double precision."""
    rows = (weight.double() + update.double()).unbind()
    pairs = zip(rows, length.double(), strict=True)
    return torch.stack([m * row / sum(x * x for x in row) ** 0.5 for row, m in pairs])


def drawn(out, inputs, negative=False):
    """A weight, an update and lengths, which are learned and may become negative."""
    length = 1 + draw(out, seed=3).abs()
    return draw(out, inputs, seed=1), draw(out, inputs, seed=2), -length if negative else length


def lengths_of(candidate, *given):
    """How long the rows of the candidate's matrix are."""
    return matrix_of(candidate, *given).detach().norm(dim=1)


def gradient_of(candidate, upstream, number):
    """The gradient of the update (number 1) or of the lengths (2); 0 where none arrives."""
    given = drawn(*upstream.shape)
    asking = [each.requires_grad_() for each in given[1:]]
    got = matrix_of(candidate, given[0], *asking)
    if not got.requires_grad:
        why = "Leave out `no_grad`, and `.detach()` the row's own length alone."
        yours = "none reaches either, though all numbers are right"
        raise failed("the gradients of `update` and `length`", yours, "two gradients", why)
    (found,) = torch.autograd.grad(got, given[number], upstream, allow_unused=True)
    return torch.zeros_like(given[number]) if found is None else found


weight, update, length = drawn(3, 5)
own, upstream = (weight + update).norm(dim=1, keepdim=True), draw(3, 5, seed=4)

task.stage(
    "it starts as the old weight",
    case(
        "an update of zeros, and for lengths those that the rows have already",
        *(weight, 0 * update, weight.norm(dim=1)),
    ),
    hint="The result is the old weight again. Is the divisor the root of the sum of squares of "
    "each row, `norm(dim=1)`?",
)
task.stage(
    "rows of the length that is asked for",
    case(
        "the lengths of the rows, after an update",
        *(weight, update, length),
        expected=length,
        measure=lengths_of,
    ),
    hint="Row i of weight plus update is divided by its own length and multiplied by `length[i]`.",
)
task.stage(
    "random matrices",
    case("a random weight (4, 4), a random update, negative lengths", *drawn(4, 4, negative=True)),
    case("a random weight (2, 7), a random update", *drawn(2, 7)),
    case("a random weight (6, 3), a random update, negative lengths", *drawn(6, 3, negative=True)),
    hint="Row i is `length[i]`, which may be negative, times row i of weight plus update, over its "
    "own length. Nothing is added to that.",
)
task.stage(
    "the row's own length is a constant",
    case("the gradient of the update", upstream, 1, expected=length[:, None] / own * upstream),
    case(
        "the gradient of the lengths",
        *(upstream, 2),
        expected=(upstream * (weight + update) / own).sum(dim=1),
    ),
    measure=gradient_of,
    tolerance=1e-4,
    hint="Gradients flow through weight plus update and through `length`. The divisor alone is a "
    "constant, which `F.normalize` cannot do: divide by hand.",
)


def times(rows):
    """An answer: `rows(turned, weight, update)` times the lengths."""
    return lambda weight, update, length: length[:, None] * rows(weight + update, weight, update)


def norm(matrix):
    """The length of each row, (out, 1)."""
    return matrix.norm(dim=1, keepdim=True).detach()


task.mistakes(
    (
        "The whole sum is to be divided by the row's own length. Is the division missing, or a "
        "pair of brackets?",
        times(lambda turned, weight, update: turned),
    ),
    (
        "These are the lengths of columns. The length of a row is `norm(dim=1)`.",
        times(lambda turned, weight, update: turned / norm(turned.T).T),
    ),
    (
        "Return the new matrix, not its difference from the weight.",
        lambda weight, update, length: dora_weight(weight, update, length) - weight,
    ),
    (
        "Each row has a length of about 1. Divide it by its length (a root, not the square), then "
        "multiply it by `length`.",
        times(lambda turned, weight, update: turned / norm(turned) ** 2),
    ),
    (
        "Each row is divided by the length that it has in the old weight. Divide by the length of "
        "the row of weight *plus update*.",
        times(lambda turned, weight, update: turned / norm(weight)),
    ),
    (
        "The gradient flows through the row's own length, too: `.detach()` it.",
        times(lambda turned, weight, update: turned / turned.norm(dim=1, keepdim=True)),
    ),
    (
        "No gradient reaches the update: `.detach()` the row's own length alone.",
        times(lambda turned, weight, update: turned.detach() / norm(turned)),
    ),
)

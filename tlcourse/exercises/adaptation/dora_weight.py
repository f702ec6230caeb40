"""Lesson 05b: DoRA's weight, a length for each output times a direction that LoRA turns.

The true rows and gradients are made row by row, in double precision.
"""

import torch
from torch import Tensor

from tlcourse.exercises.adaptation._layers import IMPORTS, draw
from tlcourse.exercises.expect import CheckFailed, expect_shape, expect_unchanged
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="5b.2",
    title="DoRA: a length for each row",
    difficulty=2,
    minutes=10,
    hints=(
        "first the sum of the two matrices. How long is each of its rows? "
        "`matrix.norm(dim=1)` gives (out,) lengths.",
        "row i is multiplied by `length[i]` over the row's own length. A vector (out,) multiplies "
        "rows as `vector[:, None] * matrix`.",
        "the row's own length is a constant in the backward pass: `.detach()` on it, and on "
        "nothing else.",
    ),
    imports=IMPORTS,
)


@task.reference
def dora_weight(weight, update, length):
    """(out, in) weight and update, (out,) lengths, to the matrix whose rows are so long."""
    turned = weight + update
    return (length / turned.norm(dim=1).detach())[:, None] * turned


@task.right
def by_unit_rows(weight, update, length):
    turned = weight + update
    with torch.no_grad():
        own = turned.square().sum(-1, keepdim=True).sqrt()
    return length.unsqueeze(-1) * (turned / own)


@task.right
def by_diagonal(weight, update, length):
    turned = torch.add(weight, update)
    return torch.diag(length / torch.linalg.vector_norm(turned, dim=-1).detach()) @ turned


def drawn(out: int, inputs: int) -> tuple[Tensor, Tensor, Tensor]:
    """A weight, an update and lengths."""
    return draw(out, inputs, seed=1), draw(out, inputs, seed=2), 1 + draw(out, seed=3).abs()


def truth(weight: Tensor, update: Tensor, length: Tensor) -> Tensor:
    """The right matrix, row by row."""
    rows = (weight.double() + update.double()).unbind()
    pairs = zip(rows, length.double(), strict=True)
    return torch.stack([m * row / sum(x * x for x in row) ** 0.5 for row, m in pairs])


def matrix_of(candidate, weight: Tensor, update: Tensor, length: Tensor) -> Tensor:
    """What the candidate makes of them."""
    got = expect_unchanged(candidate, weight, update, length)
    what = f"a weight {tuple(weight.shape)} with an update of that shape"
    expect_shape(got, tuple(weight.shape), what, "The new matrix has the shape of the weight.")
    return got


def lengths_of(candidate, *given: Tensor) -> Tensor:
    """How long the rows of that are."""
    return matrix_of(candidate, *given).detach().norm(dim=1)


@task.stage("it starts as the old weight")
def start(candidate):
    weight, update, _ = drawn(3, 5)
    task.observe(
        candidate, matrix_of, weight, 0 * update, weight.norm(dim=1),
        gives=weight, tolerance=1e-5,
        what="an update of zeros, and the lengths that the rows have already,",
        likely="With that the result is the weight again. Is the divisor the root of the sum of "
        "squares of each row, `norm(dim=1)`?",
    )  # fmt: skip


@task.stage("rows of the length that is asked for")
def lengths(candidate):
    given = drawn(3, 5)
    task.observe(
        candidate, lengths_of, *given, gives=given[2], tolerance=1e-5,
        what="the lengths of the rows, after an update,",
        likely="Row i of weight plus update is divided by its own length and multiplied by "
        "`length[i]`.",
    )  # fmt: skip


@task.stage("random matrices")
def whole(candidate):
    for out, inputs in ((4, 4), (2, 7), (6, 3)):
        weight, update, length = drawn(out, inputs)
        given = weight, update, length if inputs > out else -length  # which can be learned
        task.observe(
            candidate, matrix_of, *given, gives=truth(*given), tolerance=1e-5,
            what=f"a random weight ({out}, {inputs}) and a random update",
            likely="Row i is `length[i]`, which may be negative, times row i of weight plus update "
            "over its own length; nothing is added to that.",
        )  # fmt: skip


def gradients_of(candidate, upstream: Tensor, number: int) -> Tensor:
    """What the update (number 1) or the lengths (2) are told, if the new matrix is told upstream.

    0 where nothing arrives.
    """
    given = drawn(*upstream.shape)
    asking = [each.requires_grad_() for each in given[1:]]
    got = matrix_of(candidate, given[0], *asking)
    if not got.requires_grad:
        raise CheckFailed(
            "all numbers are right, but no gradient reaches update or length. `.detach()` the "
            "row's own length alone."
        )
    asked = given[number]
    (found,) = torch.autograd.grad(got, asked, upstream, allow_unused=True)
    return torch.zeros_like(asked) if found is None else found


@task.stage("the row's own length is a constant")
def constant(candidate):
    weight, update, length = (each.double() for each in drawn(3, 5))
    upstream, turned = draw(3, 5, seed=4), weight + update
    own = turned.norm(dim=1, keepdim=True)
    likely = "Gradients run through weight plus update and through `length`; the divisor alone is "
    likely += "a constant. (`F.normalize` cannot do that: divide by hand.)"
    for number, name, gives in (
        (1, "update", length[:, None] / own * upstream),
        (2, "lengths", (upstream * turned / own).sum(dim=1)),
    ):
        task.observe(
            candidate, gradients_of, upstream, number, gives=gives, tolerance=1e-4, likely=likely,
            what=f"the gradient of the {name}",
        )  # fmt: skip


LENGTHS = "rows of the length that is asked for"
CONSTANT = "the row's own length is a constant"


@task.mistake(
    "it starts as the old weight",
    "The whole sum is divided by the row's own length: is that missing, or brackets?",
)
def never_divided(weight, update, length):
    return length[:, None] * (weight + update)


@task.mistake("it starts as the old weight", "Divide by each row's own length: `norm(dim=1)`.")
def by_the_whole(weight, update, length):
    turned = weight + update
    return (length / turned.norm().detach())[:, None] * turned


@task.mistake(
    "it starts as the old weight", "These are columns: the length of a row is `norm(dim=1)`."
)
def of_columns(weight, update, length):
    turned = weight + update
    return length[:, None] * turned / turned.norm(dim=0, keepdim=True).detach()


@task.mistake("it starts as the old weight", "Divide by the length of the sum, not of the update.")
def by_the_update(weight, update, length):
    return (length / update.norm(dim=1).detach())[:, None] * (weight + update)


@task.mistake("it starts as the old weight", "Return the new matrix, not what is new about it.")
def the_change(weight, update, length):
    return dora_weight(weight, update, length) - weight


@task.mistake(
    "it starts as the old weight",
    "Each row came out with length 1, or so: divide by its length (a root), multiply by `length`.",
)
def by_squares(weight, update, length):
    turned = weight + update
    return (length / turned.square().sum(dim=1).detach())[:, None] * turned


@task.mistake(LENGTHS, "Upside down: multiply by `length`, divide by the row's own.")
def upside_down(weight, update, length):
    turned = weight + update
    return (turned.norm(dim=1).detach() / length)[:, None] * turned


@task.mistake(LENGTHS, "The lengths were not used: that is LoRA.")
def plain_lora(weight, update, length):
    return weight + update + 0 * length[:, None]


@task.mistake(LENGTHS, "The length divided by is that of weight *plus update*.")
def by_the_old_length(weight, update, length):
    return (length / weight.norm(dim=1).detach())[:, None] * (weight + update)


@task.mistake(LENGTHS, "The update turns the direction: add it before the row is divided.")
def added_behind(weight, update, length):
    return (length / weight.norm(dim=1).detach())[:, None] * weight + update


@task.mistake("random matrices", "The update was left out: it turns the direction.")
def without_update(weight, update, length):
    return (length / weight.norm(dim=1).detach())[:, None] * weight + 0 * update


@task.mistake(CONSTANT, "The gradient runs through the row's own length too: `.detach()` it.")
def not_detached(weight, update, length):
    turned = weight + update
    return (length / turned.norm(dim=1))[:, None] * turned


@task.mistake(CONSTANT, "No gradient reaches the update: `.detach()` the row's own length alone.")
def direction_detached(weight, update, length):
    turned = (weight + update).detach()
    return (length / turned.norm(dim=1))[:, None] * turned


@task.mistake(CONSTANT, "No gradient reaches the lengths: they are learned, leave them attached.")
def lengths_detached(weight, update, length):
    turned = weight + update
    return (length / turned.norm(dim=1)).detach()[:, None] * turned

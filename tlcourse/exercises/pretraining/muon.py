"""Lesson 03b: Muon's update of one matrix."""

import torch
from torch.nn.functional import normalize

from tlcourse.exercises.expect import expect_unchanged
from tlcourse.exercises.pretraining._common import several, shapes_of
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

A, B, C = 3.4445, -4.7750, 2.0315


def step(candidate, gradient, buffer, momentum=0.95):
    """The update and the new buffer; the candidate may change the old buffer only."""
    got = expect_unchanged(lambda gradient: candidate(gradient, buffer.clone(), momentum), gradient)
    return several(got, "update", "buffer")


def updates(candidate, gradients, momentum=0.95):
    """The updates of successive steps with these gradients, which pass the buffer on."""
    buffer, found = torch.zeros_like(gradients[0]), []
    for gradient in gradients:
        update, buffer = (each.detach() for each in step(candidate, gradient, buffer, momentum))
        found.append(update)
    return torch.stack(found)


task = Exercise(
    __name__,
    number="3b.2",
    title="Muon",
    difficulty=3,
    importance=2,
    minutes=20,
    hints=(
        "Write five lines, one for each step of the text. `@` multiplies matrices, `*` multiplies "
        "number by number: use `*` only with `a`, `b`, `c` and the size.",
        "Steps 1 and 2 are `buffer = momentum * buffer + gradient`, then "
        "`x = gradient + momentum * buffer` with the new buffer.",
        "Step 3 is `x = x / x.norm().clamp(min=1e-7)`; the clamp prevents 0/0 for a gradient of "
        "zeros.",
        "Step 4, five times: `gram = x @ x.T`, then `x = a * x + (b * gram + c * gram @ gram) @ "
        "x`. Step 5: `return 0.2 * max(x.shape) ** 0.5 * x, buffer`.",
    ),
    imports="import math\nimport torch\nfrom torch import nn\nfrom torch.nn import functional as F",
    trains=True,
    measure=updates,
    tolerance=1e-3,
)


@task.reference
def muon(gradient, buffer, momentum=0.95):
    """(rows, columns) gradient and buffer to (update, new buffer)."""
    buffer = momentum * buffer + gradient
    x = gradient + momentum * buffer
    x = x / x.norm().clamp(min=1e-7)
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x  # the products are then smaller
    for _ in range(5):
        gram = x @ x.T
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
    x = x.T if tall else x
    return 0.2 * max(x.shape) ** 0.5 * x, buffer


@task.truth
def by_singular_values(gradients, momentum=0.95):
    buffer, found = torch.zeros_like(gradients[0]).double(), []
    for gradient in gradients:
        buffer = torch.lerp(buffer, gradient.double(), 1 - momentum)
        x = torch.lerp(gradient.double(), buffer, momentum)
        u, s, v = torch.linalg.svd(x, full_matrices=False)
        s = s / s.norm().clamp(min=1e-12)
        for _ in range(5):
            s = A * s + B * s**3 + C * s**5
        found.append(0.2 * max(gradient.shape) ** 0.5 * u @ torch.diag(s) @ v)
    return torch.stack(found)


def by_pytorch(gradients):
    """The sum of the updates of `torch.optim.Muon`: the change of a matrix at learning rate 1."""
    matrix = torch.nn.Parameter(torch.zeros_like(gradients[0]))
    optimizer = torch.optim.Muon([matrix], lr=1.0, weight_decay=0.0, adjust_lr_fn="match_rms_adamw")
    for gradient in gradients:
        matrix.grad = gradient.clone()
        optimizer.step()
    return -matrix.detach()


def directions(candidate, gradients):
    """Each update divided by its length."""
    return normalize(updates(candidate, gradients).flatten(1))


def drawn(rows, columns, count=1, seed=0):
    """Gradients with singular values from 1 down to 0.03, as real ones have."""
    draw = torch.Generator().manual_seed(varying(seed))
    many = torch.randn(count, rows, columns, generator=draw)
    u, s, v = torch.linalg.svd(many, full_matrices=False)
    return list(u * torch.logspace(0, -1.5, s.shape[1]) @ v)


task.stage(
    "two matrices",
    case(
        "the shapes of the update and the buffer for a gradient of 3 by 5",
        *(*drawn(3, 5), torch.zeros(3, 5)),
        expected=[(3, 5), (3, 5)],
    ),
    case(
        "the shapes of the update and the buffer for a gradient of 5 by 3",
        *(*drawn(5, 3), torch.zeros(5, 3)),
        expected=[(5, 3), (5, 3)],
        hint="If you transpose X before the five rounds, transpose it back after them.",
    ),
    measure=lambda *given: shapes_of(*step(*given)),
    hint="Both matrices have the shape of the gradient.",
)
task.stage(
    "all directions alike",
    case("the direction of a first step, 5 by 3", drawn(5, 3)),
    measure=directions,
    expected=lambda gradients: normalize(by_singular_values(gradients).flatten(1)),
    hint="Divide by `x.norm()`, the root of the sum of squares, and then apply the formula five "
    "times, in which b = -4.775 belongs to x xᵀ, and c = 2.0315 to its square.",
)
task.stage(
    "the size of the update",
    case("the update of a first step, 3 by 5", drawn(3, 5, seed=1)),
    hint="Multiply the result of the five steps by 0.2 times the root of the longer side, "
    "`0.2 * max(x.shape) ** 0.5`.",
)
task.stage(
    "nothing to do",
    case("the update for a gradient of zeros", [torch.zeros(3, 4)]),
    tolerance=1e-6,
    hint="The norm is 0 here, and 0 / 0 is NaN. Divide by `x.norm().clamp(min=1e-7)`.",
)
task.stage(
    "momentum",
    case("the updates of four steps with momentum=0.5", drawn(4, 6, count=4, seed=2), 0.5),
    case(
        "the updates of four steps without `momentum`",
        drawn(4, 6, count=4, seed=3),
        measure=lambda candidate, gradients: updates(lambda g, b, _: candidate(g, b), gradients),
        hint="If `momentum` is not given, it is 0.95.",
    ),
    hint="Compute and return the new buffer; x is the gradient plus `momentum`, here 0.5, times "
    "the new buffer.",
)
task.stage(
    "PyTorch's Muon",
    case(
        "the sum of five updates, 12 by 4, against `torch.optim.Muon`",
        drawn(12, 4, count=5, seed=10),
    ),
    measure=lambda candidate, gradients: updates(candidate, gradients).sum(0),
    expected=by_pytorch,
    tolerance=0.1,
    hint="Only differences above 0.1 count here, because PyTorch computes in bfloat16.",
)


def variant(
    formula=lambda x, gram: A * x + (B * gram + C * gram @ gram) @ x, norm=torch.norm, count=5
):
    """An answer with one of its parts replaced."""

    def answer(gradient, buffer, momentum=0.95):
        buffer = momentum * buffer + gradient
        x = gradient + momentum * buffer
        x = x / norm(x).clamp(min=1e-7)
        for _ in range(count):
            x = formula(x, x @ x.T)
        return 0.2 * max(x.shape) ** 0.5 * x, buffer

    return answer


task.mistakes(
    (
        "`gram * gram` squares each number: the square of the matrix is `gram @ gram`.",
        variant(formula=lambda x, gram: A * x + (B * gram + C * gram * gram) @ x),
    ),
    (
        "This is one step of the five: assign the result of the formula to `x`, and return after "
        "the loop.",
        variant(count=1),
    ),
    (
        "The buffer changes nothing here: x is the gradient plus `momentum` times the new buffer.",
        lambda gradient, buffer, momentum=0.95: muon(gradient, 0 * buffer, momentum),
    ),
)

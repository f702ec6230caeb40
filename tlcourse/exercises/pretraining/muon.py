"""Lesson 03b: Muon's update of one matrix.

The true directions come from singular values, each put through a polynomial, and from PyTorch.
"""

import torch

from tlcourse.exercises.expect import CheckFailed, expect_shape, short
from tlcourse.exercises.task import Exercise

A, B, C = 3.4445, -4.7750, 2.0315
CLOSE = 1e-3

task = Exercise(
    __name__,
    number="3b.2",
    title="Muon",
    difficulty=3,
    minutes=20,
    hints=(
        "five lines, one under the other, in the order of the text. `@` is the product of "
        "matrices, `*` that of single numbers: only `a`, `b`, `c` and the size take `*`.",
        "steps 1 and 2: `buffer = momentum * buffer + gradient`, then "
        "`x = gradient + momentum * buffer` with the new buffer.",
        "step 3: `x = x / x.norm().clamp(min=1e-7)`; the clamp keeps a gradient of zeros from "
        "becoming 0/0.",
        "step 4, five times: `gram = x @ x.T`, then `x = a * x + (b * gram + c * gram @ gram) @ "
        "x`. Step 5: `return 0.2 * max(x.shape) ** 0.5 * x, buffer`.",
    ),
    imports="import math\nimport torch\nfrom torch import nn\nfrom torch.nn import functional as F",
    trains=True,
)


@task.reference
def muon(gradient, buffer, momentum=0.95):
    """(rows, columns) gradient and buffer to the update and the new buffer."""
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


@task.right
def as_pytorch_does(gradient, buffer, momentum=0.95):
    buffer.lerp_(gradient, 1 - momentum)
    x = gradient.lerp(buffer, momentum)
    x = x / (x.square().sum().sqrt() + 1e-12)
    for _ in range(5):
        gram = x @ x.mT
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=B, alpha=C), x, beta=A)
    return x * (0.2 * max(x.shape) ** 0.5), buffer


@task.right
def by_singular_values(gradient, buffer, momentum=0.95):
    buffer = buffer * momentum + gradient
    u, s, v = torch.linalg.svd(gradient + momentum * buffer, full_matrices=False)
    s = s / s.norm().clamp(min=1e-7)
    for _ in range(5):
        s = A * s + B * s**3 + C * s**5
    return u @ torch.diag(0.2 * max(gradient.shape) ** 0.5 * s) @ v, buffer


def both(candidate, gradient, buffer, momentum=0.95):
    """(update, buffer), two matrices of the right shape."""
    handed, shape = gradient.clone(), tuple(gradient.shape)
    got = candidate(handed, buffer.clone(), momentum)
    if not handed.equal(gradient):
        raise CheckFailed("your function changed `gradient`: an optimizer reads it and leaves it alone.")
    if not isinstance(got, tuple | list) or len(got) != 2:
        raise CheckFailed(f"expected two matrices, `return update, buffer`; got {short(got)}.")
    for name, each in zip(("update", "buffer"), got, strict=True):
        expect_shape(each, shape, f"a gradient of shape {shape}: the {name}", "The gradient's.")
    return got[0].detach(), got[1].detach()


def updates(candidate, gradients, momentum=0.95):
    """The updates of steps with these gradients, the buffer handed on from one to the next."""
    buffer, found = torch.zeros_like(gradients[0]), []
    for gradient in gradients:
        update, buffer = both(candidate, gradient, buffer, momentum)
        found.append(update)
    return torch.stack(found)


def direction(candidate, *arguments):
    """Those updates, each divided by its length."""
    found = updates(candidate, *arguments)
    return found / found.norm(dim=(1, 2), keepdim=True)


def truth(gradients, momentum=0.95):
    """What `updates` should give: directions by singular values, in double precision."""
    buffer, found = torch.zeros_like(gradients[0]).double(), []
    for gradient in gradients:
        buffer = buffer + (1 - momentum) * (gradient.double() - buffer)
        u, s, v = torch.linalg.svd(
            torch.lerp(gradient.double(), buffer, momentum), full_matrices=False
        )
        s = s / s.square().sum().sqrt()
        for _ in range(5):
            s = A * s + B * s**3 + C * s**5
        found.append(0.2 * max(gradient.shape) ** 0.5 * u @ torch.diag(s) @ v)
    return torch.stack(found).float()


def drawn(rows, columns, count=1, seed=0):
    """Gradients with singular values from 1 down to 0.03, as real ones have."""
    draw, found = torch.Generator().manual_seed(seed), []
    for _ in range(count):
        u, s, v = torch.linalg.svd(torch.randn(rows, columns, generator=draw), full_matrices=False)
        found.append(u @ torch.diag(torch.logspace(0, -1.5, len(s))) @ v)
    return found


def expect(candidate, look, gradients, what, likely="", momentum=0.95):
    """Raises CheckFailed unless what is seen of the updates is right."""
    right = truth(gradients, momentum)
    gives = right if look is updates else right / right.norm(dim=(1, 2), keepdim=True)
    task.observe(
        candidate, look, gradients, momentum, gives=gives, what=what, likely=likely,
        tolerance=CLOSE,
    )  # fmt: skip


@task.stage("two matrices")
def two(candidate):
    both(candidate, torch.eye(4), torch.zeros(4, 4))
    both(candidate, *drawn(3, 5), torch.zeros(3, 5))


@task.stage("all directions alike")
def alike(candidate):
    likely = "Divide by `x.norm()`, then five times the formula; `@`, not `*`, between matrices."
    for shape in ((3, 5), (5, 3)):
        what = "a first step, {} by {}: the direction".format(*shape)
        expect(candidate, direction, drawn(*shape), what, likely)


@task.stage("the size of the update")
def size(candidate):
    likely = "0.2 times the root of the longer side."
    for shape in ((4, 4), (5, 3), (3, 5)):
        what = "a first step, {} by {}".format(*shape)
        expect(candidate, updates, drawn(*shape, seed=1), what, likely)
    likely = "Long or short, a gradient gives the same update."
    expect(candidate, updates, [1000 * drawn(4, 4)[0]], "a gradient times 1,000", likely)


@task.stage("nothing to do")
def nothing(candidate):
    zeros = torch.zeros(3, 4)
    task.observe(
        candidate, updates, [zeros], gives=zeros[None], what="a gradient of zeros",
        likely="0/0 is NaN: `x.norm().clamp(min=1e-7)`.", tolerance=1e-6,
    )  # fmt: skip


@task.stage("momentum")
def momentum(candidate):
    gradients = drawn(4, 6, count=4, seed=2)
    what = "four steps, each with another gradient: the directions"
    likely = "The new buffer first; then x, which is the gradient and 0.95 of the new buffer."
    expect(candidate, direction, gradients, what, likely)
    expect(candidate, updates, gradients, "the same with momentum=0.5", "", momentum=0.5)


def by_pytorch(gradients):
    """Where `torch.optim.Muon` takes a matrix of zeros, at learning rate 1."""
    matrix = torch.nn.Parameter(torch.zeros_like(gradients[0]))
    optimizer = torch.optim.Muon([matrix], lr=1.0, weight_decay=0.0, adjust_lr_fn="match_rms_adamw")
    for gradient in gradients:
        matrix.grad = gradient.clone()
        optimizer.step()
    return matrix.detach()


@task.stage("PyTorch's Muon")
def of_pytorch(candidate):
    for seed, (rows, columns) in enumerate([(8, 8), (4, 12), (12, 4), (1, 6)]):
        gradients = drawn(rows, columns, count=5, seed=10 + seed)
        task.observe(
            candidate, lambda *seen: -updates(*seen).sum(0), gradients, tolerance=0.1,
            gives=by_pytorch(gradients),
            what=f"five steps, {rows} by {columns}, against `torch.optim.Muon` (in bfloat16)",
        )  # fmt: skip


def variant(start=None, normal=None, step=None, scale=None, count=5):
    """A candidate with one part exchanged."""

    def function(gradient, buffer, momentum=0.95):
        buffer = momentum * buffer + gradient
        x = gradient + momentum * buffer if start is None else start(gradient, buffer, momentum)
        x = x / (x.norm() if normal is None else normal(x)).clamp(min=1e-7)
        for _ in range(count):
            gram = x @ x.T
            x = A * x + (B * gram + C * gram @ gram) @ x if step is None else step(x, gram)
        return (0.2 * max(x.shape) ** 0.5 if scale is None else scale(x)) * x, buffer

    return function


def exactly(gradient, buffer, momentum=0.95):
    buffer = momentum * buffer + gradient
    u, _, v = torch.linalg.svd(gradient + momentum * buffer, full_matrices=False)
    return 0.2 * max(gradient.shape) ** 0.5 * u @ v, buffer


def unclamped(gradient, buffer, momentum=0.95):
    update, buffer = muon(gradient, buffer, momentum)
    return update / (1.0 if update.any() else 0.0), buffer


FIRST = (
    "The numbers explode. Divide by `x.norm()` first, the root of the sum of squares; b, "
    "-4.775, goes with x xᵀ, c, 2.0315, with its square."
)
LIKE, SIZE, MOMENTUM = "all directions alike", "the size of the update", "momentum"
for stage, says, wrong in (
    (LIKE, FIRST, variant(normal=lambda x: torch.ones(()))),
    (LIKE, FIRST, variant(step=lambda x, gram: A * x + (C * gram + B * gram @ gram) @ x)),
    (LIKE, FIRST, variant(step=lambda x, gram: A * x + (-B * gram + C * gram @ gram) @ x)),
    (LIKE, FIRST, variant(normal=lambda x: x.abs().max())),
    (LIKE, "The square of the product is `gram @ gram`; `gram * gram` squares single numbers.",
     variant(step=lambda x, gram: A * x + (B * gram + C * gram * gram) @ x)),
    (LIKE, "One step of five: is the `return` inside the loop, or `x` never changed?",
     variant(count=1)),
    (LIKE, "These are four steps; five are asked for.", variant(count=4)),
    (LIKE, "Nothing was made alike: this is the gradient's own direction.", variant(count=0)),
    (LIKE, "This is U Vᵀ itself. Right in spirit; asked for are the five steps, which only come "
     "near and need no decomposition.", exactly),
    (LIKE, "These are signs: each number was made alike, not each direction.",
     variant(step=lambda x, gram: x.sign())),
    (SIZE, "The size is missing: 0.2 times the root of the longer side.",
     variant(scale=lambda x: 1.0)),
    (SIZE, "The root of the *longer* side, `max(x.shape)`.",
     variant(scale=lambda x: 0.2 * min(x.shape) ** 0.5)),
    (SIZE, "The longer side itself; its root is wanted.",
     variant(scale=lambda x: 0.2 * max(x.shape))),
    (SIZE, "It is the longer side, whether these are rows or columns.",
     variant(scale=lambda x: 0.2 * x.shape[0] ** 0.5)),
    ("nothing to do", "0/0 is NaN", unclamped),
    (MOMENTUM, "This is the gradient alone: the buffer never comes in, or the old one is returned.",
     variant(start=lambda gradient, buffer, momentum: gradient)),
    (MOMENTUM, "Step 2 is missing: x is the gradient and `momentum` times the new buffer, not the "
     "buffer itself.", variant(start=lambda gradient, buffer, momentum: buffer)),
    (MOMENTUM, "Here x is the gradient and all of the buffer; `momentum` times the buffer.",
     variant(start=lambda gradient, buffer, momentum: gradient + buffer)),
    (MOMENTUM, "`momentum` is handed in, 0.5 here: use it.",
     lambda gradient, buffer, momentum=0.95: muon(gradient, buffer, 0.95)),
):  # fmt: skip
    task.mistake(stage, says)(wrong)

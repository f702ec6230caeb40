"""Lesson 05: a linear layer with a low-rank update beside it."""

import math

import torch
from torch.nn import functional as F

from tlcourse.exercises.expect import Wrong, expect_shape, expect_unchanged
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="5.1",
    title="LoRA, forwards",
    difficulty=2,
    minutes=10,
    hints=(
        "the old layer is `F.linear(x, weight, bias)`, untouched. What is added to it?",
        "`F.linear(x, a)` takes (..., in) to (..., rank); a second one, without a bias, takes "
        "that to (..., out).",
        "the sum of both, the second times alpha / rank; the rank is `len(a)`.",
    ),
    imports="import torch\nfrom torch.nn import functional as F",
)


@task.reference
def low_rank(x, weight, bias, a, b, alpha):
    """(..., in) to (..., out): W x + b + (alpha / rank) B A x; `a` (rank, in), `b` (out, rank)."""
    update = F.linear(F.linear(x, a), b)
    return F.linear(x, weight, bias) + alpha / len(a) * update


@task.right
def merged(x, weight, bias, a, b, alpha):
    return x @ (weight + b @ a * (alpha / a.shape[0])).T + bias


@task.right
def by_einsum(x, weight, bias, a, b, alpha):
    scaled = alpha * b / b.shape[1]
    update = torch.einsum("...i,ri,or->...o", x, a, scaled)
    return torch.einsum("...i,oi->...o", x, weight) + bias + update


TURNED = (
    "`weight` is (out, in), as in nn.Linear, `a` (rank, in) and `b` (out, rank): is one turned?"
)


def layer(inputs, outputs, rank, seed=0):
    """Weight, bias, a and b, drawn."""
    draw = torch.Generator().manual_seed(seed)
    shapes = ((outputs, inputs), (outputs,), (rank, inputs), (outputs, rank))
    return tuple(torch.randn(shape, generator=draw) for shape in shapes)


def drawn(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def output(candidate, x, weight, bias, a, b, alpha):
    """What comes out, (..., out); raises Wrong for another shape."""
    got = expect_unchanged(candidate, x, weight, bias, a, b, alpha)
    shape = (*x.shape[:-1], len(weight))
    likely = "`weight` is (out, in), as in nn.Linear: `F.linear(x, weight, bias)`."
    if math.prod(getattr(got, "shape", ())) == math.prod(shape):
        likely = "All dimensions of x but the last come back. A dimension of size 1 stays, too."
    what = f"x {tuple(x.shape)}, weight {tuple(weight.shape)}, rank {len(a)}"
    expect_shape(got, shape, what, likely)
    return got


def shape_of(candidate, x, *parts):
    """The shape of what comes out of `x` of 3 dimensions; the likely exceptions are explained."""
    try:
        return tuple(output(candidate, x, *parts).shape)
    except (RuntimeError, ValueError) as error:
        try:
            output(candidate, x[0], *parts)
        except Exception:
            if "multiplied" in str(error):
                error.add_note(TURNED)
            raise error from None
        raise Wrong(
            f"that was right for x {tuple(x[0].shape)}, but with a batch of 2 in front your code "
            f"raised {type(error).__name__}: {error}. Any number of dimensions may stand before "
            "the last."
        ) from error


@task.stage("shape")
def shape(candidate):
    what = "x (2, 7, 5), weight (3, 5), rank 2"
    x, parts = torch.ones(2, 7, 5), layer(5, 3, 2)
    task.observe(candidate, shape_of, x, *parts, 4.0, gives=(2, 7, 3), what=what)


@task.stage("it starts as the old layer")
def start(candidate):
    (weight, bias, a, b), x = layer(5, 3, 2), drawn(4, 5)
    task.observe(
        candidate, output, x, weight, bias, a, torch.zeros_like(b), 8.0,
        gives=F.linear(x, weight, bias), what="with b = 0, as LoRA starts, the layer",
        likely="The layer has to give what it gave before: W x + bias, once and unscaled.",
        tolerance=1e-5,
    )  # fmt: skip


@task.stage("alpha and rank")
def scale(candidate):
    inputs, outputs = 7, 3
    old = torch.zeros(outputs, inputs), torch.zeros(outputs)
    for rank, alpha in ((5, 12.0), (1, 6.0)):
        a, b = torch.ones(rank, inputs), torch.ones(outputs, rank)
        task.observe(
            candidate, output, torch.eye(1, inputs), *old, a, b, alpha,
            gives=torch.full((1, outputs), alpha),
            what=f"weight 0, a single 1 in x, ones in a and b, rank {rank}, alpha {alpha:g}",
            likely="The update is multiplied by alpha and divided by the rank.", tolerance=1e-4,
        )  # fmt: skip


@task.stage("random layers")
def whole(candidate):
    for seed, leading in enumerate(((), (3,), (2, 5), (1, 2, 3), (4, 1))):
        weight, bias, a, b = layer(6, 4, 3, seed)
        x = drawn(*leading, 6, seed=seed)
        product = sum(torch.outer(b[:, r].double(), a[r].double()) for r in range(3))
        right = ((weight + 2.0 / 3 * product) @ x.double()[..., None])[..., 0] + bias
        task.observe(
            candidate, output, x, weight, bias, a, b, 2.0, gives=right,
            what=f"a random layer of rank 3, x {tuple(x.shape)}",
            likely="B A is `b @ a`: first `a` takes x to the rank, then `b` that to the outputs.",
            tolerance=1e-4,
        )  # fmt: skip
    task.observe(
        candidate, output, *(each.double() for each in (x, weight, bias, a, b)), 2.0, gives=right,
        what="the last layer again, in double precision,",
        likely="Something was rounded to single precision: leave the numbers in what they come in.",
        tolerance=1e-10,
    )  # fmt: skip


def gradient(candidate, name, x, weight, bias, a, b, alpha):
    """That of `a` or of `b`, of the sum of all outputs; raises Wrong where there is none."""
    a.requires_grad_(), b.requires_grad_()
    got = candidate(x, weight, bias, a, b, alpha)
    if getattr(got, "requires_grad", False):
        got.sum().backward()
    found = {"a": a, "b": b}[name].grad
    if found is None:
        raise Wrong(
            f"no gradient reaches `{name}`: LoRA could not be trained. Use the tensors that are "
            "handed in, undetached."
        )
    return found


@task.stage("gradients")
def gradients(candidate):
    (weight, bias, a, b), x = layer(6, 4, 3), drawn(5, 6)
    right = {"a": 2 * torch.outer(b.sum(0), x.sum(0)), "b": 2 * (x @ a.T).sum(0).expand(4, 3)}
    for name, wanted in right.items():  # alpha / rank is 2
        task.observe(
            candidate, gradient, name, x, weight, bias, a, b, 6.0,
            gives=wanted, what=f"the gradient of `{name}`", tolerance=1e-4,
        )  # fmt: skip


def scaled(x, weight, bias, a, b, factor):
    """The old layer, and B A x times a factor."""
    return F.linear(x, weight, bias) + factor * (x @ a.T @ b.T)


@task.mistake("shape", "changed argument 2 that it was given, `weight`.")
def in_the_weight(x, weight, bias, a, b, alpha):
    weight += alpha / len(a) * b @ a
    return F.linear(x, weight, bias)


@task.mistake("it starts as the old layer", "That is the update alone; add it to the old layer.")
def update_alone(x, weight, bias, a, b, alpha):
    return alpha / len(a) * x @ a.T @ b.T


@task.mistake("it starts as the old layer", "alpha / rank scales the update, not the old layer.")
def scales_all(x, weight, bias, a, b, alpha):
    return alpha / len(a) * scaled(x, weight, bias, a, b, 1)


@task.mistake("it starts as the old layer", "The bias of the old layer is missing.")
def without_bias(x, weight, bias, a, b, alpha):
    return scaled(x, weight, None, a, b, alpha / len(a))


@task.mistake("it starts as the old layer", "The bias was added twice: the update has none.")
def bias_twice(x, weight, bias, a, b, alpha):
    return F.linear(x, weight, bias) + F.linear(F.linear(x, a), b, bias)


@task.mistake("it starts as the old layer", "The bias was added twice: the update has none.")
def bias_twice_and_scaled(x, weight, bias, a, b, alpha):
    return F.linear(x, weight, bias) + alpha / len(a) * F.linear(F.linear(x, a), b, bias)


STRAIGHT = "There is a non-linearity between `a` and `b`: LoRA has none."


@task.mistake("alpha and rank", STRAIGHT)
def with_gelu(x, weight, bias, a, b, alpha):
    return F.linear(x, weight, bias) + alpha / len(a) * F.gelu(x @ a.T) @ b.T


@task.mistake("random layers", STRAIGHT)
def with_relu(x, weight, bias, a, b, alpha):
    return F.linear(x, weight, bias) + alpha / len(a) * F.relu(x @ a.T) @ b.T


def times(factor):
    """A wrong solution that multiplies the update by `factor(alpha, a, b)`."""
    return lambda x, weight, bias, a, b, alpha: scaled(x, weight, bias, a, b, factor(alpha, a, b))


NOT_THE = "It was divided by the {}, not by the rank, the number of rows of `a`."
for says, factor in (
    ("That is the old layer alone: where is the update?", lambda alpha, a, b: 0),
    (
        "Nothing was divided by the rank, the number of rows of `a`.",
        lambda alpha, a, b: alpha,
    ),
    (NOT_THE.format("number of inputs"), lambda alpha, a, b: alpha / a.shape[1]),
    (NOT_THE.format("number of outputs"), lambda alpha, a, b: alpha / len(b)),
    (
        "It was divided by the root of the rank, not by the rank.",
        lambda alpha, a, b: alpha / len(a) ** 0.5,
    ),
    ("It was multiplied by the rank: divide.", lambda alpha, a, b: alpha * len(a)),
    ("alpha / rank need not be whole: `/`, not `//`.", lambda alpha, a, b: alpha // len(a)),
    ("It is alpha / rank, not one over alpha.", lambda alpha, a, b: 1 / alpha),
    ("It is alpha / rank, not rank / alpha.", lambda alpha, a, b: len(a) / alpha),
    ("Where is alpha?", lambda alpha, a, b: 1 / len(a)),
    ("Where is alpha?", lambda alpha, a, b: 1),
):
    task.mistake("alpha and rank", says)(times(factor))

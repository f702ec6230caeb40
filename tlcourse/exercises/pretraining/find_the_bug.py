"""Lesson 03b: a training step to be mended.

The true gradient is measured: the loss at weights a little to either side, in double precision.
"""

import math
import random

import torch
from torch.nn import functional as F

from tlcourse.exercises.expect import CheckFailed, agree, expect_shape
from tlcourse.exercises.task import Exercise

HUGE = 1e6  # a `clip` that no gradient here reaches
CLOSE = 1e-5


def gradients_as_given(weights, micro_batches, clip):
    """What the lesson hands out: two bugs, in the loss and in the place of the clipping."""
    weights = weights.detach().clone().requires_grad_()
    for inputs, targets in micro_batches:
        loss = F.cross_entropy(inputs @ weights, targets)
        loss = loss / len(micro_batches)
        loss.backward()
        torch.nn.utils.clip_grad_norm_([weights], clip)
    return weights.grad


task = Exercise(
    __name__,
    number="3b.3",
    title="Find the bugs in a training step",
    difficulty=3,
    minutes=15,
    hints=(
        "one micro-batch: the code as given is right, whatever `clip`. Two of equal size and a "
        "huge `clip`: right. Two of different size and a huge `clip`: wrong. Two of equal size "
        "and a small `clip`: wrong again. These are the two bugs, apart.",
        "the first: cut 12 examples into 11 and 1. Which share of the gradient comes from the "
        "single one? Which share would it have if nothing were cut? (Then ask what an empty one "
        "counts for.)",
        "the second: think of two micro-batches that pull in nearly opposite directions. Each "
        "gradient is long, their sum is short. Which of them is `clip` about, and when is it "
        "known?",
        "count the targets of all micro-batches before the loop; inside it take the sum of the "
        'losses, `reduction="sum"`, and divide by that count. `clip_grad_norm_` belongs after the '
        "loop.",
    ),
    imports="import math\nimport torch\nfrom torch.nn import functional as F",
    given=gradients_as_given,
)


@task.reference
def gradients(weights, micro_batches, clip):
    """The (features, classes) gradient of the mean loss over all targets, at most `clip` long."""
    weights = weights.detach().clone().requires_grad_()
    count = sum(len(targets) for _, targets in micro_batches)
    for inputs, targets in micro_batches:
        loss = F.cross_entropy(inputs @ weights, targets, reduction="sum")
        (loss / count).backward()
    torch.nn.utils.clip_grad_norm_([weights], clip)
    return weights.grad


@task.right
def all_at_once(weights, micro_batches, clip):
    weights = weights.detach().requires_grad_()
    inputs, targets = (torch.cat(parts) for parts in zip(*micro_batches, strict=True))
    (gradient,) = torch.autograd.grad(F.cross_entropy(inputs @ weights, targets), weights)
    return gradient if gradient.norm() <= clip else gradient / gradient.norm() * clip


@task.right
def in_closed_form(weights, micro_batches, clip):
    total, count = torch.zeros_like(weights), 0
    for inputs, targets in micro_batches:
        errors = (inputs @ weights).softmax(dim=1) - F.one_hot(targets, weights.shape[1])
        total, count = total + inputs.T @ errors, count + len(targets)
    mean = total / count
    return mean * (clip / mean.norm()).clamp(max=1.0)


def drawn(sizes, seed, features=4, classes=3):
    """Weights (features, classes) and micro-batches of these sizes."""
    draw = torch.Generator().manual_seed(seed)
    weights = torch.randn(features, classes, generator=draw)
    parts = [
        (torch.randn(n, features, generator=draw), torch.randint(classes, (n,), generator=draw))
        for n in sizes
    ]
    return weights, parts


def gradient(candidate, weights, parts, clip):
    """The candidate's answer, of the right shape; raises CheckFailed if it changed what it was given."""
    handed = weights.clone(), [(inputs.clone(), targets.clone()) for inputs, targets in parts]
    try:
        got = candidate(*handed, clip)
    except Exception as error:
        error.add_note(f"It was called with {sizes_of(parts)}.")
        raise
    if not handed[0].equal(weights):
        raise CheckFailed("your function changed `weights`: only the gradient is wanted, no step.")
    if handed[0].requires_grad or handed[0].grad is not None:
        raise CheckFailed(
            "your function left `requires_grad` or a `.grad` on the `weights` that it was given: "
            "what is handed in stays as it is. Work on `weights.detach().clone()`."
        )
    pairs = zip(handed[1], parts, strict=False)
    same = all(a[0].equal(b[0]) and a[1].equal(b[1]) for a, b in pairs)
    if not same or len(handed[1]) != len(parts):
        raise CheckFailed("your function changed the micro-batches that it was given.")
    likely, shape = "It has the shape of `weights`.", getattr(got, "shape", None)
    if shape == ():
        likely += " (`clip_grad_norm_` returns a norm, not a gradient.)"
    elif shape == weights.T.shape:
        likely += " This one is transposed: is there a `.T` too many or too few?"
    seen = torch.as_tensor(got) if hasattr(got, "shape") else got  # an array will do, too
    expect_shape(seen, tuple(weights.shape), sizes_of(parts), likely)
    return torch.as_tensor(got).detach().double()


def sizes_of(parts):
    """What the candidate gets, in words."""
    sizes = [len(targets) for _, targets in parts]
    return f"micro-batches of {sizes} examples" if len(sizes) > 1 else f"{sizes[0]} examples"


def measured(weights, parts):
    """(features, classes) slope of the mean loss over all targets, by finite differences."""
    inputs = torch.cat([part[0] for part in parts]).double()
    targets = torch.cat([part[1] for part in parts])

    def loss(at):
        scores = inputs @ at
        right = scores[torch.arange(len(targets)), targets]
        return (scores.exp().sum(dim=1).log() - right).mean()

    steps = 1e-5 * torch.eye(weights.numel(), dtype=torch.float64).view(-1, *weights.shape)
    slope = [(loss(weights + step) - loss(weights - step)) / 2e-5 for step in steps]
    return torch.stack(slope).view(weights.shape)


def expect_gradient(candidate, weights, parts, clip=HUGE, likely="", what=""):
    """Raises CheckFailed unless the gradient is right; `what` are the parts, in words."""
    right = measured(weights, parts)
    length = float(right.norm())
    right *= min(1.0, clip / length)
    told = "a huge clip" if clip == HUGE else f"a gradient {length:.3g} long, clip={clip:.3g}"
    what = f"{what or sizes_of(parts)}, {told}"
    got = gradient(candidate, weights, parts, clip)
    came, due = float(got.norm()), float(right.norm())
    likely = likely or f"It is {came:.3g} long; expected the same direction, {due:.3g} long."
    factor = float((got * right).sum()) / due**2
    if math.isfinite(factor) and agree(got, factor * right, CLOSE) and not agree(got, right, CLOSE):
        told = task.diagnose(gradient, (weights, parts, clip), got, CLOSE, likely)
        raise CheckFailed(f"{what} gave {round(factor, 3):g} times the right gradient. {told}")
    task.observe(
        candidate, gradient, weights, parts, clip,
        gives=right, what=what, likely=likely, tolerance=CLOSE,
    )  # fmt: skip


@task.stage("one micro-batch, nothing to clip")
def one(candidate):
    setting = *drawn([5], seed=1), HUGE
    gradient(candidate, *setting)
    twice = [torch.as_tensor(candidate(*setting)).clone() for _ in range(2)]
    if not agree(*twice, CLOSE):
        raise CheckFailed(
            "the same arguments gave two answers: what was added up is kept from call to call."
        )
    likely = "By hand: inputs times what the probabilities are off by, the mean over 5 examples."
    expect_gradient(candidate, *drawn([5], seed=1), likely=likely)


@task.stage("equal sizes")
def equal(candidate):
    likely = "Equal micro-batches, cut or whole: the gradient must be the same."
    expect_gradient(candidate, *drawn([4, 4, 4], seed=2), likely=likely)


@task.stage("different sizes")
def different(candidate):
    likely = "There are 12 targets in all, and each has the same say."
    expect_gradient(candidate, *drawn([10, 2], seed=3), likely=likely)
    likely = "A micro-batch without targets adds nothing, and does not count."
    for sizes in ([3, 0, 4], [0, 5], [5, 0]):
        expect_gradient(candidate, *drawn(sizes, seed=4), likely=likely)


@task.stage("clipping")
def clipping(candidate):
    # Two micro-batches that pull in opposite directions: each is long, together they are short.
    (inputs, targets), weights = drawn([4], seed=5)[1][0], torch.zeros(4, 3)
    inputs = (inputs / measured(weights, [(inputs, targets)]).norm()).float()
    parts = [(inputs, targets), (-0.8 * inputs, targets)]
    likely = (
        "Their gradients, 1 and 0.8 long, are opposite, and the mean over all 8 targets is only "
        "0.1 long: nothing to clip. How long it is shows when all is added up, not before."
    )
    for order, place in ((parts, "the longer first"), (parts[::-1], "the shorter first")):
        what = f"two opposite micro-batches ({place})"
        expect_gradient(candidate, weights, order, 0.2, likely, what)
    weights, parts = drawn([4, 4], seed=6)
    length = float(measured(weights, parts).norm())
    expect_gradient(candidate, weights, parts, round(length / 4, 2))


@task.stage("20 random batches")
def batches(candidate):
    draw = random.Random(7)
    for seed in range(20):
        sizes = [draw.randrange(7) for _ in range(draw.randrange(1, 6))] + [draw.randrange(1, 4)]
        weights, parts = drawn(sizes, 100 + seed, draw.randrange(1, 6), draw.randrange(2, 6))
        length = float(measured(weights, parts).norm())
        expect_gradient(candidate, weights, parts, length * draw.choice([0.1, 0.5, 0.9, 1.1, 3.0]))


def whole(weights, micro_batches):
    """The gradient before it is clipped."""
    return gradients(weights, micro_batches, HUGE)


LAST = "Only the last micro-batch is in it. Is what was added up cleared between them?"
FIRST = "Only the first micro-batch is in it. Is the `return` inside the loop?"
EUCLID = "The length is the root of the sum of squares (`norm_type=2`); here the"
for stage, says, wrong in (
    (0, "This is the gradient of the sum of the losses; the mean over 5 is wanted.",
     lambda w, parts, clip: sum(whole(w, [part]) * len(part[1]) for part in parts)),
    (0, "The mean is divided by the number of targets once more.",
     lambda w, parts, clip: whole(w, parts) / sum(len(targets) for _, targets in parts)),
    (0, "A gradient shorter than `clip` is left as it is.",
     lambda w, parts, clip: whole(w, parts) * clip / whole(w, parts).norm()),
    (0, "The gradient is wanted, not the step against it.",
     lambda w, parts, clip: -gradients(w, parts, clip)),
    (1, LAST, lambda w, parts, clip: gradients(w, parts[-1:], clip)),
    (1, LAST, lambda w, parts, clip: gradients(w, parts[-1:], clip) / len(parts)),
    (1, FIRST, lambda w, parts, clip: gradients(w, parts[:1], clip)),
    (1, FIRST, lambda w, parts, clip: gradients(w, parts[:1], clip) / len(parts)),
    (1, "Means of three micro-batches are added, and their sum is not divided.",
     lambda w, parts, clip: sum(whole(w, [part]) for part in parts)),
    (2, "The two weigh as much as the ten: this is a mean of two means.",
     lambda w, parts, clip: sum(whole(w, [part]) for part in parts) / len(parts)),
    (2, "It was clipped to 1, with a `clip` that is huge: `clip` is handed in, use it.",
     lambda w, parts, clip: gradients(w, parts, 1.0)),
    (3, "Nothing was clipped.", lambda w, parts, clip: whole(w, parts)),
    (3, "Each number was clipped; it is the length of all together.",
     lambda w, parts, clip: whole(w, parts).clamp(-clip, clip)),
    (3, "It was clipped first and divided by the number of targets afterwards.",
     lambda w, parts, clip: gradients(w, parts, clip / sum(len(targets) for _, targets in parts))),
    (3, f"{EUCLID} sizes of the numbers were added up.",
     lambda w, parts, clip: whole(w, parts) * min(1, clip / whole(w, parts).abs().sum())),
    (3, f"{EUCLID} largest number was taken for it.",
     lambda w, parts, clip: whole(w, parts) * min(1, clip / whole(w, parts).abs().max())),
):  # fmt: skip
    task.mistake(task.stages[stage].name, says)(wrong)

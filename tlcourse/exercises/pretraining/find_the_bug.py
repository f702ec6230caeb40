"""Lesson 03b: a training step with two bugs to fix."""

import copy
import random

import torch
from torch.nn import functional as F

from tlcourse.exercises.expect import CheckFailed, expect_shape
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

HUGE = 1e6  # a `clip` that no gradient here reaches


def gradients_as_given(weights, micro_batches, clip):
    """The code that the lesson hands out: one bug is in the loss, one in where it clips."""
    weights = weights.detach().clone().requires_grad_()
    for inputs, targets in micro_batches:
        loss = F.cross_entropy(inputs @ weights, targets)
        loss = loss / len(micro_batches)
        loss.backward()
        torch.nn.utils.clip_grad_norm_([weights], clip)
    return weights.grad


def gradient(candidate, weights, parts, clip):
    """The returned gradient in double precision; raises CheckFailed if an argument changed."""
    handed, batches = copy.deepcopy((weights, parts))
    got = candidate(handed, batches, clip)
    before, after = [weights, *sum(parts, ())], [handed, *sum(batches, ())]
    same = len(after) == len(before) and all(map(torch.equal, after, before))
    if not same or handed.requires_grad:
        raise CheckFailed(
            check="`weights` and `micro_batches` after the call",
            yours="changed, or left with `requires_grad`",
            expected="unchanged",
            why="Work on `weights.detach().clone()`, and do not update the weights.",
        )
    why = "Return the gradient, which has the shape of `weights`: `clip_grad_norm_` returns a norm."
    got = torch.as_tensor(got) if hasattr(got, "shape") else got  # an array will do, too
    expect_shape(got, tuple(weights.shape), sizes_of(parts), why)
    return got.detach().double()


task = Exercise(
    __name__,
    number="3b.3",
    title="Find the bugs in a training step",
    difficulty=3,
    importance=3,
    minutes=15,
    hints=(
        "The given code is right for one micro-batch, whatever `clip` is, and for two of equal "
        "size with a huge `clip`. It is wrong for two of different size with a huge `clip`, and "
        "for two of equal size with a small `clip`. These are two separate bugs.",
        "The first bug: cut 12 examples into 11 and 1. Which share of the gradient comes from the "
        "single one? Which share would it have if you did not cut the batch? And how much should "
        "an empty micro-batch count?",
        "The second bug: think of two micro-batches whose gradients are long but nearly opposite, "
        "so that their sum is short. Which of these lengths does `clip` limit, and when do you "
        "know it?",
        "Count the targets of all micro-batches before the loop. Inside it, compute the sum of the "
        'losses with `reduction="sum"` and divide it by that count. `clip_grad_norm_` belongs '
        "after the loop.",
    ),
    imports="import math\nimport torch\nfrom torch.nn import functional as F",
    given=gradients_as_given,
    measure=gradient,
    tolerance=1e-5,
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


@task.truth
def in_closed_form(weights, micro_batches, clip):
    inputs, targets = (torch.cat(each) for each in zip(*micro_batches, strict=True))
    shares = (inputs.double() @ weights.double()).softmax(dim=1)
    mean = inputs.double().T @ (shares - F.one_hot(targets, weights.shape[1])) / len(targets)
    return mean * min(1.0, clip / mean.norm().item())


def drawn(sizes, seed):
    """Weights for 4 features and 3 classes, and micro-batches of these sizes."""
    draw = torch.Generator().manual_seed(varying(seed))
    weights = torch.randn(4, 3, generator=draw)
    parts = [
        (torch.randn(n, 4, generator=draw), torch.randint(3, (n,), generator=draw)) for n in sizes
    ]
    return weights, parts


def sizes_of(parts):
    """The sizes of the micro-batches as a phrase."""
    sizes = [len(targets) for _, targets in parts]
    return f"micro-batches of {sizes} examples" if len(sizes) > 1 else f"{sizes[0]} examples"


def step(weights, parts, clip=HUGE, what="", hint=""):
    """A case; `what` describes the micro-batches."""
    length = in_closed_form(weights, parts, HUGE).norm().item()
    told = "a huge clip" if clip == HUGE else f"a gradient {length:.3g} long, clip={clip:.3g}"
    return case(f"{what or sizes_of(parts)}, {told}", weights, parts, clip, hint=hint)


def opposite():
    """Two micro-batches with opposite gradients, 1 and 0.8 long; that of both is 0.1 long."""
    (inputs, targets), weights = drawn([4], seed=5)[1][0], torch.zeros(4, 3)
    inputs = (inputs / in_closed_form(weights, [(inputs, targets)], HUGE).norm()).float()
    return weights, [(inputs, targets), (-0.8 * inputs, targets)]


def twenty():
    """Cases of random sizes, some of which have to be clipped."""
    draw = random.Random(varying(7))
    for seed in range(20):
        sizes = [draw.randrange(7) for _ in range(draw.randrange(1, 6))] + [draw.randrange(1, 4)]
        yield step(*drawn(sizes, 100 + seed), draw.choice([0.05, 0.2, 0.5, HUGE]))


task.stage(
    "one micro-batch, nothing to clip",
    case(
        "the difference between two calls with the same 5 examples",
        *(*drawn([5], seed=1), HUGE),
        measure=lambda *given: gradient(*given) - gradient(*given),
        expected=torch.zeros(4, 3),
        hint="The sum is kept from call to call: start with a new copy of the weights.",
    ),
    step(*drawn([5], seed=1)),
    hint="Computed by hand, the gradient is the inputs times the errors of the probabilities, "
    "averaged over the 5 examples.",
)
task.stage(
    "equal sizes",
    step(*drawn([4, 4, 4], seed=2)),
    hint="Add up the gradients of all micro-batches: the result must be the same however the 12 "
    "examples are cut.",
)
task.stage(
    "different sizes",
    step(*drawn([10, 2], seed=3), hint="There are 12 targets in all, and each counts equally."),
    step(*drawn([3, 0, 4], seed=4)),
    hint="A micro-batch without targets adds nothing and does not count. With a huge `clip`, "
    "nothing is clipped.",
)
task.stage(
    "clipping",
    step(
        *(*opposite(), 0.2, "two opposite micro-batches (the longer first)"),
        "The two gradients, 1 and 0.8 long, are opposite, and that of the mean over all 8 targets "
        "is only 0.1 long, so there is nothing to clip. You know its length, the root of the sum "
        "of squares, when everything is added up and divided, not before.",
    ),
    step(
        *(*drawn([4, 4], seed=6), 0.15),
        hint="This gradient is longer than `clip`: keep its direction and make it `clip` long.",
    ),
)
task.stage(
    "20 random batches", *twenty(), hint="Each target counts equally, and clipping comes last."
)


def clips_inside_the_loop(weights, micro_batches, clip):
    weights = weights.detach().clone().requires_grad_()
    count = sum(len(targets) for _, targets in micro_batches)
    for inputs, targets in micro_batches:
        loss = F.cross_entropy(inputs @ weights, targets, reduction="sum")
        (loss / count).backward()
        torch.nn.utils.clip_grad_norm_([weights], clip)
    return weights.grad


task.mistakes(
    (
        "This is the gradient of the last micro-batch only: do not clear what has been added up "
        "in between.",
        lambda weights, parts, clip: gradients(weights, parts[-1:], clip),
    ),
    (
        "Each micro-batch counts equally here, whatever its size: divide the sum of its losses by "
        "the number of all targets.",
        lambda weights, parts, clip: gradients_as_given(weights, parts, HUGE),
    ),
    (
        "This code still clips inside the loop, before everything is added up: clip once, after "
        "the loop.",
        clips_inside_the_loop,
    ),
    (
        "This code clips each number, but `clip` limits the length of all numbers together: use "
        "`clip_grad_norm_`.",
        lambda weights, parts, clip: gradients(weights, parts, HUGE).clamp(-clip, clip),
    ),
)

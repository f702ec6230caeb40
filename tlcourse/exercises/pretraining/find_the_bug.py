"""Lesson 03b: a training step to be mended."""

import copy
import random

import torch
from torch.nn import functional as F

from tlcourse.exercises.expect import CheckFailed, expect_shape
from tlcourse.exercises.task import Exercise, case

HUGE = 1e6  # a `clip` that no gradient here reaches


def gradients_as_given(weights, micro_batches, clip):
    """What the lesson hands out: two bugs, in the loss and in the place of the clipping."""
    weights = weights.detach().clone().requires_grad_()
    for inputs, targets in micro_batches:
        loss = F.cross_entropy(inputs @ weights, targets)
        loss = loss / len(micro_batches)
        loss.backward()
        torch.nn.utils.clip_grad_norm_([weights], clip)
    return weights.grad


def gradient(candidate, weights, parts, clip):
    """The answer, of the right shape; raises CheckFailed if it changed what it was given."""
    handed, batches = copy.deepcopy((weights, parts))
    got = candidate(handed, batches, clip)
    pairs = zip(sum(batches, ()), sum(parts, ()), strict=False)
    kept = {
        "weights": handed.equal(weights) and not handed.requires_grad and handed.grad is None,
        "micro_batches": len(batches) == len(parts) and all(new.equal(old) for new, old in pairs),
    }
    for name, unchanged in kept.items():
        if not unchanged:
            raise CheckFailed(
                check=f"`{name}`, after the call",
                yours="changed, or left with `requires_grad` or a `.grad`",
                expected="unchanged",
                why="Work on `weights.detach().clone()`, and take no step.",
            )
    why = "The gradient has the shape of `weights`."
    if getattr(got, "shape", None) == ():
        why += " `clip_grad_norm_` returns a norm, not a gradient."
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
        "For one micro-batch the code as given is right, whatever `clip` is, and so it is for two "
        "of equal size and a huge `clip`. For two of different size and a huge `clip` it is wrong, "
        "and for two of equal size and a small `clip`: these are the two bugs, apart.",
        "The first bug: cut 12 examples into 11 and 1. Which share of the gradient comes from the "
        "single one? Which share would it have if nothing were cut? And what does an empty one "
        "count for?",
        "The second bug: think of two micro-batches that pull in nearly opposite directions. Each "
        "gradient is long, their sum is short. Which of them is `clip` about, and when is it "
        "known?",
        "Count the targets of all micro-batches before the loop; inside it take the sum of the "
        'losses, `reduction="sum"`, and divide by that count. `clip_grad_norm_` belongs after the '
        "loop.",
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


def drawn(sizes, seed, features=4, classes=3):
    """Weights (features, classes) and micro-batches of these sizes."""
    draw = torch.Generator().manual_seed(seed)
    weights = torch.randn(features, classes, generator=draw)
    parts = [
        (torch.randn(n, features, generator=draw), torch.randint(classes, (n,), generator=draw))
        for n in sizes
    ]
    return weights, parts


def sizes_of(parts):
    """The micro-batches in words."""
    sizes = [len(targets) for _, targets in parts]
    return f"micro-batches of {sizes} examples" if len(sizes) > 1 else f"{sizes[0]} examples"


def step(weights, parts, clip=HUGE, what="", hint=""):
    """A case; `what` are the micro-batches in words."""
    length = in_closed_form(weights, parts, HUGE).norm().item()
    told = "a huge clip" if clip == HUGE else f"a gradient {length:.3g} long, clip={clip:.3g}"
    return case(f"{what or sizes_of(parts)}, {told}", weights, parts, clip, hint=hint)


def opposite():
    """Two micro-batches, 1 and 0.8 long, that pull in opposite directions: together 0.1 long."""
    (inputs, targets), weights = drawn([4], seed=5)[1][0], torch.zeros(4, 3)
    inputs = (inputs / in_closed_form(weights, [(inputs, targets)], HUGE).norm()).float()
    return weights, [(inputs, targets), (-0.8 * inputs, targets)]


def twenty():
    """Cases of all sizes, some of which have to be clipped."""
    draw = random.Random(7)
    for seed in range(20):
        sizes = [draw.randrange(7) for _ in range(draw.randrange(1, 6))] + [draw.randrange(1, 4)]
        weights, parts = drawn(sizes, 100 + seed, draw.randrange(1, 6), draw.randrange(2, 6))
        length = in_closed_form(weights, parts, HUGE).norm().item()
        yield step(weights, parts, length * draw.choice([0.1, 0.5, 0.9, 1.1, 3.0]))


task.stage(
    "one micro-batch, nothing to clip",
    case(
        "what two calls with the same 5 examples differ by",
        *(*drawn([5], seed=1), HUGE),
        measure=lambda *given: gradient(*given) - gradient(*given),
        expected=torch.zeros(4, 3),
        hint="What was added up is kept from call to call: begin with a new copy of the weights.",
    ),
    step(*drawn([5], seed=1)),
    hint="By hand it is the inputs times what the probabilities are off by, the mean over the 5 "
    "examples.",
)
task.stage(
    "equal sizes",
    step(*drawn([4, 4, 4], seed=2)),
    hint="The gradient must be the same however the 12 examples are cut.",
)
task.stage(
    "different sizes",
    step(*drawn([10, 2], seed=3), hint="There are 12 targets in all, and each has the same say."),
    step(*drawn([3, 0, 4], seed=4)),
    hint="A micro-batch without targets adds nothing and does not count, and nothing is clipped "
    "where `clip` is huge.",
)
task.stage(
    "clipping",
    step(
        *(*opposite(), 0.2, "two opposite micro-batches (the longer first)"),
        "The gradients of the two, 1 and 0.8 long, are opposite, and the mean over all 8 targets "
        "is only 0.1 long, so there is nothing to clip. Its length, the root of the sum of "
        "squares, is known when all is added up, not before.",
    ),
    step(
        *(*drawn([4, 4], seed=6), 0.15),
        hint="This gradient is longer than `clip`: keep its direction and make it `clip` long.",
    ),
)
task.stage(
    "20 random batches",
    *twenty(),
    hint="Each target has the same say, and clipping comes last.",
)
task.mistakes(
    (
        "A gradient shorter than `clip` is left as it is.",
        lambda w, parts, clip: gradients(w, parts, HUGE) * clip / gradients(w, parts, HUGE).norm(),
    ),
    (
        "Only the last micro-batch is in it. Is what was added up cleared between them?",
        lambda w, parts, clip: gradients(w, parts[-1:], clip),
    ),
    (
        "It was clipped first and divided by the number of targets afterwards.",
        lambda w, parts, clip: gradients(w, parts, clip / sum(len(t) for _, t in parts)),
    ),
    (
        "Each number was clipped, but `clip` is about the length of all numbers together.",
        lambda w, parts, clip: gradients(w, parts, HUGE).clamp(-clip, clip),
    ),
)

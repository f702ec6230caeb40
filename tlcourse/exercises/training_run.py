"""Two more exercises of lesson 03: the curve of the rate, and a training step to be mended."""

import torch
from torch.nn import functional as F

from tlcourse.exercises import schedule_checks
from tlcourse.exercises import training_run_checks as checks
from tlcourse.exercises.machinery import Exercise, Stage


def rate_factor(step, steps, warmup, decay):
    """The share of the highest rate at `step` of `steps`, counted from 0."""
    start = max(warmup, round(steps * (1 - decay)))  # the first step of the decay
    if step < warmup:
        return (step + 1) / warmup
    if step < start:
        return 1.0
    return (steps - step) / (steps - start)


def gradients(weights, micro_batches, clip):
    """The (features, classes) gradient of the mean loss over all targets, at most `clip` long."""
    weights = weights.detach().clone().requires_grad_()
    count = sum(len(targets) for _, targets in micro_batches)
    for inputs, targets in micro_batches:
        loss = F.cross_entropy(inputs @ weights, targets, reduction="sum")
        (loss / count).backward()
    torch.nn.utils.clip_grad_norm_([weights], clip)
    return weights.grad


def gradients_as_given(weights, micro_batches, clip):
    """What the lesson hands out: two bugs, in the loss and in the place of the clipping."""
    weights = weights.detach().clone().requires_grad_()
    for inputs, targets in micro_batches:
        loss = F.cross_entropy(inputs @ weights, targets)
        loss = loss / len(micro_batches)
        loss.backward()
        torch.nn.utils.clip_grad_norm_([weights], clip)
    return weights.grad


SCHEDULE = Exercise(
    id="pretraining.schedule",
    title="Warm-up, stable, decay",
    difficulty=2,
    minutes=10,
    hints=(
        "three parts, each a straight line. In the example of ten steps, which step is the first "
        "and which the last of each part?",
        "while it rises, step 0 has one part of `warmup`, step 1 two parts. While it falls, count "
        "the steps that are left, this one included: `steps - step`.",
        "`start = max(warmup, round(steps * (1 - decay)))` is the first step of the decay, and "
        "the decay has `steps - start` steps. Ask for `step < warmup` first and for "
        "`step < start` next, and nothing is divided by 0.",
    ),
    reference=rate_factor,
    stages=(
        Stage("a share of the rate", schedule_checks.number),
        Stage("the warm-up alone", schedule_checks.warmup),
        Stage("the decay alone", schedule_checks.decay),
        Stage("where they meet", schedule_checks.meeting),
        Stage("20 runs", schedule_checks.whole),
    ),
)

FIND_THE_BUG = Exercise(
    id="pretraining.find_the_bug",
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
    reference=gradients,
    stages=(
        Stage("one micro-batch, nothing to clip", checks.one),
        Stage("equal sizes", checks.equal),
        Stage("different sizes", checks.different),
        Stage("clipping", checks.clipped),
        Stage("20 random batches", checks.whole),
    ),
    given=gradients_as_given,
)

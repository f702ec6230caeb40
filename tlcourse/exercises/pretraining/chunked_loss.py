"""Lesson 03b: cross-entropy and its gradients in chunks, without ever holding all logits."""

import torch
from torch.nn import functional as F

from tlcourse.exercises.expect import CheckFailed, expect_unchanged
from tlcourse.exercises.pretraining._common import number, several, shapes_of
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying
from tlcourse.memory import memory_over_time


def three(candidate, *given):
    """The three results, the first of them a float."""
    with torch.no_grad():
        got = expect_unchanged(candidate, *given)
    nats, d_hidden, d_weight = several(got, "nats", "d_hidden", "d_weight")
    return number(nats, "the nats, a sum over all targets"), d_hidden, d_weight


def part(candidate, place, *given):
    """One of the three results."""
    return three(candidate, *given)[place]


task = Exercise(
    __name__,
    number="3b.1",
    title="Cross-entropy in chunks",
    difficulty=3,
    importance=2,
    minutes=20,
    hints=(
        "Forget the chunks first and compute the three results for all targets at once. Then put a "
        "loop around it. Which results do you add up over the chunks, and which do you "
        "concatenate?",
        "`hidden.split(chunk)` and `targets.split(chunk)` give the chunks. The slope of a chunk "
        "starts as `logits.softmax(-1)`; then `slope[torch.arange(len(due)), due] -= 1`, where "
        "`due` are the chunk's targets.",
        "A logit is the product of a row of `hidden` and a row of `weight`. So the slope times "
        "`weight` is the gradient of the hidden states, and the transposed slope times the chunk "
        "of `hidden` is the chunk's share of the gradient of `weight`.",
        "In the loop, write `d_hidden.append(slope @ weight)` and `d_weight += slope.T @ part`, "
        "with `d_hidden = []` and `d_weight = torch.zeros_like(weight)` before it and `torch.cat` "
        "after it. The nats of a chunk are `F.cross_entropy(logits, due, reduction='sum')`.",
    ),
    imports="import math\nimport torch\nfrom torch import nn\nfrom torch.nn import functional as F",
    measure=part,
    tolerance=1e-4,
)


@task.reference
def chunked_loss(hidden, weight, targets, chunk):
    """The nats of all targets, and their gradients with respect to `hidden` and `weight`."""
    nats, d_hidden, d_weight = 0.0, [], torch.zeros_like(weight)
    for part, due in zip(hidden.split(chunk), targets.split(chunk), strict=True):
        logits = part @ weight.T
        nats += F.cross_entropy(logits, due, reduction="sum")
        slope = logits.softmax(-1)
        slope[torch.arange(len(due)), due] -= 1
        d_hidden.append(slope @ weight)
        d_weight += slope.T @ part
    return nats, torch.cat(d_hidden), d_weight


@task.truth
def by_autograd(place, hidden, weight, targets, chunk):
    with torch.enable_grad():
        parts = [each.double().requires_grad_() for each in (hidden, weight)]
        nats = F.cross_entropy(parts[0] @ parts[1].T, targets, reduction="sum")
    return (nats.item(), *torch.autograd.grad(nats, parts))[place]


def drawn(count, vocabulary=6, width=4, seed=0, size=1.0):
    """Hidden states, weight, targets."""
    draw = torch.Generator().manual_seed(varying(seed))
    hidden = torch.randn(count, width, generator=draw)
    weight = size * torch.randn(vocabulary, width, generator=draw)
    return hidden, weight, torch.randint(vocabulary, (count,), generator=draw)


def batch(place, count, chunk, seed, size=1.0):
    """A case of one of the three results; with a `size` of 200 the logits are in the hundreds."""
    name = ("the nats", "the gradient of `hidden`", "the gradient of `weight`")[place]
    what = f"{count} targets in chunks of {chunk}" + ", logits in the hundreds" * (size > 1)
    return case(f"{what}: {name}", place, *drawn(count, seed=seed, size=size), chunk)


task.stage(
    "three results",
    case(
        "3 targets in chunks of 3: the shapes of the gradients of `hidden` and `weight`",
        *(*drawn(3), 3),
        expected=[(3, 4), (6, 4)],
    ),
    measure=lambda *given: shapes_of(*three(*given)[1:]),
    hint="Each gradient has the shape of its tensor: first (targets, width) for `hidden`, then "
    "(vocabulary, width) for `weight`.",
)
task.stage(
    "nats",
    batch(0, 7, 3, seed=1),
    hint="Add up the nats of all targets, without a mean.",
)
task.stage(
    "the gradient of the hidden states",
    batch(1, 7, 3, seed=2),
    hint="The slope is the softmax minus 1 at the target. Multiply it by `weight`, and do not "
    "divide, because the nats are a sum.",
)
task.stage(
    "the gradient of the weight",
    batch(2, 7, 3, seed=3),
    hint="All chunks share one `weight`, so their gradients are added up.",
)


@task.stage("one chunk at a time")
def sparing(candidate):
    given = drawn(400, vocabulary=50, seed=4)
    most = max(memory_over_time(lambda: three(candidate, *given, 8))[1])
    every = 400 * 50 * 4
    if most > every / 2:
        raise CheckFailed(
            check="400 targets in chunks of 8, a vocabulary of 50: the memory held at one moment",
            yours=f"{most:,} bytes",
            expected=f"less than {every // 2:,} bytes, half the size of all logits",
            why="Do you make a table for all targets, or keep tables from chunk to chunk?",
        )


task.stage(
    "20 batches, and large logits",
    *(
        batch(place, seed + 1, 1 + 4 * seed % 11, 100 + seed, 200.0 if seed % 5 == 4 else 1.0)
        for seed in range(20)
        for place in range(3)
    ),
    tolerance=1e-3,
    hint="Does `exp` overflow where logits are in the hundreds? `softmax` does not.",
)


def changed(change):
    """An answer whose results become `change(three, hidden, weight, targets, chunk)`."""
    return lambda *given: change(chunked_loss(*given), *given)


def without_the_rest(hidden, weight, targets, chunk):
    whole = len(targets) // chunk * chunk
    return chunked_loss(hidden[:whole], weight, targets[:whole], chunk)


task.mistakes(
    (
        "The last chunk, which is shorter than the others, is missing: `hidden.split(chunk)` "
        "includes it.",
        without_the_rest,
    ),
    (
        "The sign is wrong: the slope is the softmax minus 1 at the target, not 1 minus the "
        "softmax.",
        changed(lambda three, *given: (three[0], -three[1], -three[2])),
    ),
    (
        "This code divides the gradient by the number of targets, but the nats are a sum: leave "
        "out the division.",
        changed(lambda three, *given: (three[0], *(each / len(given[2]) for each in three[1:]))),
    ),
)

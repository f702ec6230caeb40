"""Lesson 03b: cross-entropy and its gradients in chunks, without ever holding all logits."""

import math
import random

import torch
from torch.nn import functional as F

from tlcourse.exercises.expect import CheckFailed, expect_unchanged
from tlcourse.exercises.pretraining._common import number, several, shapes_of
from tlcourse.exercises.task import Exercise, case
from tlcourse.memory import memory_over_time


def three(candidate, hidden, weight, targets, chunk):
    """The three results, the first of them a float."""
    with torch.no_grad():
        try:
            got = expect_unchanged(candidate, hidden, weight, targets, chunk)
        except RuntimeError as error:
            if "does not require grad" in str(error):
                error.add_note("It is called where autograd is switched off, so use the slope.")
            raise
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
        "Forget the chunks first and write the three results for all targets at once. Then put a "
        "loop around it. What is added up over the chunks, and what is put one behind the other?",
        "`hidden.split(chunk)` and `targets.split(chunk)` give the parts. The slope of a part "
        "starts as `logits.softmax(-1)`; then `slope[torch.arange(len(asked)), asked] -= 1`.",
        "A logit is a product of a row of `hidden` and a row of `weight`. So the slope times "
        "`weight` is the gradient of the hidden states, and the slope, transposed, times the "
        "part of `hidden` is this chunk's share of the gradient of `weight`.",
        "In the loop, write `d_hidden.append(slope @ weight)` and `d_weight += slope.T @ part`, "
        "with `d_hidden = []` and `d_weight = torch.zeros_like(weight)` before it and `torch.cat` "
        "after it. The nats of a part are `F.cross_entropy(logits, asked, reduction='sum')`.",
    ),
    imports="import math\nimport torch\nfrom torch import nn\nfrom torch.nn import functional as F",
    measure=part,
    tolerance=1e-4,
)


@task.reference
def chunked_loss(hidden, weight, targets, chunk):
    """The nats of all targets, and their gradients for `hidden` and `weight`."""
    nats, d_hidden, d_weight = 0.0, [], torch.zeros_like(weight)
    for part, asked in zip(hidden.split(chunk), targets.split(chunk), strict=True):
        logits = part @ weight.T
        nats += F.cross_entropy(logits, asked, reduction="sum")
        slope = logits.softmax(-1)
        slope[torch.arange(len(asked)), asked] -= 1
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
    draw = torch.Generator().manual_seed(seed)
    hidden = torch.randn(count, width, generator=draw)
    weight = size * torch.randn(vocabulary, width, generator=draw)
    return hidden, weight, torch.randint(vocabulary, (count,), generator=draw)


NAMES = "the nats", "the gradient of `hidden`", "the gradient of `weight`"


def seven(place):
    """A case of one of the three results."""
    what = f"7 targets in chunks of 3: {NAMES[place]}"
    return case(what, place, *drawn(7, seed=1 + place), 3)


def twenty_batches():
    """A case for each of the three results of each batch."""
    draw = random.Random(5)
    for seed in range(20):
        count, chunk = draw.randrange(1, 30), draw.randrange(1, 35)
        size = 200.0 if seed % 5 == 4 else 1.0
        given = drawn(count, draw.randrange(2, 40), draw.randrange(1, 9), 100 + seed, size)
        what = f"{count} targets in chunks of {chunk}" + ", logits in the hundreds" * (size > 1)
        for place, name in enumerate(NAMES):
            yield case(f"{what}: {name}", place, *given, chunk)


task.stage(
    "three results",
    case(
        "3 targets in chunks of 3: the shapes of the gradients of `hidden` and `weight`",
        *(*drawn(3), 3),
        expected=[(3, 4), (6, 4)],
    ),
    measure=lambda *given: shapes_of(*three(*given)[1:]),
    hint="Each gradient has the shape of what it belongs to: (targets, width) for `hidden`, then "
    "(vocabulary, width) for `weight`.",
)
task.stage(
    "nats",
    case(
        "6 targets, all logits 0, a vocabulary of 5: the nats",
        *(0, torch.zeros(6, 4), torch.ones(5, 4), torch.arange(6) % 5, 3),
        expected=6 * math.log(5),
        hint="Each target costs ln 5 = 1.609, and the sum over the targets is wanted.",
        tolerance=1e-5,
    ),
    seven(0),
    hint="The nats of all targets are added up.",
)
task.stage(
    "the gradient of the hidden states",
    seven(1),
    hint="The slope is the softmax minus 1 at the target; multiply it by `weight`.",
)
task.stage(
    "the gradient of the weight",
    seven(2),
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
            expected=f"less than {every // 2:,} bytes, half of what all logits take",
            why="Is a table made for all targets, or kept from chunk to chunk?",
        )


task.stage(
    "20 batches, and large logits",
    *twenty_batches(),
    tolerance=1e-3,
    hint="Does `exp` overflow where logits are in the hundreds? `softmax` does not.",
)


def changed(change):
    """An answer whose results become `change(three, hidden, weight, targets, chunk)`."""
    return lambda *given: change(chunked_loss(*given), *given)


def without_the_rest(hidden, weight, targets, chunk):
    whole = max(1, len(targets) // chunk) * chunk
    nats, d_hidden, d_weight = chunked_loss(hidden[:whole], weight, targets[:whole], chunk)
    return nats, F.pad(d_hidden, (0, 0, 0, len(hidden) - len(d_hidden))), d_weight


task.mistakes(
    ("The last chunk is missing, which is shorter than the others.", without_the_rest),
    (
        "The sign is wrong: the slope is the softmax minus the 1, not the 1 minus the softmax.",
        changed(lambda three, *given: (three[0], -three[1], -three[2])),
    ),
    (
        "The nats are a sum, so no gradient is divided by the number of targets.",
        changed(lambda three, *given: (three[0], *(each / len(given[2]) for each in three[1:]))),
    ),
)

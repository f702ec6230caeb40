"""Lesson 03b: cross-entropy and its gradients in chunks, without ever holding all logits.

The true numbers come from autograd on all logits at once, in double precision.
"""

import math
import random

import torch
from torch.nn import functional as F

from tlcourse.exercises.expect import (
    CheckFailed,
    expect_shape,
    expect_unchanged,
    real_number,
    short,
)
from tlcourse.exercises.task import Exercise
from tlcourse.memory import memory_over_time

task = Exercise(
    __name__,
    number="3b.1",
    title="Cross-entropy in chunks",
    difficulty=3,
    minutes=20,
    hints=(
        "forget the chunks first: write the three results for all targets at once. Then put a "
        "loop around it. What is added up over the chunks, and what is put one behind the other?",
        "`hidden.split(chunk)` and `targets.split(chunk)` give the parts. The slope of a part "
        "starts as `logits.softmax(-1)`; then `slope[torch.arange(len(asked)), asked] -= 1`.",
        "a logit is a product of a row of `hidden` and a row of `weight`. So the slope times "
        "`weight` is the gradient of the hidden states, and the slope, transposed, times the "
        "part of `hidden` is this chunk's share of the gradient of `weight`.",
        "in the loop: `d_hidden.append(slope @ weight)` and `d_weight += slope.T @ part`, with "
        "`d_hidden = []` and `d_weight = torch.zeros_like(weight)` before it, `torch.cat` after "
        "it. The nats of a part are `F.cross_entropy(logits, asked, reduction='sum')`.",
    ),
    imports="import math\nimport torch\nfrom torch import nn\nfrom torch.nn import functional as F",
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


@task.right
def by_one_hot(hidden, weight, targets, chunk):
    nats, d_hidden, d_weight = torch.zeros(()), torch.empty_like(hidden), 0
    for start in range(0, len(targets), chunk):
        part, asked = hidden[start : start + chunk], targets[start : start + chunk]
        log_shares = F.log_softmax(F.linear(part, weight), dim=1)
        right = F.one_hot(asked, len(weight))
        nats = nats - (log_shares * right).sum()
        errors = log_shares.exp() - right
        d_hidden[start : start + chunk] = errors @ weight
        d_weight = d_weight + errors.mT @ part
    return nats, d_hidden, d_weight


@task.right
def by_autograd(hidden, weight, targets, chunk):
    nats, rows = 0.0, []
    with torch.enable_grad():
        weight = weight.detach().clone().requires_grad_()
        for part, asked in zip(hidden.split(chunk), targets.split(chunk), strict=True):
            part = part.detach().clone().requires_grad_()
            loss = F.cross_entropy(part @ weight.T, asked, reduction="sum")
            loss.backward()
            nats += loss.item()
            rows.append(part.grad)
    return nats, torch.cat(rows), weight.grad


def three(candidate, hidden, weight, targets, chunk):
    """The three results: a float and two tensors of the right shapes."""
    told = f"{len(targets)} targets in chunks of {chunk}"
    with torch.no_grad():
        try:
            got = expect_unchanged(candidate, hidden, weight, targets, chunk)
        except RuntimeError as error:
            if "does not require grad" in str(error):
                error.add_note("It is called where autograd is switched off: use the slope.")
            raise
    if not isinstance(got, tuple | list) or len(got) != 3:
        raise CheckFailed(f"{told} gave {short(got, 60)}; expected three results: `return nats, …`.")
    nats = real_number(got[0])
    if nats is None:
        due = "expected one number, the sum over all targets."
        raise CheckFailed(f"{told}: the nats are {short(got[0], 60)}; {due}")
    likely = "A row for each target; the gradient of `weight` comes last."
    expect_shape(got[1], tuple(hidden.shape), f"{told}: the gradient of `hidden`", likely)
    likely = "It has the shape of `weight`, (vocabulary, width). Is the slope transposed?"
    expect_shape(got[2], tuple(weight.shape), f"{told}: the gradient of `weight`", likely)
    return nats, got[1].detach(), got[2].detach()


def look_at(place):
    """A look at one of the three."""
    return lambda candidate, *arguments: three(candidate, *arguments)[place]


LOOKS = [look_at(place) for place in range(3)]
NAMES = "nats", "gradient of `hidden`", "gradient of `weight`"


def drawn(count, vocabulary=6, width=4, seed=0, size=1.0):
    """Hidden states, weight, targets."""
    draw = torch.Generator().manual_seed(seed)
    hidden = torch.randn(count, width, generator=draw)
    weight = size * torch.randn(vocabulary, width, generator=draw)
    return hidden, weight, torch.randint(vocabulary, (count,), generator=draw)


def truth(hidden, weight, targets):
    """The three, by autograd on all logits at once."""
    with torch.enable_grad():
        parts = [each.detach().double().requires_grad_() for each in (hidden, weight)]
        nats = F.cross_entropy(parts[0] @ parts[1].T, targets, reduction="sum")
    return nats.item(), *torch.autograd.grad(nats, parts)


def expect_part(candidate, place, counts, likely):
    """Raises CheckFailed unless that at `place` of the three is right, in chunks of 3."""
    for count in counts:
        given = drawn(count, seed=1 + place)
        task.observe(
            candidate, LOOKS[place], *given, 3, gives=truth(*given)[place], tolerance=1e-4,
            what=f"{count} targets in chunks of 3: the {NAMES[place]}", likely=likely,
        )  # fmt: skip


@task.stage("three results")
def shapes(candidate):
    three(candidate, *drawn(6), 3)
    three(candidate, *drawn(3), 3)


@task.stage("nats")
def nats(candidate):
    zeros = torch.zeros(6, 4), torch.ones(5, 4), torch.arange(6) % 5
    task.observe(
        candidate, LOOKS[0], *zeros, 3, gives=6 * math.log(5), tolerance=1e-5,
        what="6 targets, all logits 0, vocabulary of 5: the nats",
        likely="Each target costs ln 5 = 1.609, and the sum is wanted.",
    )  # fmt: skip
    expect_part(candidate, 0, (6, 7), "The nats of all targets are added up.")


@task.stage("the gradient of the hidden states")
def of_hidden(candidate):
    likely = "The slope is the softmax, minus 1 at the target; times `weight`."
    expect_part(candidate, 1, (1, 7), likely)


@task.stage("the gradient of the weight")
def of_weight(candidate):
    likely = "All chunks share one `weight`: their gradients are added up."
    expect_part(candidate, 2, (2, 7), likely)


@task.stage("one chunk at a time")
def sparing(candidate):
    hidden, weight, targets = drawn(400, vocabulary=50, seed=4)
    _, held = memory_over_time(lambda: three(candidate, hidden, weight, targets, 8))
    every, most = 400 * 50 * 4, max(held)
    if most > every / 2:
        raise CheckFailed(
            f"400 targets in chunks of 8, vocabulary of 50: at one moment it held {most:,} bytes; "
            f"the logits of all targets are {every:,}, those of a chunk {8 * 50 * 4:,}. Is a table "
            "made for all targets, or kept from chunk to chunk?"
        )


@task.stage("20 batches, and large logits")
def batches(candidate):
    draw = random.Random(5)
    for seed in range(20):
        count, chunk = draw.randrange(1, 30), draw.randrange(1, 35)
        size = 200.0 if seed % 5 == 4 else 1.0
        given = drawn(count, draw.randrange(2, 40), draw.randrange(1, 9), 100 + seed, size)
        told = f"{count} targets in chunks of {chunk}"
        told += f", logits up to {(given[0] @ given[1].T).abs().max():,.0f}" * (size > 1)
        for look, gives, name in zip(LOOKS, truth(*given), NAMES, strict=True):
            task.observe(
                candidate, look, *given, chunk, gives=gives, what=f"{told}: the {name}",
                likely="Does `exp` overflow? `softmax` and `log_softmax` do not." * (size > 1),
                tolerance=1e-3,
            )  # fmt: skip


def changed(change):
    """A candidate whose results become `change(three, hidden, weight, targets, chunk)`."""

    def function(hidden, weight, targets, chunk):
        return change(chunked_loss(hidden, weight, targets, chunk), hidden, weight, targets, chunk)

    return function


def only(part):
    """A candidate that sees `part(targets, chunk)` of the targets, a slice; the others give 0."""

    def function(hidden, weight, targets, chunk):
        seen = part(targets, chunk)
        nats, d_hidden, d_weight = chunked_loss(hidden[seen], weight, targets[seen], chunk)
        whole = torch.zeros_like(hidden)
        whole[seen] = d_hidden
        return nats, whole, d_weight

    return function


def with_slope(slope_of):
    """A candidate whose nats are right and whose slope is `slope_of(softmax, one-hot)`."""

    def change(right, hidden, weight, targets, chunk):
        slope = slope_of((hidden @ weight.T).softmax(-1), F.one_hot(targets, len(weight)))
        return right[0], slope @ weight, slope.T @ hidden

    return changed(change)


def of_the_last(right, hidden, weight, targets, chunk):
    parts = hidden.split(chunk)[-1], weight, targets.split(chunk)[-1]
    return *right[:2], chunked_loss(*parts, chunk)[2]


for stage, says, wrong in (
    ("nats", "This is the mean over the targets; the sum is wanted.",
     changed(lambda three, *a: (three[0] / len(a[2]), *three[1:]))),
    ("nats", "These are the means of the chunks, added up: reduction='sum' adds up targets.",
     changed(lambda three, h, w, t, chunk: (
         sum(F.cross_entropy(x @ w.T, y) for x, y in zip(h.split(chunk), t.split(chunk),
                                                         strict=True)), *three[1:]))),
    ("nats", "The last chunk is missing: it is shorter than the others.",
     only(lambda t, chunk: slice(0, max(1, len(t) // chunk) * chunk))),
    ("nats", "Only the last chunk is in it: the nats of all chunks are added up.",
     changed(lambda three, h, w, t, chunk: (
         F.cross_entropy(h.split(chunk)[-1] @ w.T, t.split(chunk)[-1], reduction="sum"),
         *three[1:]))),
    ("the gradient of the hidden states", "This is the softmax alone: minus 1 at the target.",
     with_slope(lambda share, right: share)),
    ("the gradient of the hidden states",
     "The sign is the other way: the softmax minus the 1, not the 1 minus the softmax.",
     with_slope(lambda share, right: right - share)),
    ("the gradient of the hidden states",
     "The nats are a sum, so no gradient is divided by the number of targets.",
     changed(lambda three, *a: (three[0], *(each / len(a[2]) for each in three[1:])))),
    ("the gradient of the weight", "This is the last chunk's share alone: add up with `+=`.",
     changed(of_the_last)),
    ("one chunk at a time", "Is a table made for all targets",
     lambda hidden, weight, targets, chunk: chunked_loss(hidden, weight, targets, len(targets))),
):  # fmt: skip
    task.mistake(stage, says)(wrong)

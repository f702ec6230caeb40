"""Lesson 03b: cross-entropy and its gradients in chunks, without ever holding all logits.

The true numbers come from autograd on all logits at once, in double precision.
"""

import math
import random

import torch
from torch.nn import functional as F

from tlcourse.exercises.expect import Wrong, expect_shape, expect_unchanged, real_number, short
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
    count, told = len(targets), f"{len(targets)} targets in chunks of {chunk}"
    with torch.no_grad():
        try:
            got = expect_unchanged(candidate, hidden, weight, targets, chunk)
        except RuntimeError as error:
            if "does not require grad" in str(error):
                error.add_note(
                    "It is called where autograd is switched off: the gradients are yours to "
                    "compute, from the slope."
                )
            raise
    if not isinstance(got, tuple | list) or len(got) != 3:
        raise Wrong(
            f"{told} gave {short(got, 60)}; expected three results, `return nats, d_hidden, "
            "d_weight`."
        )
    nats = real_number(got[0])
    if nats is None:
        raise Wrong(
            f"{told}: the nats are {short(got[0], 60)}; expected one number, the sum over all "
            "targets."
        )
    likely = "A row for each target: those of the chunks one behind the other."
    if getattr(got[1], "shape", None) == weight.shape != hidden.shape:
        likely = "This has the shape of `weight`: first the gradient of `hidden`, then its."
    expect_shape(got[1], tuple(hidden.shape), f"{told}: the gradient of `hidden`", likely)
    likely = "It has the shape of `weight`, (vocabulary, width). Is the slope transposed?"
    expect_shape(got[2], tuple(weight.shape), f"{told}: the gradient of `weight`", likely)
    assert len(got[1]) == count
    return nats, got[1].detach(), got[2].detach()


def nats_of(candidate, *arguments):
    """The first of the three."""
    return three(candidate, *arguments)[0]


def d_hidden_of(candidate, *arguments):
    """The second."""
    return three(candidate, *arguments)[1]


def d_weight_of(candidate, *arguments):
    """The third."""
    return three(candidate, *arguments)[2]


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


@task.stage("three results")
def shapes(candidate):
    three(candidate, *drawn(6), 3)
    three(candidate, *drawn(3), 3)


@task.stage("nats")
def nats(candidate):
    zeros = torch.zeros(6, 4), torch.ones(5, 4), torch.arange(6) % 5
    task.observe(
        candidate, nats_of, *zeros, 3, gives=6 * math.log(5), tolerance=1e-5,
        what="6 targets, all logits 0, vocabulary of 5: the nats",
        likely="Each target costs ln 5 = 1.609, and the sum is wanted.",
    )  # fmt: skip
    for count, likely in ((6, "Sum over the targets."), (7, "The last chunk has one target.")):
        given = drawn(count, seed=1)
        task.observe(
            candidate, nats_of, *given, 3, gives=truth(*given)[0], tolerance=1e-4, likely=likely,
            what=f"{count} targets in chunks of 3: the nats",
        )  # fmt: skip


@task.stage("the gradient of the hidden states")
def of_hidden(candidate):
    for count, chunk in ((1, 3), (7, 3)):
        given = drawn(count, seed=2)
        task.observe(
            candidate, d_hidden_of, *given, chunk, gives=truth(*given)[1].float(), tolerance=1e-4,
            what=f"{count} targets in chunks of {chunk}: the gradient of `hidden`",
            likely="The slope is the softmax, minus 1 at the target; times `weight`.",
        )  # fmt: skip


@task.stage("the gradient of the weight")
def of_weight(candidate):
    for count, chunk in ((2, 3), (7, 3)):
        given = drawn(count, seed=3)
        task.observe(
            candidate, d_weight_of, *given, chunk, gives=truth(*given)[2].float(), tolerance=1e-4,
            what=f"{count} targets in chunks of {chunk}: the gradient of `weight`",
            likely="All chunks share one `weight`: their gradients are added up.",
        )  # fmt: skip


@task.stage("one chunk at a time")
def sparing(candidate):
    hidden, weight, targets = drawn(400, vocabulary=50, seed=4)
    _, held = memory_over_time(lambda: three(candidate, hidden, weight, targets, 8))
    every, most = 400 * 50 * 4, max(held)
    if most > every / 2:
        raise Wrong(
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
        right, told = truth(*given), f"{count} targets in chunks of {chunk}"
        told += f", logits up to {(given[0] @ given[1].T).abs().max():,.0f}" * (size > 1)
        for look, gives, name in zip(
            (nats_of, d_hidden_of, d_weight_of), right,
            ("nats", "gradient of `hidden`", "gradient of `weight`"), strict=True,
        ):  # fmt: skip
            gives = gives if isinstance(gives, float) else gives.float()
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


def all_at_once(hidden, weight, targets, chunk):
    return chunked_loss(hidden, weight, targets, len(targets))


def of_the_last(right, hidden, weight, targets, chunk):
    start = (len(targets) - 1) // chunk * chunk
    last = chunked_loss(hidden[start:], weight, targets[start:], chunk)[2]
    return right[0], right[1], last


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
    ("the gradient of the weight", "Here the nats are a sum, too: no division by their number.",
     changed(lambda three, *a: (*three[:2], three[2] / len(a[2])))),
    ("one chunk at a time", "Is a table made for all targets", all_at_once),
):  # fmt: skip
    task.mistake(stage, says)(wrong)

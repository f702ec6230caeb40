"""Lesson 04b: the gradient of a whole batch, from parts that go through one after the other.

What is right is measured: the slope of the loss of the whole batch, by finite differences.
"""

import torch

from tlcourse.exercises.expect import CheckFailed, expect_number, short
from tlcourse.exercises.finetuning._parts import IGNORED, Loss, model_and_batch, truth
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="4b.2",
    title="The gradient of a batch in parts",
    difficulty=2,
    minutes=15,
    hints=(
        "`tensor[start : start + size]` is a part of one tensor. Cut all tensors of the batch in "
        "the same way: `tuple(tensor[start : start + size] for tensor in batch)`.",
        "call `backward` on the nats of each part, inside the loop. PyTorch adds the new gradient "
        "to the one that is there, so after the loop you have the gradient of the *sum*.",
        "the number of targets is known after the last part: divide each `parameter.grad` by it "
        "then. Before the first part, `model.zero_grad()`.",
    ),
    imports="import torch",
)


@task.reference
def accumulate(model, loss, batch, size):
    """Leaves the gradient of the batch's mean loss in the model; returns that loss, a number."""
    model.zero_grad()
    nats, targets = 0.0, 0
    for start in range(0, len(batch[0]), size):
        total, count = loss(model, tuple(tensor[start : start + size] for tensor in batch))
        total.backward()
        nats, targets = nats + total.item(), targets + count
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad /= targets
    return nats / targets


@task.right
def by_split(model, loss, batch, size):
    for parameter in model.parameters():
        parameter.grad = None
    sums = []
    for part in zip(*(tensor.split(size) for tensor in batch), strict=True):
        nats, count = loss(model, part)
        nats.backward()
        sums.append((nats.detach(), count))
    nats, targets = map(sum, zip(*sums, strict=True))
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad.div_(targets)
    return nats / targets


@task.right
def counts_first(model, loss, batch, size):
    parts = list(zip(*(tensor.split(size) for tensor in batch), strict=True))
    with torch.no_grad():
        targets = sum(loss(model, part)[1] for part in parts)
    asking = [each for each in model.parameters() if each.requires_grad]
    gradients, mean = [torch.zeros_like(each) for each in asking], 0.0
    for part in parts:
        nats = loss(model, part)[0] / targets
        mean += nats.item()
        for total, each in zip(gradients, torch.autograd.grad(nats, asking), strict=True):
            total += each
    for parameter, total in zip(asking, gradients, strict=True):
        parameter.grad = total
    return mean


def done(candidate, size, missing=(), rows=7, left_over=False):
    """(what came, gradients in a row, the loss's notes); raises CheckFailed if the model is moved."""
    model, batch = model_and_batch(missing, rows)
    loss, handed = Loss(), [each.clone() for each in batch]
    if left_over:
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    came = candidate(model, loss, batch, size)
    if not all(a.equal(b) for a, b in zip(before, model.parameters(), strict=True)):
        raise CheckFailed("your function moved the weights: leave the gradient, and take no step.")
    if not all(a.equal(b) for a, b in zip(handed, batch, strict=True)):
        raise CheckFailed("your function changed the batch that it was given.")
    if any(parameter.grad is None for parameter in model.parameters()):
        raise CheckFailed(
            "a parameter has no `.grad` after your function. Is `backward` called on each part, "
            "and `zero_grad` only before the first one?"
        )
    return came, torch.cat([each.grad.flatten() for each in model.parameters()]), loss


def gradient(candidate, *how):
    return done(candidate, *how)[1]


def expect_gradient(candidate, *how, what, likely=""):
    task.observe(
        candidate, gradient, *how, gives=truth(*how[1:3])[1], what=f"{what}: the gradient",
        likely=likely, tolerance=1e-4,
    )  # fmt: skip


@task.stage("one part")
def one(candidate):
    expect_gradient(
        candidate, 7, what="a batch of 7 rows in one part",
        likely="`loss` gives a sum over the targets: divide by their number.",
    )  # fmt: skip


@task.stage("parts of a given size")
def parts(candidate):
    *_, loss = done(candidate, 2, (), 6)
    if max(loss.rows) > 2 or sum(loss.rows) % 6:
        raise CheckFailed(
            f"6 rows, size 2: `loss` got parts of {short(loss.rows)} rows; expected [2, 2, 2]. "
            "`size` is the number of rows in a part."
        )
    if loss.together > 1:
        raise CheckFailed(
            f"{loss.together} parts waited for their `backward` at the same time, so nothing is "
            "saved: call `backward` on each part before the next one goes through the model."
        )
    expect_gradient(
        candidate, 2, (), 6, what="6 rows, 2 at a time",
        likely="The gradients of all parts are added up; then divide by 6, once.",
    )  # fmt: skip


@task.stage("a shorter last part")
def shorter(candidate):
    for size in (4, 3):
        expect_gradient(
            candidate, size, what=f"7 rows, {size} at a time",
            likely="The last part is shorter. Every row counts once: divide by all 7.",
        )  # fmt: skip


@task.stage("rows without a target")
def without(candidate):
    for missing in ((1,), (0, 1)):
        expect_gradient(
            candidate, 2, missing, what=f"7 rows, 2 at a time, {len(missing)} without a target",
            likely="Divide by the number of *targets*, which `loss` tells, not by rows.",
        )  # fmt: skip


@task.stage("called again")
def again(candidate):
    expect_gradient(
        candidate, 3, (), 7, True, what="7 rows, 3 at a time, an old gradient in the model",
        likely="Begin with `model.zero_grad()`.",
    )  # fmt: skip


@task.stage("the mean loss")
def mean_loss(candidate):
    for missing in ((), (0, 1)):
        came, *_ = done(candidate, 2, missing)
        likely = "Return the mean over all targets of the batch."
        if came is None:
            raise CheckFailed(f"the gradient is right, but nothing comes back. {likely}")
        if getattr(came, "requires_grad", False):
            raise CheckFailed(
                "the loss came back with its graph, which keeps the activations of all parts: "
                "return a number, with `.item()`."
            )
        right, targets = truth(missing)[0], 7 - len(missing)
        expect_number(
            torch.as_tensor(came).detach(), right, "7 rows, 2 at a time: the loss",
            known=[(right * targets, "This is the sum of nats; divide it by the targets, too.")],
            likely=likely,
        )  # fmt: skip


def variant(divisor, clear=True, order="each"):
    """A wrong answer: `divisor(counts, number, parts)` divides the nats of a part."""

    def function(model, loss, batch, size):
        if clear:
            model.zero_grad()
        cuts = list(zip(*(tensor.split(size) for tensor in batch), strict=True))
        rows, mean, waiting = len(batch[0]), 0.0, []
        with torch.no_grad():
            everything = sum(int((part[1] != IGNORED).sum()) for part in cuts)
        for part in cuts:
            nats, count = loss(model, part)
            nats = nats / divisor(count, everything, rows, len(cuts))
            mean += nats.item()
            waiting.append(nats)
            if order == "each":
                nats.backward()
            elif order == "last":
                model.zero_grad()
                nats.backward()
        if order == "together":
            sum(waiting).backward()
        return mean

    return function


def by_all(count, everything, rows, cuts):
    return everything


for stage, says, wrong in (
    ("one part", "`loss` gives a sum over the targets: divide by their number.",
     variant(lambda count, everything, rows, cuts: 1)),
    ("parts of a given size", "Each part is divided by its own number of targets, so the sum of "
     "the parts is too large. Divide by the number of the whole batch.",
     variant(lambda count, everything, rows, cuts: max(count, 1))),
    ("parts of a given size", "This is the gradient of the last part alone: `zero_grad` belongs "
     "before the loop.", variant(by_all, order="last")),
    ("parts of a given size", "so nothing is saved: call `backward` on each part",
     variant(by_all, order="together")),
    ("a shorter last part", "This is a mean of means: the rows of the shorter last part count "
     "more than the others. Divide the sum by all targets, once.",
     variant(lambda count, everything, rows, cuts: max(count, 1) * cuts)),
    ("rows without a target", "Divide by the number of *targets*, which `loss` tells, not by rows.",
     variant(lambda count, everything, rows, cuts: rows)),
    ("called again", "Begin with `model.zero_grad()`.", variant(by_all, clear=False)),
):  # fmt: skip
    task.mistake(stage, says)(wrong)


@task.mistake("one part", "A batch may have more than two tensors: cut them all.")
def of_two_tensors(model, loss, batch, size):
    inputs, targets = batch
    return accumulate(model, loss, (inputs, targets), size)


@task.mistake("parts of a given size", "`size` is the number of rows in a part.")
def size_as_number_of_parts(model, loss, batch, size):
    model.zero_grad()
    cuts = [tensor.chunk(size) for tensor in batch]
    count = len(batch[0])
    return sum(_backward(loss(model, part)[0] / count) for part in zip(*cuts, strict=True))


def _backward(nats):
    nats.backward()
    return nats.item()


@task.mistake("the mean loss", "the gradient is right, but nothing comes back.")
def returns_nothing(model, loss, batch, size):
    accumulate(model, loss, batch, size)


@task.mistake("the mean loss", "This is the sum of nats; divide it by the targets, too.")
def returns_the_sum(model, loss, batch, size):
    return accumulate(model, loss, batch, size) * int((batch[1] != IGNORED).sum())

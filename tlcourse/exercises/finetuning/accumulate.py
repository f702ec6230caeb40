"""Lesson 04b: the gradient of a whole batch, from parts that go through one after the other."""

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.expect import expect_equal
from tlcourse.exercises.task import Exercise, case

IGNORED = -100  # the target of a row that has none


class Loss:
    """Sum of the nats and number of targets; keeps how many rows each part had.

    `together` is the largest number of parts that waited for their `backward` at the same time.
    """

    def __init__(self):
        self.rows, self.waiting, self.together = [], 0, 0

    def __call__(self, model, part):
        lengths, why = [len(tensor) for tensor in part], "Cut all three tensors in the same way."
        expect_equal(lengths, lengths[:1] * 3, "the rows of the tensors of a part", why)
        inputs, targets, _ = part
        self.rows.append(len(inputs))
        nats = F.cross_entropy(model(inputs), targets, reduction="sum", ignore_index=IGNORED)
        if nats.requires_grad:
            why = "Do not call `model.eval()`: dropout would be off in this training step."
            expect_equal(model.training, True, "whether the model is in training mode", why)
            self.waiting += 1
            self.together = max(self.together, self.waiting)
            nats.register_hook(self.done)
        return nats, int((targets != IGNORED).sum())

    def done(self, _):
        self.waiting -= 1


def model_and_batch(rows, missing):
    """A small model, and inputs, targets and a tensor that the loss does not need.

    The rows numbered in `missing` have no target.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(rows)
        model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 3)).double()
        inputs, targets = torch.randn(rows, 4, dtype=torch.float64), torch.randint(3, (rows,))
    targets[list(missing)] = IGNORED
    return model, (inputs, targets, torch.arange(rows))


def after(candidate, rows, size, missing=(), old_gradient=False):
    """(what the candidate returns, the loss, the gradients of all parameters in a row)."""
    model, batch = model_and_batch(rows, missing)
    loss = Loss()
    if old_gradient:
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter)
    before = [tensor.detach().clone() for tensor in (*model.parameters(), *batch)]
    returned = candidate(model, loss, batch, size)
    same = all(map(torch.equal, before, (*model.parameters(), *batch)))
    why = "Leave the gradient in the model: take no step, and write nothing into the batch."
    expect_equal(same, True, "whether the weights and the batch are as before the call", why)
    bare = [name for name, parameter in model.named_parameters() if parameter.grad is None]
    why = "Call `backward` on each part, and `zero_grad` only before the first one."
    expect_equal(bare, [], "the parameters without a `grad` after the call", why)
    return returned, loss, torch.cat([each.grad.flatten() for each in model.parameters()])


def gradient(candidate, *how):
    return after(candidate, *how)[2]


task = Exercise(
    __name__,
    number="4b.2",
    title="The gradient of a batch in parts",
    difficulty=2,
    importance=3,
    minutes=15,
    hints=(
        "`tensor[start : start + size]` is a part of one tensor. Cut all tensors of the batch in "
        "the same way: `tuple(tensor[start : start + size] for tensor in batch)`.",
        "Call `backward` on the nats of each part, inside the loop. PyTorch adds the new gradient "
        "to the one that is there, so after the loop you have the gradient of the *sum*.",
        "The number of targets is known after the last part: divide each `parameter.grad` by it "
        "then. Before the first part, call `model.zero_grad()`.",
    ),
    imports="import torch",
    measure=gradient,
    tolerance=1e-4,
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


def mean_at_once(rows, size, missing=()):
    """The mean loss of the whole batch, by the library."""
    model, (inputs, targets, _) = model_and_batch(rows, missing)
    return F.cross_entropy(model(inputs), targets, ignore_index=IGNORED), model


@task.truth
def at_once(rows, size, missing=(), old_gradient=False):
    loss, model = mean_at_once(rows, size, missing)
    return torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(model.parameters()))])


def in_small_parts(candidate, rows, size):
    """The gradient; raises CheckFailed where parts are too large or wait for each other."""
    _, loss, gradients = after(candidate, rows, size)
    why = "`size` is the number of rows in a part."
    expect_equal(max(size, *loss.rows), size, f"the rows of the largest part for size {size}", why)
    why = "No memory is saved: call `backward` on each part before the next goes through the model."
    expect_equal(loss.together, 1, "how many parts wait for `backward` at the same time", why)
    return gradients


def mean_loss(candidate, *how):
    """The loss that is returned; raises CheckFailed where it holds its graph."""
    returned = after(candidate, *how)[0]
    graph, why = getattr(returned, "requires_grad", False), "Call `.item()` to free its memory."
    expect_equal(graph, False, "whether the loss that you return holds its graph", why)
    return returned


task.stage(
    "one part",
    case("the gradient of 7 rows in one part", 7, 7),
    hint="`loss` gives a sum over the targets: divide by their number.",
)
task.stage(
    "parts of a given size",
    case("the gradient of 6 rows, 2 at a time", 6, 2),
    measure=in_small_parts,
    hint="Add up the gradients of all parts; then divide by the 6 targets of the batch, once.",
)
task.stage(
    "a shorter last part",
    case("the gradient of 7 rows, 4 at a time", 7, 4),
    hint="The last part is shorter. Every row counts once, so divide by all 7.",
)
task.stage(
    "rows without a target",
    case("the gradient of 7 rows, 2 at a time, two without a target", 7, 2, (0, 1)),
    hint="Divide by the number of *targets*, which `loss` returns, not by the number of rows.",
)
task.stage(
    "called again",
    case("the gradient of 7 rows, 3 at a time, with an old gradient in the model", 7, 3, (), True),
    hint="Begin with `model.zero_grad()`: `backward` adds to the gradient that is there.",
)
task.stage(
    "the mean loss",
    case("the loss of 7 rows, 2 at a time, two without a target", 7, 2, (0, 1)),
    measure=mean_loss,
    expected=lambda *how: mean_at_once(*how)[0].detach(),
    hint="The gradient is right; return the mean loss over all targets, too.",
)


def of_two_tensors(model, loss, batch, size):
    inputs, targets = batch
    return accumulate(model, loss, (inputs, targets), size)


def clears_for_each_part(model, loss, *more):
    return accumulate(model, lambda model, part: (model.zero_grad(), loss(model, part))[1], *more)


def mean_of_means(model, loss, *more):
    def mean(model, part):
        nats, count = loss(model, part)
        return nats / max(count, 1), 1

    return accumulate(model, mean, *more)


task.mistakes(
    ("A batch may have more than two tensors: cut them all.", of_two_tensors),
    (
        "This is the gradient of the last part alone: `zero_grad` belongs before the loop.",
        clears_for_each_part,
    ),
    (
        "This is a mean of means, in which the rows of a shorter last part count more than the "
        "others. Divide the sum by all targets, once.",
        mean_of_means,
    ),
)

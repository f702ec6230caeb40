"""Lesson 04b: the gradient of a whole batch, computed part by part."""

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.expect import expect_equal
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

IGNORED = -100  # the target of a row without one


class Loss:
    """The sum of the nats and the number of targets; records the rows of each part.

    `together` is the largest number of parts that waited for `backward` at the same time.
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
    """A small model and a batch: inputs, targets, and a tensor that the loss does not need.

    The rows in `missing` have no target.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(varying(rows))
        model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 3)).double()
        inputs, targets = torch.randn(rows, 4, dtype=torch.float64), torch.randint(3, (rows,))
    targets[list(missing)] = IGNORED
    return model, (inputs, targets, torch.arange(rows))


def after(candidate, rows, size, missing=(), old_gradient=False, frozen=False):
    """(the returned value, the loss, the gradients of all parameters as one vector)."""
    model, batch = model_and_batch(rows, missing)
    model[0].requires_grad_(not frozen)
    loss = Loss()
    if old_gradient:
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter)
    before = [tensor.detach().clone() for tensor in (*model.parameters(), *batch)]
    returned = candidate(model, loss, batch, size)
    same = all(map(torch.equal, before, (*model.parameters(), *batch)))
    why = "Leave the gradient in the model, but take no step and do not change the batch."
    expect_equal(same, True, "whether the weights and the batch are unchanged after the call", why)
    trained = {name: each for name, each in model.named_parameters() if each.requires_grad}
    bare = [name for name, each in trained.items() if each.grad is None]
    why = "Call `backward` on each part, and `zero_grad` only before the first one."
    expect_equal(bare, [], "the parameters without a `grad` after the call", why)
    return returned, loss, torch.cat([each.grad.flatten() for each in trained.values()])


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
        "to the existing one, so after the loop you have the gradient of the *sum*.",
        "You know the number of targets only after the last part, so divide each `parameter.grad` "
        "by it then. Before the first part, call `model.zero_grad()`.",
    ),
    imports="import torch",
    measure=gradient,
    tolerance=1e-4,
)


@task.reference
def accumulate(model, loss, batch, size):
    """Leaves the gradient of the batch's mean loss in the model; returns that loss as a number."""
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
    """The mean loss of the whole batch, computed by PyTorch, and the model."""
    model, (inputs, targets, _) = model_and_batch(rows, missing)
    return F.cross_entropy(model(inputs), targets, ignore_index=IGNORED), model


@task.truth
def at_once(rows, size, missing=(), old_gradient=False, frozen=False):
    loss, model = mean_at_once(rows, size, missing)
    trained = list((model[1:] if frozen else model).parameters())
    return torch.cat([each.flatten() for each in torch.autograd.grad(loss, trained)])


def in_small_parts(candidate, rows, size):
    """The gradient; raises CheckFailed if parts are too large or wait for each other."""
    _, loss, gradients = after(candidate, rows, size)
    why = "`size` is the number of rows in a part."
    expect_equal(max(size, *loss.rows), size, f"the rows of the largest part for size {size}", why)
    why = "This saves no memory: call `backward` on each part before you compute the next one."
    expect_equal(loss.together, 1, "the number of parts that wait for `backward` together", why)
    return gradients


def mean_loss(candidate, *how):
    """The returned loss; raises CheckFailed if it holds its graph."""
    returned = after(candidate, *how)[0]
    graph, why = getattr(returned, "requires_grad", False), "Call `.item()` to free its memory."
    expect_equal(graph, False, "whether the loss that you return holds its graph", why)
    return returned


task.stage(
    "one part",
    case("the gradient of 7 rows in one part", 7, 7),
    hint="`loss` returns a sum over the targets: divide by their number.",
)
task.stage(
    "parts of a given size",
    case("the gradient of 6 rows, 2 at a time", 6, 2),
    measure=in_small_parts,
    hint="Add up the gradients of all parts, with `zero_grad` before the loop, and divide once, by "
    "the 6 targets of the batch.",
)
task.stage(
    "a shorter last part",
    case("the gradient of 7 rows, 4 at a time", 7, 4),
    hint="A mean of the parts' means would give the rows of the short last part more weight. "
    "Divide the sum by all 7 targets.",
)
task.stage(
    "rows without a target",
    case("the gradient of 7 rows, 2 at a time, two without a target", 7, 2, (0, 1)),
    hint="Divide by the number of *targets*, which `loss` returns, not by the number of rows.",
)
task.stage(
    "called again",
    case("the gradient of 7 rows, 3 at a time, with an old gradient in the model", 7, 3, (), True),
    case(
        "the gradient of 7 rows, 3 at a time, in a model whose first layer is frozen",
        *(7, 3, (), False, True),
        hint="The frozen layer gets no gradient; the gradient of the other layers stays the same.",
    ),
    hint="Begin with `model.zero_grad()`, because `backward` adds to the existing gradient.",
)
task.stage(
    "the mean loss",
    case("the loss of 7 rows, 2 at a time, two without a target", 7, 2, (0, 1)),
    measure=mean_loss,
    expected=lambda *how: mean_at_once(*how)[0].detach(),
    hint="The gradient is right; now return the mean loss over all targets, too.",
)


def with_loss(change):
    """An answer for which `loss` returns `change(model, nats, targets, parts)`."""

    def candidate(model, loss, batch, size):
        parts = -(-len(batch[0]) // size)

        def changed(model, part):
            return change(model, *loss(model, part), parts)

        return accumulate(model, changed, batch, size)

    return candidate


task.mistakes(
    (
        "This is the gradient of the last part alone, because each part clears what came before: "
        "call `zero_grad` once, before the loop.",
        with_loss(lambda model, nats, targets, parts: (model.zero_grad(), (nats, targets))[1]),
    ),
    (
        "This is the mean of the parts' means, in which the rows of a shorter part count more: "
        "divide the sum over all parts by the number of all targets, once.",
        with_loss(lambda model, nats, targets, parts: (nats / max(targets, 1), 1)),
    ),
    (
        "The means of the parts are added, so that the gradient grows with the number of parts: "
        "add up the sums, and divide by the number of all targets.",
        with_loss(lambda model, nats, targets, parts: (nats / max(targets, 1), 1 / parts)),
    ),
)

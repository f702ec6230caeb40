"""Lesson 04b: the gradient of a whole batch, from parts that go through one after the other."""

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.expect import CheckFailed, expect_equal, short
from tlcourse.exercises.task import Exercise, case

IGNORED = -100  # the target of a row that has none


class Loss:
    """Sum of the nats and number of targets; keeps how many rows each part had.

    `together` is the largest number of parts that waited for their `backward` at the same time.
    """

    def __init__(self):
        self.rows, self.waiting, self.together = [], 0, 0

    def __call__(self, model, part):
        expect_equal(
            len(part), 3, "the number of tensors in a part", "Cut every tensor of `batch`."
        )
        inputs, targets, other = part
        rows, why = [len(inputs)] * 3, "Cut all tensors of `batch` in the same way."
        expect_equal([len(each) for each in part], rows, "the rows of a part's tensors", why)
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
    draw = torch.Generator().manual_seed(rows)
    model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 3)).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=draw))
    targets = torch.randint(3, (rows,), generator=draw)
    targets[list(missing)] = IGNORED
    inputs = torch.randn(rows, 4, generator=draw, dtype=torch.float64)
    return model, (inputs, targets, torch.arange(rows))


def after(candidate, rows, size, missing=(), old_gradient=False):
    """(what the candidate returns, the loss, the model) after a call."""
    model, batch = model_and_batch(rows, missing)
    loss, handed_in = Loss(), [each.clone() for each in batch]
    if old_gradient:
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    came = candidate(model, loss, batch, size)
    if not all(map(torch.equal, before, model.parameters())):
        raise CheckFailed(
            check="the parameters after the call",
            yours="changed",
            expected="unchanged",
            why="Leave the gradient in the model, and take no step.",
        )
    if not all(map(torch.equal, handed_in, batch)):
        raise CheckFailed(check="`batch` after the call", yours="changed", expected="unchanged")
    bare = [name for name, each in model.named_parameters() if each.grad is None]
    why = "Call `backward` on each part, and `zero_grad` only before the first one."
    expect_equal(bare, [], "the parameters without a `grad` after the call", why)
    return came, loss, model


def gradient(candidate, *how):
    """The gradients of all parameters in a row."""
    return torch.cat([each.grad.flatten() for each in after(candidate, *how)[2].parameters()])


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
    loss = after(candidate, rows, size)[1]
    if max(loss.rows) > size or sum(loss.rows) % rows:
        raise CheckFailed(
            check=f"how many rows the parts have that `loss` gets, {rows} rows and size {size}",
            yours=str(loss.rows),
            expected=str([size] * (rows // size)),
            why="`size` is the number of rows in a part.",
        )
    why = "No memory is saved: call `backward` on each part before the next goes through the model."
    expect_equal(loss.together, 1, "how many parts wait for `backward` at the same time", why)
    return gradient(candidate, rows, size)


def returned(candidate, *how):
    """The loss that comes back."""
    came, why = after(candidate, *how)[0], "The gradient is right; return the mean loss, too."
    if getattr(came, "requires_grad", False):
        why = "Its graph keeps the activations of all parts in memory: call `.item()`."
    elif came is not None:
        return torch.as_tensor(came)
    raise CheckFailed(
        check="what your function returns", yours=short(came), expected="a number", why=why
    )


task.stage(
    "one part",
    case("the gradient of 7 rows in one part", 7, 7),
    hint="`loss` gives a sum over the targets: divide by their number.",
)
task.stage(
    "parts of a given size",
    case("the gradient of 6 rows, 2 at a time", 6, 2),
    measure=in_small_parts,
    hint="Add up the gradients of all parts; then divide by 6, once.",
)
task.stage(
    "a shorter last part",
    *(case(f"the gradient of 7 rows, {size} at a time", 7, size) for size in (4, 3)),
    hint="The last part is shorter. Every row counts once, so divide by all 7.",
)
task.stage(
    "rows without a target",
    case("the gradient of 7 rows, 2 at a time, one without a target", 7, 2, (1,)),
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
    case("the loss of 7 rows, 2 at a time", 7, 2),
    case("the loss of 7 rows, 2 at a time, two without a target", 7, 2, (0, 1)),
    measure=returned,
    expected=lambda *how: mean_at_once(*how)[0].detach(),
    hint="Return the mean over all targets of the batch.",
)


def parts(divisor, only_last=False):
    """An answer that divides the nats of a part by `divisor(its targets, all targets, parts)`."""

    def function(model, loss, batch, size):
        cuts = list(zip(*(tensor.split(size) for tensor in batch), strict=True))
        total = int((batch[1] != IGNORED).sum())
        model.zero_grad()
        for part in cuts:
            nats, count = loss(model, part)
            if only_last:
                model.zero_grad()
            (nats / divisor(max(count, 1), total, len(cuts))).backward()
        return 0.0

    return function


def of_two_tensors(model, loss, batch, size):
    inputs, targets = batch
    return accumulate(model, loss, (inputs, targets), size)


def the_sum(model, loss, batch, size):
    return accumulate(model, loss, batch, size) * int((batch[1] != IGNORED).sum())


task.mistakes(
    ("A batch may have more than two tensors: cut them all.", of_two_tensors),
    (
        "Each part is divided by its own number of targets, so the sum of the parts is too large. "
        "Divide by the number of targets in the whole batch.",
        parts(lambda count, total, cuts: count),
    ),
    (
        "This is the gradient of the last part alone: `zero_grad` belongs before the loop.",
        parts(lambda count, total, cuts: total, only_last=True),
    ),
    (
        "This is a mean of means, in which the rows of a shorter last part count more than the "
        "others. Divide the sum by all targets, once.",
        parts(lambda count, total, cuts: count * cuts),
    ),
    ("This is the sum of the nats; divide it by the number of targets, too.", the_sum),
)

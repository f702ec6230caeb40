"""Lesson 04: the fine-tuning loop, checked on a linear model."""

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.pretraining._common import losses
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

HUGE = 1e6  # a `clip` that no gradient here reaches
RATES = 0.4, 1.2  # the highest learning rates of the weight and of the bias


def linear():
    """A classifier with fixed weights, in evaluation mode."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(varying(0))
        return nn.Linear(3, 4).eval()


def batches_of(epoch):
    """Three batches of unequal size, different in each epoch."""
    draw = torch.Generator().manual_seed(varying(70 + epoch))
    return [
        (2 * torch.randn(rows, 3, generator=draw), torch.randint(4, (rows,), generator=draw))
        for rows in (5, 3, 4)
    ]


def nats_of(model, batch):
    """The sum of the nats over all rows of a batch but the first, and their number."""
    x, targets = batch
    return F.cross_entropy(model(x)[1:], targets[1:], reduction="sum"), len(x) - 1


def trained(candidate, epochs, warmup, clip, rates=RATES):
    """The losses of all steps, then the weights."""
    model, steps = linear(), 3 * epochs
    pairs = zip(model.parameters(), rates, strict=True)
    optimizer = torch.optim.SGD([{"params": [each], "lr": rate} for each, rate in pairs])
    got = candidate(model, nats_of, batches_of, optimizer, epochs, warmup, clip)
    return [*losses(got, steps), *model.weight.flatten().tolist(), *model.bias.tolist()]


def by_default(candidate, epochs, *_):
    """The same if `warmup` and `clip` are not given."""
    return trained(lambda *given: candidate(*given[:5]), epochs, 0.1, 1.0)


def in_training_mode(candidate):
    """Whether the model is in training mode in all steps."""
    model, modes = linear(), []
    model.register_forward_pre_hook(lambda model, _: modes.append(model.training))
    candidate(model, nats_of, batches_of, torch.optim.SGD(model.parameters(), lr=0.1), 1)
    return all(modes)


task = Exercise(
    __name__,
    number="4.4",
    title="The fine-tuning loop",
    difficulty=3,
    importance=5,
    minutes=15,
    hints=(
        "Compute before the loop: the number of all steps, the number of warm-up steps, "
        'and a list of the groups\' own learning rates, `[group["lr"] for group in '
        "optimizer.param_groups]`.",
        "Write two loops, `for epoch in range(epochs)` and `for batch in batches_of(epoch)`, and "
        "use `step = len(losses)`, which continues across epochs.",
        "The factor is `(step + 1) / up` during the warm-up and `(steps - step) / (steps - up)` "
        'after it; set `group["lr"] = highest * factor` for each group.',
        "The rest is as in lesson 03: `nats, targets = loss(model, batch)`, "
        "`(nats / targets).backward()`, "
        "`torch.nn.utils.clip_grad_norm_(model.parameters(), clip)`, `optimizer.step()`, "
        "`optimizer.zero_grad()`, `losses.append(nats.item() / targets)`.",
    ),
    imports="import math\nimport torch\nfrom torch import nn\nfrom torch.nn import functional as F",
    builds_on=("pretraining.schedule", "pretraining.train"),
    trains=True,
    measure=trained,
    tolerance=1e-4,
)


@task.reference
def fine_tune(model, loss, batches_of, optimizer, epochs, warmup=0.1, clip=1.0):
    """Trains `model` in place; returns the loss of every step."""
    steps = epochs * len(batches_of(0))
    up = max(1, round(warmup * steps))
    highest = [group["lr"] for group in optimizer.param_groups]
    model.train()
    losses = []
    for epoch in range(epochs):
        for batch in batches_of(epoch):
            step = len(losses)
            factor = (step + 1) / up if step < up else (steps - step) / (steps - up)
            for group, rate in zip(optimizer.param_groups, highest, strict=True):
                group["lr"] = rate * factor
            nats, targets = loss(model, batch)
            (nats / targets).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            optimizer.zero_grad()
            losses.append(nats.item() / targets)
    return losses


@task.truth
def step_by_step(epochs, warmup, clip, rates=RATES):
    steps = 3 * epochs
    up = max(1, round(steps * warmup))
    factors = [(k + 1) / up for k in range(up)]
    factors += [k / (steps - up) for k in range(steps - up, 0, -1)]
    model, found = linear().double(), []
    for (x, targets), factor in zip(sum(map(batches_of, range(epochs)), []), factors, strict=True):
        loss = F.cross_entropy(model(x[1:].double()), targets[1:])
        slopes = torch.autograd.grad(loss, list(model.parameters()))
        shrink = min(1.0, clip / torch.cat([each.flatten() for each in slopes]).norm().item())
        for parameter, rate, slope in zip(model.parameters(), rates, slopes, strict=True):
            parameter.data -= factor * rate * shrink * slope
        found.append(loss.item())
    return [*found, *model.weight.flatten().tolist(), *model.bias.tolist()]


AFTER = "the losses, then the 16 weights after"
task.stage(
    "the losses",
    case(f"{AFTER} 3 steps with learning rates near 0", 1, 0.1, HUGE, (1e-9, 1e-9)),
    hint="The model hardly changes here, so each loss is nats / targets of its batch, with the "
    "targets that `loss` counted. Epochs count from 0.",
)
task.stage(
    "the learning rate",
    case(f"{AFTER} one epoch of 3 steps, warmup=0.6, clip=1e6", 1, 0.6, HUGE),
    case(f"{AFTER} one epoch of 3 steps, warmup=0.1, clip=1e6", 1, 0.1, HUGE),
    hint="Multiply the highest learning rate of each group, not that of the step before, by the "
    "factor: 1 / u in the first of u = max(1, round(warmup * K)) warm-up steps. Call "
    "`optimizer.zero_grad()` in every step. Pass `clip` on: it is huge, so nothing is clipped.",
)
task.stage(
    "epoch after epoch",
    case(f"{AFTER} 2 epochs of 3 steps, warmup=0.1", 2, 0.1, HUGE),
    hint="Call `batches_of(epoch)` for epoch 0, 1, …; warm-up and decay extend over the steps of "
    "all epochs.",
)
task.stage(
    "clipping",
    case(f"{AFTER} 2 epochs, clip=0.9", 2, 0.1, 0.9),
    case(
        f"{AFTER} 5 epochs by default",
        *(5, 0.1, 1.0),
        measure=by_default,
        hint="If they are not given, `warmup` is 0.1 and `clip` is 1.0.",
    ),
    hint="All gradients together are at most `clip` long; shorter ones do not change.",
)
task.stage(
    "training mode",
    case(
        "whether a model in evaluation mode is switched to training mode",
        expected=True,
        measure=in_training_mode,
    ),
    hint="Call `model.train()` before the loop, because dropout is off in evaluation mode.",
)


def onto_the_last(model, loss, batches_of, optimizer, *more):
    groups, step = optimizer.param_groups, optimizer.step
    highest = [group["lr"] for group in groups]
    left = list(highest)

    def changed_step():
        for place, group in enumerate(groups):
            left[place] *= group["lr"] / highest[place]
            group["lr"] = left[place]
        step()

    optimizer.step = changed_step
    return fine_tune(model, loss, batches_of, optimizer, *more)


def never_cleared(model, loss, batches_of, optimizer, *more):
    optimizer.zero_grad = lambda: None
    return fine_tune(model, loss, batches_of, optimizer, *more)


def anew_in_each_epoch(model, loss, batches_of, optimizer, epochs, *more):
    highest, found = [group["lr"] for group in optimizer.param_groups], []
    for epoch in range(epochs):
        for group, rate in zip(optimizer.param_groups, highest, strict=True):
            group["lr"] = rate
        batches = batches_of(epoch)
        found += fine_tune(model, loss, lambda _, now=batches: now, optimizer, 1, *more)
    return found


def clips_each_alone(model, loss, batches_of, optimizer, epochs, warmup=0.1, clip=1.0):
    step = optimizer.step

    def clipped_step():
        for parameter in model.parameters():
            torch.nn.utils.clip_grad_norm_(parameter, clip)
        step()

    optimizer.step = clipped_step
    return fine_tune(model, loss, batches_of, optimizer, epochs, warmup, HUGE)


task.mistakes(
    (
        "The factor multiplies the learning rate of the step before, so the rates shrink step by "
        "step: keep the highest learning rates in a list, and multiply those.",
        onto_the_last,
    ),
    (
        "The gradients of earlier steps are still there: call `optimizer.zero_grad()` in every "
        "step.",
        never_cleared,
    ),
    (
        "Warm-up and decay start anew in each epoch: take `epochs * len(batches_of(0))` for the "
        "number of steps, and count the steps on across epochs.",
        anew_in_each_epoch,
    ),
    (
        "Each parameter is clipped on its own, which changes the direction of the step: pass "
        "`model.parameters()` to a single call of `clip_grad_norm_`.",
        clips_each_alone,
    ),
)

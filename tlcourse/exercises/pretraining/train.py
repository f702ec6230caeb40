"""Lesson 03: the training loop, checked on a line whose true steps NumPy computes."""

from inspect import signature
from types import SimpleNamespace

import numpy as np
import torch
from torch import nn

from tlcourse import device, training
from tlcourse.exercises.pretraining._common import losses
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

HUGE = 1e6  # a `clip` that no gradient here reaches
START = [0.5, -1.0, 2.0, 0.25]  # the weights of the line and, last, its bias


def points(step, first=varying(1000)):  # noqa: B008
    """The batch of a step: points, their targets, and which of them count."""
    drawn = torch.Generator().manual_seed(first + step)
    count = 5 + step % 4
    x, y = torch.randn(count, 3, generator=drawn), torch.randn(count, generator=drawn)
    asked = torch.rand(count, generator=drawn) < 0.6
    asked[0] = True
    return x, y, asked


def squares(model, batch):
    """The sum of the losses, and the number of targets, which is not the number of rows."""
    x, y, asked = batch
    return (0.5 * (model(x)[:, 0] - y).square())[asked].sum(), int(asked.sum())


def trained(candidate, steps, rates, *clip, kind=torch.optim.SGD):
    """The losses of the steps, then the four weights after them; `rates` has one per step.

    The optimizer has one group for the weight and one for the bias.
    """
    model = nn.utils.skip_init(nn.Linear, 3, 1)  # draws nothing
    model.load_state_dict({"weight": torch.tensor([START[:3]]), "bias": torch.tensor(START[3:])})
    optimizer = kind([{"params": [model.weight]}, {"params": [model.bias]}], lr=0.5)
    got = candidate(model, squares, points, optimizer, rates.__getitem__, range(*steps), *clip)
    found = losses(got, len(range(*steps)))
    return [*found, *model.weight[0].tolist(), *model.bias.tolist()]


task = Exercise(
    __name__,
    number="3.4",
    title="The training loop",
    difficulty=3,
    importance=5,
    minutes=20,
    hints=(
        "Write the five points of the text as comments inside `for step in steps:`, and one or two "
        "lines of code below each.",
        "The optimizer holds the learning rate: `for group in optimizer.param_groups: "
        'group["lr"] = learning_rate(step)`. The loss is `nats, targets = loss(model, '
        "batch_of(step))`.",
        "`(nats / targets).backward()` computes the gradient of the mean; "
        "`torch.nn.utils.clip_grad_norm_(model.parameters(), clip)` shortens it if it is too long.",
        "Then call `optimizer.step()`, `optimizer.zero_grad()` and "
        "`losses.append(nats.item() / targets)`.",
    ),
    imports="import math\nimport torch\nfrom torch import nn\nfrom torch.nn import functional as F",
    trains=True,
    measure=trained,
    tolerance=1e-4,
)


@task.reference
def train(model, loss, batch_of, optimizer, learning_rate, steps, clip=1.0):
    """Trains `model` in place; returns the mean loss of every step."""
    losses = []
    for step in steps:
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step)
        nats, targets = loss(model, batch_of(step))
        (nats / targets).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(nats.item() / targets)
    return losses


@task.truth
def in_numpy(steps, rates, clip=1.0):
    at, found = np.array(START), []
    for step in range(*steps):
        x, y, asked = (part.double().numpy() for part in points(step))
        x = np.concatenate([x, np.ones((len(x), 1))], axis=1)
        off, count = (x @ at - y) * asked, asked.sum()
        found.append(0.5 * (off**2).sum() / count)
        slope = x.T @ off / count
        at = at - rates[step] * slope * min(1.0, clip / np.linalg.norm(slope))
    return [*found, *at.tolist()]


def by_engine(model, loss, batch_of, optimizer, learning_rate, steps):
    history = training.train(
        *(model, loss, batch_of),
        steps=len(steps),
        optimizers=[optimizer],
        schedule=lambda step: learning_rate(step) / 0.5,  # a factor of the optimizer's own
        compute=device.Compute(torch.device("cpu"), torch.float32, "explicit", False),
    )
    return [record["loss"] for record in history]


def with_adam(candidate, *given):
    return trained(candidate, *given, kind=torch.optim.AdamW)


WHAT = "the losses, then the 4 weights:"
RATES = [0.3, 0.02, 0.1, 0.0, 0.2, 0.05, 0.1, 0.01, 0.15]
task.stage(
    "the losses",
    case(f"{WHAT} 3 steps at the learning rate 0", (0, 3), [0.0] * 3, HUGE),
    hint="Each loss is nats / targets of its batch, with the targets that `loss` counted. No "
    "weight changes if every group of the optimizer gets the learning rate 0.",
)
task.stage(
    "one step",
    case(f"{WHAT} one step at 0.2", (0, 1), [0.2], HUGE),
    hint="This is one step of gradient descent: weight - learning rate × gradient of nats / "
    "targets. Nothing is clipped, because `clip` is huge.",
)
task.stage(
    "step after step",
    case(f"{WHAT} steps 4 to 8", (4, 9), RATES, HUGE),
    hint="Step 4 uses `batch_of(4)` and `learning_rate(4)`, and no gradient of an earlier step.",
)
task.stage(
    "clipping",
    case(f"{WHAT} 3 steps with clip=0.2", (0, 3), [0.2] * 3, 0.2),
    case(f"{WHAT} 3 steps without `clip`", (0, 3), [0.2] * 3, hint="If not given, `clip` is 1.0."),
    hint="All gradients together are at most `clip` long; shorter ones do not change. Clip "
    "after `backward` and before `optimizer.step()`.",
)
task.stage(
    "the package's engine",
    case(f"{WHAT} 5 steps with AdamW", (0, 5), RATES),
    measure=with_adam,
    expected=lambda *given: with_adam(by_engine, *given),
    tolerance=1e-3,
    hint="The expected numbers are those of `training.train`: the package's loop does the same as "
    "yours. Call `optimizer.step()`, whatever the optimizer is.",
)


def handing(change):
    """The right answer, some arguments of which are replaced by `change(given)`."""

    def answer(*arguments):
        given = signature(train).bind(*arguments)
        given.apply_defaults()
        return train(**(given.arguments | change(SimpleNamespace(**given.arguments))))

    return answer


def never_clears(given):
    given.optimizer.zero_grad = lambda: None
    return {}


def one_step_late(given):
    return {"learning_rate": lambda step: given.learning_rate(max(given.steps[0], step - 1))}


task.mistakes(
    (
        "This code divides by the rows of the batch: divide by the targets that `loss` returns.",
        handing(lambda given: {"loss": lambda model, b: (given.loss(model, b)[0], len(b[0]))}),
    ),
    (
        "The gradients of earlier steps are still there: call `optimizer.zero_grad()` in every "
        "step.",
        handing(never_clears),
    ),
    (
        "Each step uses the learning rate of the step before: set it before `optimizer.step()`.",
        handing(one_step_late),
    ),
)

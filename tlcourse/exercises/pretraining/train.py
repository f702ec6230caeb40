"""Lesson 03: the training loop. The true steps are those of a line, taken in NumPy."""

import torch

from tlcourse import device, objectives, training
from tlcourse.exercises.expect import expect_close
from tlcourse.exercises.pretraining._line import numbers, trained, truth
from tlcourse.exercises.pretraining._loop_mistakes import MISTAKES
from tlcourse.exercises.task import Exercise
from tlcourse.transformer import Config, Transformer

HUGE = 1e6  # a `clip` that no gradient here reaches
CLOSE = 1e-4

task = Exercise(
    __name__,
    number="3.4",
    title="The training loop",
    difficulty=3,
    minutes=20,
    hints=(
        "write the five points of the text as five comments inside `for step in steps:`, and one "
        "line of code or two below each.",
        "the learning rate stands in the optimizer: `for group in optimizer.param_groups: "
        'group["lr"] = learning_rate(step)`. The loss is `nats, targets = loss(model, '
        "batch_of(step))`.",
        "`(nats / targets).backward()` gives the gradient of the mean; "
        "`torch.nn.utils.clip_grad_norm_(model.parameters(), clip)` shortens it if it is too long.",
        "then `optimizer.step()`, `optimizer.zero_grad()` and "
        "`losses.append(nats.item() / targets)`.",
    ),
    imports="import math\nimport torch\nfrom torch import nn\nfrom torch.nn import functional as F",
    trains=True,
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


@task.right
def by_hand(model, loss, batch_of, optimizer, learning_rate, steps, clip=1.0):
    losses, groups = [], optimizer.param_groups
    for step in steps:
        optimizer.zero_grad()
        nats, targets = loss(model, batch_of(step))
        nats.backward()
        moving = [p for group in groups for p in group["params"] if p.grad is not None]
        for parameter in moving:
            parameter.grad.div_(targets)
        length = torch.stack([p.grad.square().sum() for p in moving]).sum().sqrt().item()
        for parameter in moving:
            parameter.grad.mul_(min(1.0, clip / max(length, 1e-12)))
        for group in groups:
            group.update(lr=learning_rate(step))
        optimizer.step()
        losses += [float(nats) / targets]
    return losses


@task.right
def by_autograd(model, loss, batch_of, optimizer, learning_rate, steps, clip=1.0):
    parameters = [p for p in model.parameters() if p.requires_grad]

    def one(step):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step)
        nats, targets = loss(model, batch_of(step))
        mean = nats / targets
        slopes = torch.autograd.grad(mean, parameters, allow_unused=True)
        for parameter, slope in zip(parameters, slopes, strict=True):
            parameter.grad = slope
        torch.nn.utils.clip_grad_norm_(parameters, max_norm=clip)
        optimizer.step()
        return mean.detach()

    return torch.tensor([one(step) for step in steps])


def expect_steps(candidate, steps, rates, clip, *, what, likely):
    task.observe(
        candidate, trained, steps, rates, clip, gives=truth(steps, rates, clip), tolerance=CLOSE,
        what=f"{what}: the losses, then the 4 weights,", likely=likely,
    )  # fmt: skip


@task.stage("the losses")
def losses(candidate):
    likely = "With a learning rate of 0 nothing moves: each is nats / targets of its batch."
    what = "3 steps at the learning rate 0"
    expect_steps(candidate, (0, 3), [0.0] * 3, HUGE, what=what, likely=likely)


@task.stage("one step")
def one_step(candidate):
    likely = "One step of gradient descent: weight - learning rate × gradient of nats / targets."
    expect_steps(candidate, (0, 1), [0.2], HUGE, what="one step at 0.2", likely=likely)


@task.stage("step after step")
def many_steps(candidate):
    rates = [0.3, 0.02, 0.1, 0.0, 0.2, 0.05, 0.1, 0.01, 0.15]
    likely = "Each step has its own batch, its own learning rate and its own gradient."
    expect_steps(candidate, (0, 3), rates, HUGE, what="steps 0 to 2", likely=likely)
    likely = "`steps` says which: step 4 takes `batch_of(4)` and `learning_rate(4)`."
    expect_steps(candidate, (4, 9), rates, HUGE, what="steps 4 to 8", likely=likely)


@task.stage("clipping")
def clipping(candidate):
    length = "The length of all gradients together is at most `clip`; a shorter one stays."
    for clip in (1.5, 0.2):
        what = f"3 steps with clip={clip}"
        expect_steps(candidate, (0, 3), [0.2] * 3, clip, what=what, likely=length)
    likely = "Without a `clip` it is 1.0."
    expect_steps(candidate, (0, 3), [0.2] * 3, None, what="no clip given", likely=likely)


def of_engine(candidate):
    """The losses of five steps of a small Transformer with AdamW; for None those of the engine."""
    drawn = torch.Generator().manual_seed(0)
    batches = [(torch.randint(6, 40, (4, 9), generator=drawn),) for _ in range(5)]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        model = Transformer(Config(40, 12, 2, 2, 24, max_length=16))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)

    def loss(model, batch):
        return objectives.causal_loss(model, *batch)

    def factor(step):
        return (step + 1) / 5

    if candidate is not None:
        more = optimizer, lambda step: 0.01 * factor(step), range(5)
        return numbers(candidate(model, loss, batches.__getitem__, *more), 5)
    history = training.train(
        model, loss, batches, optimizers=[optimizer], schedule=factor,
        compute=device.Compute(torch.device("cpu"), torch.float32, "explicit", False),
    )  # fmt: skip
    return [record["loss"] for record in history]


@task.stage("the package's engine")
def engine(candidate):
    likely = "Your loop and `training.train` do the same."
    right = of_engine(None)
    expect_close(of_engine(candidate), right, "a small Transformer, AdamW, 5 steps", likely, 1e-3)


for stage, says, wrong in MISTAKES:
    task.mistake(stage, says)(wrong)

"""Lesson 04: the fine-tuning loop. The true steps are those of a linear model, in NumPy."""

from itertools import chain

import torch

from tlcourse.exercises.finetuning._loop_mistakes import MISTAKES
from tlcourse.exercises.finetuning._rows import HUGE, in_training_mode, trained, truth
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="4.4",
    title="The fine-tuning loop",
    difficulty=3,
    minutes=15,
    hints=(
        "before the loop: how many steps there will be, how many of them are the warm-up, and a "
        'list of the groups\' own learning rates, `[group["lr"] for group in '
        "optimizer.param_groups]`.",
        "two loops, `for epoch in range(epochs)` and `for batch in batches_of(epoch)`, and "
        "`step = len(losses)`, which runs on through the epochs.",
        "the factor is `(step + 1) / up` during the warm-up and `(steps - step) / (steps - up)` "
        'after it; `group["lr"] = highest * factor` for each group.',
        "the rest is lesson 03's: `nats, targets = loss(model, batch)`, "
        "`(nats / targets).backward()`, "
        "`torch.nn.utils.clip_grad_norm_(model.parameters(), clip)`, `optimizer.step()`, "
        "`optimizer.zero_grad()`, `losses.append(nats.item() / targets)`.",
    ),
    imports="import math\nimport torch\nfrom torch import nn\nfrom torch.nn import functional as F",
    builds_on=("pretraining.schedule", "pretraining.train"),
    trains=True,
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


@task.right
def by_scheduler(model, loss, batches_of, optimizer, epochs, warmup=0.1, clip=1.0):
    batches = list(chain.from_iterable(map(batches_of, range(epochs))))
    steps, losses = len(batches), []
    up = max(1, round(warmup * steps))

    def factor(step):
        return min((step + 1) / up, (steps - step) / max(1, steps - up))

    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    for batch in batches:
        optimizer.zero_grad()
        nats, targets = loss(model.train(), batch)
        mean = nats / targets
        mean.backward()
        torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm=clip)
        optimizer.step()
        scheduler.step()
        losses.append(float(mean.detach()))
    return losses


@task.right
def by_hand(model, loss, batches_of, optimizer, epochs, warmup=0.1, clip=1.0):
    flat = [batch for epoch in range(epochs) for batch in batches_of(epoch)]
    tops = [group["lr"] / optimizer.param_groups[0]["lr"] for group in optimizer.param_groups]
    first, losses = optimizer.param_groups[0]["lr"], []
    up = max(1, round(warmup * len(flat)))
    model.train()
    for step, batch in enumerate(flat):
        left = (len(flat) - step) / (len(flat) - up) if step >= up else (step + 1) / up
        for group, top in zip(optimizer.param_groups, tops, strict=True):
            group.update(lr=top * first * left)
        nats, targets = loss(model, batch)
        nats.backward()
        parameters = [each for each in model.parameters() if each.grad is not None]
        length = torch.stack([each.grad.square().sum() for each in parameters]).sum().sqrt()
        for each in parameters:
            each.grad.mul_(min(1.0 / targets, clip / max(length.item(), 1e-12)))
        optimizer.step()
        optimizer.zero_grad()
        losses.append(nats.item() / targets)
    return torch.tensor(losses)


def expect_steps(candidate, *setting, what, likely):
    task.observe(
        candidate, trained, *setting, gives=truth(*setting), tolerance=1e-4,
        what=f"{what}: the losses, then the 16 weights,", likely=likely,
    )  # fmt: skip


@task.stage("the losses")
def losses(candidate):
    likely = "Without a learning rate nothing moves: each is nats / targets of its batch."
    what = "one epoch of 3 steps, learning rates near 0"
    expect_steps(candidate, 1, 0.1, HUGE, (1e-9, 1e-9), what=what, likely=likely)


@task.stage("the learning rate")
def rates(candidate):
    likely = "Each group has its own highest learning rate, times the factor of the step."
    for warmup in (0.6, 0.1):
        what = f"one epoch of 3 steps, warmup={warmup}"
        expect_steps(candidate, 1, warmup, HUGE, what=what, likely=likely)


@task.stage("epoch after epoch")
def epochs(candidate):
    likely = "`batches_of(epoch)` for epoch 0, 1, …; the factor goes over all steps."
    for number, warmup in ((2, 0.1), (4, 0.45)):
        what = f"{number} epochs of 3 steps, warmup={warmup}"
        expect_steps(candidate, number, warmup, HUGE, what=what, likely=likely)


@task.stage("clipping")
def clipping(candidate):
    likely = "The length of all gradients together is at most `clip`; a shorter one stays."
    for clip in (0.9, 0.2):
        expect_steps(candidate, 2, 0.1, clip, what=f"2 epochs, clip={clip}", likely=likely)
    likely = "Without them `warmup` is 0.1 and `clip` is 1.0."
    for number in (2, 5):
        what = f"{number} epochs, no warmup, no clip given"
        expect_steps(candidate, number, None, None, what=what, likely=likely)


@task.stage("training mode")
def mode(candidate):
    task.observe(
        candidate, in_training_mode, gives=True,
        what="a model that came in evaluation mode: whether it is trained in training mode",
        likely="`model.train()` before the loop.",
    )  # fmt: skip


for stage, says, wrong in MISTAKES:
    task.mistake(stage, says)(wrong)

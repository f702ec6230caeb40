"""Help for the exercise on the fine-tuning loop: loops with one part done otherwise."""

import torch
from torch import nn


def factor_of(step, steps, up):
    """Warm-up, then linear decay."""
    return (step + 1) / up if step < up else (steps - step) / (steps - up)


def other(
    factor=factor_of, epoch_of=lambda epoch: epoch, restart=False, mode=True, clear=True,
    rate=lambda group, top, factor: top * factor, clipping=None, again=False,
    mean=lambda nats, targets, batch: nats / targets, keeps=lambda mean: mean.item(),
    gives=lambda losses: losses,
):  # fmt: skip
    """A loop with one of its parts done otherwise."""

    def function(model, loss, batches_of, optimizer, epochs, warmup=0.1, clip=1.0):
        per_epoch = len(batches_of(0))
        steps = per_epoch if restart else epochs * per_epoch
        up = max(1, round(warmup * steps))
        tops = [group["lr"] for group in optimizer.param_groups]
        losses = []
        model.train(mode)
        for epoch in range(epochs):
            for place, batch in enumerate(batches_of(epoch_of(epoch))):
                step = place if restart else epoch * per_epoch + place
                for group, top in zip(optimizer.param_groups, tops, strict=True):
                    group["lr"] = rate(group, tops[0] if again else top, factor(step, steps, up))
                found = mean(*loss(model, batch), batch)
                found.backward()
                parameters = list(model.parameters())
                (clipping or nn.utils.clip_grad_norm_)(parameters, clip)
                optimizer.step()
                if clear:
                    optimizer.zero_grad()
                losses.append(keeps(found))
        return gives(losses)

    return function


def each_alone(parameters, clip):
    for parameter in parameters:
        nn.utils.clip_grad_norm_([parameter], clip)


def always_one(parameters, clip):
    torch.nn.utils.clip_grad_norm_(parameters, 1.0)


LOSSES, RATE, EPOCHS, CLIP, MODE = (
    "the losses", "the learning rate", "epoch after epoch", "clipping", "training mode",
)  # fmt: skip
MISTAKES = [
    (LOSSES, "These are sums; a loss is nats / targets.",
     other(mean=lambda nats, targets, batch: nats)),
    (LOSSES, "Divide by the targets that `loss` counted, not by the rows of the batch.",
     other(mean=lambda nats, targets, batch: nats / len(batch[0]))),
    (LOSSES, "still holds its graph", other(keeps=lambda mean: mean)),
    (LOSSES, "expected 3 numbers, one for each", other(gives=lambda losses: losses[-1:])),
    (RATE, "The learning rate never changes: multiply each group's by the factor of the step.",
     other(rate=lambda group, top, factor: top)),
    (RATE, "The factor was multiplied onto what the step before had left: keep the highest rates.",
     other(rate=lambda group, top, factor: group["lr"] * factor)),
    (RATE, "Both groups got the learning rate of the first; each has a highest one of its own.",
     other(again=True)),
    (RATE, "It falls from the first step on: the warm-up is missing.",
     other(factor=lambda step, steps, up: (steps - step) / steps)),
    (RATE, "After the warm-up it stays where it is: it falls in equal parts to the last step.",
     other(factor=lambda step, steps, up: min(1.0, (step + 1) / up))),
    (RATE, "The first step has the factor 0: step 0 gets one part of the warm-up, not none.",
     other(factor=lambda step, steps, up:
           step / up if step < up else (steps - step) / (steps - up))),
    (RATE, "Gradients of earlier steps are still there: `optimizer.zero_grad()` in every step.",
     other(clear=False)),
    (EPOCHS, "Each epoch has the batches of epoch 0: `batches_of(epoch)`.",
     other(epoch_of=lambda epoch: 0)),
    (EPOCHS, "Warm-up and decay begin anew in each epoch; they go over all steps of all epochs.",
     other(restart=True)),
    (LOSSES, "Epochs count from 0.", other(epoch_of=lambda epoch: epoch + 1)),
    (CLIP, "Nothing was clipped.", other(clipping=lambda parameters, clip: None)),
    (CLIP, "Each parameter was clipped by itself; the length is that of all together.",
     other(clipping=each_alone)),
    (RATE, "It was clipped to 1, whatever `clip` is.", other(clipping=always_one)),
    (MODE, "The model was left in evaluation mode, where dropout is off: `model.train()`.",
     other(mode=False)),
]  # fmt: skip

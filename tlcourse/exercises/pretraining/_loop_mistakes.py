"""Help for the exercise on the training loop: loops with one part done otherwise."""

import torch
from torch import nn


def other(
    rate=None, number=lambda place, step: step, batch=None, groups=lambda all_: all_,
    mean=lambda nats, targets, rows: nats / targets, before=None, clipping=None, clear=True,
    keeps=lambda nats, targets, rows: nats.item() / targets, gives=lambda losses: losses,
):  # fmt: skip
    """A loop with one of its parts done otherwise."""

    def function(model, loss, batch_of, optimizer, learning_rate, steps, clip=1.0):
        losses = []
        for place, step in enumerate(steps):
            for group in groups(optimizer.param_groups):
                set_to = learning_rate(number(place, step))
                group["lr"] = set_to if rate is None else rate(group["lr"], set_to)
            found = batch_of(number(place, step) if batch is None else batch)
            rows = len(found[0])
            nats, targets = loss(model, found)
            mean(nats, targets, rows).backward()
            parameters = [p for p in model.parameters() if p.grad is not None]
            if clipping is None:
                nn.utils.clip_grad_norm_(parameters, clip)
            else:
                clipping(parameters, clip, targets)
            optimizer.step()
            if clear:
                optimizer.zero_grad()
            losses.append(keeps(nats, targets, rows))
        return gives(losses)

    return function


def each_alone(parameters, clip, targets):
    for parameter in parameters:
        nn.utils.clip_grad_norm_([parameter], clip)


def always_that_long(parameters, clip, targets):
    length = torch.stack([p.grad.square().sum() for p in parameters]).sum().sqrt()
    for parameter in parameters:
        parameter.grad *= clip / length


def before_dividing(parameters, clip, targets):
    nn.utils.clip_grad_norm_(parameters, clip)
    for parameter in parameters:
        parameter.grad /= targets


def sets_it_too_late(model, loss, batch_of, optimizer, learning_rate, steps, clip=1.0):
    steps = list(steps)

    def of_the_step_before(step):
        return learning_rate(steps[max(0, steps.index(step) - 1)])

    return other()(model, loss, batch_of, optimizer, of_the_step_before, steps, clip)


LOSSES, ONE, MANY, CLIP = "the losses", "one step", "step after step", "clipping"
MISTAKES = [
    (LOSSES, "These are sums; a loss is nats / targets.",
     other(keeps=lambda nats, targets, rows: nats.item())),
    (LOSSES, "Divide by the targets that `loss` counted, not by the rows of the batch.",
     other(keeps=lambda nats, targets, rows: nats.item() / rows)),
    (LOSSES, "expected 3 numbers, one for each", other(gives=lambda losses: losses[-1:])),
    (LOSSES, "still holds its graph", other(keeps=lambda nats, targets, rows: nats / targets)),
    (LOSSES, "All steps have the batch of step 0: `batch_of(step)`.", other(batch=0)),
    (ONE, "This is the gradient of the sum: divide by the number of targets.",
     other(mean=lambda nats, targets, rows: nats)),
    (ONE, "Divide by the targets that `loss` counted, not by the rows of the batch.",
     other(mean=lambda nats, targets, rows: nats / rows)),
    (LOSSES, "The optimizer has two groups of parameters; only the first got its learning rate.",
     other(groups=lambda groups: groups[:1])),
    (LOSSES, "The learning rate was never set: `group[\"lr\"] = learning_rate(step)`.",
     other(rate=lambda old, new: old)),
    (ONE, "The learning rate is set to `learning_rate(step)`, whatever it was before: no product.",
     other(rate=lambda old, new: old * new)),
    (MANY, "Gradients of earlier steps are still there: `optimizer.zero_grad()` in every step.",
     other(clear=False)),
    (MANY, "Steps were counted from 0; `steps` says which they are: step 4 has `batch_of(4)`.",
     other(number=lambda place, step: place)),
    (CLIP, "Nothing was clipped.", other(clipping=lambda *given: None)),
    (CLIP, "Each parameter was clipped by itself; the length is that of all together.",
     other(clipping=each_alone)),
    (CLIP, "Each number was clipped; it is the length of all together.",
     other(clipping=lambda p, clip, targets: nn.utils.clip_grad_value_(p, clip))),
    (ONE, "It was made `clip` long even where it is shorter: then it stays.",
     other(clipping=always_that_long)),
    (CLIP, "It was clipped first and divided by the number of targets afterwards.",
     other(mean=lambda nats, targets, rows: nats, clipping=before_dividing)),
    (ONE, "It was clipped to 1, whatever `clip` is.",
     other(clipping=lambda p, clip, targets: nn.utils.clip_grad_norm_(p, 1.0))),
    (MANY, "The learning rate is set after the step: each step moves with the one before.",
     sets_it_too_late),
]  # fmt: skip

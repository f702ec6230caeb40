"""What `accumulate` is measured with: a small model, a loss that watches, and the true slopes."""

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.expect import CheckFailed

IGNORED = -100  # the target of a row that has none


class Open(torch.autograd.Function):
    """Passes a loss on, and counts the graphs whose backward is still to come."""

    @staticmethod
    def forward(ctx, nats, seen):
        ctx.seen = seen
        seen["open"] += bool(nats.requires_grad or torch.is_grad_enabled())
        return nats.clone()

    @staticmethod
    def backward(ctx, upstream):
        ctx.seen["open"] -= 1
        return upstream, None


class Loss:
    """The summed cross-entropy and the number of targets, which may be less than that of rows."""

    def __init__(self):
        self.seen = {"open": 0}
        self.rows, self.together = [], 0

    def __call__(self, model, part):
        if len(part) != 3:
            raise CheckFailed(f"`loss` got {len(part)} tensors; expected a part of all 3 of the batch.")
        inputs, targets, other = part
        if not len(inputs) == len(targets) == len(other):
            raise CheckFailed("the tensors of a part differ in rows: cut each of them in the same way.")
        self.rows.append(len(inputs))
        nats = F.cross_entropy(model(inputs), targets, reduction="sum", ignore_index=IGNORED)
        if torch.is_grad_enabled():
            if not model.training:
                raise CheckFailed("you called `model.eval()`: a training step would have no dropout.")
            nats = Open.apply(nats, self.seen)
            self.together = max(self.together, self.seen["open"])
        return nats, int((targets != IGNORED).sum())


def model_and_batch(missing=(), rows=7):
    """A small model, and rows of which those numbered in `missing` have no target.

    The batch is inputs, targets and a tensor more, which the loss does not need.
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


def truth(missing=(), rows=7):
    """The mean loss and its slopes in a row, by small steps of each number to either side."""
    model, batch = model_and_batch(missing, rows)
    slopes = []

    @torch.no_grad()
    def mean():
        nats, targets = Loss()(model, batch)
        return nats.item() / targets

    for parameter in model.parameters():
        flat = parameter.data.view(-1)
        for place, value in enumerate(flat.tolist()):
            flat[place] = value + 1e-5
            above = mean()
            flat[place] = value - 1e-5
            slopes.append((above - mean()) / 2e-5)
            flat[place] = value
    return mean(), torch.tensor(slopes)

"""Help for the exercise on the fine-tuning loop: a linear classifier, and its true steps."""

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tlcourse.exercises.pretraining._line import numbers

HUGE = 1e6  # a `clip` that no gradient here reaches
FEATURES, LABELS = 3, 4
RATES = 0.4, 1.2  # the highest learning rates of the weight and of the bias


class Rows(nn.Module):
    """Logits from the mean of a text's "tokens", which are vectors here, with fixed weights."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(-1, 1, FEATURES * LABELS).reshape(FEATURES, -1))
        self.bias = nn.Parameter(torch.tensor([0.0, 0.5, -0.5, 0.1]))
        self.modes: list[bool] = []

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        self.modes.append(self.training)
        kept = tokens * mask[:, :, None]
        return kept.sum(1) / mask.sum(1, keepdim=True) @ self.weight + self.bias


def batches_of(epoch: int, count: int = 3) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Three batches of unequal size, others in each epoch."""
    drawn, found = torch.Generator().manual_seed(70 + epoch), []
    for size in (5, 3, 4)[:count]:
        mask = torch.arange(4) < torch.randint(1, 5, (size, 1), generator=drawn)
        tokens = 2 * torch.randn(size, 4, FEATURES, generator=drawn)
        found.append((tokens, mask, torch.randint(LABELS, (size,), generator=drawn)))
    return found


def nats_of(model: nn.Module, batch: tuple) -> tuple[Tensor, int]:
    """The sum of nats over the texts of a batch but the first, and how many that are."""
    tokens, mask, wanted = batch
    logits = model(tokens, mask)[1:]
    return F.cross_entropy(logits, wanted[1:], reduction="sum"), len(wanted) - 1


def trained(candidate, epochs, warmup, clip, rates=RATES):
    """The losses of all steps, and where the weights are then."""
    model = Rows().eval()
    groups = [
        {"params": [model.weight], "lr": rates[0]},
        {"params": [model.bias], "lr": rates[1]},
    ]
    more = () if warmup is None else (warmup, clip)
    got = candidate(model, nats_of, batches_of, torch.optim.SGD(groups), epochs, *more)
    losses = numbers(got, 3 * epochs)
    return [*losses, *model.weight.flatten().tolist(), *model.bias.tolist()]


def in_training_mode(candidate):
    """Whether all steps are taken in training mode."""
    model = Rows().eval()
    candidate(model, nats_of, batches_of, torch.optim.SGD(model.parameters(), lr=0.1), 1)
    return all(model.modes)


def truth(epochs, warmup, clip, rates=RATES):
    """What `trained` sees, in NumPy; the factors are counted out in two lists."""
    steps = 3 * epochs
    up = max(1, round(steps * (0.1 if warmup is None else warmup)))
    factors = [(k + 1) / up for k in range(up)]
    factors += [k / (steps - up) for k in range(steps - up, 0, -1)]
    at = np.linspace(-1, 1, FEATURES * LABELS).reshape(FEATURES, LABELS)
    bias, losses = np.array([0.0, 0.5, -0.5, 0.1]), []
    batches = [batch for epoch in range(epochs) for batch in batches_of(epoch)]
    for factor, batch in zip(factors, batches, strict=True):
        tokens, mask, wanted = (part.double().numpy()[1:] for part in batch)
        x = (tokens * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
        shares = np.exp(x @ at + bias)
        shares /= shares.sum(1, keepdims=True)
        picked = np.arange(len(x)), wanted.astype(int)
        losses.append(-np.log(shares[picked]).mean())
        shares[picked] -= 1
        slopes = x.T @ shares / len(x), shares.mean(0)
        length = math.sqrt(sum((slope**2).sum() for slope in slopes))
        short_by = min(1.0, (1.0 if clip is None else clip) / length)
        at = at - factor * rates[0] * short_by * slopes[0]
        bias = bias - factor * rates[1] * short_by * slopes[1]
    return [*losses, *at.flatten(), *bias]

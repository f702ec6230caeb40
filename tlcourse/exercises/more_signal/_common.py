"""What the losses of lessons 06 and 06b are checked with."""

import torch

from tlcourse.exercises.measures import loss
from tlcourse.exercises.variants import varying


def form(candidate, *arguments):
    """The shape of the loss; raises CheckFailed unless a gradient reaches the first argument."""
    return tuple(loss(candidate, *arguments).shape)


def two_logits(texts, labels, seed, size=2.0):
    """Random logits of this shape, twice."""
    draw = torch.Generator().manual_seed(varying(seed))
    return tuple(size * torch.randn(texts, labels, generator=draw) for _ in range(2))

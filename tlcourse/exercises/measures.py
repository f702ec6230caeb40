"""How answers of several topics are measured: what is compared with the truth.

A measure takes the candidate and a case's arguments. `expect.expect_unchanged`, which calls it, is
the default of every exercise.
"""

from collections.abc import Callable
from typing import Any

import torch

from tlcourse.exercises.expect import expect_loss, expect_unchanged


def loss(candidate: Callable, logits: torch.Tensor, *rest: Any) -> torch.Tensor:
    """The number that comes.

    Raises CheckFailed unless it is a tensor of one number whose gradient reaches `logits`.
    """
    asking = logits.clone().requires_grad_()
    got = expect_unchanged(candidate, asking, *rest)
    expect_loss(got, "the loss", asking)
    return got.detach().reshape(())


def gradient(candidate: Callable, logits: torch.Tensor, *rest: Any) -> torch.Tensor:
    """The gradient of the loss with respect to `logits`, of their shape."""
    asking = logits.clone().requires_grad_()
    return torch.autograd.grad(candidate(asking, *rest), asking)[0]


def gradient_of(truth: Callable) -> Callable:
    """The truth of `gradient`, from the truth of a loss: computed in double precision."""
    return lambda logits, *rest: gradient(truth, logits.double(), *rest)

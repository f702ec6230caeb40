"""Measures that exercises of several topics use: they return what is compared with the truth.

A measure takes the candidate and a case's arguments. The default is `expect.expect_unchanged`,
which calls the candidate.
"""

from collections.abc import Callable
from typing import Any

import torch

from tlcourse.exercises.expect import expect_loss, expect_unchanged


def loss(candidate: Callable, logits: torch.Tensor, *rest: Any) -> torch.Tensor:
    """The loss that the candidate returns, without gradient and of shape ().

    Raises CheckFailed unless it is a tensor with one number whose gradient reaches `logits`.
    """
    leaf = logits.clone().requires_grad_()
    got = expect_unchanged(candidate, leaf, *rest)
    expect_loss(got, "the loss", leaf)
    return got.detach().reshape(())


def gradient(candidate: Callable, logits: torch.Tensor, *rest: Any) -> torch.Tensor:
    """The gradient of the loss with respect to `logits`, of the same shape."""
    leaf = logits.clone().requires_grad_()
    return torch.autograd.grad(candidate(leaf, *rest), leaf)[0]


def gradient_of(truth: Callable) -> Callable:
    """The truth for `gradient`, computed in double precision from the truth of a loss."""
    return lambda logits, *rest: gradient(truth, logits.double(), *rest)

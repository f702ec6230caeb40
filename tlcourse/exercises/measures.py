"""Measures that exercises of several topics use: they return what is compared with the truth.

A measure takes the candidate and a case's arguments. The default is `expect.expect_unchanged`,
which calls the candidate.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from tlcourse.exercises.expect import (
    CheckFailed,
    argument_names,
    expect_equal,
    expect_loss,
    expect_type,
    expect_unchanged,
    inexact,
    short,
)
from tlcourse.exercises.task import Case, case


def loss(candidate: Callable, logits: torch.Tensor, *rest: Any) -> torch.Tensor:
    """The loss that the candidate returns, without gradient and of shape ().

    Raises CheckFailed unless it is a tensor with one number whose gradient reaches `logits`,
    by whatever name the candidate has for them.
    """
    leaf = logits.clone().requires_grad_()
    got = expect_unchanged(candidate, leaf, *rest)
    expect_loss(got, "the loss", leaf, *argument_names(candidate, 1))
    return got.detach().reshape(())


def gradient(candidate: Callable, logits: torch.Tensor, *rest: Any) -> torch.Tensor:
    """The gradient of the loss with respect to `logits`, of the same shape."""
    leaf = logits.clone().requires_grad_()
    return torch.autograd.grad(candidate(leaf, *rest), leaf)[0]


def gradient_of(truth: Callable) -> Callable:
    """The truth for `gradient`, computed in double precision from the truth of a loss."""
    return lambda logits, *rest: gradient(truth, logits.double(), *rest)


def integers(candidate: Callable, *given: Any) -> list:
    """The list of integers that the candidate returns; raises CheckFailed for anything else."""
    return _integers(expect_unchanged(candidate, *given), "what your function returns")


def _integers(got: Any, what: str) -> list:
    expect_type(got, list, what, "Return Python's lists, not tuples, arrays or tensors.")
    if inexact(got):
        why = "A number with a decimal point is no id and no index: return integers."
        raise CheckFailed(check=what, yours=short(got), expected="integers", why=why)
    return got


def list_by_list(names: tuple[str, ...], truth: Callable) -> Callable[..., list[Case]]:
    """For candidates that return several lists of integers, as their truth does.

    Returns a function that takes what `case` takes, and returns a case for each of the lists, so
    that a message shows only the first one that differs.
    """

    def cases(what: str, *given: Any, **options: Any) -> list[Case]:
        return [
            case(
                f"the {name} of {what}",
                *given,
                measure=partial(_one_list, names, place),
                expected=truth(*given)[place],
                **options,
            )
            for place, name in enumerate(names)
        ]

    return cases


def _one_list(names: tuple[str, ...], place: int, candidate: Callable, *given: Any) -> list:
    got = expect_unchanged(candidate, *given)
    why = f"Return {len(names)} lists: {', '.join(names)}."
    if not isinstance(got, list):
        expect_type(got, tuple, "what your function returns", why)
    expect_equal(len(got), len(names), "the number of lists that your function returns", why)
    return _integers(got[place], f"the {names[place]} that your function returns")

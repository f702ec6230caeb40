"""What the exercises of lesson 10b share: calls with functions."""

import functools
from collections.abc import Callable
from typing import Any

import torch

from tlcourse.exercises.expect import expect_unchanged
from tlcourse.exercises.objectives._common import Words


def _words(value: Any) -> Any:
    """A function or a list of functions in words; a tensor stays what it is."""
    if isinstance(value, list):
        return Words(f"{len(value)} functions")
    return value if isinstance(value, torch.Tensor) else Words("a function")


def with_functions(candidate: Callable, *given: Any) -> Any:
    """Returns `candidate(*given)`; raises CheckFailed if it changed a tensor of `given`.

    `given` are tensors, functions and lists of functions. Errors name the arguments as the
    candidate does, and describe functions in words.
    """

    @functools.wraps(candidate)
    def answer(*_: Any) -> Any:
        return candidate(*given)

    return expect_unchanged(answer, *map(_words, given))

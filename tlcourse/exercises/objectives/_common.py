"""What the exercises of lesson 10 share: calls with a model, and what a tensor holds."""

import functools
from collections.abc import Callable
from typing import Any

import torch

from tlcourse.exercises.expect import expect_unchanged


class Words(str):
    """A text whose repr has no quotes, so that a message can describe an argument in words."""

    __repr__ = str.__str__


def with_model(candidate: Callable, model: Callable, *given: Any) -> Any:
    """Returns `candidate(model, *given)`; raises CheckFailed if it changed one of `given`.

    Errors name the arguments as the candidate does, and call the model "a model".
    """

    @functools.wraps(candidate)
    def answer(_: str, *rest: Any) -> Any:
        return candidate(model, *rest)

    return expect_unchanged(answer, Words("a model"), *given)


def kind(got: Any) -> tuple:
    """What a tensor holds, and its shape, such as ("integers", 3); the type of any other value."""
    if not isinstance(got, torch.Tensor):
        return ("None (is a `return` missing?)" if got is None else type(got).__name__,)
    numbers = "floats" if got.is_floating_point() else "integers"
    return "booleans" if got.dtype == torch.bool else numbers, *got.shape

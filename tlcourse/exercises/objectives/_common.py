"""What the exercises of lesson 10 share: calls with a model, and what a tensor holds."""

import functools
from collections.abc import Callable
from typing import Any

import torch

from tlcourse.exercises.expect import expect_unchanged

KINDS = {torch.bool: "booleans", torch.int64: "ids", torch.int32: "ids"}


def with_model(candidate: Callable, model: Callable, *given: Any) -> Any:
    """Returns `candidate(model, *given)`; raises CheckFailed if it changed one of `given`.

    Errors name the arguments as the candidate does, and call the model "a model".
    """

    @functools.wraps(candidate)
    def answer(_: str, *rest: Any) -> Any:
        return candidate(model, *rest)

    return expect_unchanged(answer, "a model", *given)


def kind(got: Any) -> tuple:
    """What a tensor holds, and its shape, such as ("ids", 2, 9); the type of any other value."""
    if not isinstance(got, torch.Tensor):
        return (type(got).__name__,)
    return KINDS.get(got.dtype, str(got.dtype)), *got.shape

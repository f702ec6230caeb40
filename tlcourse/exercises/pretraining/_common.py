"""Helpers of lessons 03 to 04b: each takes what an answer returned and checks its kind."""

from typing import Any

from torch import Tensor

from tlcourse.exercises.expect import CheckFailed, real_number, short


def told(got: Any) -> str:
    """The value as a short text, with a question if it is None."""
    return "None (is a `return` missing?)" if got is None else short(got)


def several(got: Any, *names: str) -> tuple:
    """The returned values as a tuple; raises CheckFailed unless there is one for each name."""
    if not isinstance(got, tuple | list) or len(got) != len(names):
        expected = f"{len(names)} values, `return {', '.join(names)}`"
        raise CheckFailed(check="what your function returns", yours=told(got), expected=expected)
    return tuple(got)


def number(got: Any, what: str) -> float:
    """The returned number as a float; raises CheckFailed if it is not a number."""
    value = real_number(got)
    if value is None:
        raise CheckFailed(check=what, yours=told(got), expected="one number")
    return value


def losses(got: Any, count: int) -> list[float]:
    """The losses of `count` steps as floats; raises CheckFailed unless they are plain numbers."""
    found = list(got) if isinstance(got, list | tuple) or getattr(got, "ndim", 0) == 1 else []
    due = f"a list of {count} numbers, one loss for each step"
    yours, why = told(got), ""
    if any(getattr(each, "requires_grad", False) for each in found):
        yours = "tensors with their graphs"
        why = "A graph keeps the memory of its step: append `nats.item() / targets`."
    elif len(found) == count and None not in map(real_number, found):
        return [float(each) for each in found]
    raise CheckFailed(check="what your function returns", yours=yours, expected=due, why=why)


def shapes_of(*values: Any) -> list:
    """The shape of each tensor, and the name of the type of any other value."""
    return [tuple(v.shape) if isinstance(v, Tensor) else type(v).__name__ for v in values]

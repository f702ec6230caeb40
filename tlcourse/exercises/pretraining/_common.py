"""What answers to the exercises of lessons 03 and 03b gave back, of the right kind, or told."""

from typing import Any

from torch import Tensor

from tlcourse.exercises.expect import CheckFailed, real_number, short


def told(got: Any) -> str:
    """The value, in a few words."""
    return "None (is a `return` missing?)" if got is None else short(got)


def several(got: Any, *names: str) -> tuple:
    """The values that came back; raises CheckFailed unless there is one for each name."""
    if not isinstance(got, tuple | list) or len(got) != len(names):
        expected = f"{len(names)} values, `return {', '.join(names)}`"
        raise CheckFailed(check="what is returned", yours=told(got), expected=expected)
    return tuple(got)


def number(got: Any, what: str) -> float:
    """The number that came back; raises CheckFailed where it is none."""
    value = real_number(got)
    if value is None:
        raise CheckFailed(check=what, yours=told(got), expected="one number")
    return value


def numbers(got: Any, count: int) -> list[float]:
    """The losses of so many steps as numbers; raises CheckFailed where they are none."""
    what = f"the losses of {count} steps"
    if isinstance(got, Tensor) and not got.requires_grad and got.dim() == 1:
        got = got.tolist()
    if not isinstance(got, list | tuple):
        raise CheckFailed(check=what, yours=told(got), expected="a list with the loss of each step")
    if any(getattr(each, "requires_grad", False) for each in got):
        raise CheckFailed(
            check=what,
            yours="tensors that still hold their graphs, and with them the memory of each step",
            expected="numbers",
            why="Keep `nats.item() / targets`.",
        )
    found = [real_number(each) for each in got]
    if len(found) != count or None in found:
        why = "There is one number for each step."
        raise CheckFailed(check=what, yours=short(got), expected=f"{count} numbers", why=why)
    return found


def shapes_of(*values: Any) -> list:
    """The shape of each tensor; of what is none, its type."""
    return [tuple(v.shape) if isinstance(v, Tensor) else type(v).__name__ for v in values]

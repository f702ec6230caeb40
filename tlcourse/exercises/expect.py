"""What the checks of an exercise compare with; each helper raises `CheckFailed`."""

import copy
import inspect
from collections.abc import Callable, Mapping
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from tlcourse.wording import article

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
CALLED = "Your code, called with"  # begins the note of an error: with which arguments


class CheckFailed(Exception):
    """Raised by a check that an answer does not pass; carries what the learner is told.

    Either one `message`, or up to four parts: what was checked, what the answer gave (`yours`),
    what was `expected`, and `why`: a whole sentence on the likely mistake, where one is known.
    """

    def __init__(
        self, message: str = "", *, check: str = "", yours: str = "", expected: str = "",
        why: str = "",
    ) -> None:  # fmt: skip
        super().__init__(message, check, yours, expected, why)
        self.message, self.why = message, why
        self.parts = {"Check": check, "Yours": yours, "Expected": expected, "Why": why}

    def __str__(self) -> str:
        lines = [
            f"{name}: {_sentence(part) if name == 'Check' else part}"
            for name, part in self.parts.items()
            if part
        ]
        return "\n".join(filter(None, [self.message, *lines]))


def _sentence(part: str) -> str:
    """`part` with a capital letter, unless it begins with code, and a full stop."""
    text = part.strip().rstrip(",")
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else f"{text}."


def short(value: Any, limit: int = 120) -> str:
    """`repr(value)` on one line, cut after `limit` characters; never raises."""
    try:
        text = " ".join(repr(value).split())
    except Exception as error:
        text = f"<a {type(value).__name__} whose repr raises {type(error).__name__}>"
    return text if len(text) <= limit else text[: limit - 1] + "…"


def real_number(value: Any) -> float | None:
    """A number, or a tensor or array of one, as a float; None for all else (text, complex)."""
    try:
        value = value.item() if hasattr(value, "item") else value
    except (TypeError, ValueError, RuntimeError):  # more than one number
        return None
    return float(value) if isinstance(value, Real | Decimal) else None


def _array(value: Any) -> np.ndarray:
    """A tensor (any device, any precision), array, number or nested list as a numpy array."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.double().numpy() if value.is_floating_point() else value.numpy()
    return np.asarray(value)


def _same(got: Any, expected: Any) -> bool:
    if hasattr(got, "shape") or hasattr(expected, "shape"):
        if not (hasattr(got, "shape") and hasattr(expected, "shape")):
            return False
        return np.array_equal(_array(got), _array(expected))
    try:
        return bool(got == expected)
    except Exception:
        return False


def inexact(value: Any) -> bool:
    """Whether a value has fractions: a float, an array of them, or a list that holds one."""
    if hasattr(value, "is_floating_point"):
        return value.is_floating_point()
    if isinstance(value, list | tuple):
        return any(map(inexact, value)) and not any(isinstance(each, str) for each in value)
    return isinstance(value, float) or getattr(getattr(value, "dtype", None), "kind", "") == "f"


def agree(got: Any, expected: Any, tolerance: float | None) -> bool:
    """Whether `expect_equal`, or `expect_close` where there is a tolerance, would be content."""
    if tolerance is None:
        return _same(got, expected)
    try:
        expect_close(got, expected, "", "", tolerance)
    except (CheckFailed, TypeError, ValueError):  # the two others: `expected` is no number
        return False
    return True


def expect_equal(got: Any, expected: Any, what: str, likely: str = "") -> None:
    """Raises CheckFailed unless both are equal.

    Tensors and arrays are equal when shapes and all values are; a list never equals a tuple.
    """
    if not _same(got, expected):
        came, due = _apart(got, expected)
        came = came if type(got) is type(expected) else f"{came} ({_kind(got)})"
        came = _kind(got) if got is None else came
        raise CheckFailed(check=what, yours=came, expected=due, why=likely)


def _apart(got: Any, expected: Any) -> tuple[str, str]:
    """Both values in short; for lists that look alike when cut, what differs first."""
    texts = short(got), short(expected)
    if texts[0] != texts[1] or not (isinstance(got, list) and isinstance(expected, list)):
        return texts
    for place, (one, other) in enumerate(zip(got, expected, strict=False)):
        if not _same(one, other):
            return f"{short(one)} at [{place}]", short(other)
    return f"{len(got)} entries", f"{len(expected)} entries"


def expect_type(got: Any, kind: type, what: str, likely: str = "") -> None:
    """Raises CheckFailed unless `got` is an instance of `kind`."""
    if not isinstance(got, kind):
        came = _kind(got) if got is None else f"{short(got)}, {_kind(got)}"
        raise CheckFailed(check=what, yours=came, expected=article(kind.__name__), why=likely)


def _kind(got: Any) -> str:
    return "None (is a `return` missing?)" if got is None else article(type(got).__name__)


def expect_shape(got: Any, shape: tuple[int, ...], what: str, likely: str = "") -> None:
    """Raises CheckFailed unless `got` is a tensor of exactly `shape`; `likely` is for another."""
    if not hasattr(got, "shape"):
        due = f"a tensor of shape {tuple(shape)}"
        raise CheckFailed(check=what, yours=_kind(got), expected=due)
    if tuple(got.shape) != tuple(shape):
        came = f"a tensor of shape {tuple(got.shape)}"
        raise CheckFailed(check=what, yours=came, expected=f"shape {tuple(shape)}", why=likely)
    if not hasattr(got, "detach"):
        why = "Use PyTorch throughout."
        raise CheckFailed(check=what, yours="a NumPy array", expected="a tensor", why=why)


def expect_close(
    got: Any, expected: Any, what: str, likely: str = "", tolerance: float = 1e-5
) -> None:
    """Raises CheckFailed unless shapes are equal and no value is further off than `tolerance`.

    Takes tensors, arrays, numbers and nested lists. `tolerance` is absolute for values up to 1
    and relative above. The message names the worst position, or NaN.
    """
    right = _array(expected).astype(float)
    if got is None:
        raise CheckFailed(check=what, yours=_kind(got), expected=short(expected), why=likely)
    try:
        values = _array(got)
        if values.dtype.kind in "SU":
            raise TypeError("a text is no number, whatever it spells")
        values = values.astype(float)
    except (TypeError, ValueError):
        raise CheckFailed(
            check=what, yours=short(got), expected=short(expected), why=likely
        ) from None
    if values.shape != right.shape:
        came, due = f"shape {values.shape}", f"shape {right.shape}"
        raise CheckFailed(check=what, yours=came, expected=due, why=likely)
    if np.isnan(values).any() and not np.isnan(right).any():
        raise CheckFailed(check=what, yours="NaN (not a number)", expected="numbers", why=likely)
    close = np.isclose(values, right, rtol=tolerance, atol=tolerance, equal_nan=True)
    if close.all():
        return
    with np.errstate(invalid="ignore"):
        off = np.where(close, -1.0, np.nan_to_num(np.abs(values - right), nan=np.inf))
    worst = np.unravel_index(int(off.argmax()), off.shape)
    place = f" at [{', '.join(str(i) for i in worst)}]" if worst else ""
    came, due = _told_apart(values[worst], right[worst])
    raise CheckFailed(check=what, yours=f"{came}{place}", expected=due, why=likely)


def _told_apart(one: float, other: float) -> tuple[str, str]:
    """Two numbers in 6 digits, or in as many as it takes for them to look different."""
    for digits in (6, 9, 12, 17):
        texts = f"{one:.{digits}g}", f"{other:.{digits}g}"
        if texts[0] != texts[1]:
            break
    return texts


def expect_loss(got: Any, what: str, logits: Any, name: str = "logits") -> None:
    """Raises CheckFailed unless `got` is one number, a tensor, whose gradient reaches `logits`.

    `logits` must require a gradient, and get one. `name` is what the learner calls them.
    """
    likely = "One number for the whole batch, a tensor."
    if not hasattr(got, "shape"):
        raise CheckFailed(check=what, yours=_kind(got), expected="a tensor", why=likely)
    if np.size(_array(got)) != 1:
        expect_shape(got, (), what, likely)
    flows = getattr(got, "requires_grad", False)
    if flows:
        got.backward(retain_graph=True)
    if not flows or logits.grad is None:
        fault = f"whose gradient does not reach `{name}`" if flows else "which carries no gradient"
        raise CheckFailed(
            check=what, yours=f"{short(got)}, {fault}",
            expected=f"a tensor from which gradients flow back to `{name}`",
            why="Leave out `.item()`, `.detach()`, NumPy and comparisons.",
        )  # fmt: skip


def expect_gradients(got: Any, asking: Mapping[str, Any]) -> None:
    """Raises CheckFailed unless the gradient of the tensor `got` reaches each of the named ones."""
    if got.requires_grad:
        got.sum().backward()
    for name, part in asking.items():
        if part.grad is None:
            raise CheckFailed(
                check=f"the gradient that reaches `{name}`", yours="none, though all numbers agree",
                expected="a gradient, because nothing is learned without one",
                why="Leave out `no_grad`, `.detach()` and NumPy.",
            )  # fmt: skip


def defaults(function: Callable, due: Mapping[str, Any]) -> dict[str, Any]:
    """What these arguments are where nothing is given, by name; one that has no name is as due."""
    there = inspect.signature(function).parameters
    found = {name: there[name].default if name in there else each for name, each in due.items()}
    missing = inspect.Parameter.empty
    return {name: "missing" if each is missing else each for name, each in found.items()}


def expect_unchanged(function: Callable, *arguments: Any) -> Any:
    """Calls `function(*arguments)` and returns its result.

    Raises CheckFailed if it changed an argument.

    Arguments are lists, dicts, tensors and whatever else `copy.deepcopy` copies. An exception of
    `function` gets a note that says what it was called with.
    """
    before = copy.deepcopy(arguments)
    names = argument_names(function, len(arguments))
    try:
        result = function(*arguments)
    except Exception as error:
        given = ", ".join(map(_given, names, before))
        error.add_note(f"{CALLED} {given}")
        raise
    for number, (name, old, new) in enumerate(zip(names, before, arguments, strict=True), start=1):
        if not _same(new, old):
            how = "" if hasattr(old, "shape") else f" from {short(old)} to {short(new)}"
            raise CheckFailed(
                check=f"argument {number}, `{name}`, after the call", yours=f"changed{how}",
                expected="unchanged", why="Build a new value instead of changing the argument.",
            )  # fmt: skip
    return result


def argument_names(function: Callable, count: int) -> list[str]:
    """What `function` calls its first `count` arguments; a number for each that has no name."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    named = [each.name for each in parameters if each.kind in POSITIONAL][:count]
    return named + [f"number {place + 1}" for place in range(len(named), count)]


def _given(name: str, value: Any) -> str:
    """An argument in a few words: the shape of a tensor or array, the value of all else."""
    if hasattr(value, "shape"):
        return f"{name} of shape {tuple(value.shape)}"
    return f"{name} = {short(value, 60)}"

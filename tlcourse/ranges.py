"""Numbers in a range: what a setting may be, in Python as on a command line."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import Any


@dataclass(frozen=True)
class Number:
    """An `int` or a `float` in a range; what is a whole number may stand for a `float`."""

    kind: Callable[[str], float] = float
    least: float | None = None
    above: float | None = None
    most: float | None = None

    def holds(self, value: Any) -> bool:
        """Whether it is such a number: a finite one, of Python or NumPy, and no bool."""
        wanted = Integral if self.kind is int else Real
        number: Any = value
        return (
            isinstance(value, wanted)
            and not isinstance(value, bool)
            and -math.inf < number < math.inf
            and (self.least is None or number >= self.least)
            and (self.above is None or number > self.above)
            and (self.most is None or number <= self.most)
        )

    @property
    def words(self) -> str:
        """What is expected, in words."""
        return f"{'a whole number' if self.kind is int else 'a number'} {self}"

    def __str__(self) -> str:
        limits = {"at least": self.least, "above": self.above, "at most": self.most}
        return ", ".join(f"{how} {at}" for how, at in limits.items() if at is not None)


COUNT = Number(int, least=1)
WHOLE = Number(int, least=0)
POSITIVE = Number(above=0)
NOT_NEGATIVE = Number(least=0)
SHARE = Number(least=0, most=1)
SEED = Number(int, least=0, most=2**63 - 1)


def setting(default: Any, allowed: Number, help: str) -> Any:
    """Returns a field of a dataclass that says what it may be and, for `--help`, what it does."""
    return field(default=default, metadata={"allowed": allowed, "help": help})


def check(settings: Any, **allowed: Number) -> None:
    """Checks fields of a frozen dataclass in its `__post_init__`; NumPy's numbers become Python's.

    Of a `setting` the range is known; `allowed` has those of other fields. A field that is None by
    default, or whose type says so, may be None. Raises ValueError that names the field.
    """
    may_be_none = {f.name for f in fields(settings) if f.default is None or "None" in str(f.type)}
    known = {f.name: f.metadata["allowed"] for f in fields(settings) if f.metadata}
    for name, number in (known | allowed).items():
        value = getattr(settings, name)
        if value is None and name in may_be_none:
            continue
        if not number.holds(value):
            raise ValueError(f"{name}: expected {number.words}, got {value!r}")
        plain = int(value) if isinstance(value, Integral) else float(value)
        object.__setattr__(settings, name, plain)

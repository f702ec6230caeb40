"""Knobs are values: a knob is a frozen dataclass that can be called, printed, compared and kept.

A knob is saved as its name and its fields, which are plain: numbers, strings, tuples and other
knobs. On loading, the name is looked up in a table; nothing is imported by name or executed.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from numbers import Integral, Real
from typing import Any, Protocol, Self, cast

from torch import Tensor, nn

from tlcourse.bpe import Frame
from tlcourse.checkpoints import Body

HOW = (
    "write it as a class whose settings are its fields: @dataclass(frozen=True), then class "
    "MyKnob: with def __call__(self, ...)"
)


class Adaptable(Protocol):
    """What a knob may rely on in the classifier that it is called with."""

    body: Body
    mix: nn.Module | None
    head: Any  # a linear layer before the first edit
    dropout: nn.Dropout
    scheme: Any
    added: tuple[str, ...]

    @property
    def frame(self) -> Frame: ...

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]: ...

    def modules(self) -> Iterator[nn.Module]: ...

    def copy(self) -> Self: ...


class Tensors(Mapping[str, Tensor]):
    """Tensors by name inside a knob; two are equal if their names and values are.

    Of a saved knob only the digest is loaded: it compares and prints as before, but taking a tensor
    out of it raises ValueError.
    """

    def __init__(self, tensors: Mapping[str, Tensor] | None, digest: str = ""):
        self._tensors = None if tensors is None else dict(tensors)
        self.digest = digest or _digest(self._tensors or {})

    def __getitem__(self, name: str) -> Tensor:
        return self._there()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._there())

    def __len__(self) -> int:
        return len(self._there())

    def _there(self) -> dict[str, Tensor]:
        if self._tensors is None:
            raise ValueError(
                f"expected the tensors {self.digest}, but a saved classifier keeps their digest "
                "alone; compute them again"
            )
        return self._tensors

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tensors) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Tensors({self.digest})"


def _digest(tensors: Mapping[str, Tensor]) -> str:
    total = hashlib.sha256()
    for name in sorted(tensors):
        numbers = tensors[name].detach().float().cpu().contiguous().numpy()
        total.update(f"{name} {numbers.shape} ".encode())
        total.update(numbers.astype("<f4").tobytes())
    return total.hexdigest()[:16]


@dataclass(frozen=True)
class Record:
    """The name and the fields of a saved knob whose class is unknown. It cannot be called."""

    knob: str
    fields: tuple[tuple[str, Any], ...]

    def __call__(self, *_: Any) -> None:
        raise ValueError(f"expected the class {self.knob}; load with `knobs=[{self.knob}]`")

    def __repr__(self) -> str:
        return f"{self.knob}({', '.join(f'{name}={value!r}' for name, value in self.fields)})"


def to_plain(value: Any, known: Mapping[str, type]) -> Any:
    """Returns a knob as JSON can hold it. `known` are the package's knobs by name.

    Raises ValueError for a plain function, a class that is not a frozen dataclass, a field that is
    not plain, and another class with a name in `known`; the message says how to make it a value.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Integral | Real):  # a number of NumPy
        return int(value) if isinstance(value, Integral) else float(value)
    if isinstance(value, Tensors):
        return {"tensors": value.digest}
    if isinstance(value, Record):
        return {"knob": value.knob} | {name: to_plain(field, known) for name, field in value.fields}
    if isinstance(value, tuple):
        return [to_plain(item, known) for item in value]
    if isinstance(value, list):
        raise ValueError(f"expected a tuple to save, got the list {short(value)}, which can change")
    name = _savable_name(value, known)
    return {"knob": name} | {f.name: to_plain(getattr(value, f.name), known) for f in fields(value)}


def _savable_name(value: Any, known: Mapping[str, type]) -> str:
    """Returns the name of a knob's class; raises ValueError, see `to_plain`."""
    name = getattr(value, "__qualname__", type(value).__name__).split(".")[-1]
    if not is_dataclass(value) or isinstance(value, type):
        raise ValueError(f"expected a knob that is a value to save, got {name}; {HOW}")
    if not cast(Any, value).__dataclass_params__.frozen:
        raise ValueError(f"expected @dataclass(frozen=True) over {name}: a value does not change")
    if known.get(name, type(value)) is not type(value):
        raise ValueError(f"expected another name than {name}, which the package uses for a knob")
    if any(field.name == "knob" for field in fields(value)):
        raise ValueError(f"expected fields of {name} to have other names than knob; rename it")
    return name


def from_plain(kept: Any, known: Mapping[str, type]) -> Any:
    """Returns the value of which `to_plain` made `kept`; a `Record` for a knob not in `known`.

    Raises ValueError if the fields are not those of the knob.
    """
    if isinstance(kept, list):
        return tuple(from_plain(item, known) for item in kept)
    if not isinstance(kept, dict):
        return kept
    if set(kept) == {"tensors"}:
        return Tensors(None, kept["tensors"])
    values = {name: from_plain(item, known) for name, item in kept.items() if name != "knob"}
    name: Any = kept.get("knob")
    if name not in known:
        return Record(str(name), tuple(values.items()))
    try:
        return known[name](**values)
    except TypeError as error:
        raise ValueError(
            f"expected the fields {[f.name for f in fields(known[name])]} of {name}, "
            f"got {sorted(values)} ({error}); was it written by another version?"
        ) from None


def by_name(knobs: Iterable[type], known: Mapping[str, type]) -> dict[str, type]:
    """Returns `known` and further classes by name; raises ValueError for a name in `known`."""
    own = list(knobs) if isinstance(knobs, Iterable) else [knobs]
    if isinstance(knobs, type) or not all(isinstance(knob, type) for knob in own):
        raise ValueError(f"expected knobs= as a list of classes: [MyKnob], got {short(knobs)}")
    more = {knob.__name__: knob for knob in own}
    for name, knob in more.items():
        if known.get(name, knob) is not knob:
            raise ValueError(
                f"expected another name than {name}, which the package uses for a knob"
            )
    return {**known, **more}


def own_classes(value: Any, known: Mapping[str, type]) -> list[type]:
    """Returns the classes, except those in `known`, of a knob and of the knobs inside it."""
    parts: Iterable[Any] = value if isinstance(value, tuple) else ()
    own: list[type] = []
    if is_dataclass(value) and not isinstance(value, Record):
        parts = [getattr(value, field.name) for field in fields(value)]
        own = [] if type(value) in known.values() else [type(value)]
    return own + [inner for part in parts for inner in own_classes(part, known)]


def check_choice(name: str, value: Any) -> None:
    """Raises ValueError if the value given for a knob cannot be called."""
    if not callable(value):
        raise ValueError(f"the knob `{name}` is {short(value)}; expected a function or a value")


def short(value: Any) -> str:
    """Returns the representation of a value, in at most 80 characters."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:79] + "…"

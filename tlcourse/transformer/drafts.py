"""Models on the meta device: tensors with names and shapes but without values."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


@contextlib.contextmanager
def shapes_alone() -> Iterator[None]:
    """A context in which new modules have names and shapes only: nothing is allocated or drawn."""
    with torch.device("meta"), _Undrawn():
        yield


class _Undrawn(TorchFunctionMode):
    """Skips the functions that draw weights, for which PyTorch imports much on the meta device."""

    def __torch_function__(
        self, function: Callable, types: Any, arguments: tuple = (), named: dict | None = None
    ) -> Any:
        named = named or {}
        if function.__name__ in ("normal_", "uniform_", "kaiming_uniform_"):
            return arguments[0] if arguments else named["tensor"]
        return function(*arguments, **named)

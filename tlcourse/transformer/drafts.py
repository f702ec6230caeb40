"""Models without numbers: names and shapes of tensors, for which nothing is allocated."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


@contextlib.contextmanager
def shapes_alone() -> Iterator[None]:
    """Modules made inside have names and shapes, and no numbers: nothing is allocated or drawn."""
    with torch.device("meta"), _Undrawn():
        yield


class _Undrawn(TorchFunctionMode):
    """Leaves out what draws weights, for which PyTorch would import much on the meta device."""

    def __torch_function__(
        self, function: Callable, types: Any, arguments: tuple = (), named: dict | None = None
    ) -> Any:
        named = named or {}
        if function.__name__ in ("normal_", "uniform_", "kaiming_uniform_"):
            return arguments[0] if arguments else named["tensor"]
        return function(*arguments, **named)

"""Seconds; imports no library, so that a process that only waits and answers is there at once."""

import sys
import time
from collections.abc import Callable
from typing import Any


def timed(
    work: Callable[[], Any], clock: Callable[[], float] = time.perf_counter
) -> tuple[Any, float]:
    """What `work` gives, and the seconds it took; a GPU in use has to be done with it."""
    _synchronize()
    began = clock()
    found = work()
    _synchronize()
    return found, clock() - began


def _synchronize() -> None:
    torch = sys.modules.get("torch")  # where nobody has imported it, no GPU is in use
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()

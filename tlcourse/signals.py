"""Ctrl-C, SIGTERM and a closed terminal: a command ends in one line, a training after its step.

    signals.begin()                        # first of all in a process that is one command
    with signals.Stoppable() as command:   # a signal raises Stop, so that `with` and `finally` work
        command.status = work()
        signals.check()                    # raises a Stop that a library has swallowed

    with signals.Held() as held:           # a signal waits for the end of the block
        ...                                # held.asked: one came

Both work by nesting: the inner block's handlers replace the outer ones and are put back at its end.
"""

import atexit
import contextlib
import os
import signal
import sys
import time
from collections.abc import Sequence
from typing import Any, Self

PATIENCE = 3.0  # seconds in which a command takes further signals for one and the same
NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
EARLY = "stopped before it began; nothing was changed"
AT_ONCE = "stopped at once; what was being written may be left as a file that ends in .part"
_commands: list["Stoppable"] = []  # the blocks that are entered, the innermost last


class Stop(KeyboardInterrupt):
    """A signal came."""


class Stoppable:
    """A command: inside the block a signal raises Stop; `number` says which came, None if none did.

    Further ones are ignored for PATIENCE seconds, so that the command can tidy up; after that, one
    ends the process. In a process that called `begin`, a signal after the block ends it silently
    with `status`; elsewhere, as in a notebook, the handlers are put back. Outside the main thread,
    which gets all signals, nothing happens.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self.status = 0
        self.late = self.ended = False
        self._at = 0.0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Stoppable":
        self._hooks = sys.unraisablehook, sys.excepthook
        sys.unraisablehook, sys.excepthook = self._unraisable, self._uncaught
        _commands.append(self)
        self._before = _listen(self._hear, _of_a_command())
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        self.ended = True
        if kind is not None and kind is not SystemExit:
            self.status = 1
        if _too_early not in self._before.values():
            _restore(self._before)
        _commands.remove(self)
        sys.unraisablehook, sys.excepthook = self._hooks

    def _hear(self, number: int, frame: object) -> None:
        if self.ended:
            _leave(self.status)
        elif self.number is None:
            self.number, self._at = number, time.monotonic()
            # A KeyboardInterrupt on its way out is the command's end already.
            if not (self.late or isinstance(sys.exc_info()[1], KeyboardInterrupt)):
                raise Stop
        elif time.monotonic() - self._at > PATIENCE:
            _write(AT_ONCE)
            _leave(128 + number)

    def _unraisable(self, found: "sys.UnraisableHookArgs") -> None:
        """Python cannot raise from a `__del__` or a callback: `check` does it later."""
        if not isinstance(found.exc_value, Stop):
            self._hooks[0](found)

    def _uncaught(self, *found: Any) -> None:
        """C code prints an exception that it replaces by another; ours is reported at the end."""
        if self.number is None:
            self._hooks[1](*found)


class Held:
    """Inside the block a first signal only sets `asked`; a second one raises KeyboardInterrupt.

    So what has begun can end, and its state can be saved. At the end the signal goes to the handler
    outside, or raises KeyboardInterrupt where there is none. Outside the main thread, which gets
    all signals, nothing happens.
    """

    asked = False

    def __enter__(self) -> Self:
        self._number, self._before = 0, _listen(self._note)
        return self

    def _note(self, number: int, frame: object) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked, self._number = True, number

    def __exit__(self, kind: type | None, error: BaseException | None, trace: object) -> None:
        _restore(self._before)
        if self.asked:
            outside = self._before.get(self._number)
            if callable(outside):
                outside(self._number, None)
            if not isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt from error


def check() -> None:
    """Raises Stop if a signal came: a library's callback, or Python, may have swallowed the first.

    To be called where a command goes from one stage to the next.
    """
    if _commands and _commands[-1].number is not None and not _commands[-1].late:
        raise Stop


def too_late() -> None:
    """From here on a signal stops nothing: what is left to do is quick, and it is done whole."""
    check()
    if _commands:
        _commands[-1].late = True


def begin() -> None:
    """Listens to signals from now on, so that none prints a traceback.

    For a process that is one command.
    """
    _listen(_too_early, _of_a_command())
    atexit.register(_listen, signal.SIG_IGN, _of_a_command())  # registered first, so called last


def _too_early(number: int, frame: object) -> None:
    _write(EARLY)
    _leave(128 + number)


def _of_a_command() -> Sequence[str]:
    """The signals that stop a command.

    Under torchrun SIGTERM is left alone: it has to end a process that waits for others in a
    library, where Python calls no handler.
    """
    return NAMES[:1] if "WORLD_SIZE" in os.environ else NAMES


def _listen(handler: Any, names: Sequence[str] = NAMES) -> dict[int, Any]:
    """Sets the handler of signals; returns the handlers they had.

    One that is ignored, as SIGHUP under nohup, stays so.
    """
    before = {}
    for number in (getattr(signal, name) for name in names if hasattr(signal, name)):
        if signal.getsignal(number) not in (signal.SIG_IGN, None):  # None: not set from Python
            with contextlib.suppress(ValueError):  # not the main thread
                before[number] = signal.signal(number, handler)
    return before


def _restore(handlers: dict[int, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


def _write(text: str) -> None:
    """Past Python's buffers, which may be in use."""
    with contextlib.suppress(OSError):
        os.write(2, f"tlcourse: {text}\n".encode())


def _leave(status: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # closed, or in use
            stream.flush()
    os._exit(status)

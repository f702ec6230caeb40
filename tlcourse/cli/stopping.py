"""Ctrl-C, SIGTERM and a terminal that is closed: a command ends in one line, with all tidied up.

    stopping.begin()                   # first of all in a process: a signal ends it at once
    with stopping.Heard() as heard:    # a signal is an exception, so that `with` and `finally` work
        heard.status = command.run(arguments)

Afterwards, while Python shuts down, a signal ends the process with that status, without a word.
"""

import _thread
import atexit
import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator

PATIENCE = 3.0  # seconds: before, a signal more is a hand that trembles; then it means: at once
EARLY = "stopped before it began; nothing was changed"
AT_ONCE = "stopped at once; what was being written may be left as a file that ends in .part"
_hearing: list["Heard"] = []  # the blocks that are entered, the inmost last


class Stop(KeyboardInterrupt):
    """A signal came. Where this is swallowed, as in a callback of an import, it comes again."""

    def __init__(self, heard: "Heard"):
        super().__init__()
        self._heard = heard

    def __del__(self) -> None:
        if self._heard.working and not self._heard.caught:
            _thread.start_new_thread(self._heard.again, ())


class Heard:
    """Inside the block a signal is raised as Stop; `number` is which came, None if none did.

    In a process that called `begin`, the block's end is the command's: `status` is what it exits
    with. Elsewhere, as in a notebook, handlers are then as before. Outside the main thread, which
    gets all signals, nothing happens.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self.status = 0
        self.working = self.caught = self.held = self.late = False
        self._at, self._lost, self._before = 0.0, False, {}
        self._thread = _thread.get_ident()  # of handlers: the main one

    def __enter__(self) -> "Heard":
        self._hooks = sys.unraisablehook, sys.excepthook
        sys.unraisablehook, sys.excepthook = self._unraisable, self._uncaught
        _hearing.append(self)
        self.working = True
        self._before = _listen(self._hear)
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        self.working = False
        if kind is not None and kind is not SystemExit:
            self.status = 1
        if _too_early not in self._before.values():
            for number, handler in self._before.items():
                signal.signal(number, handler)
        _hearing.remove(self)
        sys.unraisablehook, sys.excepthook = self._hooks

    def _hear(self, number: int, frame: object) -> None:
        if not self.working:
            _leave(self.status)
        elif self.number is None or self._lost:
            self.number, self._at, self._lost = number, time.monotonic(), False
            # Somebody, a training, had waited for an earlier signal, and is on its way out.
            if not (self.held or self.late or isinstance(sys.exc_info()[1], KeyboardInterrupt)):
                raise Stop(self)
        elif time.monotonic() - self._at > PATIENCE:
            _write(AT_ONCE)
            _leave(128 + number)

    def again(self) -> None:
        """Sends the signal again, to the main thread, if nobody is about to say that it came."""
        time.sleep(0.05)
        if self.working and not self.caught:
            self._lost = True
            if hasattr(signal, "pthread_kill"):  # wakes it, too
                signal.pthread_kill(self._thread, self.number)
            else:
                _thread.interrupt_main(self.number)

    def _unraisable(self, found: "sys.UnraisableHookArgs") -> None:
        if not isinstance(found.exc_value, Stop):
            self._hooks[0](found)

    def _uncaught(self, *found: object) -> None:
        """What C code prints of an exception that it replaces by another; ours is told later."""
        if self.number is None:
            self._hooks[1](*found)


@contextlib.contextmanager
def held() -> Iterator[None]:
    """A signal in the block is heard at its end: what is begun there is also known there."""
    heard = _hearing[-1] if _hearing else Heard()
    heard.held = heard.number is None  # else it is on its way out already
    try:
        yield
    finally:
        came, heard.held = heard.held and heard.number is not None, False
        if came:
            raise Stop(heard)


def too_late() -> None:
    """From here on a signal stops nothing: what is left to do is quick, and it is done whole."""
    if _hearing:
        _hearing[-1].late = True


def begin() -> None:
    """Hears signals from now on; for a process that is one command. None may make it noisy."""
    _listen(_too_early)
    atexit.register(_listen, signal.SIG_IGN)  # registered first, so called last


def _too_early(number: int, frame: object) -> None:
    _write(EARLY)
    _leave(128 + number)


def _listen(handler: object) -> dict[int, object]:
    """Sets the handler of the signals that stop a command; returns those there were.

    One that is ignored, as SIGHUP under nohup, stays so. Under torchrun SIGTERM is left alone: it
    has to end a process that waits for others in a library, where no handler of ours is called.
    """
    names = ["SIGINT"] if "WORLD_SIZE" in os.environ else ["SIGINT", "SIGTERM", "SIGHUP"]
    before = {}
    for number in (getattr(signal, name) for name in names if hasattr(signal, name)):
        if signal.getsignal(number) not in (signal.SIG_IGN, None):  # None: not set from Python
            with contextlib.suppress(ValueError):  # not the main thread
                before[number] = signal.signal(number, handler)
    return before


def _write(text: str) -> None:
    """Past Python's buffers, which may be in use."""
    with contextlib.suppress(OSError):
        os.write(2, f"tlcourse: {text}\n".encode())


def _leave(status: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # closed, or in use
            stream.flush()
    os._exit(status)

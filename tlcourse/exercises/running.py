"""Runs a learner's code so that its errors, endless loops and output do not stop the notebook."""

import builtins
import contextlib
import ctypes
import io
import linecache
import os
import random
import site
import sys
import sysconfig
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

LIMIT = 10.0  # seconds that the learner's thread may compute, for all stages of one exercise
WAITING = 6  # times the limit of wall-clock time, for code that only waits
PATIENCE = 2.0  # seconds in which code that ran out of time is interrupted repeatedly
PRINTED = 200  # characters of the learner's own output that are shown
# The warning of torch about `.T` of a batch; the message of the check is clearer.
TRANSPOSE_WARNING = r"The use of `x\.T` on tensors of dimension other than 2"


class TimeUp(BaseException):
    """Raised inside the learner's thread when its time is up."""


@dataclass(frozen=True)
class Outcome:
    """The result of a run; `error` is the exception that was raised, or None."""

    error: BaseException | None
    timed_out: bool
    still_running: bool
    line: str  # the line of the learner's code that raised or ran out of time
    printed: str
    waited: bool  # True if it ran out of time but computed for less than the limit

    def stopped(self) -> str:
        """A phrase: after how many seconds the code was stopped, and in which line."""
        where = f", in {self.line}" if self.line else ""
        return f"stopped after {LIMIT * (WAITING if self.waited else 1):g} seconds{where}"


class _Buffer(io.StringIO):
    """Keeps the beginning of the output, so that an endless loop cannot fill the memory."""

    def write(self, text: str) -> int:
        room = PRINTED + 1 - self.tell()
        if room > 0:
            super().write(text[:room])
        return len(text)

    def text(self) -> str:
        value = " ⏎ ".join(self.getvalue().strip().splitlines())
        return value if len(value) <= PRINTED else value[:PRINTED] + "…"


@contextlib.contextmanager
def preserve_randomness() -> Iterator[None]:
    """Restores the global random states, so that later cells do not depend on the exercise."""
    python = random.getstate()
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    numpy_state = numpy.random.get_state() if numpy else None
    torch_state = torch.get_rng_state() if torch else None
    try:
        yield
    finally:
        random.setstate(python)
        if numpy:
            numpy.random.set_state(numpy_state)
        if torch:
            torch.set_rng_state(torch_state)


def load_optimizers() -> None:
    """Imports what the first training of a process needs, such as PyTorch's compiler (seconds)."""
    import torch

    import_module("tlcourse.training.engine")

    torch.optim.SGD([torch.zeros(1)])


def _libraries() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    places = [paths["stdlib"], paths["platstdlib"], paths["purelib"], paths["platlib"]]
    places += [*site.getsitepackages(), str(Path(__file__).resolve().parent.parent)]
    return tuple(str(Path(place).resolve()) + os.sep for place in places)


_LIBRARIES = _libraries()


def _is_learners(frame: FrameType) -> bool:
    filename = frame.f_code.co_filename
    if filename.startswith("<frozen "):
        return False
    if filename.startswith("<"):  # a cell of older IPython, or code generated as by dataclass
        filename = frame.f_globals.get("__file__") or filename
    return not str(Path(filename).resolve()).startswith(_LIBRARIES)


def _describe(frame: FrameType, number: int | None) -> str:
    code = frame.f_code
    number = number or code.co_firstlineno  # Python knows no line while a function begins
    text = linecache.getline(code.co_filename, number, frame.f_globals).strip()
    return f"line {number}: `{text}`" if text else f"line {number} of `{code.co_name}`"


def line_of_error(trace: TracebackType | None) -> str:
    """The deepest line of the learner's code in a traceback; "" if there is none."""
    lines = [
        _describe(frame, number)
        for frame, number in traceback.walk_tb(trace)
        if _is_learners(frame)
    ]
    return lines[-1] if lines else ""


def _line_now(thread: threading.Thread) -> str:
    """The deepest line of the learner's code that `thread` executes now; "" if there is none."""
    frame = sys._current_frames().get(thread.ident or 0)
    while frame is not None and not _is_learners(frame):
        frame = frame.f_back
    return "" if frame is None else _describe(frame, frame.f_lineno)


@contextlib.contextmanager
def no_input() -> Iterator[None]:
    """Inside the block `input()` raises, because nobody can answer it."""

    def refuse(*_: object) -> str:
        raise RuntimeError("it calls input(), but its arguments contain all that it needs")

    original, builtins.input = builtins.input, refuse
    try:
        yield
    finally:
        builtins.input = original


@contextlib.contextmanager
def no_transpose_warning() -> Iterator[None]:
    """Inside the block torch does not warn of `.T` on a batch; other warnings are shown."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", TRANSPOSE_WARNING, UserWarning)
        yield


class _LearnersThread(threading.Thread):
    """A thread that ends silently when TimeUp reaches it outside the learner's code."""

    clock: int | None = None  # of its own processor time

    def start(self) -> None:
        self.began = time.process_time()
        super().start()

    def run(self) -> None:
        with contextlib.suppress(TimeUp):
            if hasattr(time, "pthread_getcpuclockid"):  # not on macOS and Windows
                self.clock = time.pthread_getcpuclockid(threading.get_ident())
            super().run()

    def computed(self) -> float:
        """The seconds of processor time that the thread has used.

        They do not depend on other load, and exclude the other threads of a matrix product. On a
        system without clocks for threads, they are those of the whole process.
        """
        if self.clock is None:
            return time.process_time() - self.began
        try:
            return time.clock_gettime(self.clock)
        except OSError:  # the thread has ended, and its clock with it
            return 0.0


def _stop(thread: threading.Thread) -> None:
    """Raises TimeUp in `thread` until it ends, or for PATIENCE seconds.

    Code may catch it (`except:`), so it is raised again while the first is still being handled,
    with a short switch interval. A thread inside a call of C code ends when the call returns. If
    TimeUp hits a callback of the garbage collector, or the last steps of the thread, Python can
    only report it: such reports are dropped. All reports are collected by a method in C, which
    TimeUp cannot interrupt, and the others are passed on afterwards.
    """
    end, interval = time.monotonic() + PATIENCE, sys.getswitchinterval()
    reports: list[Any] = []
    hook, sys.unraisablehook = sys.unraisablehook, reports.append
    unhandled: list[Any] = []
    thread_hook, threading.excepthook = threading.excepthook, unhandled.append
    sys.setswitchinterval(1e-6)
    try:
        while thread.is_alive() and time.monotonic() < end:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread.ident or 0), ctypes.py_object(TimeUp)
            )
            time.sleep(0)
    finally:
        sys.setswitchinterval(interval)
        sys.unraisablehook, threading.excepthook = hook, thread_hook
    for original_hook, collected in ((hook, reports), (thread_hook, unhandled)):
        for report in collected:
            if not issubclass(report.exc_type, TimeUp):
                original_hook(report)


def run_limited(work: Callable[[], None]) -> Outcome:
    """Runs `work` in a daemon thread and returns the outcome; its errors are not raised.

    The thread is stopped when it has computed for LIMIT seconds, or after WAITING times as much
    wall-clock time. A thread is used because signals do not work on Windows or outside the main
    thread. Only the user's interrupt (KeyboardInterrupt here, in the waiting thread) is raised.
    """
    errors: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    thread = _LearnersThread(target=guarded, daemon=True, name="exercise")
    printed, line, timed_out, waited = _Buffer(), "", False, False
    quiet = no_transpose_warning()
    with preserve_randomness(), no_input(), quiet, contextlib.redirect_stdout(printed):
        end = time.monotonic() + WAITING * LIMIT
        thread.start()
        try:
            while thread.is_alive() and thread.computed() < LIMIT:
                if waited := time.monotonic() > end:
                    break
                thread.join(0.1)
            timed_out = thread.is_alive()
            line = _line_now(thread) if timed_out else ""
        finally:
            _stop(thread)
    error = errors[0] if errors and not timed_out else None
    if error is not None:
        line = line_of_error(error.__traceback__)
    return Outcome(error, timed_out, thread.is_alive(), line, printed.text(), waited)

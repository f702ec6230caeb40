"""Runs `tlcourse` in a process of its own, signals it, and finds all processes that it started.

Processes are found by a variable of their environment in /proc, so this is for Linux.
"""

import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tlcourse import files

MARK = "TLCOURSE_TEST_COMMAND"  # the variable that identifies the processes of a command
LONGEST = 60.0  # seconds that a command has to get somewhere, or to end
BETWEEN = 0.1  # seconds between one Ctrl-C and the next
BAR = re.compile(r"\d%\||\d(s|it|step|token)?/s")
JUPYTER = re.compile(r"\[([A-Z]|\w+\]) |\s")  # its log, and kernels


@dataclass
class Child:
    """A running command; its folder also holds what it would write elsewhere (caches, logs)."""

    process: subprocess.Popen
    folder: Path
    mark: str

    def said(self) -> str:
        """Everything written to its error stream so far."""
        return (self.folder / "errors").read_text(encoding="utf-8", errors="replace")

    def stop(self, signals: Sequence[int]) -> None:
        """Sends signals in turn: SIGINT to the group, as Ctrl-C does, others to the process."""
        for count, number in enumerate(signals):
            time.sleep(BETWEEN if count else 0)
            send = os.killpg if number == signal.SIGINT else os.kill
            try:
                send(self.process.pid, number)
            except ProcessLookupError:
                return

    def processes(self) -> list[int]:
        """The ids of the process and of its descendants, those that left its group included."""
        numbers = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            try:
                marked = f"{MARK}={self.mark}".encode() in path.read_bytes().split(b"\0")
            except OSError:  # has ended, or is another user's
                continue
            numbers += [int(path.parent.name)] * marked
        return numbers


@contextmanager
def started(words: Sequence[str], folder: Path) -> Iterator[Child]:
    """Starts `tlcourse WORDS` in `folder`, in a process group of its own; kills all at the end."""
    mark = uuid.uuid4().hex
    ours = {"TMPDIR": "tmp", "JUPYTER_RUNTIME_DIR": "runtime", "IPYTHONDIR": "ipython"}
    ours |= {"TLCOURSE_MY": "my", "JUPYTER_CONFIG_DIR": "jupyter", "HF_DATASETS_CACHE": "cache"}
    for name in ours.values():
        (folder / name).mkdir(exist_ok=True)
    ours = {name: str(folder / place) for name, place in ours.items()}
    ours |= {"HF_HUB_OFFLINE": "1", "PYTHONPATH": str(files.PACKAGE.parent), MARK: mark}
    usual = {name: value for name, value in os.environ.items() if name != "TLCOURSE_DATA"}
    with open(folder / "errors", "wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "tlcourse", *words],
            cwd=folder,
            env=usual | ours,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            process_group=0,
            # A shell's background jobs ignore SIGINT, and their children inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
    child = Child(process, folder, mark)
    try:
        yield child
    finally:
        for number in child.processes():
            os.kill(number, signal.SIGKILL)
        process.wait()


def wait_for(there: Callable[[], object], child: Child) -> None:
    """Waits until `there()` is true; RuntimeError if the command ends first or LONGEST passes."""
    end = time.monotonic() + LONGEST
    while not there():
        if child.process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"expected it to go on, but it says: {child.said()[-500:]}")
        time.sleep(0.02)


def lines_of(said: str) -> list[str]:
    """The lines of an error stream without those of progress bars and of Jupyter."""
    ends = [re.sub(r"\x1b\[[\d;]*m", "", line).split("\r")[-1] for line in said.split("\n")]
    return [line for line in ends if line and not BAR.search(line) and not JUPYTER.match(line)]

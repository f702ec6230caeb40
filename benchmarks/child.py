"""`tlcourse` in a process of its own that is stopped from outside, and all that it started.

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

MARK = "TLCOURSE_INTERRUPTED"  # the variable that tells whose a process is
LONGEST = 60.0  # seconds that a command has to get somewhere, or to end
BETWEEN = 0.1  # seconds between one Ctrl-C and the next
BAR = re.compile(r"\d%\||\d(s|it|step|token)?/s")
JUPYTER = re.compile(r"\[([A-Z]|\w+\]) |\s")  # its log, and kernels


@dataclass
class Child:
    """A command that runs in a folder of its own, with all that it writes elsewhere in there."""

    process: subprocess.Popen
    folder: Path
    mark: str

    def said(self) -> str:
        """Its error stream so far."""
        return (self.folder / "errors").read_text(encoding="utf-8", errors="replace")

    def stop(self, signals: Sequence[int]) -> None:
        """Sends signals, one after the other: Ctrl-C to the group, others to the process alone."""
        for count, number in enumerate(signals):
            time.sleep(BETWEEN if count else 0)
            send = os.killpg if number == signal.SIGINT else os.kill
            try:
                send(self.process.pid, number)
            except ProcessLookupError:
                return

    def processes(self) -> list[int]:
        """Those it has started, wherever they have gone, and itself."""
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            try:
                marked = f"{MARK}={self.mark}".encode() in path.read_bytes().split(b"\0")
            except OSError:  # has ended, or is another user's
                continue
            found += [int(path.parent.name)] * marked
        return found


@contextmanager
def started(words: Sequence[str], folder: Path) -> Iterator[Child]:
    """`tlcourse WORDS` in `folder`, in a process group of its own; at the end all is killed."""
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
            [sys.executable, "-m", "tlcourse", *words], cwd=folder, env=usual | ours,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, process_group=0,
            # What the background of a shell starts ignores it.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip
    child = Child(process, folder, mark)
    try:
        yield child
    finally:
        for number in child.processes():
            os.kill(number, signal.SIGKILL)
        process.wait()


def wait_for(there: Callable[[], object], child: Child) -> None:
    """Waits until something is there; RuntimeError where the command ends before, or never does."""
    end = time.monotonic() + LONGEST
    while not there():
        if child.process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"expected it to go on, but it says: {child.said()[-500:]}")
        time.sleep(0.02)


def lines_of(said: str) -> list[str]:
    """The lines of an error stream that are neither a progress bar's nor Jupyter's."""
    ends = [re.sub(r"\x1b\[[\d;]*m", "", line).split("\r")[-1] for line in said.split("\n")]
    return [line for line in ends if line and not BAR.search(line) and not JUPYTER.match(line)]

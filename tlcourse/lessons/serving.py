"""Runs JupyterLab for a learner, until it ends or the command is stopped."""

import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import TextIO

from tlcourse import signals

PATIENCE = 15.0  # seconds that JupyterLab has to end its kernels and itself


def serve(command: Sequence[str], variables: Mapping[str, str]) -> int:
    """Runs JupyterLab until it ends, and returns its exit code; what ends this first ends it, too.

    It has a session of its own, as Ctrl-C would only make it ask whether that was meant. What it
    says is passed on; what it and its kernels say about being ended is not.
    """
    server, ended = None, threading.Event()
    try:
        with signals.Held():
            server = subprocess.Popen(
                command, env=variables, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                encoding="utf-8", errors="replace", start_new_session=True,
            )  # fmt: skip
        relay = threading.Thread(target=_pass_on, args=(server.stderr, ended), daemon=True)
        relay.start()
        status = server.wait()
        relay.join(1)  # not to its end, which is that of the last kernel
        return status
    finally:
        ended.set()
        if server is not None:
            _end(server)


def _pass_on(lines: TextIO, ended: threading.Event) -> None:
    for line in lines:
        if not ended.is_set():
            print(line, end="", file=sys.stderr, flush=True)


def _end(server: subprocess.Popen) -> None:
    """Ends JupyterLab, with its kernels where it can; does nothing where it has ended."""
    server.terminate()
    try:
        server.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()

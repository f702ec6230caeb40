"""Makes or refreshes your copy of the lessons and opens it in JupyterLab."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import TextIO
from urllib.parse import quote

from tlcourse import files, signals
from tlcourse.cli.options import FOLDER, Argument, Option

PATIENCE = 15.0  # seconds that JupyterLab has to end its kernels and itself


OPTIONS = [
    Option("--folder", type=FOLDER, help="your copy", shown="TLCOURSE_MY, else my/"),
    Option("--prepare-only", is_flag=True, help="copy, do not open JupyterLab"),
    Argument("options", nargs=-1, help="for JupyterLab, after --: -- --no-browser"),
]
BEHIND = "an option of JupyterLab"


def run(arguments: SimpleNamespace) -> int:
    """Copies what is new and starts JupyterLab, whose kernels keep answers in the same folder."""
    from tlcourse.lessons import learners_copy

    folder = _folder(arguments)
    refuse_unwritable(folder)
    for line in learners_copy(folder):
        print(line)
    if arguments.prepare_only:
        return 0
    first = min(folder.glob("*.ipynb"), default=folder)
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder.parent}"]
    address = quote(f"/lab/tree/{folder.name}/{first.name}")
    command += [f"--LabApp.default_url={address}", *arguments.options]
    places = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    path = os.pathsep.join(filter(None, places))  # a cell finds `!tlcourse` without activating
    return _serve(command, os.environ | {"TLCOURSE_MY": str(folder), "PATH": path})


def left(arguments: SimpleNamespace) -> str:
    """What there is when it was stopped: each lesson is copied whole or not at all."""
    return f"JupyterLab is not running; your copy of the lessons is in {_folder(arguments)}"


def _folder(arguments: SimpleNamespace) -> Path:
    return (arguments.folder or files.my_folder()).resolve()


def refuse_unwritable(folder: Path) -> None:
    """Raises OSError where a learner's folder cannot be made, or nothing written into it."""
    do = "name another with TLCOURSE_MY, or --folder"
    files.refuse_unwritable(folder, "a folder for your copy and answers", do)


def _serve(command: list[str], variables: dict[str, str]) -> int:
    """Runs JupyterLab until it ends; whatever ends this first ends it and its kernels, too.

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

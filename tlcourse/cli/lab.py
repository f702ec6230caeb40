"""Creates or updates your copy of the lessons and opens it in JupyterLab."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote

from tlcourse import files
from tlcourse.cli.options import Argument, Option

OPTIONS = [
    Option("--folder", "your copy", Path, shown="TLCOURSE_MY, else my/"),
    Option("--solved", "open a copy of this lesson with all exercises solved, for a demonstration"),
    Option("--prepare-only", "copy, do not open JupyterLab", bool),
    Argument("options", "for JupyterLab, after --: -- --no-browser", nargs=-1),
]
BEHIND = "an option of JupyterLab"


def run(arguments: SimpleNamespace) -> int:
    """Copies new lessons and starts JupyterLab, whose kernels keep answers in that folder."""
    from tlcourse import lessons
    from tlcourse.lessons import serving

    lesson = lessons.get(arguments.solved) if arguments.solved else None
    folder = _folder(arguments)
    refuse_unwritable(folder)
    for line in lessons.learners_copy(folder):
        print(line)
    first = min(folder.glob("*.ipynb"), default=folder)
    kept = {"TLCOURSE_MY": str(folder)}
    if lesson:
        first, line = lessons.solved_copy(lesson, folder)
        kept["TLCOURSE_ANSWERS"] = "off"  # these solutions are not the learner's
        print(line)
    if arguments.prepare_only:
        return 0
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder.parent}"]
    address = quote(f"/lab/tree/{folder.name}/{first.name}")
    command += [f"--LabApp.default_url={address}", *arguments.options]
    places = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    path = os.pathsep.join(filter(None, places))  # a cell finds `!tlcourse` without activating
    return serving.serve(command, os.environ | kept | {"PATH": path})


def left(arguments: SimpleNamespace) -> str:
    """Returns what is left behind when stopped: each lesson is copied whole or not at all."""
    return f"JupyterLab is not running; your copy of the lessons is in {_folder(arguments)}"


def _folder(arguments: SimpleNamespace) -> Path:
    return (arguments.folder or files.my_folder()).resolve()


def refuse_unwritable(folder: Path) -> None:
    """Raises OSError if a learner's folder cannot be made or written to."""
    do = "name another with TLCOURSE_MY, or --folder"
    files.refuse_unwritable(folder, "a folder for your copy and answers", do)

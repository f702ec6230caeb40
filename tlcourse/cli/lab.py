"""Makes or refreshes your copy of the lessons and opens it in JupyterLab."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from tlcourse import files
from tlcourse.cli.parsing import Parser


def add_options(parser: Parser) -> None:
    """The options of `tlcourse lab`."""
    add = parser.add_argument
    add("--folder", type=Path, help="your copy (default: TLCOURSE_MY, else my/)")
    add("--prepare-only", action="store_true", help="copy, do not open JupyterLab")
    add("options", nargs="*", help="for JupyterLab, after --: -- --no-browser")


def run(arguments: argparse.Namespace) -> int:
    """Copies what is new and starts JupyterLab, whose kernels keep answers in the same folder."""
    from tlcourse.lessons import learners_copy

    folder = (arguments.folder or files.my_folder()).resolve()
    for line in learners_copy(folder):
        print(line)
    if arguments.prepare_only:
        return 0
    first = min(folder.glob("*.ipynb"), default=folder)
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder.parent}"]
    command += [f"--LabApp.default_url=/lab/tree/{folder.name}/{first.name}", *arguments.options]
    return subprocess.call(command, env=os.environ | {"TLCOURSE_MY": str(folder)})

"""Writes a lesson as one HTML page, with the alt texts of its figures."""

from pathlib import Path
from types import SimpleNamespace

from tlcourse import files
from tlcourse.cli.options import Argument, Option

RUNS = Path("runs/lessons")  # where `tlcourse run` writes, too
OPTIONS = [
    Argument("lesson", "its number or name, such as 01, or the path of a notebook"),
    Option("--out", "the file to write, NAME.html", Path, shown=f"{RUNS}/NAME.html"),
]


def run(arguments: SimpleNamespace) -> int:
    """Writes the page with the notebook's saved outputs; prints its path."""
    from tlcourse.lessons import export, finding

    path = finding.notebook_path(arguments.lesson)
    out = arguments.out or RUNS / path.with_suffix(".html").name
    files.refuse_no_page(out)
    files.write_text(out, export.to_html(path))
    print(f"wrote {out}, with its figures and their alt texts")
    return 0


def left(arguments: SimpleNamespace) -> str:
    """Returns what is left behind by a command that was stopped."""
    return "no page is half written"

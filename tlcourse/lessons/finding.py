"""Finds the lessons by name or number, and reads and writes their notebooks."""

import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import Any

import nbformat

from tlcourse import files

FILE_NAME = re.compile(r"(\d\db?)_([a-z0-9_]+)\.ipynb")


@dataclass(frozen=True)
class Lesson:
    """One numbered notebook; its id is a number, `03`, or `03b` for the deeper part of 03."""

    id: str
    name: str
    path: Path

    @property
    def title(self) -> str:
        """The text of the first heading, or the name if there is none."""
        for cell in read_notebook(self.path).cells:
            if cell.cell_type == "markdown" and (title := heading(cell)):
                return title
        return self.name


def every() -> list[Lesson]:
    """All lessons, in the order of their ids: 03, 03b, 04."""
    paths = files.bundled("notebooks").glob("*.ipynb")
    matches = [(FILE_NAME.fullmatch(path.name), path) for path in paths]
    lessons = [Lesson(match[1], match[2], path) for match, path in matches if match]
    return sorted(lessons, key=lambda lesson: (lesson.id, lesson.name))


def get(wanted: str) -> Lesson:
    """The lesson called `1` or `01`, `bpe_from_scratch` or `01_bpe_from_scratch`; `3b` is 03b.

    Raises ValueError, listing all lessons, if there is no such lesson.
    """
    lessons = every()
    number = re.fullmatch(r"(\d+)(b?)", wanted)
    id = f"{int(number[1]):02}{number[2]}" if number else None
    for lesson in lessons:
        full = f"{lesson.id}_{lesson.name}"
        if lesson.id == id or wanted.removesuffix(".ipynb") in (full, lesson.name):
            return lesson
    available = ", ".join(f"{lesson.id} {lesson.name}" for lesson in lessons) or "none yet"
    raise ValueError(f"expected a lesson out of: {available}; got {wanted!r}")


def notebook_path(wanted: str) -> Path:
    """The path of a notebook: `wanted` itself if it is one, else that of the lesson so called.

    Raises ValueError as `get` does.
    """
    path = Path(wanted)
    return path if path.suffix == ".ipynb" and path.is_file() else get(wanted).path


def read_notebook(path: Path) -> Any:
    """The notebook at `path`, in the current version of the format.

    Raises ValueError, naming the fault, for a file that is not a valid notebook.
    """
    content = path.read_bytes()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # nbformat adds the ids that cells lack
            notebook = nbformat.reads(content.decode("utf-8-sig"), as_version=4)
            nbformat.validate(notebook)
    except (ValueError, nbformat.ValidationError) as error:
        fault = shorten(str(error).splitlines()[0], 160)
    except Exception:  # nbformat raises other errors for JSON of another form
        fault = "it lacks the parts that a notebook has"
    else:
        return notebook
    raise ValueError(
        f"expected a Jupyter notebook in {path}, but {fault}; open it in JupyterLab and save it "
        "again, or give another"
    )


def write_notebook(notebook: Any, path: Path) -> None:
    """Writes a notebook atomically, with one final newline."""
    nbformat.validate(notebook)
    files.write_text(path, nbformat.writes(notebook).rstrip("\n") + "\n")


def heading(cell: Any) -> str | None:
    """The last heading in a Markdown cell, without the number signs; None if there is none."""
    if cell.cell_type != "markdown":
        return None
    headings = re.findall(r"^#{1,6} +(.+?)\s*$", cell.source, flags=re.MULTILINE)
    return headings[-1] if headings else None


def code_cells(notebook: Any) -> list[Any]:
    """The code cells that are not empty."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def opening(notebook: Any) -> str:
    """The opening block: all Markdown before the first code cell."""
    texts = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            break
        texts.append(cell.source)
    return "\n".join(texts)

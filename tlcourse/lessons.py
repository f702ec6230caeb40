"""The lessons: where they are, their numbers, and what a committed notebook must look like."""

import re
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

from tlcourse import files

FILE_NAME = re.compile(r"(\d\d)_([a-z0-9_]+)\.ipynb")
MINUTES = "**Minutes:**"
OPENING = (
    "you will be able to",
    MINUTES.lower(),
    "what comes before",
    "what is downloaded",
    "what changed since 2019",
)
LONGEST_CELL = 40  # lines
LARGEST_FILE = 1_500_000  # bytes; GitHub stops rendering somewhat above
# A folder that exists on one machine only. An address (`https://…/home/…`) is not matched.
ABSOLUTE_PATH = re.compile(
    r"(?<![\w./:~-])/(?:home|root|Users|tmp|var|usr|opt|mnt|work|content|private|data|srv)/[\w.-]+"
    r"|\b[A-Za-z]:\\\w+"
)


@dataclass(frozen=True)
class Lesson:
    """One numbered notebook."""

    number: str
    name: str
    path: Path

    @property
    def title(self) -> str:
        """The text of the first heading, or the name where there is none."""
        for cell in read_notebook(self.path).cells:
            if cell.cell_type == "markdown" and (title := heading(cell)):
                return title
        return self.name


def every() -> list[Lesson]:
    """All lessons, in the order of their numbers."""
    paths = sorted(files.bundled("notebooks").glob("*.ipynb"))
    matches = [(FILE_NAME.fullmatch(path.name), path) for path in paths]
    return [Lesson(match[1], match[2], path) for match, path in matches if match]


def get(wanted: str) -> Lesson:
    """The lesson called `1`, `01`, `bpe_from_scratch` or `01_bpe_from_scratch`.

    Raises ValueError that lists the lessons there are.
    """
    lessons = every()
    for lesson in lessons:
        full = f"{lesson.number}_{lesson.name}"
        if wanted.removesuffix(".ipynb") in (full, lesson.name) or (
            wanted.isdecimal() and int(wanted) == int(lesson.number)
        ):
            return lesson
    there = ", ".join(f"{lesson.number} {lesson.name}" for lesson in lessons) or "none yet"
    raise ValueError(f"expected a lesson out of: {there}; got {wanted!r}")


def read_notebook(path: Path) -> Any:
    """The notebook at `path`, in the current version of the format."""
    return nbformat.read(path, as_version=4)


def write_notebook(notebook: Any, path: Path) -> None:
    """Writes a notebook atomically, with one final newline."""
    nbformat.validate(notebook)
    files.write_text(path, nbformat.writes(notebook).rstrip("\n") + "\n")


def heading(cell: Any) -> str | None:
    """The last Markdown heading in a cell, without its signs."""
    if cell.cell_type != "markdown":
        return None
    found = re.findall(r"^#{1,6} +(.+?)\s*$", cell.source, flags=re.MULTILINE)
    return found[-1] if found else None


def code_cells(notebook: Any) -> list[Any]:
    """The code cells that hold code."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def opening(notebook: Any) -> str:
    """The Markdown before the first code cell."""
    texts = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            break
        texts.append(cell.source)
    return "\n".join(texts)


def readable_texts(notebook: Any) -> list[str]:
    """Everything a person reads: sources, printed text, errors, HTML; embedded images left out."""
    texts = [cell.source for cell in notebook.cells]
    for cell in code_cells(notebook):
        for output in cell.outputs:
            texts += [output.get("text", ""), *output.get("traceback", [])]
            for kind, value in output.get("data", {}).items():
                if isinstance(value, str) and not kind.startswith("image/"):
                    texts.append(re.sub(r"base64,[\w+/=]+", "base64,", value))
    return texts


def absolute_paths(notebook: Any) -> list[str]:
    """The absolute paths that a reader of the notebook would see."""
    return [path for text in readable_texts(notebook) for path in ABSOLUTE_PATH.findall(text)]


def complaints_about_source(notebook: Any) -> list[str]:
    """What an author has to change: opening block, length of cells, ids, kernel."""
    said = []
    first = notebook.cells[0] if notebook.cells else None
    if first is None or not first.source.startswith("# "):
        said.append("the first cell does not begin with the title ('# …')")
    told = opening(notebook).lower()
    said += [f"the opening block does not say {part!r}" for part in OPENING if part not in told]
    lengths = [len(cell.source.splitlines()) for cell in code_cells(notebook)]
    if lengths and max(lengths) > LONGEST_CELL:
        said.append(f"a code cell has {max(lengths)} lines; at most {LONGEST_CELL}")
    if lengths and statistics.median(lengths) >= 10:
        said.append(f"the median code cell has {statistics.median(lengths)} lines; below 10")
    ids = [cell.get("id") for cell in notebook.cells]
    if None in ids or len(set(ids)) < len(ids):
        said.append("a cell has no id of its own; run `python -m tlcourse.first_cell`")
    if notebook.metadata.get("kernelspec", {}).get("name") != "python3":
        said.append("the kernelspec is not python3; run `python -m tlcourse.first_cell`")
    return said


def complaints_about_outputs(notebook: Any) -> list[str]:
    """What `tlcourse run NN --commit-outputs` has to do again: outputs as committed."""
    said = []
    cells = code_cells(notebook)
    counts = [cell.execution_count for cell in cells]
    if counts != list(range(1, len(cells) + 1)):
        said.append("the code cells were not executed once each, in order")
    outputs = [output for cell in cells for output in cell.outputs]
    if any(output.output_type == "error" for output in outputs):
        said.append("an output is an error")
    if "widgets" in notebook.metadata:
        said.append("metadata.widgets is there; GitHub would refuse to render it")
    widget = "application/vnd.jupyter.widget-view+json"
    if any(set(output.get("data", {})) & {widget} for output in outputs):
        said.append("an output is a widget; readers on GitHub would see nothing")
    if any("execution" in cell.metadata for cell in notebook.cells):
        said.append("a cell holds the time stamps of its execution")
    if paths := absolute_paths(notebook):
        said.append(f"absolute paths are shown: {', '.join(sorted(set(paths))[:3])}")
    return said

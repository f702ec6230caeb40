"""Checks of committed notebooks; each returns complaints that tell an author what to change."""

import copy
import itertools
import re
import statistics
from collections.abc import Sequence
from typing import Any

from tlcourse.lessons import studying
from tlcourse.lessons.finding import code_cells, opening

MINUTES = "**Run time:**"
OPENING = (
    "**you build:** ",
    "**the question:** ",
    "you will be able to",
    "**you need:** ",
)
CLOSING = "## what changed since 2019", MINUTES.lower(), "**data:** "
FIRST_CELL = "run `python -m tlcourse.lessons.first_cell`"
LONGEST_CELL, LONGEST_LINE = 40, 100  # lines of a cell, characters of a line
FOLDED = re.compile(r"<details><summary><b>What we see</b></summary>.*?</details>", re.DOTALL)
TOLD = re.compile(r"\b(?:title|alt)=")
LARGEST_FILE = 1_500_000  # bytes; GitHub stops rendering somewhat above
# A path in a folder of one machine. URLs (`https://…/home/…`) are not matched.
ABSOLUTE_PATH = re.compile(
    r"(?<![\w./:~-])/(?:home|root|Users|tmp|var|usr|opt|mnt|work|content|private|data|srv)/[\w.-]+"
    r"|\b[A-Za-z]:\\\w+"
)


def complaints_about_ids(ids: Sequence[str]) -> list[str]:
    """Complaints about the ids of all lessons, which are given in order.

    Numbers count from 00 without a gap, and the deeper 03b follows 03, at most once.
    """
    faults, number = [], 0
    for before, id in itertools.pairwise(["", *ids]):
        deeper = f"{number - 1:02}b"
        if id != f"{number:02}" and (id != deeper or before == deeper):
            faults.append(f"expected lesson {number:02} after {before or 'nothing'}, found {id}")
        number = int(id[:2]) + 1
    return faults


def readable_texts(notebook: Any) -> list[str]:
    """All texts that a reader sees: sources, printed text, errors, HTML without embedded images."""
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
    """Complaints about the opening and closing blocks, the length of cells, ids and kernel."""
    faults = []
    first = notebook.cells[0] if notebook.cells else None
    if first is None or not first.source.startswith("# "):
        faults.append("the first cell does not begin with the title ('# …')")
    block = opening(notebook).lower()
    faults += [f"the opening block does not say {part!r}" for part in OPENING if part not in block]
    end = notebook.cells[-1].source.lower() if notebook.cells else ""
    faults += [f"the last cell does not say {part!r}" for part in CLOSING if part not in end]
    lengths = [len(cell.source.splitlines()) for cell in code_cells(notebook)]
    if lengths and max(lengths) > LONGEST_CELL:
        faults.append(f"a code cell has {max(lengths)} lines; at most {LONGEST_CELL}")
    if lengths and statistics.median(lengths) >= 10:
        faults.append(f"the median code cell has {statistics.median(lengths)} lines; below 10")
    updated = copy.deepcopy(notebook)
    studying.state(updated)
    if updated != notebook or (studying.of(notebook) and studying.STUDY.lower() not in block):
        faults.append(f"the study time is not the rule's; {FIRST_CELL}")
    ids = [cell.get("id") for cell in notebook.cells]
    if None in ids or len(set(ids)) < len(ids):
        faults.append(f"a cell has no id of its own; {FIRST_CELL}")
    if notebook.metadata.get("kernelspec", {}).get("name") != "python3":
        faults.append(f"the kernelspec is not python3; {FIRST_CELL}")
    return faults


def complaints_about_predictions(notebook: Any) -> list[str]:
    """Complaints about what gives an answer away before a cell runs, and about long lines of code.

    Titles and alt texts of figures live in `tlcourse.views`, and readings of results are folded.
    """
    faults = []
    for cell in notebook.cells:
        shown = FOLDED.sub("", cell.source)
        if cell.cell_type == "markdown" and "**What we see" in shown:
            faults.append(f"a reading of results is not folded: {shown.strip()[:60]!r}")
        if cell.cell_type == "code" and (found := TOLD.search(cell.source)):
            faults.append(f"a cell contains {found[0]!r}; let a function of tlcourse.views set it")
        if cell.cell_type == "code":
            long = [line for line in cell.source.splitlines() if len(line) > LONGEST_LINE]
            faults += [f"a line of code has {len(line)} characters: {line[:60]!r}" for line in long]
    return faults


def complaints_about_outputs(notebook: Any) -> list[str]:
    """Complaints about committed outputs, which `tlcourse run NN --commit-outputs` mends."""
    faults = []
    cells = code_cells(notebook)
    counts = [cell.execution_count for cell in cells]
    if counts != list(range(1, len(cells) + 1)):
        faults.append("the code cells were not executed once each, in order")
    outputs = [output for cell in cells for output in cell.outputs]
    if any(output.output_type == "error" for output in outputs):
        faults.append("an output is an error")
    if "widgets" in notebook.metadata:
        faults.append("metadata.widgets is there; GitHub would refuse to render it")
    widget = "application/vnd.jupyter.widget-view+json"
    if any(set(output.get("data", {})) & {widget} for output in outputs):
        faults.append("an output is a widget; readers on GitHub would see nothing")
    if bare := sum(map(_is_figure_without_alt, outputs)):
        faults.append(
            f"figures without alt text: {bare}; draw them with tlcourse.views, which asks for one"
        )
    if any("execution" in cell.metadata for cell in notebook.cells):
        faults.append("a cell holds the time stamps of its execution")
    if paths := absolute_paths(notebook):
        faults.append(f"absolute paths are shown: {', '.join(sorted(set(paths))[:3])}")
    return faults


def _is_figure_without_alt(output: Any) -> bool:
    """True if an output is a picture without alt text."""
    kinds = [kind for kind in output.get("data", {}) if kind.startswith("image/")]
    metadata = output.get("metadata", {})
    return any(not metadata.get(kind, {}).get("alt", "").strip() for kind in kinds)

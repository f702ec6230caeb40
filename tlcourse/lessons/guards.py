"""What a committed notebook must look like: each guard says what an author has to do."""

import copy
import itertools
import re
import statistics
from collections.abc import Sequence
from typing import Any

from tlcourse.lessons import studying
from tlcourse.lessons.finding import code_cells, opening

MINUTES = "**Minutes:**"
OPENING = (
    "**you build:** ",
    "**the question:** ",
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


def complaints_about_ids(ids: Sequence[str]) -> list[str]:
    """What is wrong with the ids of all lessons, in their order.

    Numbers go on from 00 without a gap, and the deeper 03b follows its 03, once.
    """
    said, number = [], 0
    for before, id in itertools.pairwise(["", *ids]):
        deeper = f"{number - 1:02}b"
        if id != f"{number:02}" and (id != deeper or before == deeper):
            said.append(f"expected lesson {number:02} after {before or 'nothing'}, found {id}")
        number = int(id[:2]) + 1
    return said


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
    stated = copy.deepcopy(notebook)
    studying.state(stated)
    if stated != notebook or (studying.of(notebook) and studying.STUDY.lower() not in told):
        said.append("the study time is not the rule's; run `python -m tlcourse.lessons.first_cell`")
    ids = [cell.get("id") for cell in notebook.cells]
    if None in ids or len(set(ids)) < len(ids):
        said.append("a cell has no id of its own; run `python -m tlcourse.lessons.first_cell`")
    if notebook.metadata.get("kernelspec", {}).get("name") != "python3":
        said.append("the kernelspec is not python3; run `python -m tlcourse.lessons.first_cell`")
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
    if bare := sum(map(_is_figure_without_alt, outputs)):
        said.append(
            f"figures without alt text: {bare}; draw them with tlcourse.views, which asks for one"
        )
    if any("execution" in cell.metadata for cell in notebook.cells):
        said.append("a cell holds the time stamps of its execution")
    if paths := absolute_paths(notebook):
        said.append(f"absolute paths are shown: {', '.join(sorted(set(paths))[:3])}")
    return said


def _is_figure_without_alt(output: Any) -> bool:
    """Whether an output is a picture that says nothing to who cannot see it."""
    kinds = [kind for kind in output.get("data", {}) if kind.startswith("image/")]
    told = output.get("metadata", {})
    return any(not told.get(kind, {}).get("alt", "").strip() for kind in kinds)

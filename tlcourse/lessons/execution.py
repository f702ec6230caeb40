"""Runs lessons without a browser, with progress and a log; writes the outputs that git holds."""

import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tlcourse import signals
from tlcourse.files import read_json, refuse_unwritable, root, write_json
from tlcourse.lessons import finding, first_cell, guards, headlines, kernels
from tlcourse.lessons.finding import Lesson

VERSIONS_TOLD = (
    "torch", "datasets", "tokenizers", "transformers", "pytorch-ignite", "numpy", "matplotlib"
)  # fmt: skip
# What a laptop or Colab's CPU gives: float32, AVX2, two cores. The stated minutes are this run's.
WITHOUT_BF16 = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "OMP_NUM_THREADS": "2",
    "TLCOURSE_DEVICE": "cpu",
}
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
COPIES = Path("runs/lessons")
LONGEST = 64  # signs of a cell's label
SAY = partial(print, flush=True)  # a pipe, too, has a line as soon as it is said
RESULTS = "benchmarks/results/lessons.json"


class LessonFailed(Exception):
    """A cell raised; the message is what the learner needs to see."""


def environment(size: str, **more: str) -> dict[str, str]:
    """The environment variables of a headless run: the size, absolute data path.

    Figures are static, and kept answers to exercises are neither read nor written.
    """
    settings = {"TLCOURSE_SIZE": size, "TLCOURSE_WIDGETS": "off", "TLCOURSE_ANSWERS": "off"}
    variables = os.environ | settings | more
    if variables.get("TLCOURSE_DATA"):
        variables["TLCOURSE_DATA"] = str(Path(variables["TLCOURSE_DATA"]).resolve())
    return variables


def execute(
    notebook: Any, folder: Path, variables: dict[str, str], say: Callable[..., Any] = SAY
) -> list[dict[str, Any]]:
    """Executes `notebook` in place, with `folder` as working directory; one row per code cell.

    A row holds the cell's number among the code cells, the heading above it and its seconds. Says
    one line per cell: its number and label before it runs, its seconds behind them when it has
    run. Raises LessonFailed at the first cell that raises.
    """
    rows: list[dict[str, Any]] = []
    headings, named = _headings(notebook), labels(notebook)
    total = len(finding.code_cells(notebook))
    begun = 0.0

    def started(cell: Any, cell_index: int) -> None:
        nonlocal begun
        if cell.cell_type == "code" and cell.source.strip():
            rows.append({"cell": len(rows) + 1, "heading": headings[cell_index]})
            say(f"{len(rows):4d} of {total}  {named[cell_index]:{LONGEST}}", end="")
            begun = time.perf_counter()

    def executed(cell: Any, cell_index: int, execute_reply: Any) -> None:
        rows[-1]["seconds"] = round(time.perf_counter() - begun, 2)
        say(f"  {rows[-1]['seconds']:7.1f} s")

    async def work() -> None:
        async with kernels.running(folder, variables) as (manager, client):
            book = NotebookClient(
                notebook,
                km=manager,
                timeout=None,
                record_timing=False,
                on_cell_execute=started,
                on_cell_executed=executed,
            )
            book.kc = client
            await book.async_execute()

    try:
        kernels.in_a_thread(work())
    except CellExecutionError as error:
        where = f"cell {rows[-1]['cell']} of {total}, under {rows[-1]['heading']!r}"
        raise LessonFailed(f"{where}:\n{COLOUR.sub('', str(error))}") from error
    finally:
        if rows and "seconds" not in rows[-1]:
            say("")  # the line of a cell that was stopped
    return rows


def run_lesson(lesson: Lesson, size: str, say: Callable[..., Any] = SAY) -> Path:
    """Runs a lesson at `size`; returns the executed copy, its log (JSON) lies beside it.

    Both go to `runs/lessons/` in the working directory. The copy is written even when a cell
    fails; then LessonFailed is raised. When it is stopped, nothing is written. Raises OSError,
    before any cell is run, where nothing could be written.
    """
    refuse_unwritable(COPIES, "a folder for the executed lesson", "run it from another folder")
    copy = COPIES / f"{lesson.path.stem}-{size}.ipynb"
    notebook, variables = finding.read_notebook(lesson.path), environment(size)
    say(f"{lesson.title} at size {size}")
    try:
        cells = execute(notebook, lesson.path.parent, variables, say)
    except Exception:
        finding.write_notebook(notebook, copy)
        raise
    log = provenance(size, variables, cells)
    signals.too_late()
    finding.write_notebook(notebook, copy)
    write_json(copy.with_suffix(".json"), log)
    say(f"{log['minutes']} minutes; {copy} and {copy.with_suffix('.json').name}")
    return copy


def commit_outputs(lesson: Lesson, size: str, say: Callable[..., Any] = SAY) -> None:
    """Runs a lesson without bf16 on two cores and replaces the notebook and its stated minutes.

    The log goes to `benchmarks/results/lessons.json`, the lesson's headline numbers to
    `headlines.json` beside it. Raises LessonFailed, and changes nothing, if a cell fails or the
    result is not fit to be committed.
    """
    for folder in (lesson.path.parent, (root() / RESULTS).parent):
        refuse_unwritable(folder, "a folder of the clone", "make it writable")
    notebook = first_cell.conform(finding.read_notebook(lesson.path), lesson.path.name)
    _refuse(lesson, guards.complaints_about_source(notebook))
    say(f"{lesson.title} at size {size}, without bf16, on 2 cores")
    with tempfile.TemporaryDirectory() as folder:
        collected = Path(folder) / "headlines"
        variables = environment(size, **WITHOUT_BF16, **{headlines.COLLECT: str(collected)})
        log = provenance(size, variables, execute(notebook, lesson.path.parent, variables, say))
        state_minutes(clean(first_cell.conform(notebook, lesson.path.name)), log)
        _refuse(lesson, guards.complaints_about_outputs(notebook))
        signals.too_late()
        for line in headlines.store(collected):
            say(line)
    results = root() / RESULTS
    known = read_json(results) if results.exists() else {}
    write_json(results, dict(sorted((known | {lesson.id: log}).items())))
    finding.write_notebook(notebook, lesson.path)
    say(f"{log['minutes']} minutes; notebooks/{lesson.path.name} and {RESULTS} are written")


def clean(notebook: Any) -> Any:
    """Removes in place what a rerun would change or GitHub cannot show; returns the notebook."""
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        for name in ("execution", "ExecuteTime", "collapsed", "scrolled"):
            cell.metadata.pop(name, None)
        if cell.cell_type == "code" and not cell.source.strip():
            cell.execution_count, cell.outputs = None, []
    return notebook


def state_minutes(notebook: Any, log: dict[str, Any]) -> None:
    """Writes the minutes of a run's log into the line of the lesson that states them."""
    said = f"{guards.MINUTES} {log['minutes']} minutes at size {log['size']} on 2 CPU cores"
    for cell in notebook.cells:
        lines = cell.source.split("\n")
        for number, line in enumerate(lines):
            if cell.cell_type == "markdown" and line.startswith(guards.MINUTES):
                lines[number] = f"{said} without bf16 (measured by `tlcourse run --commit-outputs`)"
                cell.source = "\n".join(lines)
                return
    raise ValueError(f"expected a line that starts with {guards.MINUTES!r}, found none; add one")


def provenance(size: str, variables: dict[str, str], cells: list[dict[str, Any]]) -> dict[str, Any]:
    """The log of a run: minutes, size, data source, machine (no host names), versions, cells."""
    seconds = sum(cell["seconds"] for cell in cells)
    describe = "from tlcourse import device; print(device.describe(device.choose()))"
    machine = subprocess.run(
        [sys.executable, "-c", describe],
        env=variables, check=True, capture_output=True, encoding="utf-8",
    )  # fmt: skip
    return {
        "minutes": round(seconds / 60, 1) if seconds > 6 else 0.1,
        "size": size,
        "data": data_source(variables),
        "machine": machine.stdout.strip(),
        "python": platform.python_version(),
        "versions": {name: metadata.version(name) for name in VERSIONS_TOLD},
        "cells": cells,
    }


def data_source(variables: dict[str, str]) -> str:
    """Where a run with these variables looks for data first."""
    if variables.get("TLCOURSE_DATA"):
        return "local mirror"
    return "bundled samples" if variables.get("HF_HUB_OFFLINE") == "1" else "Hugging Face Hub"


def _headings(notebook: Any) -> list[str]:
    """For each cell the heading that it stands under."""
    headings, current = [], ""
    for cell in notebook.cells:
        current = finding.heading(cell) or current
        headings.append(current)
    return headings


def labels(notebook: Any) -> list[str]:
    """What to call each cell: the heading right above it, or else its first line of code.

    Imports and comments are passed over where the cell has other lines.
    """
    found, above = [], None
    for cell in notebook.cells:
        above = finding.heading(cell) or above
        lines = [line for line in cell.source.splitlines() if line.strip()]
        own = [line for line in lines if not re.match(r"import |from |#|[\s)]", line)]
        label = re.sub(r"[*`]", "", above) if above else (own or lines or [""])[0]
        found.append(label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}…")
        if cell.cell_type == "code" and lines:
            above = None
    return found


def _refuse(lesson: Lesson, complaints: list[str]) -> None:
    if complaints:
        raise LessonFailed(f"notebooks/{lesson.path.name}: " + "; ".join(complaints))

"""What does Ctrl-C leave behind? Nine commands are stopped at ten random moments.

A command runs once to its end. Then, at each of the moments, drawn evenly over its usual duration,
a fresh one gets SIGINT as from a terminal, it and all processes of its group: it should end with
one line and status 130, no process and nothing half done left. Some get SIGTERM, or Ctrl-C twice.
A moment before the first line of `tlcourse` runs, in which Python itself starts, is counted apart.
"""

import csv
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import jobs
from benchmarks.child import LONGEST, lines_of, started, wait_for
from tlcourse import checkpoints, files, sizes

MOMENTS = {"tiny": 1, "small": 10, "full": 10}
TEMPORARY = re.compile(r"\..+\.part|.*\.incomplete|(kernel|jpserver)-.*")
COLUMNS = {
    "command": "command",
    "moments": "moments",
    "finished": "finished",
    "early": "before our first line",
    "one_line": "one line",
    "other": "other",
    "tracebacks": "tracebacks",
    "processes": "processes left",
    "half_done": "half-done files",
}


@dataclass(frozen=True)
class Job:
    """A command, the name of what it writes whole or not at all, and what stops it.

    A command that never ends by itself has a word `ready` that it says once it runs.
    """

    words: Sequence[str]
    whole: str = "none"
    signals: tuple[int, ...] = (signal.SIGINT,)
    ready: str = ""

    @property
    def name(self) -> str:
        """As the table calls it."""
        how = {2: ", Ctrl-C twice"}.get(len(self.signals), "")
        return self.words[0] + (", SIGTERM" if signal.SIGTERM in self.signals else how)


TWICE = (signal.SIGINT, signal.SIGINT)
SHAPE = ["--width", "64", "--layers", "2", "--heads", "2", "--vocabulary", "600"]
PRETRAIN = ["pretrain", *SHAPE, "--tokens", "3e5", "--out", "run"]
ADAPT = ["adapt", "--train", "my.csv", "--out", "mine", "--epochs", "6"]
RUN = ["run", "00", "--size", "tiny"]
LAB = ["lab", "--", "--no-browser", "--allow-root", "--ServerApp.port=0"]
SERVING = "is running at"
JOBS = (
    Job(PRETRAIN, "run/checkpoint"),
    Job(PRETRAIN, "run/checkpoint", TWICE),
    Job(PRETRAIN, "run/checkpoint", (signal.SIGTERM,)),
    Job(ADAPT, "mine"),
    Job(ADAPT, "mine", TWICE),
    Job(ADAPT, "mine", (signal.SIGTERM,)),
    Job(["predict", "saved", "--csv", "many.csv", "--out", "rows.csv"], "rows.csv"),
    Job(["evaluate", "checkpoint"], "checkpoint"),
    Job(RUN, "runs"),
    Job(RUN, "runs", TWICE),
    Job(LAB, ready=SERVING),
    Job(LAB, ready=SERVING, signals=(signal.SIGTERM,)),
    Job(["check"]),
    Job(["data"]),
    Job(["progress"]),
)


def contents(path: Path) -> list[str]:
    """The names of the files in a folder, or of the one file; none where there is nothing."""
    found = [path] if path.is_file() else path.rglob("*")
    return sorted(str(file.relative_to(path.parent)) for file in found if file.is_file())


def half_done(folder: Path, whole: str, complete: list[str]) -> list[str]:
    """What should not be there: temporary files, half a folder, JSON that ends in the middle."""
    every = {str(file.relative_to(folder)): file for file in folder.rglob("*") if file.is_file()}
    found = {name for name in every if any(map(TEMPORARY.fullmatch, Path(name).parts))}
    found |= {name for name in every if name.startswith("tmp/")}
    for name, file in every.items():
        if file.suffix in (".json", ".ipynb"):
            try:
                files.read_json(file)
            except ValueError:
                found.add(name)
    there = contents(folder / whole)
    return sorted(found | (set(there) if there and there != complete else set()))


def stopped(job: Job, folder: Path, moment: float, complete: list[str]) -> dict:
    """What a command did, and left, that was stopped after so many seconds."""
    with started(job.words, folder) as child:
        try:
            status = child.process.wait(moment)
        except subprocess.TimeoutExpired:
            child.stop(job.signals)
            try:
                status = child.process.wait(LONGEST)
            except subprocess.TimeoutExpired:
                status = None
        processes = len(child.processes())
    said = child.said().replace(str(folder), "FOLDER")
    traceback = "Traceback" in said or "Exception ignored" in said
    row = {"after_seconds": round(moment, 2), "status": status, "lines": lines_of(said)}
    row |= {"traceback": traceback, "processes": processes}
    row["half_done"] = half_done(folder, job.whole, complete)
    return row | {"ended": _ended(job, row, said)}


def _ended(job: Job, row: dict, said: str) -> str:
    """Under which column a moment is counted."""
    if row["status"] == 0 and not row["lines"]:
        return "finished"
    ours = row["traceback"] and str(files.PACKAGE) in said
    if not ours and all("tlcourse:" not in line for line in row["lines"]):
        died = row["status"] in (1, 130, *(-number for number in job.signals))
        return "early" if died else "other"
    one = len(row["lines"]) == 1 and row["lines"][0].startswith("tlcourse: stopped")
    return "one_line" if one and row["status"] == 128 + job.signals[0] else "other"


def prepare(folder: Path) -> None:
    """What the commands work on: rows of two labels, a classifier of them, a checkpoint."""
    rows = [(f"{who} {number} ?", who) for number in range(60) for who in ("Who is", "Where is")]
    for name, times in (("my.csv", 1), ("many.csv", 50)):
        with open(folder / name, "w", encoding="utf-8", newline="") as out:
            csv.writer(out).writerows([("text", "label"), *rows * times])
    shutil.copytree(checkpoints.folder_of("causal-small"), folder / "checkpoint")
    words = ["adapt", "--train", "my.csv", "--out", "saved", "--epochs", "1"]
    with started(words, folder) as child:
        if child.process.wait():
            raise RuntimeError(f"expected the classifier to be made, but: {child.said()[-500:]}")


def usual(job: Job, folder: Path) -> float:
    """Runs a command to its end, or until it is ready and a little longer; the seconds it took."""
    began = time.perf_counter()
    with started(job.words, folder) as child:
        if job.ready:
            wait_for(lambda: job.ready in child.said(), child)
            time.sleep(2)
        elif child.process.wait():
            raise RuntimeError(f"expected {job.name} to end well, but: {child.said()[-500:]}")
        return time.perf_counter() - began


def measure() -> dict:
    """One row a command: how many of its moments ended how."""
    generator, rows, taken = random.Random(0), [], {}
    with tempfile.TemporaryDirectory() as place:
        ready = Path(place) / "ready"
        ready.mkdir()
        prepare(ready)
        for job in JOBS:
            folder = Path(place) / "work"
            shutil.copytree(ready, folder)
            words = tuple(job.words)
            if words not in taken:
                taken[words] = usual(job, folder), contents(folder / job.whole)
            (seconds, complete), children = taken[words], []
            for _ in range(MOMENTS[sizes.current().name]):
                shutil.rmtree(folder)
                shutil.copytree(ready, folder)
                children.append(stopped(job, folder, generator.uniform(0, seconds), complete))
            shutil.rmtree(folder)
            rows.append(_row(job, seconds, children))
            print(f"{job.name}: {seconds:.1f} s, {len(children)} moments", flush=True)
    return {"job": "interrupts", **jobs.provenance("bundled samples"), "rows": rows}


def _row(job: Job, seconds: float, children: list[dict]) -> dict:
    counts = {
        how: sum(child["ended"] == how for child in children)
        for how in ("finished", "early", "one_line", "other")
    }
    return {
        "command": job.name,
        "seconds": round(seconds, 1),
        "moments": len(children),
        **counts,
        "tracebacks": sum(child["traceback"] and child["ended"] != "early" for child in children),
        "processes": sum(child["processes"] for child in children),
        "half_done": sum(len(child["half_done"]) for child in children),
        "children": children,
    }

"""Holds what the checks of exercises decided before they were rewritten: part of that work only.

    python -m tests.frozen write               # runs/frozen/answers.json: each answer, as it was
    python -m tests.frozen compare [TOPIC ...] # the same answers, through the checks of today
    python -m tests.frozen outputs FILE        # what commands, lessons at `tiny`, pages print

Two files of `outputs`, before and after a change, are compared with `diff`. The answers are those
of the files and of the tests at COMMIT, taken from git under another name, so that a file
may be rewritten and is still held against what stood in it.
"""

import argparse
import hashlib
import importlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbclient
import nbformat

from tlcourse import files
from tlcourse.cli import command_line

COMMIT = "9726fd0283"
ANOTHER = {"probing.remove"}  # another exercise now: several directions are a bonus
ROOT = Path(__file__).parents[1]
PLACE = ROOT / "runs" / "frozen"
DIGESTS = Path(__file__).with_name("frozen.json")  # of the verdicts, a topic each
TESTS = (
    "adaptation", "adaptation_deeper", "adaptation_schemes", "bpe", "finetuning",
    "finetuning_deeper", "finetuning_loop", "looking", "more_signal", "more_signal_deeper",
    "more_signal_learning", "pretraining", "pretraining_deeper", "probing", "start", "transformer",
)  # fmt: skip


def take() -> None:
    """Puts exercises and their tests of COMMIT under PLACE, as packages of other names.

    Raises subprocess.CalledProcessError where git does not know COMMIT.
    """
    if not (PLACE / "frozen_exercises").exists():
        packed = subprocess.run(
            ["git", "archive", COMMIT, "tlcourse/exercises", "tests/exercises"],
            cwd=ROOT, capture_output=True, check=True,
        ).stdout  # fmt: skip
        PLACE.mkdir(parents=True, exist_ok=True)
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(PLACE / "tree", filter="data")
        for path in (PLACE / "tree").rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            text = text.replace("tests.exercises", "frozen_tests")
            path.write_text(text.replace("tlcourse.exercises", "frozen_exercises"), "utf-8")
        (PLACE / "tree" / "tests" / "exercises").rename(PLACE / "frozen_tests")
        (PLACE / "tree" / "tlcourse" / "exercises").rename(PLACE / "frozen_exercises")
    sys.path.insert(0, str(PLACE))


@cache
def answers() -> list[tuple[str, str, Any]]:
    """Every answer at COMMIT: (id, its name, the answer)."""
    then = importlib.import_module("frozen_exercises.task")
    standard = importlib.import_module("frozen_tests.standard")
    found: list[tuple[str, str, Any]] = []
    for id in then.ids():
        if id in ANOTHER:
            continue
        task = then.get(id)
        found += [(id, "right", each) for each in task.solutions]
        found += [(id, "mistake", each.wrong) for each in task.mistakes]

    def accepts(id: str, *candidates: Any) -> Any:
        found.extend((id, "right in tests", each) for each in candidates if id not in ANOTHER)
        return lambda: None

    def rejects(id: str, *wrong: tuple) -> Any:
        found.extend((id, "wrong in tests", each[0]) for each in wrong if id not in ANOTHER)
        return lambda: None

    standard.accepts, standard.rejects = accepts, rejects
    for name in TESTS:
        importlib.import_module(f"frozen_tests.test_{name}")
    counted: dict[tuple[str, str], int] = {}
    named = []
    for id, kind, answer in found:
        number = counted[id, kind] = counted.get((id, kind), 0) + 1
        called = getattr(answer, "__name__", type(answer).__name__)
        named.append((id, f"{kind} {number}: {called}", answer))
    return named


def decided(package: str, topics: list[str]) -> dict[str, dict[str, list]]:
    """What the checks of `package` say: id → answer → [passed, stage, message]."""
    checking = importlib.import_module(f"{package}.checking")
    task = importlib.import_module(f"{package}.task")
    rows: dict[str, dict[str, list]] = {}
    for id, name, answer in answers():
        if topics and not {id, id.split(".")[0]} & set(topics):
            continue
        report = checking.check(task.get(id), answer)
        stage = task.get(id).stages[report.stage - 1].name if report.stage else ""
        rows.setdefault(id, {})[name] = [report.passed, stage, report.message]
    return rows


def digests(rows: dict) -> dict[str, str]:
    """Of the verdicts, a topic each: which answers passed, and where the others failed."""
    kept: dict[str, dict] = {}
    for id, each in rows.items():
        verdicts = {name: row[:2] for name, row in each.items()}
        kept.setdefault(id.split(".")[0], {})[id] = verdicts
    return {
        topic: hashlib.sha256(json.dumps(each, sort_keys=True).encode()).hexdigest()
        for topic, each in sorted(kept.items())
    }


def compare(rows: dict, due: dict) -> list[str]:
    """The answers whose verdict is another one; a line each."""
    return [
        f"{id}, {name}: was {due[id][name][:2]}, is {row[:2]}\n    was: {due[id][name][2]}\n"
        f"    is:  {row[2]}"
        for id, each in rows.items()
        for name, row in each.items()
        if row[:2] != due[id][name][:2]
    ]  # fmt: skip


def printed(*command: str) -> str:
    """What a command of `tlcourse` prints, and its exit code."""
    done = subprocess.run(
        [sys.executable, "-m", "tlcourse", *command], capture_output=True, text=True, check=False
    )
    return f"{done.stdout}{done.stderr}exit code {done.returncode}"


def outputs() -> dict[str, Any]:
    """Helps, errors, headline numbers at `tiny`, and digests of the page and of the tables."""
    found: dict[str, Any] = {"help": printed("--help"), "no such command": printed("adpt")}
    for name in command_line.COMMANDS:
        found[f"help of {name}"] = printed(name, "--help")
        found[f"{name} with a wrong option"] = printed(name, "--no-such-option")
    for name in ("README.md", "RESULTS.md"):
        found[name] = hashlib.sha256((ROOT / name).read_bytes()).hexdigest()
    with TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        printed("page", "--out", str(page))
        found["page"] = hashlib.sha256(page.read_bytes()).hexdigest()
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        book = nbformat.read(path, as_version=4)
        nbclient.NotebookClient(
            book, timeout=600, resources={"metadata": {"path": str(path.parent)}}
        ).execute()
        text = "".join(
            output.get("text", "") for cell in book.cells for output in cell.get("outputs", [])
        )
        found[path.stem] = re.findall(r"^([a-z_]+\.[a-z_0-9]+: .+)$", text, re.MULTILINE)
    return found


def main() -> int:
    """Writes or compares; returns 1 where a verdict differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("do", choices=("write", "compare", "outputs"))
    parser.add_argument("topics", nargs="*")
    parser.add_argument("--messages", action="store_true", help="print each message, then and now")
    asked = parser.parse_args()
    os.environ.update(TLCOURSE_ANSWERS="off", TLCOURSE_SIZE="tiny", TLCOURSE_WIDGETS="off")
    if asked.do == "outputs":
        files.write_json(asked.topics[0], outputs())
        return 0
    take()
    path = PLACE / "answers.json"
    if asked.do == "write":
        rows = decided("frozen_exercises", asked.topics)
        files.write_json(path, rows)
        files.write_json(DIGESTS, digests(rows))
        print(f"{sum(map(len, rows.values())):,} answers of {len(rows)} exercises in {path.name}")
        return 0
    due = json.loads(path.read_text(encoding="utf-8"))
    if digests(due) != files.read_json(DIGESTS):
        raise SystemExit(f"{path.name} is not what was frozen: run `python -m tests.frozen write`")
    rows = decided("tlcourse.exercises", asked.topics)
    differing = compare(rows, due)
    print("\n".join(differing))
    if asked.messages:
        for id, each in rows.items():
            for name, row in each.items():
                print(f"{id}, {name}\n    was: {due[id][name][2]}\n    is:  {row[2]}")
    same = sum(
        row[2] == due[id][name][2] for id, each in rows.items() for name, row in each.items()
    )
    count = sum(map(len, rows.values()))
    print(f"{count:,} answers, {len(differing)} verdicts differ, {same:,} messages are the same")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())

"""Grades ten made-up submissions of lesson 02 with `tlcourse grade`, nbgrader and otter-grader.

    python3 -m venv runs/graders
    runs/graders/bin/pip install -c constraints.txt -e . nbgrader otter-grader
    runs/graders/bin/python -m benchmarks graders --json benchmarks/results/graders.json

What each of the seven answers of a submission deserves is known. Both others get an assignment
made of the course's notebook as their documentation says: the reference in a solution region, and
a test of each exercise that asserts that its check passes. Two forms of it are measured, because
`exercise` hands back the reference while an answer is wrong: with the test *after* that call, where
a lecturer would add it, and with the test *before* it, on what the learner wrote. `otter run` is
measured, as `otter grade` needs a Docker daemon. The lesson runs at size tiny in both, and kept
answers are switched off, as they are in `tlcourse grade`. Seconds are the processor's, of all
processes that a grader starts, so that other work on the machine does not count.
"""

import csv
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from textwrap import indent
from typing import Any

from nbformat.v4 import new_code_cell, new_notebook, new_output, new_raw_cell

from benchmarks import markdown, runner
from tlcourse import files
from tlcourse.exercises import answers, task
from tlcourse.exercises.session import solution_text
from tlcourse.lessons import copies, execution, finding, solved

LESSON, ASSIGNMENT = "02", "lesson"
LIBRARIES = ("nbgrader", "otter")
LIMIT = 180  # seconds on the wall for one submission, after which a grader is stopped
FORMS = ("after", "before")  # where the test stands: after or before the call of `exercise`
COLUMNS = {
    "submission": "submission", "grader": "grader", "right": "right", "passed": "passed",
    "wrong": "wrong verdicts", "seconds": "processor seconds", "happened": "what happened",
}  # fmt: skip
# By exercise: a part of the reference, the same written differently, and a mistake.
EDITS = {
    "transformer.attention": (" / math.sqrt(query.shape[-1])", " * query.shape[-1] ** -0.5", ""),
    "transformer.combined_mask": (
        "allowed & is_token[:, None, None, :]",
        "torch.logical_and(allowed, is_token.unsqueeze(1).unsqueeze(1))",
        "allowed | is_token[:, None, None, :]",
    ),
    "transformer.rotate": (
        "torch.cat([second, first], dim=-1)",
        "x.roll(x.shape[-1] // 2, dims=-1)",
        "x",
    ),
    "transformer.self_attention": (
        "F.rms_norm(query, query.shape[-1:]), F.rms_norm(key, key.shape[-1:])",
        "(F.normalize(x, dim=-1) * x.shape[-1] ** 0.5 for x in (query, key))",
        "query, F.rms_norm(key, key.shape[-1:])",
    ),
    "transformer.feed_forward": (
        "self.down(self.activation(self.up(x)))",
        "self.down(self.activation(F.linear(x, self.up.weight, self.up.bias)))",
        "self.down(self.up(x))",
    ),
    "transformer.block": (
        "x + self.feed_forward(self.feed_forward_norm(x))",
        "self.feed_forward(self.feed_forward_norm(x)).add(x)",
        "self.feed_forward(self.feed_forward_norm(x))",
    ),
    "transformer.model": (
        "hidden @ self.embedding.weight.T",
        "F.linear(hidden, self.embedding.weight)",
        "hidden @ self.embedding.weight.flip(0).T",
    ),
}  # fmt: skip
LOOP = """def attention(query, key, value, mask=None):
    while True:
        pass


attention(torch.ones(2, 4), torch.ones(3, 4), torch.ones(3, 4))
"""
EXIT = """def combined_mask(is_token, causal=True):
    import os

    os._exit(0)
"""
PATCH = """def attention(query, key, value, mask=None):
    import sys

    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").endswith("exercises.task"):
            module.agree = lambda *given, **named: True
    return value
"""
TEST = """from tlcourse.exercises.checking import check
from tlcourse.exercises.task import get

report = check(get("{id}"), {name})
assert report.passed, report.message"""
STOPPED = f"stopped, because it was still running after {LIMIT} s"
FAILURES = {STOPPED: STOPPED, "DeadKernelError": "the kernel died"}  # by a part of the output
SAID = "✓ Solved: all stages passed. Yours is used from here on.\n"


@dataclass(frozen=True)
class HandedIn:
    """A submission: answers by exercise (those left out are as handed out), and which are right.

    `change` is what else the student did to the notebook; `kept` are answers in a file of
    `tlcourse answers export`, which is handed in instead of a notebook.
    """

    name: str
    answers: Mapping[str, str]
    right: frozenset[str] = frozenset()
    file: str = f"{ASSIGNMENT}.ipynb"
    change: Callable[[Any], None] = lambda notebook: None
    kept: Mapping[str, str] = field(default_factory=dict)


def handed_in() -> list[HandedIn]:
    """The ten submissions."""
    every = frozenset(EDITS)
    reference = {id: solution_text(task.get(id)) for id in EDITS}
    right, wrong = ({id: _edited(text, EDITS[id], n) for id, text in reference.items()}
                    for n in (1, 2))  # fmt: skip
    mistakes = ("transformer.attention", "transformer.feed_forward")
    two = {id: (wrong if id in mistakes else right)[id] for id in EDITS}
    hanging, leaving = right | {"transformer.attention": LOOP}, {"transformer.combined_mask": EXIT}
    patched = wrong | {"transformer.attention": PATCH}
    renamed = "Lesson 2, final (1).ipynb"
    return [
        HandedIn("right, written differently", right, every),
        HandedIn("the course's solution, pasted", reference, every),
        HandedIn("two known mistakes", two, every - {*mistakes}),
        HandedIn("nothing written", {}),
        HandedIn("an endless loop, called", hanging, every - {"transformer.attention"}),
        HandedIn("os._exit in one answer", right | leaving, every - {*leaving}),
        HandedIn("wrong, and changes the checks", patched),
        HandedIn("right, file renamed, cells moved", right, every, renamed, _moved),
        HandedIn("wrong, outputs forged", wrong, change=_forged),
        HandedIn("nothing written, kept answers forged", {}, kept=wrong),
    ]


def _edited(text: str, edit: Sequence[str], to: int) -> str:
    if edit[0] not in text:
        raise ValueError(f"expected {edit[0]!r} in a reference, which has changed; edit EDITS")
    return text.replace(edit[0], edit[to])


def _moved(notebook: Any) -> None:
    """Moves three answers to the place below the imports."""
    names = ("def combined_mask", "def rotate", "class FeedForward")
    moved = [cell for cell in finding.code_cells(notebook) if cell.source.startswith(names)]
    rest = [cell for cell in notebook.cells if cell not in moved]
    at = 1 + next(n for n, cell in enumerate(rest) if "from tlcourse.exercises" in cell.source)
    notebook.cells = [*rest[:at], *moved, *rest[at:]]


def _forged(notebook: Any) -> None:
    for number, cell in enumerate(finding.code_cells(notebook), start=1):
        cell.execution_count, cell.outputs = number, [new_output("stream", text=SAID)]


def written(submission: HandedIn, handed_out: Path, folder: Path) -> Path:
    """Writes the submission into a folder: the notebook handed out, with the answers pasted in."""
    notebook = finding.read_notebook(handed_out)
    for id, text in submission.answers.items():
        name = task.get(id).name
        cell = next(
            cell
            for cell in finding.code_cells(notebook)
            if cell.source.startswith((f"def {name}(", f"class {name}("))
        )
        cell.source = solved.pasted(cell.source, name, text)
    submission.change(notebook)
    folder.mkdir(parents=True, exist_ok=True)
    finding.write_notebook(notebook, folder / submission.file)
    for id, content in _kept(submission).items():
        files.write_text(folder / "my" / "answers" / f"{id}.py", content)
    return folder / submission.file


def _kept(submission: HandedIn) -> dict[str, str]:
    """The files of the kept answers, each of which says that it was solved."""
    day = "2026-01-01"
    return {
        id: answers.content(answers.Kept(1, day, day, task.get(id).name, text))
        for id, text in submission.kept.items()
    }


@dataclass(frozen=True)
class Verdict:
    """The ids that passed, processor seconds, and what was noteworthy; not `graded`: all lost."""

    passed: set[str]
    seconds: float
    happened: str = ""
    graded: bool = True


@dataclass(frozen=True)
class Ran:
    """A command that has run: what it printed and logged, its exit code, its processor seconds."""

    output: str
    code: int
    seconds: float

    @property
    def failed(self) -> str:
        """Why it failed, "" if it did not."""
        known = (said for part, said in FAILURES.items() if part in self.output)
        return next(known, self.output.strip()[-200:]) if self.code else ""


def command(*words: str | Path, folder: Path) -> Ran:
    """Runs `python -m words` in a folder, for at most LIMIT seconds."""
    scripts = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # nbgrader's alembic
    more = {"PYTHONPATH": str(files.root()), "PATH": scripts, "TMPDIR": str(folder)}
    before = _seconds_of_children()
    with subprocess.Popen(
        [sys.executable, "-m", *map(str, words)],
        cwd=folder,
        env=execution.environment("tiny", **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    ) as process:
        orphans = 0.0
        try:
            output, _ = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            orphans = _stop(process.pid)
            output = process.communicate()[0] + STOPPED
    return Ran(output, process.returncode, _seconds_of_children() - before + orphans)


def _seconds_of_children() -> float:
    """Processor seconds of all children that have ended, and of all that these waited for."""
    used = os.times()
    return used.children_user + used.children_system


def _stop(pid: int) -> float:
    """Kills a child and its descendants; returns the latters' seconds, for which nobody waits."""
    child = importlib.import_module("psutil").Process(pid)  # which comes with ipykernel
    descendants = child.children(recursive=True)
    for each in (child, *descendants):
        each.suspend()
    seconds = sum(sum(each.cpu_times()[:4]) for each in descendants)
    for each in (child, *descendants):
        each.kill()
    return seconds


class Course:
    """`tlcourse grade`."""

    name = "tlcourse grade"

    def __init__(self, folder: Path):
        self.folder = folder
        copies.hand_out(finding.get(LESSON), folder)
        self.handed_out = folder / finding.get(LESSON).path.name

    def grade(self, submission: HandedIn, student: str) -> Verdict:
        """Grades a submission that lies alone in a folder; kept answers, as the exported file."""
        given = self.folder / student
        path = written(submission, self.handed_out, given)
        if submission.kept:
            path.unlink()
            with zipfile.ZipFile(given / "answers.zip", "w") as archive:
                for id, content in _kept(submission).items():
                    archive.writestr(f"{id}.py", content)
        table = self.folder / f"{student}.csv"
        words = ("tlcourse", "grade", given, "--lesson", LESSON, "--out", table)
        ran = command(*words, folder=self.folder)
        with table.open(newline="", encoding="utf-8") as lines:
            rows = list(csv.DictReader(lines))
        copied = sum(row["as_reference"] == "True" for row in rows)
        notes = [f"{copied} equal the course's solution"] * bool(copied)
        notes += sorted({row["look"] for row in rows if row["look"]})
        passed = {row["exercise"] for row in rows if row["passed"] == "True"}
        return Verdict(passed, ran.seconds, "; ".join(notes))


def assignment(form: str, question: Callable[[str, str], list[Any]]) -> Any:
    """The lesson as the source of an assignment.

    `question(id, answer)` returns the cells of an exercise; `answer` is its cell with the reference
    in a solution region, which both libraries remove from what they hand out.
    """
    lesson = finding.read_notebook(finding.get(LESSON).path)
    cells = []
    for cell in lesson.cells:
        match = solved.HANDED_IN.search(cell.source) if cell.cell_type == "code" else None
        if match is None:
            cells.append(cell)
            continue
        begun, call = cell.source[: match.start()], cell.source[match.start() :]
        reference = solution_text(task.get(match[2]))
        answer = f"{begun}# BEGIN SOLUTION NO PROMPT\n{reference}# END SOLUTION\n"
        if form == "after":
            cells += question(match[2], f"{answer}\n\n{call}")
        else:
            cells += [*question(match[2], answer), new_code_cell(call)]
    return new_notebook(cells=cells, metadata=lesson.metadata)


class Nbgrader:
    """An assignment of nbgrader, and `nbgrader autograde`."""

    def __init__(self, folder: Path, form: str):
        self.folder, self.name = folder, f"nbgrader, test {form}"
        files.write_text(
            folder / "nbgrader_config.py",
            'c = get_config()\nc.CourseDirectory.course_id = "course"\n'
            'c.ClearSolutions.code_stub = {"python": "# YOUR CODE HERE"}\n'
            "c.ExecutePreprocessor.iopub_timeout = 60\n",  # 4 are too few on a busy machine
        )
        source = folder / "source" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
        source.parent.mkdir(parents=True)
        finding.write_notebook(assignment(form, self.question), source)
        command("nbgrader", "generate_assignment", ASSIGNMENT, "--create", folder=folder)
        self.handed_out = folder / "release" / ASSIGNMENT / source.name

    @staticmethod
    def question(id: str, answer: str) -> list[Any]:
        """An autograded answer and its test, which is locked."""
        name = task.get(id).name
        cells = [new_code_cell(answer), new_code_cell(TEST.format(id=id, name=name))]
        for cell, kind in zip(cells, ("answer", "test"), strict=True):
            tested = kind == "test"
            cell.metadata["nbgrader"] = {
                "schema_version": 3, "grade_id": f"{kind}-{name}", "task": False,
                "solution": not tested, "grade": tested, "locked": tested,
            }  # fmt: skip
        cells[1].metadata["nbgrader"]["points"] = 1
        return cells

    def grade(self, submission: HandedIn, student: str) -> Verdict:
        """Grades one submission; the verdicts are those of the gradebook."""
        given = self.folder / "submitted" / student / ASSIGNMENT
        path = written(submission, self.handed_out, given)
        words = ("nbgrader", "autograde", ASSIGNMENT, "--student", student)
        ran = command(*words, folder=self.folder)
        if refused := "Skipping unknown notebook" in ran.output:
            path.rename(given / f"{ASSIGNMENT}.ipynb")
            ran = command(*words, folder=self.folder)
        database = f"sqlite:///{self.folder / 'gradebook.db'}"
        with importlib.import_module("nbgrader.api").Gradebook(database) as gradebook:
            notebooks = gradebook.find_submission(ASSIGNMENT, student).notebooks
            full = {each.name for book in notebooks for each in book.grades if each.auto_score}
        passed = {id for id in EDITS if f"test-{task.get(id).name}" in full}
        late = ran.output.count("Timeout waiting for execute reply")
        notes = [ran.failed, f"cells stopped after 30 s: {late}" * bool(late)]
        notes += ["refused until its file was renamed" * refused]
        happened = "; ".join(filter(None, notes))
        return Verdict(passed, ran.seconds, happened, graded=not ran.failed)


class Otter:
    """An assignment of otter-grader, and `otter run`."""

    def __init__(self, folder: Path, form: str):
        self.folder, self.name = folder, f"otter, test {form}"
        source = assignment(form, self.question)
        settings = "# ASSIGNMENT CONFIG\nexport_cell: false\ntests:\n  ok_format: false"
        source.cells.insert(0, new_raw_cell(settings))
        folder.mkdir()
        finding.write_notebook(source, folder / f"{ASSIGNMENT}.ipynb")
        command("otter", "assign", f"{ASSIGNMENT}.ipynb", "dist", folder=folder)
        self.handed_out = folder / "dist" / "student" / f"{ASSIGNMENT}.ipynb"
        (self.autograder,) = (folder / "dist" / "autograder").glob("*.zip")

    @staticmethod
    def question(id: str, answer: str) -> list[Any]:
        """A question with its solution and its test."""
        name = task.get(id).name
        test = f"def test({name}):\n{indent(TEST.format(id=id, name=name), '    ')}"
        return [
            new_raw_cell(f"# BEGIN QUESTION\nname: {name}"),
            *(new_raw_cell("# BEGIN SOLUTION"), new_code_cell(answer)),
            *(new_raw_cell("# END SOLUTION"), new_raw_cell("# BEGIN TESTS")),
            *(new_code_cell(test), new_raw_cell("# END TESTS"), new_raw_cell("# END QUESTION")),
        ]

    def grade(self, submission: HandedIn, student: str) -> Verdict:
        """Grades one submission, a zip file as students hand it in to otter."""
        given, results = self.folder / student, self.folder / f"{student}-results"
        written(submission, self.handed_out, given)
        results.mkdir()
        words = ("otter", "run", "-a", self.autograder, "-o", results)
        archive = shutil.make_archive(str(given), "zip", given)
        ran = command(*words, archive, folder=self.folder)
        if ran.failed:
            return Verdict(set(), ran.seconds, ran.failed, graded=False)
        tests = files.read_json(results / "results.json")["tests"]
        full = {test["name"] for test in tests if test.get("score") == test.get("max_score")}
        return Verdict({id for id in EDITS if task.get(id).name in full}, ran.seconds)


def measure() -> dict:
    """A row for each submission and grader, and what they rest on.

    Raises ModuleNotFoundError where nbgrader or otter-grader is not installed.
    """
    if missing := [name for name in LIBRARIES if find_spec(name) is None]:
        raise ModuleNotFoundError(
            f"expected nbgrader and otter-grader beside the course, found no {missing[0]}; install "
            "both into an environment of their own, as the head of benchmarks/speed/graders.py says"
        )
    rows = []
    with tempfile.TemporaryDirectory(prefix="graders-") as place:
        folder = Path(place)
        graders: list[Course | Nbgrader | Otter] = [Course(folder / "course")]
        graders += [
            make(folder / f"{make.__name__.lower()}-{form}", form)
            for make in (Nbgrader, Otter)
            for form in FORMS
        ]
        for number, submission in enumerate(handed_in(), start=1):
            for grader in graders:
                verdict = grader.grade(submission, f"student-{number:02}")
                row: dict[str, Any] = {"job": "graders", "submission": submission.name}
                row |= {"grader": grader.name, "right": len(submission.right)}
                row |= {"passed": len(verdict.passed), "graded": verdict.graded}
                row |= {"wrong": len(submission.right ^ verdict.passed)}
                row |= {"seconds": round(verdict.seconds, 1), "happened": verdict.happened}
                rows.append(row)
                done = f"{submission.name}, {grader.name}: {len(verdict.passed)} passed"
                print(f"{done}, {verdict.seconds:.0f} s", file=sys.stderr, flush=True)
    libraries = (importlib.import_module(name) for name in LIBRARIES)
    data = f"ten made-up submissions of lesson {LESSON}, at size tiny"
    return {"job": "graders", **runner.provenance(data, *libraries), "rows": rows}


def section(result: Mapping) -> str:
    """The table of docs/teaching/marking.md, and what it rests on.

    It shows how many answers passed, in bold where a verdict is wrong.
    """
    lines: dict[str, list[str | int]] = {}
    wrong: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    for row in result["rows"]:
        passed = str(row["passed"]) if row["graded"] else "lost"
        line = lines.setdefault(row["submission"], [row["submission"], row["right"]])
        line.append(f"**{passed}**" if row["wrong"] else passed)
        wrong[row["grader"]] += row["wrong"]
        seconds[row["grader"]] += row["seconds"]
    ends: list[list[str | int]] = [
        [f"wrong verdicts, of {len(lines) * len(EDITS)}", "", *wrong.values()],
        ["processor seconds, for all ten", "", *(f"{each:.0f}" for each in seconds.values())],
    ]
    versions = ", ".join(f"{name} {result['versions'][name]}" for name in LIBRARIES)
    source = f"{versions}; {result['machine']} (`python -m benchmarks {result['job']}`)."
    table = markdown.table(["submission", "right", *wrong], [*lines.values(), *ends])
    return markdown.section(table, source)

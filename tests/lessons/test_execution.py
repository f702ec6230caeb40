"""The headless runner: a real kernel, small notebooks."""

import json
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest

from tlcourse import cli, files
from tlcourse.lessons import Lesson, execution, finding, first_cell, guards, kernels

OPENING = """# 00 · A lesson

A story. After it you will be able to run it.

**You build:** a lesson

**The question:** does it run?

**You need:** nothing"""
CLOSING = """## What changed since 2019

All.

**Run time:** …

**Data:** none"""


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that makes a course of one lesson with the given code cells."""

    def make(*sources: str, id: str = "00") -> Lesson:
        cells = [nbformat.v4.new_markdown_cell(OPENING)]
        for number, source in enumerate(sources, 1):
            cells.append(nbformat.v4.new_markdown_cell(f"## Part {number}"))
            cells.append(nbformat.v4.new_code_cell(source))
        cells.append(nbformat.v4.new_markdown_cell(CLOSING))
        path = tmp_path / "notebooks" / f"{id}_a_lesson.ipynb"
        path.parent.mkdir(exist_ok=True)
        nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
        return Lesson(id, "a_lesson", path)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(files, "root", lambda: tmp_path)
    monkeypatch.setattr(execution, "root", lambda: tmp_path)
    project = tmp_path / "pyproject.toml"
    project.write_text('[project.urls]\nRepository = "https://github.com/me/it"', encoding="utf-8")
    return make


@pytest.fixture(scope="module")
def answers() -> dict[tuple, Any]:
    """What a process with PyTorch has said of the machine, by what it was told of it."""
    return {}


@pytest.fixture(autouse=True)
def asked_once(answers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that are told the same of the machine ask once what it is."""

    def run(command, *, env, **more):
        told = (*command, *(env.get(name) for name in execution.WITHOUT_BF16))
        if told not in answers:
            answers[told] = subprocess.run(command, env=env, **more)
        return answers[told]

    monkeypatch.setattr(execution, "subprocess", SimpleNamespace(run=run))


def quietly(*told: str, **how: str) -> None:
    """Says nothing."""


TELL = """import os
from pathlib import Path
names = ("TLCOURSE_SIZE", "TLCOURSE_WIDGETS", "ATEN_CPU_CAPABILITY", "TLCOURSE_DATA")
names += ("TLCOURSE_ANSWERS",)
print(Path.cwd().name, *[os.environ.get(name) for name in names])"""


def test_run_leaves_the_lesson_and_writes_a_copy_and_a_log(course, tmp_path, monkeypatch) -> None:
    (tmp_path / "mirror").mkdir()
    monkeypatch.setenv("TLCOURSE_DATA", "mirror")
    monkeypatch.delenv("TLCOURSE_ANSWERS", raising=False)
    lesson, said = course(f"{TELL}\nPath('ran').touch()", "2 + 2"), []
    before = lesson.path.read_bytes()
    ran = tmp_path / "notebooks" / "ran"

    def say(text: str, **how: str) -> None:
        said.append((text, how.get("end", "\n"), ran.exists()))

    copy = execution.run_lesson(lesson, "tiny", say)
    assert lesson.path.read_bytes() == before

    first, second = finding.code_cells(finding.read_notebook(copy))
    told = first.outputs[0].text.split()
    assert told == ["notebooks", "tiny", "off", "None", str((tmp_path / "mirror").resolve()), "off"]
    assert second.outputs[0].data["text/plain"] == "4"

    log = files.read_json(copy.with_suffix(".json"))
    assert [cell["heading"] for cell in log["cells"]] == ["Part 1", "Part 2"]
    assert (log["size"], log["data"]) == ("tiny", "local mirror")
    assert log["versions"].keys() >= {"torch", "datasets"}
    assert said[1] == (f"   1 of 2  {'Part 1':64}", "", False), "said before the cell runs"
    assert said[2][1:] == ("\n", True)
    _, first, second, last = "".join(text + end for text, end, _ in said).splitlines()
    assert re.fullmatch(r"   1 of 2  Part 1 +\d+\.\d s", first)
    assert re.fullmatch(r"   2 of 2  Part 2 +\d+\.\d s", second)
    assert "minutes" in last


def test_a_cell_is_called_by_the_heading_right_above_it_or_by_its_first_line_of_code() -> None:
    markdown, code = nbformat.v4.new_markdown_cell, nbformat.v4.new_code_cell
    cells = [
        markdown("# A lesson\n\n## 1 The *first* part of `it`"),
        code("x = 1"),
        markdown("No heading."),
        code("# of x\nimport os\nfrom pathlib import (\n    Path,\n)\n\ny = 2  # two"),
        code("import os\nimport re"),
        code("# hint()"),
        code("  "),
        code(f"name = '{'a' * 80}'"),
        markdown("## 2"),
        code(""),
        code("def f():\n    pass"),
    ]
    named = execution.labels(nbformat.v4.new_notebook(cells=cells))
    told = [name for name, cell in zip(named, cells, strict=True) if cell.cell_type == "code"]
    first, cut = "1 The first part of it", f"name = '{'a' * 55}…"
    assert told == [first, "y = 2  # two", "import os", "# hint()", "", cut, "2", "2"]


def test_a_failing_cell_is_named_and_the_copy_kept(course, capsys, monkeypatch) -> None:
    lesson = course("x = 1", "raise KeyError('lost')", "x = 3")
    monkeypatch.setattr(finding, "every", lambda: [lesson])
    assert cli.main(["run", "0", "--size", "tiny"]) == 1
    said = capsys.readouterr().err
    assert "cell 2 of 3, under 'Part 2'" in said
    assert "KeyError: 'lost'" in said
    assert Path("runs/lessons/00_a_lesson-tiny.ipynb").exists()


@pytest.mark.parametrize("where", ["while a cell runs", "after the last cell"])
def test_stopped_it_leaves_earlier_copies_and_no_kernel(course, capsys, monkeypatch, where) -> None:
    lesson = course("print('begun', flush=True)")
    monkeypatch.setattr(finding, "every", lambda: [lesson])
    copy = Path("runs/lessons/00_a_lesson-tiny.ipynb")
    files.write_text(copy, "an earlier copy")
    managers = []

    class Manager(kernels.AsyncKernelManager):
        def client(self):
            managers.append(self)
            return super().client()

    def wait(futures, seconds):
        if where == "while a cell runs" and managers:
            raise KeyboardInterrupt
        return until(futures, seconds)

    def stop(*arguments):
        raise KeyboardInterrupt

    until = kernels.wait
    monkeypatch.setattr(kernels, "AsyncKernelManager", Manager)
    monkeypatch.setattr(kernels, "wait", wait)
    monkeypatch.setattr(execution, "provenance", stop)
    assert cli.main(["run", "0", "--size", "tiny"]) == 130
    left = "stopped; nothing was written; the lesson is unchanged"
    assert capsys.readouterr().err == f"tlcourse: {left}\n"
    assert [path.name for path in copy.parent.iterdir()] == [copy.name]
    assert copy.read_text(encoding="utf-8") == "an earlier copy"
    (manager,) = managers
    assert not manager.has_kernel and not Path(manager.connection_file).exists()


HEADLINE = """from tlcourse.lessons import headline
headline("lesson.answer", 42, unit="questions", data="none")"""


def test_commit_outputs(course, tmp_path) -> None:
    lesson = course(f"# set-up\n{TELL}", TELL, HEADLINE)
    execution.commit_outputs(lesson, "tiny", quietly)
    book = finding.read_notebook(lesson.path)
    set_up, tell, _ = finding.code_cells(book)
    assert set_up.source == first_cell.source()
    assert tell.outputs[0].text.split()[:4] == ["notebooks", "tiny", "off", "avx2"]
    assert guards.complaints_about_outputs(book) == []
    assert guards.complaints_about_source(book) == []
    assert book.metadata == first_cell.METADATA

    log = files.read_json(tmp_path / execution.RESULTS)["00"]
    assert "float32" in log["machine"]
    line = f"**Run time:** {log['minutes']} minutes at size tiny on 2 CPU cores without bf16"
    assert line in book.cells[-1].source
    stored = files.read_json(tmp_path / "benchmarks/results/headlines.json")
    assert stored["lesson.answer"]["value"] == 42

    execution.state_minutes(book, log | {"minutes": 9.9})
    assert book.cells[-1].source.count(guards.MINUTES) == 1
    assert "**Run time:** 9.9 minutes at" in book.cells[-1].source


def test_a_deeper_lesson_has_a_log_of_its_own(course, tmp_path) -> None:
    files.write_json(tmp_path / execution.RESULTS, {"00": {"minutes": 3}, "01": {"minutes": 4}})
    lesson = course("", "1 + 1", id="00b")
    copy = execution.run_lesson(lesson, "tiny", quietly)
    assert copy == Path("runs/lessons/00b_a_lesson-tiny.ipynb") and copy.exists()
    execution.commit_outputs(lesson, "tiny", quietly)
    log = files.read_json(tmp_path / execution.RESULTS)
    assert list(log) == ["00", "00b", "01"]
    assert (log["00"], log["00b"]["size"]) == ({"minutes": 3}, "tiny")
    cells = finding.read_notebook(lesson.path).cells
    assert f"**Run time:** {log['00b']['minutes']} minutes at size tiny" in cells[-1].source


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("from pathlib import Path\nprint(Path('/home/ann/model'))", "absolute paths"),
        ("raise SystemExit", "SystemExit"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_commit_outputs_refuses_and_changes_nothing(course, tmp_path, source, said) -> None:
    lesson = course(source)
    before = lesson.path.read_bytes()
    with pytest.raises(execution.LessonFailed, match=said):
        execution.commit_outputs(lesson, "tiny", quietly)
    assert lesson.path.read_bytes() == before
    assert not (tmp_path / execution.RESULTS).exists()


def test_minutes_need_a_line() -> None:
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Title")])
    with pytest.raises(ValueError, match="Run time"):
        execution.state_minutes(book, {"minutes": 1, "size": "small"})


def test_clean_removes_what_a_rerun_would_change() -> None:
    cell = nbformat.v4.new_code_cell("1", metadata={"execution": {"started": "12:00"}})
    book = nbformat.v4.new_notebook(cells=[cell], metadata={"widgets": {"state": {}}})
    assert "execution" not in json.dumps(execution.clean(book).cells[0].metadata)
    assert "widgets" not in book.metadata

"""The ten submissions are as right as they say, and the assignments have their tests in place."""

import importlib
import time

import nbformat
import pytest

from benchmarks.speed import graders
from tlcourse import files, results
from tlcourse.exercises import task
from tlcourse.exercises.session import solution_text
from tlcourse.grading import grade, submissions
from tlcourse.grading.submitted import of_notebook, tidied
from tlcourse.lessons import finding


@pytest.fixture(scope="module")
def handed_in() -> dict[str, graders.HandedIn]:
    return {each.name: each for each in graders.handed_in()}


@pytest.mark.parametrize(
    "name",
    ["right, file renamed, cells moved", "two known mistakes", "wrong, and changes the checks"],
)
def test_what_a_submission_deserves(name, handed_in, tmp_path) -> None:
    graders.written(handed_in[name], finding.get("02").path, tmp_path)
    (submission,) = submissions(tmp_path, "02")
    passed = {result.id for result in grade(submission) if result.passed}
    assert passed == handed_in[name].right


def test_there_are_ten_of_all_exercises_and_the_right_ones_differ(handed_in) -> None:
    assert len(handed_in) == 10
    assert set(graders.EDITS) == {id for id in task.ids() if task.facts(id).lesson == "02"}
    for id, text in handed_in["right, written differently"].answers.items():
        assert tidied(text) != tidied(solution_text(task.get(id)))


@pytest.mark.parametrize("library", [graders.Nbgrader, graders.Otter])
@pytest.mark.parametrize("form", graders.FORMS)
def test_the_test_stands_where_the_form_says_and_the_answers_are_still_found(library, form) -> None:
    book = graders.assignment(form, library.question)
    sources = [cell.source for cell in book.cells]
    for id in graders.EDITS:
        name = task.get(id).name
        (call,) = [n for n, source in enumerate(sources) if f"{name} = exercise(" in source]
        (test,) = [n for n, source in enumerate(sources) if f'check(get("{id}"), {name})' in source]
        assert (test < call) == (form == "before")
    found = of_notebook(nbformat.writes(book).encode())
    for id in graders.EDITS:
        assert tidied(found[id].text) == tidied(solution_text(task.get(id)))


def test_without_the_libraries_it_says_where_to_read_how_to_install_them(monkeypatch) -> None:
    monkeypatch.setattr(graders, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match="no nbgrader; install both"):
        graders.measure()


def test_a_grader_that_does_not_end_is_stopped_with_what_it_started(monkeypatch, tmp_path) -> None:
    (tmp_path / "endless.py").write_text(
        "import subprocess, sys\n"
        "loop = subprocess.Popen([sys.executable, '-c', 'while True: pass'], "
        "start_new_session=True)\n"
        "print(loop.pid, flush=True)\n"
        "loop.wait()\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(graders, "LIMIT", 4)
    ran = graders.command("endless", folder=tmp_path)
    assert ran.failed == graders.STOPPED
    assert ran.seconds > 0.5  # mostly the loop's, which is not a child of ours
    loop = int(ran.output.split()[0])
    ended = time.monotonic() + 20  # a killed process is still "running" until it is next scheduled
    while time.monotonic() < ended and _runs(loop):
        time.sleep(0.05)
    assert not _runs(loop)


def _runs(pid: int) -> bool:
    psutil = importlib.import_module("psutil")
    try:
        return psutil.Process(pid).status() != "zombie"
    except psutil.NoSuchProcess:
        return False


def test_the_page_on_marking_has_the_stored_table() -> None:
    stored = results.stored("graders")
    page = (files.root() / "docs/teaching/marking.md").read_text(encoding="utf-8")
    assert graders.section(stored) in page

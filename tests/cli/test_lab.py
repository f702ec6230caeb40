"""`tlcourse lab`: the learner's copy, and where JupyterLab and its kernels find it."""

import os
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tlcourse.cli import lab, main
from tlcourse.exercises import session
from tlcourse.lessons import finding, serving


def test_lab_copies_new_lessons_and_never_overwrites(one_lesson, tmp_path, capsys) -> None:
    folder = tmp_path / "my"
    command = ["lab", "--prepare-only", "--folder", str(folder)]
    assert main(command) == 0
    copy = folder / one_lesson.path.name
    assert capsys.readouterr().out.startswith("new ")
    assert finding.read_notebook(copy).cells[1].execution_count is None

    copy.write_text("my own work", encoding="utf-8")
    assert main(command) == 0
    assert "kept as you left it" in capsys.readouterr().out
    assert copy.read_text(encoding="utf-8") == "my own work"


@pytest.fixture
def called(monkeypatch):
    """The commands and variables with which JupyterLab would be started."""
    calls = []
    monkeypatch.setattr(serving, "serve", lambda *command: calls.append(command))
    return calls


@pytest.mark.parametrize("by", ["option", "variable", "working directory"])
def test_the_kernels_keep_answers_in_the_folder_of_the_copy(
    one_lesson, tmp_path, monkeypatch, called, by
) -> None:
    """Also where nothing names it, for the working directory of a kernel is the folder itself."""
    monkeypatch.setattr(lab.files, "root", lambda: tmp_path / "_data")  # as a wheel has it
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TLCOURSE_MY", raising=False)
    folder = tmp_path / ("my" if by == "working directory" else "mine")
    if by == "variable":
        monkeypatch.setenv("TLCOURSE_MY", "mine")
    main(["lab", *(["--folder", "mine"] if by == "option" else []), "--", "--no-browser"])
    ((words, variables),) = called
    assert variables["TLCOURSE_MY"] == str(folder) and Path(variables["TLCOURSE_MY"]).is_absolute()
    assert words[:3] == [sys.executable, "-m", "jupyterlab"] and words[-1] == "--no-browser"
    assert f"--ServerApp.root_dir={tmp_path}" in words
    assert variables["PATH"].split(os.pathsep)[0] == str(Path(sys.executable).parent)
    assert f"--LabApp.default_url=/lab/tree/{folder.name}/{one_lesson.path.name}" in words
    assert (folder / one_lesson.path.name).exists()


def test_a_solved_copy_is_opened_and_its_solutions_are_not_kept_as_answers(
    tmp_path, called, capsys
) -> None:
    folder = tmp_path / "my"
    main(["lab", "--solved", "02", "--folder", str(folder)])
    ((words, variables),) = called
    name = "02_building_a_transformer.solved.ipynb"
    assert variables["TLCOURSE_ANSWERS"] == "off"
    assert f"--LabApp.default_url=/lab/tree/my/{name}" in words
    assert capsys.readouterr().out.endswith(f"new                  {folder / name}\n")
    cells = finding.code_cells(finding.read_notebook(folder / name))
    source = "\n".join(cell.source for cell in cells)
    assert "your code here" not in source and 'exercise("transformer.block", Block)' in source
    assert {cell.execution_count for cell in cells} == {None}
    (folder / name).write_text("changed by hand", encoding="utf-8")
    main(["lab", "--solved", "02", "--folder", str(folder)])
    assert (folder / name).read_text(encoding="utf-8") == "changed by hand"


@pytest.mark.parametrize("name", ["my #1", "my%20course", "mine?", "ä", "a&b=c+d", "plain"])
def test_the_address_names_the_folder_whatever_it_is_called(
    one_lesson, tmp_path, called, name
) -> None:
    assert main(["lab", "--folder", str(tmp_path / name)]) is None
    ((words, variables),) = called
    (address,) = (word.split("=", 1)[1] for word in words if word.startswith("--LabApp.default"))
    parts = urlsplit(f"http://localhost:8888{address}")
    assert unquote(parts.path) == f"/lab/tree/{name}/{one_lesson.path.name}"
    assert not parts.query and not parts.fragment
    assert variables["TLCOURSE_MY"] == str(tmp_path / name)


def test_copies_for_a_class_have_no_outputs_and_are_not_overwritten(tmp_path, capsys) -> None:
    out = tmp_path / "class"
    assert main(["release", "02", "02b", "--out", str(out)]) == 0
    names = sorted(path.name for path in out.iterdir())
    assert names == ["02_building_a_transformer.ipynb", "02b_transformer_deeper.ipynb"]
    book = finding.read_notebook(out / names[0])
    assert not any(cell.outputs for cell in finding.code_cells(book))
    assert "no-solutions" not in {cell.id for cell in book.cells}
    (out / names[0]).write_text("mine", encoding="utf-8")
    assert main(["release", "02", "--out", str(out)]) == 0
    assert (out / names[0]).read_text(encoding="utf-8") == "mine"
    assert "kept as you left it" in capsys.readouterr().out


def test_in_a_copy_without_solutions_hints_answer_and_solutions_do_not(
    tmp_path, capsys, monkeypatch
) -> None:
    main(["release", "02", "--out", str(tmp_path), "--no-solutions"])
    book = finding.read_notebook(tmp_path / "02_building_a_transformer.ipynb")
    ids = [cell.id for cell in book.cells]
    assert ids.index("no-solutions") == ids.index("set-up") - 1
    monkeypatch.setenv("TLCOURSE_SOLUTIONS", "on")  # to be restored
    exec(book.cells[ids.index("no-solutions")].source, {})
    capsys.readouterr()
    session.solution("transformer.attention")
    said = capsys.readouterr().out
    assert "shows no solutions" in said and "softmax" not in said
    for _ in range(4):
        session.hint("transformer.attention")
    said = capsys.readouterr().out
    assert "Hint 3 of 3" in said and "solution(" not in said

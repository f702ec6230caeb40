"""The first cell where the course is missing, and where it is there; notebooks made alike."""

import json
import os
import site
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import nbformat
import pytest

import tlcourse
from tlcourse.lessons import finding, first_cell

# Stands in for pip: notes how it was called and installs an empty package where it should.
FAKE_PIP = """
import json, os, pathlib, sys
log = pathlib.Path(os.environ["PIP_LOG"])
log.write_text(json.dumps(sys.argv[1:]), encoding="utf-8")
package = pathlib.Path(os.environ["PIP_TARGET_FOLDER"], "tlcourse")
package.symlink_to(os.environ["COURSE"])
record = package.with_name("tlcourse-0.1.0.dist-info")
record.mkdir()
(record / "METADATA").write_text(os.environ["METADATA"], encoding="utf-8")
"""
CELL = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell(sys.argv[1]).raise_error()
shell.run_cell("import tlcourse; print(tlcourse.__version__)").raise_error()
"""


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """Environment variables of a Python that has all that this one has, except the course."""
    libraries, pip = tmp_path / "libraries", tmp_path / "fake" / "pip"
    libraries.mkdir()
    for folder in {*site.getsitepackages(), str(Path(os.__file__).parent / "site-packages")}:
        for path in Path(folder).glob("*"):
            if "tlcourse" not in path.name and path.name not in ("pip", "__pycache__"):
                target = libraries / path.name
                if not target.exists():
                    target.symlink_to(path)
    pip.mkdir(parents=True)
    (pip / "__init__.py").touch()
    (pip / "__main__.py").write_text(FAKE_PIP, encoding="utf-8")
    return os.environ | {
        "PYTHONPATH": os.pathsep.join([str(pip.parent), str(libraries)]),
        "PIP_LOG": str(tmp_path / "called.json"),
        "PIP_TARGET_FOLDER": str(libraries),
        "COURSE": str(Path(tlcourse.__file__).parent),
        "METADATA": metadata.distribution("tlcourse").read_text("METADATA"),
        "IPYTHONDIR": str(tmp_path / "ipython"),
    }


def run_cell(variables: dict[str, str], folder: Path, *flags: str) -> str:
    """Runs the first cell, then imports the course; returns what was printed."""
    result = attempt(variables, folder, *flags)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stderr == "", "no red text"
    return result.stdout


def attempt(variables: dict[str, str], folder: Path, *flags: str) -> subprocess.CompletedProcess:
    command = [sys.executable, *flags, "-c", CELL, first_cell.source()]
    # IPython warns when another environment than its own is active in the shell.
    own = {name: value for name, value in variables.items() if name != "VIRTUAL_ENV"}
    return subprocess.run(command, env=own, cwd=folder, capture_output=True, encoding="utf-8")


@pytest.mark.skipif(sys.platform == "win32", reason="links the libraries into a bare environment")
def test_installs_the_course_and_only_what_is_missing(bare, tmp_path) -> None:
    said = run_cell(bare, tmp_path, "-S")
    assert said.splitlines()[-1] == tlcourse.__version__
    asked = json.loads((tmp_path / "called.json").read_text(encoding="utf-8"))
    packages = [f"git+{first_cell.address()}", *first_cell.MISSING_ON_COLAB]
    assert asked == ["install", "-qq", "--no-deps", *packages]


@pytest.mark.skipif(sys.platform == "win32", reason="links the libraries into a bare environment")
def test_says_what_to_install_where_libraries_are_missing(bare, tmp_path) -> None:
    for path in Path(bare["PIP_TARGET_FOLDER"]).glob("*"):
        if path.name.startswith(("torch", "datasets")):
            path.unlink()
    result = attempt(bare, tmp_path, "-S")
    assert result.returncode != 0
    said = result.stdout + result.stderr
    assert "this Python lacks datasets, torch; run the line below in a new cell" in said
    assert '%pip install "datasets>=4.0" "torch>=2.9"' in said
    assert "No module named" not in said


def test_does_nothing_where_the_course_is_installed(bare, tmp_path) -> None:
    variables = bare | {"PYTHONPATH": bare["PYTHONPATH"].split(os.pathsep)[0]}
    said = run_cell(variables | {"PYTHONPATH": str(Path(tlcourse.__file__).parents[1])}, tmp_path)
    assert said.strip() == tlcourse.__version__
    assert not (tmp_path / "called.json").exists()


def test_the_first_cell_is_four_short_lines_and_ends_with_the_import() -> None:
    lines = [line for line in first_cell.source().splitlines() if line]
    assert len(lines) == 4 and lines[-1].startswith("import tlcourse ")
    assert max(map(len, lines)) <= 100


def book(*cells: nbformat.NotebookNode) -> nbformat.NotebookNode:
    return nbformat.v4.new_notebook(cells=list(cells), metadata={"jupytext": {"formats": "py"}})


MARKDOWN, CODE = nbformat.v4.new_markdown_cell, nbformat.v4.new_code_cell


def test_conform_replaces_an_older_set_up_cell_and_badge(monkeypatch) -> None:
    monkeypatch.setattr(first_cell, "address", lambda: "https://github.com/someone/course")
    old = f"# Title\n\n{first_cell.BADGE}(https://old.example/x)\n\nStory."
    made = first_cell.conform(book(MARKDOWN(old), CODE("# set-up\nold()"), CODE("x")), "00_a.ipynb")
    assert [cell.source for cell in finding.code_cells(made)] == [first_cell.source(), "x"]
    badge = first_cell.badge("00_a.ipynb")
    assert made.cells[0].source == f"# Title\n\n{badge}\n\nStory."
    assert badge.endswith("/blob/main/notebooks/00_a.ipynb)")
    assert made.metadata == first_cell.METADATA


def test_conform_adds_what_is_missing_and_twice_is_once() -> None:
    cells = [MARKDOWN("# Title\nStory."), MARKDOWN("More."), CODE("x"), CODE("y")]
    old = book(*cells)
    for cell in old.cells:
        del cell["id"]
    made = first_cell.conform(old, "00_a.ipynb")
    kinds = [cell.cell_type for cell in made.cells]
    assert kinds == ["markdown", "markdown", "code", "code", "code"]
    assert len({cell.id for cell in made.cells}) == 5
    once = nbformat.writes(made)
    assert nbformat.writes(first_cell.conform(made, "00_a.ipynb")) == once


def test_conform_wants_a_title() -> None:
    with pytest.raises(ValueError, match="# Title"):
        first_cell.conform(book(MARKDOWN("no title")), "00_a.ipynb")

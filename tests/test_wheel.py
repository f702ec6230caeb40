"""The built wheel carries the course, and runs lesson 00 outside the clone."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.notebooks import lessons_code
from tlcourse import files
from tlcourse.results import FOLDER

ROOT = files.root()
CARRIED = ("notebooks", "data")
pytestmark = pytest.mark.skipif(
    not (ROOT / "pyproject.toml").exists(), reason="a wheel is built from the clone"
)


def pip(*arguments: str | Path) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "pip", "--quiet", "--no-input", *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
    )
    assert result.returncode == 0, result.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built without the network by the hatchling that is installed."""
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", ROOT, "--no-deps", "--no-build-isolation", "--wheel-dir", folder)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the wheel is installed in; the libraries are those of this environment."""
    folder = tmp_path_factory.mktemp("installed")
    pip("install", wheel, "--no-deps", "--no-index", "--target", folder)
    return folder


def tlcourse(installed: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs Python with `words` in `folder`, where only the wheel's course can be found."""
    variables = {name: value for name, value in os.environ.items() if name != "TLCOURSE_DATA"}
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=variables | {"PYTHONPATH": str(installed)},
        capture_output=True,
        encoding="utf-8",
    )


def read_by_lessons() -> set[str]:
    """The names of the stored results that lessons read."""
    lines = "\n".join(lessons_code().values()).splitlines()
    names = {
        name for line in lines if "results.read" in line for name in re.findall(r'"(\w+)"', line)
    }
    return {name for name in names if (ROOT / FOLDER / f"{name}.json").exists()}


def test_carries_every_file_that_lessons_read(wheel: Path) -> None:
    carried = set(zipfile.ZipFile(wheel).namelist())
    for folder in CARRIED:
        for path in (ROOT / folder).rglob("*"):
            relative = path.relative_to(ROOT)
            if path.is_file() and not any(part.startswith(".") for part in relative.parts):
                assert f"tlcourse/_data/{relative.as_posix()}" in carried
    assert not [name for name in carried if "checkpoints/." in name or "__pycache__" in name]
    results = {Path(name).stem for name in carried if name.startswith(f"tlcourse/_data/{FOLDER}/")}
    assert results == {"headlines", "behaviour"} | read_by_lessons()
    assert not [name for name in carried if name.startswith(("tests/", "my/", "runs/"))]


def test_finds_its_own_files(installed: Path, tmp_path: Path) -> None:
    code = "from tlcourse import files; print(files.root())"
    result = tlcourse(installed, tmp_path, "-c", code)
    assert result.stdout.strip() == str(installed / "tlcourse" / "_data"), result.stderr


def test_runs_lesson_00_at_tiny_outside_the_clone(installed: Path, tmp_path: Path) -> None:
    if not list((ROOT / "notebooks").glob("00_*.ipynb")):
        pytest.skip("lesson 00 is not written yet")
    before = sorted(path for path in installed.rglob("*") if "__pycache__" not in path.parts)
    result = tlcourse(installed, tmp_path, "-m", "tlcourse", "run", "00", "--size", "tiny")
    assert result.returncode == 0, result.stdout + result.stderr
    assert list((tmp_path / "runs" / "lessons").glob("00_*-tiny.ipynb"))
    after = sorted(path for path in installed.rglob("*") if "__pycache__" not in path.parts)
    assert after == before, "a lesson wrote into the installed package"

"""Lessons are found by number and name, and `NNb` follows its `NN`."""

import sys
from pathlib import Path
from subprocess import run

import nbformat
import pytest

from tlcourse import files
from tlcourse.lessons import copies, every, finding, get, readme


@pytest.fixture
def four(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course of four lessons, one of them deeper, and two files that are none."""
    folder = tmp_path / "notebooks"
    folder.mkdir()
    for name in ("10_last", "00_start", "01b_bpe_deeper", "01_bpe", "01c_bpe", "notes"):
        cell = nbformat.v4.new_markdown_cell(f"# The title of {name}")
        book = nbformat.v4.new_notebook(cells=[cell, nbformat.v4.new_code_cell("1")])
        nbformat.write(book, folder / f"{name}.ipynb")
    project = tmp_path / "pyproject.toml"
    project.write_text('[project.urls]\nRepository = "https://github.com/me/it"', encoding="utf-8")
    monkeypatch.setattr(files, "root", lambda: tmp_path)
    return folder


def test_every_lesson_in_the_order_of_ids(four: Path) -> None:
    named = [f"{lesson.id} {lesson.name}" for lesson in every()]
    assert named == ["00 start", "01 bpe", "01b bpe_deeper", "10 last"]
    assert every()[2].title == "The title of 01b_bpe_deeper"


@pytest.mark.parametrize(
    ("wanted", "id"),
    [
        ("0", "00"),
        ("1", "01"),
        ("bpe", "01"),
        ("01_bpe.ipynb", "01"),
        ("1b", "01b"),
        ("bpe_deeper", "01b"),
        ("01b_bpe_deeper", "01b"),
    ],
)
def test_a_lesson_by_number_or_name(four: Path, wanted: str, id: str) -> None:
    assert get(wanted).id == id


@pytest.mark.parametrize("wanted", ["2", "0b", "b", "", "01c", "notes"])
def test_another_word_is_told_what_there_is(four: Path, wanted: str) -> None:
    with pytest.raises(ValueError, match="00 start, 01 bpe, 01b bpe_deeper, 10 last; got"):
        get(wanted)


def test_a_deeper_lesson_is_in_the_readmes_table_and_in_the_learners_copy(
    four: Path, tmp_path: Path
) -> None:
    rows = readme.lessons_table({"01": {"minutes": 2.5}, "01b": {"minutes": 1.5}}).splitlines()[2:5]
    first, second, third = (row.strip("| ").split(" | ") for row in rows)
    assert "run ? min" in first[0] and "run 2.5 min" in second[0] and "run ? min" in third[0]
    assert second[1].startswith("**[The title of 01b_bpe_deeper](notebooks/01b_bpe_deeper.ipynb)**")
    assert "run 1.5 min*" in second[1] and second[1].endswith("/01b_bpe_deeper.ipynb)")
    assert len(copies.learners_copy(tmp_path / "my")) == 4
    assert (tmp_path / "my" / "01b_bpe_deeper.ipynb").exists()


def test_a_lesson_that_prints_a_number_waits_for_no_library() -> None:
    code = "import sys; from tlcourse.lessons import headline; print(*sys.modules)"
    loaded = run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert "tlcourse.lessons.headlines" in loaded.stdout.split()
    assert not {"nbclient", "nbformat", "torch", "numpy"} & set(loaded.stdout.split())


def test_the_face_has_no_other_names() -> None:
    from tlcourse import lessons

    assert lessons.get is finding.get
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = lessons.nothing

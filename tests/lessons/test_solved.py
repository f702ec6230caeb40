"""A learner who solves everything: solutions where they are asked for, answers that come back."""

import nbformat
import pytest

from tlcourse.lessons import Lesson, solved

SOLVING = """from tlcourse.exercises import exercise, yours
"""
COUNT = '''from collections import Counter


def count_pairs(words):
    """How often each pair occurs."""
    ...  # your code here


count_pairs = exercise("bpe.count_pairs", count_pairs)'''


@pytest.fixture
def lesson(tmp_path):
    """A function that makes a lesson of the given code cells; those that begin `# seam` are one."""

    def make(id: str, *sources: str) -> Lesson:
        cells = [nbformat.v4.new_markdown_cell(f"# {id} · A lesson")]
        for source in (SOLVING, *sources):
            tags = {"tags": ["seam"]} if source.startswith("# seam") else {}
            cells.append(nbformat.v4.new_code_cell(source, metadata=tags))
        path = tmp_path / f"{id}_a_lesson.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
        return Lesson(id, "a_lesson", path)

    return make


def test_a_solved_lesson_keeps_its_answers_for_the_next_one(lesson, tmp_path) -> None:
    first = lesson("01", COUNT)
    seam = "# seam\nprint('equal:', count_pairs({('a', 'b'): 2}) == {('a', 'b'): 2})"
    second = lesson("02", 'count_pairs = yours("bpe.count_pairs")', seam)
    said = []
    assert solved.run(first, "tiny", tmp_path / "my", said.append) == []
    assert solved.run(second, "tiny", tmp_path / "my", said.append) == []
    assert said == [
        "01 · A lesson: 1 exercises solved, tiny",
        "02 · A lesson: 0 exercises solved, tiny",
        "    equal: True",
    ]
    assert "your code here" in first.path.read_text(encoding="utf-8")

    (amiss,) = solved.run(second, "tiny", tmp_path / "another folder", said.append)
    assert amiss.startswith("○ bpe.count_pairs: the reference; not solved yet")


def test_the_solution_takes_the_place_of_what_is_asked_for(lesson) -> None:
    notebook = nbformat.read(lesson("01", COUNT).path, as_version=4)
    assert solved.solve(notebook) == ["bpe.count_pairs"]
    source = notebook.cells[-1].source
    assert "..." not in source and source.count("def count_pairs") == 1
    assert source.endswith('\n\n\ncount_pairs = exercise("bpe.count_pairs", count_pairs)')

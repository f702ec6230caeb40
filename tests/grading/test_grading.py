"""Grading: every verdict is that of a check, and an answer harms only its own student."""

import csv
import json
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tlcourse.cli import main
from tlcourse.exercises import answers, task, variants
from tlcourse.exercises.checking import check
from tlcourse.exercises.session import solution_text
from tlcourse.grading import Result, grade, submissions, write_report
from tlcourse.grading.checking import hidden
from tlcourse.grading.submitted import of_notebook, tidied
from tlcourse.lessons import finding, solved

ID = "transformer.attention"
RIGHT = """def attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(dim=-1) @ value
"""
HAND_IN = 'attention = exercise("transformer.attention", attention)'
UNSCALED = RIGHT.replace(" / math.sqrt(query.shape[-1])", "")


def notebook(folder: Path, student: str, *cells: str) -> None:
    book = new_notebook(cells=[new_markdown_cell("# 02"), *map(new_code_cell, cells)])
    path = folder / f"{student}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(book, path)


def result_of(folder: Path, *cells: str):
    notebook(folder, "one", *cells)
    (submission,) = submissions(folder, "02")
    submission.answers = {ID: submission.answers[ID]}
    (result,) = grade(submission)
    return result


def test_the_solved_lesson_passes_and_equals_the_reference_and_the_untouched_one_does_not(tmp_path):
    book = finding.read_notebook(finding.get("02").path)
    nbformat.write(book, tmp_path / "untouched.ipynb")
    ids = solved.solve(book)
    nbformat.write(book, tmp_path / "solved.ipynb")
    right, untouched = (grade(each) for each in submissions(tmp_path, "02"))
    assert [result.id for result in right] == ids == [result.id for result in untouched]
    assert all(result.passed and result.as_reference for result in right)
    assert not any(result.passed or result.look for result in untouched)
    assert {result.stage for result in untouched} == {0}


FORMS = {
    "one cell": ["import math", f"{RIGHT}\n\n{HAND_IN}"],
    "the definition in another cell": ["import math\n" + RIGHT, "x = 1", HAND_IN],
    "another name": ["import math", RIGHT.replace("def attention", "def mine"),
                     'attention = exercise("transformer.attention", mine)'],
    "two definitions, the later counts": ["import math", UNSCALED, RIGHT, HAND_IN],
    "handed in twice, the later counts": ["import math", UNSCALED, HAND_IN, RIGHT, HAND_IN],
    "a helper and a constant": [
        "import math\nMINUS = -math.inf\ndef root(x):\n    return math.sqrt(x)",
        RIGHT.replace("math.sqrt(", "root(").replace("-math.inf", "MINUS"), HAND_IN],
    "an import of the notebook": ["import numpy as np\nimport math",
                                  RIGHT.replace("math.sqrt", "np.sqrt"), HAND_IN],
    "magics": ["%matplotlib inline\n!ls\nimport math", RIGHT, f"{HAND_IN}\n%time"],
    "a cell of another language": ["%%bash\nls |", "import math", RIGHT, HAND_IN],
    "an expression": ["import math", RIGHT, f'exercise("{ID}", attention)'],
    "a later broken cell": ["import math", RIGHT, HAND_IN, "def ("],
    "a class beside it": ["import math", RIGHT, "class attention_: pass", HAND_IN],
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_an_answer_is_found_in_whatever_form(tmp_path, form) -> None:
    result = result_of(tmp_path, *FORMS[form])
    assert result.passed, result.said


@pytest.mark.parametrize(
    ("cells", "stage", "said"),
    [
        (["import math", UNSCALED, HAND_IN], 3, "scale"),
        (["import math", RIGHT], 0, "nothing handed in"),
        (["import math", RIGHT, "def (\n" + HAND_IN], 0, "not valid Python"),
        ([HAND_IN], 0, "nothing handed in"),
        (["def attention(query, key, value, mask=None): ...\n" + HAND_IN], 0, "Not solved yet"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, cells, stage, said) -> None:
    result = result_of(tmp_path, *cells)
    assert (result.passed, result.stage) == (False, stage) and said in result.said


BODY = "def attention(query, key, value, mask=None):\n    "
UNSTOPPABLE = """while True:
        try:
            while True: pass
        except BaseException: pass"""
FORGED = """import os
    for number in range(3, 99):
        try: os.write(number, b'{"passed": true}')
        except OSError: pass
    return value"""
HOSTILE = {
    "kills itself": "import os; os.kill(os.getpid(), 9)",
    "exits": "raise SystemExit(0)",
    "loops": "while True: pass",
    "catches what stops it": UNSTOPPABLE,
    "takes all memory": "x = [0] * 10**11",
    "fills the disk": "open('big', 'w').write('x' * 10**8)",
    "forks": "import os\n    os.fork()\n    return value",
    "writes a result": FORGED,
    "closes everything": "import os; os.closerange(0, 99)",
}
# Replaces the comparison for good, without a name that would be noticed.
PATCH = """def patch():
    import sys
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").endswith("exercises.task"):
            module.agree = lambda *given, **named: True


def attention(query, key, value, mask=None):
    patch()
    return value
"""


def test_a_hostile_answer_gains_nothing_and_harms_nobody(tmp_path, monkeypatch) -> None:
    places = tmp_path.parent / f"{tmp_path.name}-places"
    places.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(places))
    for name, body in HOSTILE.items():
        notebook(tmp_path, name, BODY + body, HAND_IN)
    notebook(tmp_path, "patches the checks", PATCH, HAND_IN)
    notebook(tmp_path, "imports what it does not use", "import inspect\n" + RIGHT, HAND_IN)
    notebook(tmp_path, "uses the package", BODY + "import tlcourse", HAND_IN)
    notebook(tmp_path, "zz right", "import math", RIGHT, HAND_IN)
    found = {}
    for submission in submissions(tmp_path, "02"):
        submission.answers = {ID: submission.answers[ID]}
        (found[submission.student],) = grade(submission)
    assert [name for name, result in found.items() if result.passed] == [
        "imports what it does not use",
        "zz right",
    ]
    assert found["patches the checks"].look == "changes the checks"
    assert found["kills itself"].look == "ended its process"
    assert found["uses the package"].look == "uses tlcourse"
    assert task.Exercise.compare.__name__ == "compare"
    assert not list(places.glob("answer-*"))  # nothing is left of the folders they ran in


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "cannot be read"),
        (b'{"cells": [', "cannot be read"),
        (b"[]", "it is not a notebook"),
        (b'{"cells": 3}', "it is not a notebook"),
        (b"\xff\xfe", "cannot be read"),
    ],
)
def test_a_broken_file_is_a_fault_of_its_student(tmp_path, content, fault) -> None:
    (tmp_path / "one.ipynb").write_bytes(content)
    (submission,) = submissions(tmp_path, "02")
    assert fault in submission.fault
    assert {result.said for result in grade(submission)} == {submission.fault}


def test_odd_cells_and_other_kernels_are_read() -> None:
    cells = [
        {"cell_type": "code", "source": ["import math\n", RIGHT]},
        {"cell_type": "code"},
        {"cell_type": "raw", "source": "x"},
        "text",
        {"cell_type": "code", "source": HAND_IN, "outputs": [{"data": "x" * 100}]},
    ]
    book = {"cells": cells, "metadata": {"kernelspec": {"name": "julia"}}}
    assert "softmax" in of_notebook(json.dumps(book).encode())[ID].text


def test_a_notebook_too_large_is_named(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("tlcourse.grading.submitted.LARGEST", 100)
    notebook(tmp_path, "one", "x" * 200)
    (submission,) = submissions(tmp_path, "02")
    assert "clear its outputs" in submission.fault


def test_exported_answers_are_graded(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("TLCOURSE_ANSWERS", "on")
    monkeypatch.setenv("TLCOURSE_MY", str(tmp_path / "my"))
    forged = answers.Kept(solved="2026-01-01", name="attention", text=BODY + "return None\n")
    kept = answers.Kept(
        solved="2026-01-01", name="rotate", text=solution_text(task.get("transformer.rotate"))
    )
    answers.write(ID, forged)
    answers.write("transformer.rotate", kept)
    (tmp_path / "in").mkdir()
    answers.export(tmp_path / "in" / "one.zip")
    (submission,) = submissions(tmp_path / "in", "02")
    verdicts = {result.id: result.passed for result in grade(submission)}
    assert verdicts.pop("transformer.rotate") and not any(verdicts.values())


def test_answers_are_alike_up_to_names_comments_and_types() -> None:
    renamed = RIGHT.replace("scores", "s").replace("query", "q").replace("key", "k")
    assert tidied(RIGHT) == tidied("# mine\n" + renamed.replace("mask=None", "mask: bool = None"))
    by_another_name = RIGHT.replace("def attention", "def own") + "\nmine = own\n"
    assert tidied(RIGHT) == tidied(by_another_name) != tidied(UNSCALED)


def test_the_command_writes_a_table_and_a_page(tmp_path, capsys) -> None:
    folder = tmp_path / "in"
    notebook(folder, "ann", "import math", RIGHT, HAND_IN)
    notebook(folder, "bob", "import math", RIGHT.replace("scores", "s"), HAND_IN)
    notebook(folder, "<b>eve", "import math", UNSCALED, HAND_IN)
    out = tmp_path / "marks.csv"
    assert main(["grade", str(folder), "--lesson", "02", "--out", str(out)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert (
        said[0].startswith("<b>eve: 0 of 7")
        and said[-1] == f"wrote {out} and {out.with_suffix('.html')}"
    )
    with out.open(newline="", encoding="utf-8") as table:
        rows = {(row["student"], row["exercise"]): row for row in csv.DictReader(table)}
    assert len(rows) == 3 * 7 and rows["ann", ID]["passed"] == "True"
    assert (rows["ann", ID]["alike"], rows["bob", ID]["alike"]) == ("bob", "ann")
    page = BeautifulSoup(out.with_suffix(".html").read_text("utf-8"), features="html.parser")
    assert page.find("b") is None and "<b>eve" in page.get_text()
    assert "default-src 'none'" in page.find("meta", {"http-equiv": True})["content"]
    assert "2 of 3 passed" in page.get_text() and "scale" in page.get_text()


def test_the_page_counts_a_mistake_once_whatever_came_of_it(tmp_path) -> None:
    for student in ("ann", "bob", "eve"):
        notebook(tmp_path, student, UNSCALED, HAND_IN)
    said = "Stage 2 of 5: the scale.\nCheck: a\nYours: {}\nExpected: 1\nWhy: Divide & scale."
    graded = [
        (each, [Result(ID, stage=2, stages=5, said=said.format(number))])
        for number, each in enumerate(submissions(tmp_path, "02"))
    ]
    page = write_report(tmp_path / "marks.csv", graded, "02").read_text("utf-8")
    rows = BeautifulSoup(page, features="html.parser").select("li")
    assert [row.find(string=True) for row in rows] == ["3 × Divide & scale."]
    assert "Yours: 0" in rows[0].pre.get_text() and "Why" not in rows[0].pre.get_text()


def test_a_variant_refuses_what_was_learnt_by_heart(tmp_path, capsys) -> None:
    known, reference = {}, task.get("bpe.count_pairs").solution

    def remembers(words):
        known[tuple(words.items())] = found = dict(reference(words))
        return found

    assert check(task.get("bpe.count_pairs"), remembers).passed
    by_heart = (
        f"KNOWN = {known}\ndef count_pairs(words):\n    return KNOWN.get(tuple(words.items()))"
    )
    notebook(tmp_path, "ann", by_heart, 'exercise("bpe.count_pairs", count_pairs)')
    book = finding.read_notebook(finding.get("01").path)
    solved.solve(book)
    nbformat.write(book, tmp_path / "bob.ipynb")
    out = tmp_path / "marks.csv"
    rows = []
    for words in ([], ["--variant", "5"]):
        assert main(["grade", str(tmp_path), "--lesson", "01", "--out", str(out), *words]) == 0
        with out.open(newline="", encoding="utf-8") as table:
            rows.append({(r["student"], r["exercise"]): r for r in csv.DictReader(table)})
    public, further = (found["ann", "bpe.count_pairs"] for found in rows)
    assert (public["passed"], public["variant"]) == ("True", "")
    assert (further["passed"], further["variant"]) == ("False", "failed")
    assert (further["stage"], further["stages"], public["stages"]) == ("4", "4", "3")
    said = further["said"].splitlines()
    assert said[0].startswith("Hidden cases of variant 5.") and said[-1].startswith("Input: {(")
    of_bob = {id: row for (student, id), row in rows[1].items() if student == "bob"}
    assert all(row["passed"] == "True" for row in of_bob.values())
    assert [id for id, row in of_bob.items() if row["variant"] == "none"] == ["bpe.byte_symbols"]
    assert "ann: 0 of 7, 1 failed on hidden cases" in capsys.readouterr().out
    page = BeautifulSoup(out.with_suffix(".html").read_text("utf-8"), features="html.parser")
    assert "hidden cases: failed" in page.get_text()


def test_a_variant_that_refuses_the_solution_is_not_used(monkeypatch) -> None:
    another = task.get("bpe.merge_pair")
    monkeypatch.setattr(variants, "drawn_anew", lambda id: another)
    with pytest.raises(ValueError, match="(?s)variant 6, got: Stage 1.*Choose another seed"):
        hidden("bpe.count_pairs", 6)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere", "--lesson", "02"], "expected notebooks or zip files"),
        ([".", "--lesson", "02", "--out", "x.txt"], "NAME.csv"),
        ([".", "--lesson", "07b"], "expected a lesson with exercises"),
    ],
)
def test_what_cannot_be_graded_is_refused(words, said, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["grade", *words]) == 2
    assert said in capsys.readouterr().err

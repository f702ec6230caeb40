"""`tlcourse milestone`: the demonstrations, and the page once all is the learner's own."""

import pytest

from tests.milestones import PIECES, solve
from tlcourse.cli import main
from tlcourse.exercises import answers, keeping
from tlcourse.milestones import DEMONSTRATIONS, running


def test_without_answers_the_reference_runs_and_the_missing_are_named(
    tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.setenv("TLCOURSE_MY", str(tmp_path))
    monkeypatch.delenv(answers.SWITCH, raising=False)
    assert main(["milestone"]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert len(lines) == len(DEMONSTRATIONS)
    for line, demonstration in zip(lines, DEMONSTRATIONS, strict=True):
        assert line.startswith(f"○ {demonstration.lesson} The {demonstration.name} ")
        assert ". Not written yet: " in line
    count = len(PIECES)
    assert last.startswith(f"no page yet: {count} of {count} parts are not your own, 1.2 Merge one")
    assert last.endswith("8.5 Take a head away") and list(tmp_path.iterdir()) == []


def test_with_all_solved_the_page_is_written(tmp_path, monkeypatch, capsys) -> None:
    solve(tmp_path, monkeypatch)
    quick = DEMONSTRATIONS[:2]  # all six: tests/milestones
    monkeypatch.setattr(running, "DEMONSTRATIONS", quick)
    assert main(["milestone"]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert [line[:9] for line in lines] == ["✓ 01 Your", "✓ 02 Your"]
    assert last == f"wrote {tmp_path / 'milestone.html'}: what you built, to show to others"
    page = (tmp_path / "milestone.html").read_text(encoding="utf-8")
    assert page.count('<img alt="') == len(quick) and 'alt=""' not in page


@pytest.fixture
def first_alone(tmp_path, monkeypatch):
    """The tokenizer's demonstration alone; the folder of a learner who has solved it."""
    monkeypatch.setattr(running, "DEMONSTRATIONS", DEMONSTRATIONS[:1])
    return solve(tmp_path / "my", monkeypatch)


def test_one_broken_answer_leaves_the_page_unwritten(first_alone, tmp_path, capsys) -> None:
    path = first_alone / "answers" / "bpe.tokenizer.py"
    path.write_text(path.read_text(encoding="utf-8").replace("ids +=", "ids ="), encoding="utf-8")
    assert main(["milestone"]) == 0
    line, last = capsys.readouterr().out.splitlines()
    assert line.startswith("○ 01 The tokenizer gives the ids")
    assert " Not used: your 1.7 (on its own it no longer passes (Stage " in line
    assert last == "no page yet: 1 of 5 parts are not your own, 1.7 The tokenizer"
    assert not (first_alone / "milestone.html").exists()


def test_a_demonstration_that_fails_is_marked_and_the_command_exits_with_1(
    first_alone, monkeypatch, capsys
) -> None:
    path = first_alone / "answers" / "bpe.tokenizer.py"
    wrong = path.read_text(encoding="utf-8").replace('"replace"', '"ignore"')
    path.write_text(wrong + "\nTokenizer.decode = lambda self, ids: ''\n", encoding="utf-8")
    monkeypatch.setattr(
        "tlcourse.exercises.keeping.check", lambda *_: type("Passed", (), {"passed": 1})
    )
    assert main(["milestone"]) == 1
    line, last = capsys.readouterr().out.splitlines()
    assert line.startswith("✗ 01 Your tokenizer: expected 'm²' from its ids, got ''")
    assert last == "no page yet: a demonstration failed"
    assert not (first_alone / "milestone.html").exists()


def test_the_page_goes_where_it_is_asked_for(first_alone, tmp_path, refused, capsys) -> None:
    assert "expected the name of a page, NAME.html" in refused("milestone", "--out", "page.ipynb")
    page = tmp_path / "shown" / "me.html"
    assert main(["milestone", "--out", str(page)]) == 0
    assert page.exists() and f"wrote {page}: " in capsys.readouterr().out
    assert not (first_alone / "milestone.html").exists()


def test_stopped_it_leaves_no_page(first_alone, monkeypatch, capsys) -> None:
    def stop(task):
        raise KeyboardInterrupt

    monkeypatch.setattr(keeping, "found", stop)
    assert main(["milestone"]) == 130
    assert capsys.readouterr().err == "tlcourse: stopped; no page is half written\n"
    assert not (first_alone / "milestone.html").exists()

"""Whose code a demonstration ran on, and what its line says."""

from dataclasses import replace
from typing import Any

import pytest

from tlcourse.exercises import answers, keeping, task
from tlcourse.milestones import DEMONSTRATIONS, Demonstration, Failed, Shown, run, running
from tlcourse.views import Picture


def demonstration(show) -> Demonstration:
    return replace(DEMONSTRATIONS[0], show=show)


def only(monkeypatch, show):
    """The result of the tokenizer's demonstration with another `show`."""
    monkeypatch.setattr(running, "DEMONSTRATIONS", (demonstration(show),))
    (result,) = run()
    return result


def shown(given) -> Shown:
    print("what answers print is not shown")
    return Shown("works", "1", "text", Picture())


def test_with_all_solved_every_demonstration_is_the_learners_own_and_passes(results) -> None:
    assert [each.demonstration for each in results] == list(DEMONSTRATIONS)
    for result in results:
        assert result.passed and result.own, result.line
        (line,) = result.line.lines
        assert line.startswith(f"{result.demonstration.lesson} Your ") and "\n" not in line
        assert result.line.kind == "solved" and result.shown.figure.alt


def test_the_learners_own_answers_are_run(solved, monkeypatch, capsys) -> None:
    given = {}
    result = only(monkeypatch, lambda answers: given.update(answers) or shown(answers))
    assert result.line.lines == ["01 Your tokenizer works."]
    assert given["bpe.tokenizer"] is not task.get("bpe.tokenizer").solution
    assert given["bpe.tokenizer"].__module__ == "answer" and capsys.readouterr().out == ""


def test_what_is_not_kept_is_the_reference_and_named(solved, monkeypatch) -> None:
    answers.forget("bpe.merge_pair")
    answers.forget("bpe.split_specials")
    result = only(monkeypatch, shown)
    assert result.passed and not result.own and result.line.kind == "open"
    assert result.line.lines == ["01 The tokenizer works. Not written yet: 1.2, 1.6."]


def test_a_broken_answer_is_the_reference_and_says_why(solved, monkeypatch) -> None:
    path = solved / "answers" / "bpe.byte_symbols.py"
    path.write_text(
        path.read_text(encoding="utf-8").replace("return", "gives back"), encoding="utf-8"
    )
    result = only(monkeypatch, shown)
    (line,) = result.line.lines
    assert result.passed and not result.own and result.line.kind == "open"
    assert line.startswith("01 The tokenizer works. Not used: your 1.4 (line ")
    assert "is not valid Python" in line


def test_own_code_that_fails_or_raises_is_marked_wrong(solved, monkeypatch) -> None:
    def fails(answers):
        raise Failed("expected 1, got 2")

    def raises(answers):
        return answers["bpe.tokenizer"]({}, [], []).encode("a text")

    result = only(monkeypatch, fails)
    assert not result.passed and result.line.kind == "wrong"
    assert result.line.lines == ["01 Your tokenizer: expected 1, got 2."]
    (line,) = only(monkeypatch, raises).line.lines
    assert line.startswith("01 Your tokenizer: raised KeyError: 'a', in ")


def test_an_error_without_any_own_code_is_raised(monkeypatch) -> None:
    def raises(answers):
        raise KeyError("a bug of the course")

    with pytest.raises(KeyError):
        only(monkeypatch, raises)


def test_a_substitute_that_passes_the_checks_still_fails(solved, monkeypatch) -> None:
    """The whole way: what is restored is what is demonstrated."""

    tokenizer: Any = task.get("bpe.tokenizer").solution

    class Reversed(tokenizer):
        def encode(self, text, allow_special=False):
            return super().encode(text, allow_special)[::-1]

    def found(each):
        piece = keeping.Found(each.solution, answers.read(each.id))
        return replace(piece, answer=Reversed) if each.id == "bpe.tokenizer" else piece

    monkeypatch.setattr(keeping, "found", found)
    monkeypatch.setattr(running, "DEMONSTRATIONS", DEMONSTRATIONS[:1])
    (result,) = run()
    assert result.own and not result.passed
    assert result.fault.startswith("expected the ids [")

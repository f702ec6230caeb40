"""`tlcourse progress`, `reset` and `answers`: what is kept in the learner's folder."""

import io
import sys
from pathlib import Path

import pytest

from tlcourse.cli import main
from tlcourse.exercises import answers

ID = "bpe.merge_pair"
KEPT = answers.Kept(3, "2026-01-02T10:00:00", "2026-01-02T10:05:00", "merge_pair", "merge_pair = 1")


@pytest.fixture(autouse=True)
def my(tmp_path, monkeypatch) -> Path:
    """A learner's folder with one answer."""
    monkeypatch.setenv("TLCOURSE_MY", str(tmp_path))
    monkeypatch.delenv(answers.SWITCH, raising=False)
    answers.write(ID, KEPT)
    return tmp_path / "answers"


def at_a_terminal(monkeypatch, says: str | None) -> list[str]:
    """Somebody who is asked and says that (None: the end of the input); the questions."""
    asked = []

    def reply(question: str) -> str:
        asked.append(question)
        if says is None:
            raise EOFError
        return says

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", reply)
    return asked


def test_progress_is_the_table(capsys) -> None:
    assert main(["progress"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if f" {ID} " in line]
    assert line.startswith("✓") and line.endswith("solved 2026-01-02, 3 tries")
    assert lines[-1].startswith("1 of ") and "Next: 0.1" in lines[-1]


def test_progress_falls_back_to_ascii_where_the_output_cannot_encode_marks(monkeypatch) -> None:
    written = {}
    for encoding in ("utf-8", "cp1252", "ascii"):
        written[encoding] = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written[encoding], encoding))
        assert main(["progress"]) == 0
        sys.stdout.flush()
    lines = {name: out.getvalue().decode(name).splitlines() for name, out in written.items()}
    assert {line[0] for line in lines["utf-8"][1:-1]} == {"✓", "○"}
    for name in ("cp1252", "ascii"):
        assert [line.replace("✓", "+").replace("○", "-") for line in lines["utf-8"]] == lines[name]


@pytest.mark.parametrize(
    ("says", "removed"), [("y", True), (" YES ", True), ("n", False), ("", False), (None, False)]
)
def test_reset_asks_and_takes_silence_for_no(my, monkeypatch, capsys, says, removed) -> None:
    asked = at_a_terminal(monkeypatch, says)
    assert main(["reset", ID]) == 0
    assert asked == [f"Remove your answer to {ID}? [y/N] "]
    assert (my / f"{ID}.py").exists() is not removed
    said = capsys.readouterr().out.strip()
    assert said == (f"Your answer to {ID} is removed." if removed else "Nothing is removed.")


def test_reset_without_a_terminal_needs_yes(my, monkeypatch, refused) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    line = refused("reset", ID)
    assert "--yes" in line and answers.read(ID) == KEPT
    assert main(["reset", ID, "--yes"]) == 0
    assert not (my / f"{ID}.py").exists()


def test_reset_says_when_nothing_is_kept_and_removes_what_is_broken(my, capsys) -> None:
    assert main(["reset", "bpe.count_pairs"]) == 0  # nothing to ask
    assert capsys.readouterr().out == "Nothing is kept of bpe.count_pairs.\n"
    (my / f"{ID}.py").write_text("no answer", encoding="utf-8")
    assert main(["reset", ID, "--yes"]) == 0
    assert not (my / f"{ID}.py").exists()


def test_reset_of_a_misspelt_id_names_the_nearest(my, refused) -> None:
    line = refused("reset", "bpe.merge_pears", "--yes")
    assert f"did you mean '{ID}', 'bpe." in line and (my / f"{ID}.py").exists()
    assert line.endswith("'? See `tlcourse progress --all`") and line.count("'") == 8


def test_a_file_that_cannot_be_read_is_named_with_what_to_do(my, tmp_path, capsys) -> None:
    (my / f"{ID}.py").write_text("no answer", encoding="utf-8")
    told = f"{my / ID}.py cannot be read (JSONDecodeError); mend it, or remove it with `tlcourse "
    assert main(["answers", "export", str(tmp_path / "mine.zip")]) == 2
    out, err = capsys.readouterr()
    assert out == "" and f"answers that can be read, got none: {told}reset {ID}`\n" in err
    assert not (tmp_path / "mine.zip").exists()
    assert main(["progress"]) == 0
    assert capsys.readouterr().err == f"tlcourse: {told}reset {ID}`\n"


def test_answers_go_to_a_file_and_come_back_from_it(my, tmp_path, monkeypatch, capsys) -> None:
    exported = tmp_path / "mine.zip"
    assert main(["answers", "export", str(exported)]) == 0
    assert capsys.readouterr().out == f"{exported}: 1 solved, 0 tried.\n"
    assert main(["answers", "import", str(exported)]) == 0
    assert capsys.readouterr().out == f"Taken: nothing.\nLeft: {ID} (solved here).\n"
    monkeypatch.setenv("TLCOURSE_MY", str(tmp_path / "another"))
    assert main(["answers", "import", str(exported)]) == 0
    assert capsys.readouterr().out == f"Taken: {ID}.\nLeft: nothing.\n"
    assert answers.read(ID) == KEPT


def test_what_answers_cannot_do_is_one_line(tmp_path, monkeypatch, refused) -> None:
    def refuse(path: Path) -> int:
        raise FileExistsError(f"expected a new file, but {path} is there already")

    monkeypatch.setattr(answers, "export", refuse, raising=False)
    for words, said in (
        (["export", "mine.zip"], "expected a new file"),
        (["exprt", "mine.zip"], "exprt"),
        (["import"], "FILE.zip"),
        (["import", "no.zip"], "export`, but there is no file no.zip; export it first"),
    ):
        assert said in refused("answers", *words)


def test_reset_that_is_stopped_at_the_question_removes_nothing(my, monkeypatch, capsys) -> None:
    def stop(question: str) -> str:
        raise KeyboardInterrupt

    at_a_terminal(monkeypatch, "y")
    monkeypatch.setattr("builtins.input", stop)
    assert main(["reset", ID]) == 130
    assert capsys.readouterr().err == "tlcourse: stopped; nothing is removed\n"
    assert (my / f"{ID}.py").exists()


@pytest.mark.parametrize("way", ["export", "import"])
def test_carrying_that_is_stopped_says_what_is_there(tmp_path, monkeypatch, capsys, way) -> None:
    def stop(*arguments):
        raise KeyboardInterrupt

    file = tmp_path / "mine.zip"
    if way == "import":
        answers.export(file)
    monkeypatch.setattr(answers, "read", stop)
    assert main(["answers", way, str(file)]) == 130
    said = "nothing was written" if way == "export" else "the same command again imports the rest"
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line and file.exists() is (way == "import")


def test_where_nothing_can_be_written_the_place_is_named(my, tmp_path, monkeypatch, capsys) -> None:
    exported, occupied = tmp_path / "mine.zip", tmp_path / "file"
    answers.export(exported)
    occupied.write_text("a file in the place of a folder", encoding="utf-8")
    assert main(["answers", "export", str(occupied / "mine.zip")]) == 2
    monkeypatch.setenv("TLCOURSE_MY", str(occupied))
    assert main(["answers", "import", str(exported)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert f"a folder that can be written to, got {occupied}: " in lines[0]
    assert lines[0].endswith("; give another place")
    assert f"your answers that can be written to, got {occupied / 'answers'}: " in lines[1]
    assert lines[1].endswith("; set TLCOURSE_MY to one that can")

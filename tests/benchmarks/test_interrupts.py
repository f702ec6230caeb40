"""What is counted when commands are stopped, and what came out."""

import signal

import pytest

from benchmarks import interrupts, jobs
from benchmarks.child import lines_of
from tlcourse import files


def test_lines_are_those_that_a_person_has_to_read():
    bar = (
        "\r 10%|█    | 3/30 [00:01<00:09,  2.9step/s]\r 20%|██   | 6/30 [00:02<00:08, 3.0step/s]\n"
    )
    jupyter = "[I 2026-01-01 10:00:00.000 ServerApp] started\n    http://127.0.0.1:1/lab\n"
    said = f"{bar}{jupyter}\x1b[31mtlcourse:\x1b[0m stopped; nothing\n\n"
    assert lines_of(said) == ["tlcourse: stopped; nothing"]
    assert lines_of("Traceback (most recent call last):\n  File x\nError") != []


def test_half_done_is_what_is_temporary_incomplete_or_cut_off(tmp_path):
    for name in ("mine/a.json", "mine/b.bin", "kept.csv", "tmp/x", "runtime/secret"):
        files.write_text(tmp_path / name, "{}")
    complete = interrupts.contents(tmp_path / "mine")
    assert complete == ["mine/a.json", "mine/b.bin"]
    assert interrupts.half_done(tmp_path, "mine", complete) == ["tmp/x"]
    assert interrupts.half_done(tmp_path, "none", complete) == ["tmp/x"]
    (tmp_path / "tmp/x").unlink()
    (tmp_path / "mine/b.bin").unlink()
    assert interrupts.half_done(tmp_path, "mine", complete) == ["mine/a.json"]
    (tmp_path / "kept.json").write_text('{"cut', encoding="utf-8")
    files.write_text(tmp_path / ".new.abc.part/config.json", "{}")
    files.write_text(tmp_path / "runtime/kernel-1.json", "{}")
    assert interrupts.half_done(tmp_path, "none", []) == [
        ".new.abc.part/config.json",
        "kept.json",
        "runtime/kernel-1.json",
    ]


OURS = f'Traceback:\n  File "{files.PACKAGE}/cli/run.py"\nKeyboardInterrupt'
LINE = "tlcourse: stopped; nothing was written"


@pytest.mark.parametrize(
    ("status", "said", "ended"),
    [
        (0, "", "finished"),
        (0, LINE, "other"),
        (130, LINE, "one_line"),
        (143, LINE, "other"),  # of Ctrl-C
        (130, f"{LINE}\nmore", "other"),
        (130, "tlcourse: something else", "other"),
        (1, LINE, "other"),
        (-2, "Traceback:\n  File <frozen runpy>\nKeyboardInterrupt", "early"),
        (1, OURS, "other"),
        (1, f"{OURS}\n{LINE}", "other"),
        (-2, "", "early"),
        (2, "", "other"),
        (None, "", "other"),
    ],
)
def test_each_moment_is_counted_once(status, said, ended):
    row = {"status": status, "lines": lines_of(said), "traceback": "Traceback" in said}
    assert interrupts._ended(interrupts.Job(["data"], signals=(signal.SIGINT,)), row, said) == ended


def test_what_is_stored_has_no_traceback_and_nothing_half_done():
    stored = jobs.stored("interrupts")
    assert [row["command"] for row in stored["rows"]] == [job.name for job in interrupts.JOBS]
    for row in stored["rows"]:
        assert row["moments"] == 10 == len(row["children"])
        assert row["one_line"] + row["finished"] + row["early"] == 10
        assert row["tracebacks"] == row["processes"] == row["half_done"] == row["other"] == 0

"""Kept answers for the tests of the demonstrations."""

from pathlib import Path

import pytest

from tlcourse.exercises import answers, session, source, task
from tlcourse.milestones import DEMONSTRATIONS

PIECES = sorted({id for demonstration in DEMONSTRATIONS for id in demonstration.pieces})


def solve(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Makes `folder` that of a learner who has kept the references as answers; returns it."""
    monkeypatch.setenv("TLCOURSE_MY", str(folder))
    monkeypatch.delenv(answers.SWITCH, raising=False)
    for id in PIECES:
        reference = task.get(id)
        dates = "2026-01-02T10:00:00", "2026-01-05T10:05:00"
        name, text = source.cut(reference.solution)[0], session.solution_text(reference)
        answers.write(id, answers.Kept(1, *dates, name, text))
    return folder

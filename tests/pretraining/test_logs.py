"""What a run writes down while it goes on."""

import builtins
import json
from pathlib import Path

import pytest

from tlcourse import files
from tlcourse.pretraining import logs


def record(step: int, loss: float = 5.0) -> dict:
    return {"step": step, "loss": loss, "norm": 1.0, "factor": 1.0, "seconds": 0.5 * (step + 1)}


def lines(folder) -> list[dict]:
    text = (folder / logs.LOG).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_each_step_is_a_line_and_a_resume_replaces_what_is_trained_again(tmp_path):
    log = logs.JsonLog(tmp_path, 64)
    for step in range(4):
        log(record(step))
    assert [line["tokens"] for line in lines(tmp_path)] == [64, 128, 192, 256]
    with open(tmp_path / logs.LOG, "a", encoding="utf-8") as out:
        out.write('{"step": 4, "lo')  # killed while it wrote
    resumed = logs.JsonLog(tmp_path, 64)
    for step in (2, 3, 4):
        resumed(record(step, loss=4.0))
    assert [line["step"] for line in lines(tmp_path)] == [0, 1, 2, 3, 4]
    assert [line["loss"] for line in lines(tmp_path)] == [5.0, 5.0, 4.0, 4.0, 4.0]


def test_tensorboard_gets_loss_norm_and_rate_over_tokens(tmp_path):
    pytest.importorskip("tensorboardX")
    log = logs.TensorBoardLog(tmp_path, 64)
    log(record(0))
    log(record(1, loss=3.0))
    log.writer.close()
    (events,) = (tmp_path / "tensorboard").iterdir()
    content = events.read_bytes()
    assert all(name in content for name in (b"loss", b"norm", b"factor"))


def test_tensorboard_that_is_not_installed_is_named(tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *arguments, **more):
        if name == "tensorboardX":
            raise ImportError(name)
        return real(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ValueError, match="pip install tensorboardX"):
        logs.TensorBoardLog(tmp_path, 64)


def test_the_bar_counts_tokens_or_seconds_and_what_a_resumed_run_did_is_no_speed(capsys):
    bar = logs.Progress(64, tokens=640, seconds=None)
    for step in (4, 5):
        bar(record(step))
    assert (bar.bar.initial, bar.bar.n, bar.bar.total) == (320, 384, 640)
    bar.close()
    timed = logs.Progress(64, tokens=None, seconds=60.0)
    timed(record(0))
    timed(record(1))
    assert timed.bar.n == 1.0
    timed.close()
    assert "128 tokens/s, loss 5.000" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_log_that_finds_no_room_names_its_file(tmp_path):
    log = logs.JsonLog(tmp_path, 64)
    log(record(0))
    log.path = Path("/dev/full")
    with pytest.raises(files.Unwritten, match="room on the disk for /dev/full, .*; free some"):
        log(record(1))

"""What a run writes down while it goes on."""

import json
import sys
from collections.abc import Iterator
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
    for steps in ((0, 1, 2), (1,)):  # stopped after a step that was not saved, and resumed
        log = logs.TensorBoardLog(tmp_path / str(steps[0]), 64)
        for step in steps:
            log(record(step, loss=4.0 - step))
        log.writer.close()
    events = [event for path in sorted(tmp_path.glob("*/tensorboard/*")) for event in read(path)]
    found = [
        (event.step, value.tag, round(value.simple_value, 6))
        for event in events
        for value in event.summary.value
    ]
    assert found == [
        (64 * (step + 1), *pair)
        for step in (0, 1, 2, 1)
        for pair in (("loss", 4.0 - step), ("norm", 1.0), ("factor", 1.0))
    ]
    begun = [event.step for event in events if event.session_log.status == 1]
    assert begun == [64, 128]  # from which step on TensorBoard forgets what it had seen before


def read(path: Path) -> Iterator:
    """The events of a TensorBoard file: before each stand its length in 8 bytes and 4 more."""
    from tensorboardX.proto.event_pb2 import Event

    content = path.read_bytes()
    while content:
        end = 12 + int.from_bytes(content[:8], "little")
        yield Event.FromString(content[12:end])
        content = content[end + 4 :]


def test_tensorboard_that_is_not_installed_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
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
@pytest.mark.parametrize("kind", ["JsonLog", "TensorBoardLog"])
def test_a_log_that_finds_no_room_says_so_at_once(tmp_path, kind):
    if kind == "TensorBoardLog":
        pytest.importorskip("tensorboardX")
    log = getattr(logs, kind)(tmp_path, 64)
    log(record(0))
    place = Path("/dev/full") if kind == "JsonLog" else tmp_path / "tensorboard"
    with open("/dev/full", "wb", buffering=0) as full:
        if kind == "JsonLog":
            log.path = place
        else:
            log.writer._py_recordio_writer._writer = full
        with pytest.raises(files.Unwritten, match=f"room on the disk for {place}, .*; free some"):
            log(record(1))

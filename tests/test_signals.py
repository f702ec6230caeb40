"""Ctrl-C and SIGTERM: how a signal is heard, and what three commands do as real processes."""

import contextlib
import json
import os
import re
import signal
import sys
import time
import urllib.request

import pytest

from tests import subprocesses
from tlcourse import signals
from tlcourse.cli import data, main

LINE = (
    "tlcourse: stopped; nothing was changed; data sets that are not listed above were not looked "
    "at\n"
)
NUMBERS = [signal.SIGINT, signal.SIGTERM]
pytestmark = pytest.mark.usefixtures("interrupts")
elsewhere = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def swallowed_by_a_library():
    with contextlib.suppress(BaseException):
        signal.raise_signal(signal.SIGINT)


def swallowed_by_python():
    class Leaving:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    Leaving()


def turned_into_an_error():
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt as error:
        raise ImportError("initialization failed") from error


def twice():
    try:
        signal.raise_signal(signal.SIGINT)
    finally:
        signal.raise_signal(signal.SIGINT)
        print("tidied up")


def after_a_step_that_was_waited_for():
    """As a training does: it noted the first, and raises when the step is done; a second comes."""
    try:
        raise KeyboardInterrupt
    finally:
        signal.raise_signal(signal.SIGINT)
        print("tidied up")


WAYS = (
    swallowed_by_a_library,
    swallowed_by_python,
    turned_into_an_error,
    twice,
    after_a_step_that_was_waited_for,
)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_signal_ends_a_command_in_one_line(way, monkeypatch, capsys) -> None:
    def run(arguments):
        way()
        signals.check()  # the next stage
        time.sleep(20)
        return 0

    monkeypatch.setattr(data, "run", run)
    began = time.monotonic()
    assert main(["data"]) == 130 and time.monotonic() - began < 10
    out, err = capsys.readouterr()
    assert err == LINE
    assert out == ("tidied up\n" if way in WAYS[3:] else "")


@pytest.mark.parametrize("way", WAYS[:2], ids=lambda way: way.__name__)
def test_a_signal_swallowed_in_the_last_stage_is_noticed_at_the_end(way, monkeypatch, capsys):
    monkeypatch.setattr(data, "run", lambda _: way())
    assert main(["data"]) == 130
    assert capsys.readouterr().err == LINE


def test_sigterm_is_status_143_and_handlers_are_as_before(monkeypatch, capsys) -> None:
    before = [signal.getsignal(number) for number in NUMBERS], sys.unraisablehook, sys.excepthook
    monkeypatch.setattr(data, "run", lambda _: signal.raise_signal(signal.SIGTERM))
    assert main(["data"]) == 143
    assert len(capsys.readouterr().err.splitlines()) == 1
    after = [signal.getsignal(number) for number in NUMBERS], sys.unraisablehook, sys.excepthook
    assert after == before


def test_a_signal_that_is_ignored_stays_so_and_under_torchrun_sigterm_ends_at_once(monkeypatch):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with signals.Stoppable():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    monkeypatch.setenv("WORLD_SIZE", "2")
    with signals.Stoppable():
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_signal_waits_where_something_is_begun_and_comes_too_late_at_the_end() -> None:
    begun = []
    with signals.Stoppable(), pytest.raises(signals.Stop), signals.Held():
        signal.raise_signal(signal.SIGINT)
        begun.append("the server")
    assert begun == ["the server"]
    with signals.Stoppable():
        signals.too_late()
        signal.raise_signal(signal.SIGINT)
        begun.append("written")
    assert begun[1:] == ["written"]


def test_an_error_at_the_end_is_told_also_when_a_signal_came_too_late(monkeypatch, capsys) -> None:
    def run(arguments):
        signals.too_late()
        signal.raise_signal(signal.SIGINT)
        raise OSError("no space left")

    monkeypatch.setattr(data, "run", run)
    assert main(["data"]) == 2
    assert capsys.readouterr().err == "tlcourse: no space left\n"


def test_before_a_command_has_begun_and_after_its_end_a_signal_ends_the_process(monkeypatch, capfd):
    left = []
    monkeypatch.setattr(signals, "_leave", left.append)
    signals._too_early(signal.SIGTERM, None)
    assert capfd.readouterr().err == "tlcourse: stopped before it began; nothing was changed\n"
    with signals.Stoppable() as heard:
        heard.status = 2
    heard._hear(signal.SIGINT, None)
    assert left == [143, 2] and capfd.readouterr().err == ""


def test_a_hand_that_does_not_let_go_ends_it_at_once(monkeypatch, capfd) -> None:
    left = []
    monkeypatch.setattr(signals, "_leave", left.append)
    with signals.Stoppable():
        with pytest.raises(signals.Stop):
            signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        assert left == []
        monkeypatch.setattr(signals, "PATIENCE", 0.0)
        signal.raise_signal(signal.SIGINT)
    assert left == [130] and "stopped at once" in capfd.readouterr().err


@elsewhere
def test_adapt_is_stopped_while_it_trains_and_leaves_nothing(tmp_path) -> None:
    rows = ["text,label", *(f"Who is {number} ?,a\nWhere is {number} ?,b" for number in range(40))]
    (tmp_path / "my.csv").write_text("\n".join(rows), encoding="utf-8")
    words = ["adapt", "--train", "my.csv", "--out", "mine", "--epochs", "1000"]
    with subprocesses.started(words, tmp_path) as child:
        subprocesses.wait_for(lambda: "loss" in child.said(), child)
        child.stop([signal.SIGINT, signal.SIGINT])
        assert child.process.wait(60) == 130 and child.processes() == []
        said = child.said()
    assert subprocesses.lines_of(said) == ["tlcourse: stopped; nothing was written"]
    assert said.endswith("written\n"), "no progress bar below"
    assert [path.name for path in tmp_path.iterdir() if "mine" in path.name] == []


@elsewhere
def test_run_is_stopped_with_its_kernel_and_leaves_nothing(tmp_path) -> None:
    with subprocesses.started(["run", "00", "--size", "tiny"], tmp_path) as child:
        subprocesses.wait_for(lambda: len(child.processes()) > 1, child)
        time.sleep(1)  # where the kernel is just starting, it would have the most to say
        child.stop([signal.SIGINT])
        assert child.process.wait(60) == 130 and child.processes() == []
        line = "tlcourse: stopped; nothing was written; the lesson is unchanged\n"
        assert child.said() == line
    assert not (tmp_path / "runs").exists() and list((tmp_path / "runtime").iterdir()) == []


@elsewhere
def test_sigterm_of_lab_leaves_no_jupyter_and_no_kernel(tmp_path) -> None:
    words = ["lab", "--", "--no-browser", "--allow-root", "--ServerApp.port=0"]
    kernels = []

    def begin_one(child):
        found = re.findall(r"(http://127\.0\.0\.1:\d+)/", child.said())
        with contextlib.suppress(OSError):  # it says where it is before it is there
            for place in found[:1]:
                asked = urllib.request.Request(f"{place}/api/kernels?token=mine", b"{}")
                kernels.append(json.load(urllib.request.urlopen(asked))["id"])
        return kernels

    with subprocesses.started([*words, "--IdentityProvider.token=mine"], tmp_path) as child:
        subprocesses.wait_for(lambda: begin_one(child), child)
        assert len(child.processes()) >= 3, "the command, the server, the kernel"
        os.kill(child.process.pid, signal.SIGTERM)
        assert child.process.wait(60) == 143 and child.processes() == []
        said = child.said()
    left = f"JupyterLab is not running; your copy of the lessons is in {tmp_path / 'my'}"
    assert subprocesses.lines_of(said) == [f"tlcourse: stopped; {left}"]
    assert "ServerApp" in said and "received signal" not in said
    assert [path.name for path in (tmp_path / "runtime").glob("*-*")] == []

"""The plan for a rented GPU, rehearsed on the CPU: machines that vanish, parts that are damaged."""

import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks import runner
from benchmarks.gpu import measuring, parcels, place, plan, slices, training
from benchmarks.gpu.parcels import Part
from benchmarks.speed import finetuning, pretraining
from tlcourse import checkpoints, files
from tlcourse.pretraining import logs
from tlcourse.training import STATE
from tlcourse.transformer import Config, count_parameters

ROW = {"peer": "theirs", "form": "as it comes", "ratio": 2.0}


MANY = 10**9
# Of a slice: two before each leg, then one a step. So causal stops at 8, 11 and 12 of its 12 steps,
# masked at 4 and 8 of its 8: they end only if they go on. After every second slice the machine is
# gone.
LOOKS = (12 + 7, 2 + 2, 2 + 1, MANY, 2 + 3, 2 + 4, MANY)
SHORT = "short windows"
BEGUN = ([SHORT], [SHORT], [], [], ["masked"], [], [])
DONE = (
    *([], [], [SHORT]),
    *([SHORT, "causal"], [SHORT, "causal"]),
    *([SHORT, "causal", "masked"], [SHORT, "causal", "masked", "tutorial"]),
)


class Stops(plan.Clock):
    """A clock that has nothing left after so many looks, and much before."""

    looks = MANY

    def left(self) -> float:
        Stops.looks -= 1
        return 400.0 if Stops.looks >= 0 else 0.0


@pytest.fixture(autouse=True)
def tiny(monkeypatch, tmp_path, rehearsed):
    """Size tiny, no GPU, the samples, all in this process, the contests' rows made up."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr(runner, "FOLDER", tmp_path / "home")
    monkeypatch.setattr(slices, "Clock", Stops)
    monkeypatch.setattr(Stops, "looks", MANY)
    monkeypatch.setattr(
        pretraining, "compete", lambda job, *_: ({"job": job}, [{"job": job, **ROW}])
    )
    monkeypatch.setattr(finetuning, "compete", lambda body, *_: [{"body": body, **ROW}])
    monkeypatch.setattr(measuring, "in_child", lambda name, _: measuring.MEASUREMENTS[name]())


def gpu(*words: str | Path) -> int:
    """`python -m benchmarks gpu …` in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["benchmarks", "gpu", *map(str, words)])
        return command.main()


def on(monkeypatch, machine: Path) -> None:
    """From here on another machine works, with what lies in its folder."""
    monkeypatch.setattr(runner, "FOLDER", machine)


@pytest.fixture(scope="module")
def packed(tmp_path_factory) -> Path:
    """The parts of the data, several, since a part is small here."""
    folder = tmp_path_factory.mktemp("packed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TLCOURSE_SIZE", "tiny")
        patch.delenv("TLCOURSE_DATA", raising=False)
        patch.setattr(runner, "FOLDER", folder / "home")
        patch.setattr(parcels, "CHUNK", 50_000)
        assert gpu("pack", "--corpus", "wikitext-2", "--to", folder / "way") == 0
    return folder / "way"


def weights_of(folder: Path, name: str) -> bytes:
    return (folder / f"gpu-tiny/checkpoints/{name}/model.safetensors").read_bytes()


def test_the_whole_plan_over_four_machines(packed, tmp_path, monkeypatch, capsys):
    home, back = tmp_path / "home", tmp_path / "back"
    monkeypatch.setattr(parcels, "PART", 300_000)
    for number, looks in enumerate(LOOKS):
        machine = tmp_path / f"machine-{number // 2}"  # each is gone after two slices
        on(monkeypatch, machine)
        if number % 2 == 0:
            for part in sorted(packed.iterdir()):
                assert gpu("take", "--from", part) == 0
            if number:
                on(monkeypatch, home)
                assert gpu("pack", "--state", "--to", tmp_path / "way") == 0
                on(monkeypatch, machine)
                assert gpu("take", "--from", tmp_path / "way") == 0
        monkeypatch.setattr(Stops, "looks", looks)
        shutil.rmtree(back, ignore_errors=True)
        assert gpu("slice", "--minutes", "8", "--out", back) == 0
        said = capsys.readouterr().out
        assert max(path.stat().st_size for path in back.iterdir()) <= 300_000
        on(monkeypatch, home)
        assert gpu("home", "--from", back) == 0
        done = list(place.progress()["legs"])
        assert done[:5] == [leg.name for leg in plan.REHEARSAL[:5]]
        begun = sorted(path.parent.name for path in home.rglob(STATE))
        assert (done[5:], begun) == (DONE[number], BEGUN[number])
    assert done == [leg.name for leg in plan.REHEARSAL] and "still to be done: nothing" in said
    check_what_came_home(home / "gpu-tiny")
    on(monkeypatch, tmp_path / "one-go")
    shutil.copytree(tmp_path / "machine-0/gpu-tiny/data", tmp_path / "one-go/gpu-tiny/data")
    for leg in plan.REHEARSAL[5:8]:
        assert training.train(leg, Stops(8))
        assert weights_of(home, leg.name) == weights_of(tmp_path / "one-go", leg.name)


def check_what_came_home(home: Path) -> None:
    """Rows with what they rest on, whole logs, cards of all legs; of the last model no weights."""
    found = files.read_json(home / "gpu.json")
    rows = {row["job"]: row for row in found["rows"] if "job" in row}
    assert rows["tests on CUDA"]["outcome"] == "no CUDA"
    assert all(part["machine"] and part["versions"] for part in found["benchmarks"].values())
    for leg in plan.REHEARSAL[5:]:
        row = rows[f"training, {leg.name}"]
        lines = (home / "logs" / leg.name / logs.LOG).read_text().splitlines()
        assert len(lines) * leg.tokens_per_step == row["tokens"] >= leg.tokens
        assert row["tokens_per_second"] > 0
    sample = "wikitext-103 validation (bundled sample)"
    assert rows["training, causal"]["evaluation"][sample]["words"] > 50
    assert rows["training, tutorial"]["published"]["word_perplexity"] == 29.0
    kept = sorted(path.name for path in (home / "checkpoints").iterdir())
    assert kept == ["causal", "masked", SHORT]
    assert not list((home / "training").glob("*")) and not list(home.rglob("tutorial/model*"))
    card = (home / "checkpoints/masked/README.md").read_text()
    assert "causal on 1,536 tokens, then causal on 512 tokens, then masked on 1,024 tokens" in card
    assert sample in card
    model, _ = checkpoints.load(home / "checkpoints/masked")
    assert not model.config.causal and model.config.width == plan.LITTLE.width


def test_a_missing_part_is_named_and_arriving_twice_changes_nothing(packed, monkeypatch, capsys):
    parts = sorted(packed.iterdir())
    assert len(parts) > 2 and all(path.stat().st_size <= 50_000 for path in parts)
    for path in (*parts[1:], parts[-1]):
        assert gpu("take", "--from", path) == 0
    assert f"{parts[0].name} still missing" in capsys.readouterr().out
    assert gpu("slice", "--out", packed.parent / "none") == 1
    assert parts[0].name in capsys.readouterr().err
    assert gpu("take", "--from", parts[0]) == 0
    tokens = place.data() / "tokens.bin"
    before = tokens.stat().st_mtime_ns
    assert gpu("take", "--from", packed) == 0 and "is there, whole" in capsys.readouterr().out
    assert tokens.stat().st_mtime_ns == before


@pytest.mark.parametrize("harm", ["flipped", "cut", "no head"])
def test_a_damaged_part_is_named(packed, tmp_path, capsys, harm):
    path = shutil.copy(sorted(packed.iterdir())[1], tmp_path)
    content = bytearray(Path(path).read_bytes())
    if harm == "flipped":
        content[-1000] ^= 1
    Path(path).write_bytes({"cut": content[:-1], "no head": content[100:]}.get(harm, content))
    assert gpu("take", "--from", path) == 1
    assert re.fullmatch(
        rf".*gpu: expected a part .* {path} is damaged; .*\n", capsys.readouterr().err
    )
    assert not (place.folder() / "arriving").exists()


def write_slice(folder: Path, number: int) -> Path:
    """What a slice that did nothing hands back."""
    files.write_json(place.folder() / place.PROGRESS, {"slices": number - 1, "legs": {}})
    (place.folder() / "logs").mkdir(exist_ok=True)
    (place.folder() / "logs/note").write_text(f"slice {number}\n" * 100)
    place.hand_back([], folder)
    return folder


def test_at_home_parts_have_to_be_whole_and_no_older_than_what_is_there(
    tmp_path, monkeypatch, capsys
):
    on(monkeypatch, tmp_path / "machine")
    monkeypatch.setattr(parcels, "PART", parcels.HEAD + 200)
    old, new = (write_slice(tmp_path / f"back-{n}", n) for n in (1, 2))
    lost = new / "slice-2-of-2.part"
    kept = lost.rename(tmp_path / "kept")
    on(monkeypatch, tmp_path / "home")
    assert gpu("home", "--from", new) == 1 and lost.name in capsys.readouterr().err
    kept.rename(lost)
    for _ in range(2):
        assert gpu("home", "--from", new) == 0
        assert place.progress()["slices"] == 2
    assert gpu("home", "--from", old) == 0 and "older than" in capsys.readouterr().out
    assert "slice 2" in (place.folder() / "logs/note").read_text()
    assert gpu("home", "--from", tmp_path) == 1 and "expected a part" in capsys.readouterr().err


def test_what_is_handed_back_of_the_shipped_shape_fits():
    (leg,) = (leg for leg in plan.FULL if leg.name == SHORT)
    sizes = count_parameters(leg.config)
    matrices = leg.config.layers * leg.config.width * (4 * leg.config.width + 2 * 1024)
    state = 4 * (
        sizes["total"] + matrices + 2 * (sizes["total"] - matrices)
    )  # Muon: one, AdamW: two
    history = leg.tokens // leg.tokens_per_step * 250  # bytes in state and log, before compression
    assert state + history < parcels.MOST * parcels.PART
    assert 0.92 * state + 0.5 * history < parcels.CALL  # as DEFLATE packs both
    assert 2 * sizes["total"] < parcels.PART  # a checkpoint


def test_a_part_has_room_beside_the_repository():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=files.root(), capture_output=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    paths = [files.root() / name for name in filter(None, listed.stdout.decode().split("\0"))]
    assert (
        sum(path.stat().st_size for path in paths if path.exists()) + parcels.CHUNK < parcels.CALL
    )


CASES = """
import pytest
def test_right(): pass
def test_wrong(): assert False
@pytest.mark.skip(reason="why")
def test_left_out(): pass
"""


def test_the_tests_on_cuda_are_counted_and_their_absence_is_said(tmp_path, monkeypatch):
    (tmp_path / "test_three.py").write_text(CASES)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # seconds
    options = ["-q", "-p", "no:cacheprovider", "-o", "addopts=", "--rootdir", str(tmp_path)]
    found = measuring.tested([sys.executable, "-m", "pytest", *options, str(tmp_path)])
    assert found == {"outcome": "1 passed, 1 failed, 1 skipped", "failed": ["test_wrong"]}
    with pytest.raises(RuntimeError, match="no report"):
        measuring.tested([sys.executable, "-c", "print('nothing')"])
    assert measuring.cuda_tests()["rows"] == [{"job": "tests on CUDA", "outcome": "no CUDA"}]
    marked = (files.root() / measuring.TESTS[-1]).read_text(encoding="utf-8")
    assert "pytestmark = pytest.mark.cuda" in marked


def test_a_measurement_that_fails_or_takes_too_long_is_noted(monkeypatch):
    monkeypatch.undo()
    code = {"fails": "import sys; sys.exit('no such luck')", "waits": "import time; time.sleep(60)"}
    monkeypatch.setattr(measuring, "command_of", lambda name, _: [sys.executable, "-c", code[name]])
    assert measuring.in_child("fails", 30) == {
        "rows": [],
        "failed": "it ended with status 1; no such luck",
    }
    assert measuring.in_child("waits", 0.2) == {"rows": [], "failed": "it was ended after 0 s; "}


def test_a_slice_that_fails_hands_back_what_is_there(packed, tmp_path, monkeypatch):
    gpu("take", "--from", packed)

    def fail(leg, clock):
        raise RuntimeError("the compiler is missing")

    monkeypatch.setattr(training, "train", fail)
    with pytest.raises(RuntimeError, match="compiler"):
        gpu("slice", "--out", tmp_path / "back")
    parts = [Part.read(path) for path in (tmp_path / "back").glob("*.part")]
    assert [part.kind for part in parts] == ["slice"]
    assert len(files.read_json(tmp_path / "back/gpu.json")["legs"]) == 5


def test_the_full_plan_is_refused_without_a_gpu(packed, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TLCOURSE_SIZE", "full")
    assert gpu("slice", "--out", tmp_path / "back") == 1
    assert "expected a GPU" in capsys.readouterr().err
    assert not (tmp_path / "back").exists()


def test_the_tutorials_shape_has_its_size():
    (leg,) = (leg for leg in plan.FULL if leg.name == "tutorial")
    assert replace(leg.config, vocabulary_size=0) == Config(
        0, 410, 16, 10, 2100, rotary=False
    )  # theirs had some 30,000 entries
    assert 49e6 < count_parameters(replace(leg.config, vocabulary_size=28_996))["total"] < 52e6


def test_an_unknown_measurement_lists_those_there_are(tmp_path, capsys):
    assert gpu("measure", "speed", "--to", tmp_path / "found.json") == 1
    assert "expected one of tests, pretraining-causal" in capsys.readouterr().err

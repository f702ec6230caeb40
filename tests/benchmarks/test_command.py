import sys
from dataclasses import replace

import pytest

from benchmarks import __main__ as command
from benchmarks.speed import harness
from tests.benchmarks.conftest import Child
from tlcourse import device, files, sizes

# A size at which measuring takes a moment; nothing is concluded from its times.
SMALLEST = replace(
    sizes.get("tiny"),
    bpe_race_bytes=2_000,
    bpe_race_vocabulary=280,
    bpe_training_bytes=4_000,
    bpe_vocabulary=300,
)


def test_bpe_compares_equal_merges_with_each_peer(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("TLCOURSE_DATA", raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(sizes, "current", lambda: SMALLEST)
    monkeypatch.setattr(sys, "argv", ["benchmarks", "bpe", "--json", str(tmp_path / "bpe.json")])
    assert command.main() == 0
    result = files.read_json(tmp_path / "bpe.json")
    assert [row["peer"] for row in result["rows"]] == ["naive", "counted"] + ["tokenizers"] * 2
    assert all(row["equal"] and row["ratio"] > 0 for row in result["rows"])
    assert [row["merges"] for row in result["rows"]] == [18, 18, 18, 38]
    assert result["machine"] and result["versions"]["tokenizers"]
    assert "naive" in capsys.readouterr().out


def test_an_unknown_benchmark_lists_those_there_are(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["benchmarks", "bert"])
    with pytest.raises(SystemExit):
        command.main()
    listed = capsys.readouterr().err
    assert all(repr(name) in listed for name in (*command.MODULES, "all"))


@pytest.mark.parametrize("name", command.MODULES)
def test_every_name_has_something_to_measure(name):
    assert callable(command.study_of(name).measure)


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """What `all` writes at tiny: every contestant for a moment, `peft` in its own process."""
    path = tmp_path_factory.mktemp("benchmarks") / "all.json"
    own = {"peft": harness.Child}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TLCOURSE_SIZE", "tiny")
        patch.setattr(sizes, "current", lambda: SMALLEST)
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.delenv("TLCOURSE_DATA", raising=False)
        patch.setattr(harness, "Child", lambda entry: own.get(entry.name, Child)(entry))
        patch.setattr(sys, "argv", ["benchmarks", "all", "--json", str(path)])
        assert command.main() == 0
    return files.read_json(path)


def rows_of(result, job):
    return [row for row in result["rows"] if row["job"] == job]


def test_all_is_speed_with_the_provenance_of_each_part(everything):
    assert everything["machine"]
    assert list(everything["benchmarks"]) == ["pretraining", "finetuning", "bpe", "lora"]
    for part in everything["benchmarks"].values():
        assert part["machine"] and part["python"] and part["versions"] and part["size"] == "tiny"
    jobs = {row["job"] for row in everything["rows"]}
    assert jobs == {"causal", "masked", "finetuning", "bpe", "lora"}
    assert all(row["ratio"] > 0 for row in everything["rows"])


@pytest.mark.parametrize(
    ("job", "library"), [("causal", "Hugging Face GPT-2"), ("masked", "Hugging Face BERT")]
)
def test_pretraining_peers_do_the_same_work(everything, job, library):
    rows = rows_of(everything, job)
    tuned = f"{library}, freed memory kept"
    assert {row["peer"] for row in rows} == {library, tuned, "torch.nn.TransformerEncoder"}
    default = rows[0]
    assert (default["peer"], default["form"]) == (library, "float32, sdpa attention")
    (ours,) = (
        part for part in everything["benchmarks"]["pretraining"]["ours"] if part["job"] == job
    )
    for row in rows:
        assert row["targets"] == ours["targets"]
        assert row["loss"] == pytest.approx(ours["loss"], rel=0.05)  # about ln 300 for all
        assert 0.5 < row["parameters"] / ours["parameters"] < 2
        assert 0 < row["memory_ratio"] < 1  # nobody else spares the logits
        assert row["ratio_lowest"] <= row["ratio"] * 1.001 and row["tokens_per_second"] > 0
    for peer in {row["peer"] for row in rows}:
        best = [row for row in rows if row["peer"] == peer and row["fastest"]]
        assert best[0]["ratio"] == min(row["ratio"] for row in rows if row["peer"] == peer)
    assert set(ours["milliseconds"]) == {"body", "head", "optimizer"}
    assert ours["peak_share"] > 0 and ours["peak_gflops"] > 0


@pytest.mark.parametrize(
    ("body", "library"), [("causal", "Hugging Face GPT-2"), ("two-sided", "Hugging Face BERT")]
)
def test_finetuning_is_held_against_padding_and_the_library(everything, body, library):
    rows = [row for row in rows_of(everything, "finetuning") if row["body"] == body]
    padding, *peers = rows
    assert padding["peer"] == "padding to the longest"
    assert padding["memory_ratio"] == 1.0  # the step on the longest questions is the same
    assert {row["peer"] for row in peers} == {f"{library}, grouped by length"}
    fast = str(device.choose().precision).removeprefix("torch.")
    assert {row["precision"] for row in peers} == {fast, "float32"}  # the latter learners have
    assert all(row["questions_per_second"] > 0 for row in rows)


def test_lora_of_ours_and_of_peft_train_the_same_numbers(everything):
    peft, full = rows_of(everything, "lora")
    assert (peft["peer"], full["peer"]) == ("peft", "full fine-tuning")
    assert peft["trained"] == peft["trained_ours"] < full["trained"] / 10
    assert full["memory_ratio"] < 1 and peft["memory_ratio"] == pytest.approx(1, abs=0.1)

"""`tlcourse pretrain`: from the bundled sample to a checkpoint, and what it refuses."""

import json
import subprocess
import sys
from dataclasses import asdict

import pytest
import torch

from tlcourse import checkpoints, cli, pretraining
from tlcourse.cli import main

SHAPE = ["--width", "32", "--layers", "1", "--heads", "2", "--vocabulary", "400"]
BUDGET = ["--tokens", "9e3"]  # one step of 64 windows of 128 tokens


def pretrain(folder, *more):
    return main(["pretrain", "--out", str(folder / "run"), *SHAPE, *BUDGET, *more])


def weights(folder):
    return checkpoints.load(folder / "run" / "checkpoint")[0].state_dict()


def test_a_finished_run_is_not_run_again_and_another_folder_gives_the_same_weights(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    assert pretrain(first) == pretrain(second) == 0
    once = weights(first)
    assert pretrain(first) == 0
    for name, tensor in weights(second).items():
        assert torch.equal(tensor, once[name]), name
    log = checkpoints.log_of(first / "run" / "checkpoint")
    assert [leg["tokens"] for leg in log["legs"]] == [64 * 128]
    assert log["legs"][0]["start"] == "random weights"
    assert log["legs"][0]["recipe"] == asdict(pretraining.PretrainingRecipe())


def test_a_second_leg_starts_from_the_weights_of_the_first_and_the_card_lists_both(tmp_path):
    assert pretrain(tmp_path) == 0
    start = str(tmp_path / "run" / "checkpoint")
    prepared = str(tmp_path / "run" / "corpus")
    command = ["pretrain", "--out", str(tmp_path / "more"), "--prepared", prepared, *SHAPE, *BUDGET]
    assert main([*command, "--objective", "masked", "--start", start]) == 0
    folder = tmp_path / "more" / "checkpoint"
    model, _ = checkpoints.load(folder)
    assert not model.config.causal and model.config.width == 32
    assert [leg["start"] for leg in checkpoints.log_of(folder)["legs"]] == ["random weights", "run"]
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "| 1 | causal |" in card and "| 2 | masked | run |" in card


def test_rates_and_warm_up_are_those_that_were_asked_for(tmp_path):
    moved = {}
    for rate in ("1e-9", "0.1"):
        folder = tmp_path / rate
        rates = ["--learning-rate", rate, "--muon-learning-rate", rate, "--warmup", "1"]
        assert pretrain(folder, *rates) == 0
        asked = checkpoints.log_of(folder / "run" / "checkpoint")["legs"][0]["recipe"]
        assert (asked["learning_rate"], asked["muon_learning_rate"], asked["warmup"]) == (
            float(rate),
        ) * 2 + (1,)
        moved[rate] = weights(folder)
    for kind in ("embedding", "norm", "attention"):
        names = [name for name in moved["0.1"] if kind in name]
        gentle, fast = (torch.cat([moved[rate][n].flatten() for n in names]) for rate in moved)
        assert (fast - gentle).abs().max() > 0.01, kind


def test_the_old_spellings_of_options_are_understood_but_not_shown(capsys):
    new = ["--learning-rate", "1", "--muon-learning-rate", "2", "--batch-size", "3"]
    old = ["--rate", "1", "--muon-rate", "2", "--batch", "3", "--mask-rate", "0.4"]
    parser = cli._parser()
    asked, found = (
        parser.parse_args(["pretrain", "--out", "x", *options])
        for options in ([*new, "--mask-probability", "0.4"], old)
    )
    assert asked == found and asked.learning_rate == 1.0 and asked.batch_size == 3
    with pytest.raises(SystemExit):
        parser.parse_args(["pretrain", "--help"])
    shown = capsys.readouterr().out
    assert "--muon-learning-rate" in shown and "--muon-rate" not in shown
    assert parser.parse_args(["pretrain", "--out", "x"]).learning_rate == 3e-3


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--tokens", "100"], "at least one step (8192 tokens)"),
        (["--corpus", "wikitext-9"], "wikitext-9"),
        (["--corpus", "trec"], "expected a text with articles, got trec"),
        (["--start", "nowhere"], "nowhere"),
    ],
)
def test_what_is_refused_is_said_in_one_line(tmp_path, capsys, more, said):
    assert pretrain(tmp_path, *more) == 2
    message = capsys.readouterr().err.strip().splitlines()[-1]
    assert message.startswith("tlcourse: ") and said in message
    if "--corpus" in more:
        assert not (tmp_path / "run").exists()


def test_a_run_with_other_settings_is_refused_and_named(tmp_path, capsys):
    assert pretrain(tmp_path) == 0
    assert pretrain(tmp_path, "--seed", "1") == 2
    assert "seed was 0, now 1" in capsys.readouterr().err


def test_a_token_file_of_another_corpus_is_refused(tmp_path, capsys):
    assert pretrain(tmp_path) == 0
    assert pretrain(tmp_path, "--vocabulary", "500") == 2
    assert "--prepared" in capsys.readouterr().err


def test_own_text_is_a_corpus_and_the_start_s_vocabulary_is_taken_over(tmp_path, capsys):
    assert pretrain(tmp_path) == 0
    start = str(tmp_path / "run" / "checkpoint")
    own = tmp_path / "own.txt"
    own.write_text("It rained in the night, and the river rose.\n" * 40, encoding="utf-8")
    command = ["pretrain", "--out", str(tmp_path / "own"), "--start", start, "--corpus", str(own)]
    command += ["--batch-size", "4", "--length", "16", "--tokens", "300", "--objective", "hybrid"]
    assert main(command) == 0
    first, second = (
        checkpoints.load(tmp_path / name / "checkpoint")[1].merges for name in ("run", "own")
    )
    assert first == second
    leg = checkpoints.log_of(tmp_path / "own" / "checkpoint")["legs"][1]
    assert leg["corpus"][0].startswith("own.txt ") and leg["tokens"] == 4 * 64
    assert leg["recipe"]["objective"] == "hybrid"
    capsys.readouterr()
    own.write_text("Something else.\n" * 40, encoding="utf-8")
    assert main(command) == 2
    assert "remove this one" in capsys.readouterr().err


def test_a_budget_in_minutes_ends_decayed_and_the_log_says_when_the_decay_began(tmp_path):
    out = tmp_path / "run"
    command = ["pretrain", "--out", str(out), *SHAPE, "--batch-size", "4", "--length", "16"]
    assert main([*command, "--minutes", "0.03"]) == 0
    leg = checkpoints.log_of(out / "checkpoint")["legs"][0]
    lines = (out / "log.jsonl").read_text(encoding="utf-8").splitlines()
    factors = [json.loads(line)["factor"] for line in lines]
    assert len(factors) == leg["steps"] and leg["decay_began_at_step"] < leg["steps"]
    decay = leg["steps"] - leg["decay_began_at_step"]
    warmup = leg["recipe"]["warmup"]  # which a busy machine may not even reach
    assert factors[-1] == pytest.approx(min(1 / decay, leg["steps"] / warmup))
    assert main([*command, "--minutes", "0.03", "--tokens", "1e4"]) == 2  # one budget, not two


# Files may not grow beyond what the first states need: the write fails as on a full disk.
FULL_DISK = """
import resource, sys
from tlcourse import cli
from tlcourse.training import Resume

save = Resume.save

def limited(resume, *arguments):
    if resume.path.exists():
        resource.setrlimit(resource.RLIMIT_FSIZE, (resume.path.stat().st_size // 2,) * 2)
    save(resume, *arguments)

Resume.save = limited
sys.exit(cli.main(["pretrain", *sys.argv[1:]]))
"""


def test_a_full_disk_is_said_and_the_state_saved_before_is_kept(tmp_path):
    options = ["--out", str(tmp_path / "run"), *SHAPE, "--batch-size", "4", "--length", "16"]
    options += ["--tokens", "600", "--save-every", "0"]
    command = [sys.executable, "-c", FULL_DISK, *options]
    failed = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert failed.returncode == 2
    assert "free some space and run the same command again" in failed.stderr
    assert not [path for path in tmp_path.rglob(".*") if path.is_file()]
    whole = tmp_path / "whole"
    assert main(["pretrain", *options]) == 0
    assert main(["pretrain", "--out", str(whole), *options[2:]]) == 0
    states = [checkpoints.load(f / "checkpoint")[0].state_dict() for f in (tmp_path / "run", whole)]
    assert all(torch.equal(tensor, states[1][name]) for name, tensor in states[0].items())

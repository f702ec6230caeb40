"""`tlcourse pretrain`: from the bundled sample to a checkpoint, and what it refuses."""

import pytest
import torch

from tlcourse import checkpoints
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

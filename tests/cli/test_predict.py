"""`tlcourse predict`: texts of the command line, of a file and of the standard input."""

import csv
import io
import os
import re
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file, save_model

from tlcourse import checkpoints, files
from tlcourse.adaptation import FULL, SCHEMES, Classifier, LoRA
from tlcourse.bpe import Tokenizer
from tlcourse.cli import main
from tlcourse.device import choose
from tlcourse.transformer import Config, Transformer

TEXTS = ["Who ran, and why ?", "Where is the old town ?", "When ?"]
LABELS = ["HUM", "LOC", "NUM"]
TOKENIZER = Tokenizer.train(TEXTS, 280)


def make(folder, pair=None):
    torch.manual_seed(0)
    classifier = random_classifier()
    classifier.scheme = FULL
    about = {"columns": {"text": "question", "pair": pair, "label": "kind"}}
    classifier.save(folder, about=about)
    return str(folder)


def random_classifier(edit=None):
    """One whose numbers, the added ones too, are far from 0."""
    body = Transformer(Config(280, 16, 2, 2, 32, 48), choose().attention)
    classifier = Classifier(body, TOKENIZER, LABELS)
    if edit is not None:
        classifier.add(edit)
    for parameter in classifier.parameters():
        parameter.data.add_(0.5 * torch.randn_like(parameter))
    return classifier


@pytest.fixture
def folder(tmp_path):
    return make(tmp_path / "mine")


def expected(folder, texts):
    """Label and probabilities of each text, each asked alone."""
    classifier = Classifier.load(folder)
    rows = [classifier.probabilities([text])[0] for text in texts]
    return [(LABELS[row.argmax()], dict(zip(LABELS, row.tolist(), strict=True))) for row in rows]


def check(printed, folder, texts):
    """Holds lines of label, probabilities and text against `expected`."""
    assert len(printed) == len(texts)
    wanted = expected(folder, texts)
    for line, (label, probabilities), text in zip(printed, wanted, texts, strict=True):
        said, listed, shown = line.split("\t")
        assert (said, shown) == (label, text if isinstance(text, str) else " | ".join(text))
        pairs = [part.split() for part in listed.split(", ")]
        assert [name for name, _ in pairs] == sorted(LABELS, key=lambda n: -probabilities[n])
        for name, probability in pairs:
            assert float(probability) == pytest.approx(probabilities[name], abs=6e-3)


def test_texts_of_the_command_line(folder, capsys):
    assert main(["predict", folder, *TEXTS]) == 0
    check(capsys.readouterr().out.splitlines(), folder, TEXTS)


def test_it_loads_neither_a_trainer_nor_data_sets(folder, table):
    code = (
        "import sys; from tlcourse.cli import main; "
        "sys.exit(main(sys.argv[1:]) or print(*sys.modules))"
    )
    for words in (["When ?"], ["--csv", str(table)]):
        command = [sys.executable, "-c", code, "predict", folder, *words]
        ran = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
        loaded = set(ran.stdout.splitlines()[-1].split())
        assert {"torch", "tlcourse.adaptation"} <= loaded
        slow = {"ignite", "datasets", "pandas", "pyarrow", "sympy", "sklearn", "scipy"}
        assert not (slow | {"transformers", "matplotlib"}) & loaded, words


def test_texts_may_begin_with_a_minus(folder, capsys):
    assert main(["predict", folder, "-5", "-5 or 6 ?", "--", "-cold", "--csv"]) == 0
    check(capsys.readouterr().out.splitlines(), folder, ["-5", "-5 or 6 ?", "-cold", "--csv"])


def test_a_text_that_is_too_long_is_told_beside_the_answers(folder, table, capsys):
    long = "Who ran ? " * 25
    assert main(["predict", folder, *TEXTS[:2], long.strip()]) == 0
    out, err = capsys.readouterr()
    check(out.splitlines(), folder, [*TEXTS[:2], long.strip()])
    assert err == "1 of 3 texts is longer than 48 tokens: read in windows\n"
    table.write_text(f"question\n{long}\nWho ?\n", encoding="utf-8")
    assert main(["predict", folder, "--csv", str(table)]) == 0
    assert capsys.readouterr().err.startswith("1 of 2 texts is longer than 48 tokens")


def test_two_texts_are_a_pair(tmp_path, capsys, refused):
    folder = make(tmp_path / "pairs", pair="answer")
    assert main(["predict", folder, "Who ran ?", "Ann", "When ?", "At noon"]) == 0
    pairs = [("Who ran ?", "Ann"), ("When ?", "At noon")]
    check(capsys.readouterr().out.splitlines(), folder, pairs)
    assert "expected two texts for each pair, got 1" in refused("predict", folder, "Who ran ?")


def test_lines_of_the_standard_input(folder, tmp_path, capsys, monkeypatch, refused):
    def given(text):
        monkeypatch.setattr("sys.stdin", io.StringIO(text))

    given("When ?\n\nWho ran, and why ?")
    assert main(["predict", folder]) == 0
    check(capsys.readouterr().out.splitlines(), folder, ["When ?", "Who ran, and why ?"])
    pairs = make(tmp_path / "pairs", pair="answer")
    given("When ?\tAt noon\n")
    assert main(["predict", pairs]) == 0
    check(capsys.readouterr().out.splitlines(), pairs, [("When ?", "At noon")])
    given("When ?\tAt noon\nWho ?\n")
    assert "a tab between them in line 2" in refused("predict", pairs)
    given("\n")
    assert "a text a line on the standard input, got none" in refused("predict", folder)


def test_the_standard_input_is_utf_8_whatever_the_locale(folder, capsys, monkeypatch):
    def ask(content: bytes) -> int:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content), "latin-1"))
        return main(["predict", folder])

    assert ask(b"\xef\xbb\xbfWhen ?\nWo w\xc3\xa4re das ?\n") == 0  # a byte order mark, first
    check(capsys.readouterr().out.splitlines(), folder, ["When ?", "Wo wäre das ?"])
    assert ask(b"When ?\nWo w\xe4re das ?\n") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "UTF-8 on the standard input, got the byte 0xe4" in line


def test_a_place_where_nothing_can_be_written_is_said_before_anything_slow(
    folder, tmp_path, refused
):
    files.write_text(tmp_path / "my.csv", "question\nWhen ?\n")
    table = str(tmp_path / "my.csv")
    out = str(tmp_path / "my.csv" / "out.csv")  # below a file
    line = refused("predict", folder, "--csv", table, "--out", out)
    assert "expected a folder that can be written to" in line and ".part" not in line


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no terminals to open here")
def test_nothing_at_a_terminal_says_what_to_give(folder, refused, monkeypatch):
    _, terminal = os.openpty()
    with open(terminal, encoding="utf-8") as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        line = refused("predict", folder)
    assert '"a text" behind the folder, --csv FILE, or lines on the standard input' in line


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text(
        'id,question,note\n7,"Who ran, and why ?",first\n8,When ?,"two\nlines"\n', encoding="utf-8"
    )
    return path


def test_a_file_comes_back_with_columns_beside_its_own(folder, table, capsys):
    out = table.with_name("out.csv")
    assert main(["predict", folder, "--csv", str(table), "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"2 rows written to {out}\n"
    rows = list(csv.DictReader(out.open(encoding="utf-8", newline="")))
    assert [(row["id"], row["note"]) for row in rows] == [("7", "first"), ("8", "two\nlines")]
    for row, (label, probabilities) in zip(
        rows, expected(folder, ["Who ran, and why ?", "When ?"]), strict=True
    ):
        assert row["predicted"] == label
        for name in LABELS:
            said = float(row[f"probability of {name}"])
            assert said == pytest.approx(probabilities[name], abs=6e-3)
    assert main(["predict", folder, "--csv", str(table)]) == 0
    assert capsys.readouterr().out == out.read_text(encoding="utf-8")
    tabs = out.with_suffix(".tsv")
    assert main(["predict", folder, "--csv", str(table), "--out", str(tabs)]) == 0
    first = tabs.read_text(encoding="utf-8").splitlines()[0]
    assert first.split("\t")[:4] == ["id", "question", "note", "predicted"]


def test_a_folder_of_an_earlier_version_still_answers(tmp_path, capsys):
    """As it was written before: the scheme is a name, and the recipe has other keys."""
    torch.manual_seed(0)
    before = random_classifier(LoRA())
    folder = tmp_path / "old"
    checkpoints.write_shape(folder, before.body.config, TOKENIZER)
    save_model(before, str(folder / "model.safetensors"))
    record = {
        "labels": LABELS,
        "pooling": "mean",
        "scheme": "LoRA",
        "precision": "float32",
        "columns": {"text": "question", "pair": None, "label": "kind"},
        "base_model": "little",
        "recipe": {"epochs": 2, "rate": 0.0005, "batch": 32, "weight_decay": 0.01, "min_steps": 0},
        "seed": 0,
        "train": {"file": "my.csv", "rows": 1, "wrong": [], "labels": {"HUM": 1}},
        "versions": {"tlcourse": "0.1.0", "torch": "2.9.0", "python": "3.12.3"},
    }
    files.write_json(folder / "classifier.json", record)
    found = Classifier.load(folder)
    assert found.scheme == SCHEMES["LoRA"] and found.about == record
    assert torch.equal(found.probabilities(TEXTS), before.probabilities(TEXTS))
    assert main(["predict", str(folder), *TEXTS]) == 0
    check(capsys.readouterr().out.splitlines(), folder, TEXTS)
    table = tmp_path / "in.csv"
    table.write_text("question\nWhen ?\n", encoding="utf-8")
    assert main(["predict", str(folder), "--csv", str(table)]) == 0
    label = before.predict(["When ?"])[0]
    assert capsys.readouterr().out.splitlines()[1].startswith(f"When ?,{label},")
    found.save(tmp_path / "new", about=found.about)  # and it can be kept as folders are now
    again = Classifier.load(tmp_path / "new")
    assert again.scheme == SCHEMES["LoRA"]
    assert torch.equal(again.probabilities(TEXTS), before.probabilities(TEXTS))


def test_a_folder_saved_from_python_reads_the_usual_columns(tmp_path, capsys):
    torch.manual_seed(0)
    random_classifier().save(tmp_path / "mine")
    table = tmp_path / "in.csv"
    table.write_text("text\nWhen ?\n", encoding="utf-8")
    assert main(["predict", str(tmp_path / "mine"), "--csv", str(table)]) == 0
    assert capsys.readouterr().out.startswith("text,predicted,probability of HUM,")


def test_columns_of_another_kind_are_told(folder, tmp_path, refused):
    path = tmp_path / "mine" / "classifier.json"
    files.write_json(path, files.read_json(path) | {"columns": {"txt": "question"}})
    line = refused("predict", folder, "Who ?")
    assert "expected columns text, pair and label" in line and "'txt'" in line


def test_what_is_refused_is_one_line(folder, table, tmp_path, refused):
    given = ["--csv", str(table)]
    other = tmp_path / "other.csv"
    other.write_text("question,predicted\nWho ?,HUM\n", encoding="utf-8")
    bad = tmp_path / "bad.csv"
    bad.write_text("question\nWho ?\n \n", encoding="utf-8")
    text = tmp_path / "text.csv"
    text.write_text("text\nWho ?\n", encoding="utf-8")
    for arguments, said in [
        ([str(tmp_path), "Who ?"], "expected a folder that `tlcourse adapt` wrote"),
        ([folder, "Who ?", *given], "expected texts or --csv, got both"),
        ([folder, "Who ?", "--out", "new.csv"], "expected --csv with --out"),
        ([folder, *given, "--out", str(table)], "expected a new file, but"),
        ([folder, "--csv", str(tmp_path / "none.csv")], "No such file"),
        ([folder, "--csv", str(text)], "expected a column 'question' in"),
        ([folder, "--csv", str(other)], "expected no column 'predicted' in"),
        ([folder, "--csv", str(bad)], "line 3, got ' '"),
        ([folder, "Who ?", " "], "expected texts behind the folder, but number 2 is empty"),
        ([], "folder"),
    ]:
        line = refused("predict", *arguments)
        assert line.startswith("tlcourse: ") and said in line
    assert not (tmp_path / "new.csv").exists() and table.read_text(encoding="utf-8")[:2] == "id"


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        (torch.nan, "finite weights in .*, got NaN or infinity in head.weight"),
        (3e38, "finite prob"),
    ],
)
def test_numbers_that_are_not_finite_are_no_answer(
    folder, table, tmp_path, capsys, numbers: float, said: str
) -> None:
    """Neither those of the weights nor those that finite weights give."""
    weights = load_file(tmp_path / "mine" / "model.safetensors")
    weights["head.weight"] = torch.full((3, 16), numbers)
    save_file(weights, tmp_path / "mine" / "model.safetensors")
    out = table.with_name("out.csv")
    for asked in (["When ?"], ["--csv", str(table), "--out", str(out)]):
        assert main(["predict", folder, *asked]) == 2
        printed, told = capsys.readouterr()
        assert printed == "" and len(told.splitlines()) == 1
        assert re.search(f"expected {said}", told)
    assert not out.exists()


@pytest.mark.parametrize("written", [False, True])
def test_stopped_it_says_whether_the_rows_are_written(
    folder, table, capsys, monkeypatch, written
) -> None:
    whole = files.write_text

    def stop(path, text):
        with files.atomic(path) as part:
            part.write_text(text[:5], encoding="utf-8")
            if written:
                whole(path, text)
            raise KeyboardInterrupt

    monkeypatch.setattr(files, "write_text", stop)
    out = table.with_name("out.csv")
    assert main(["predict", folder, "--csv", str(table), "--out", str(out)]) == 130
    left = f"the rows are written to {out}" if written else "nothing was written"
    assert capsys.readouterr().err == f"tlcourse: stopped; {left}\n"
    assert out.exists() is written and list(table.parent.glob(".*")) == []

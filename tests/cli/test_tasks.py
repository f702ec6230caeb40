"""`tlcourse adapt --task` and `predict`: from the files of each task to its predictions."""

import json

import pytest
import torch

from tlcourse import checkpoints, files
from tlcourse.adaptation import BiEncoder, Chooser, Similarity, SpanReader, Tagger
from tlcourse.bpe import Tokenizer
from tlcourse.cli import main
from tlcourse.transformer import Config, Transformer

CONLL = "-DOCSTART- -X- O O\n\nAnn NNP I-PER\nran VBD O\n\nBob NNP I-PER\nsang VBD O\n. . O\n"
SQUAD = {
    "data": [
        {
            "paragraphs": [
                {
                    "context": "Ann ran to the old town.",
                    "qas": [
                        {
                            "id": "a",
                            "question": "Who ran?",
                            "answers": [{"text": "Ann", "answer_start": 0}],
                        },
                        {"id": "b", "question": "Who sang?", "answers": []},
                    ],
                }
            ]
        }
    ]
}
PAIRS = "text,pair,label\nAnn ran,Ann ran,5\nAnn ran,the town,0\nBob,Bob sang,3.5\n"
CHOICES = "text,choice1,choice2,label\nAnn ran,because she was late,a town,1\nBob,old,sang,2\n"
FILES = {
    "tags": ("train.conll", CONLL),
    "spans": ("train.json", json.dumps(SQUAD)),
    "pairs": ("train.csv", PAIRS),
    "embeddings": ("train.csv", PAIRS),
    "choice": ("train.csv", CHOICES),
}


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """The folder of a little model with random weights."""
    torch.manual_seed(0)
    model = Transformer(Config(300, 16, 2, 2, 32, 64))
    for parameter in model.parameters():
        parameter.data.add_(0.1 * torch.randn_like(parameter))
    folder = tmp_path_factory.mktemp("run") / "little"
    checkpoints.save(folder, model, Tokenizer.train([CONLL, PAIRS, CHOICES], 300))
    return str(folder)


def adapt(folder, base: str, task: str, content: str, *more: str) -> int:
    path = folder / FILES[task][0]
    path.write_text(content, encoding="utf-8")
    words = ["adapt", "--task", task, "--train", str(path), "--test", str(path), *more]
    return main([*words, "--model", base, "--out", str(folder / "out")])


@pytest.mark.parametrize(
    ("task", "kind", "first", "texts", "lines"),
    [
        ("tags", Tagger, "F1", ["Ann ran", "Bob"], 2),
        ("spans", SpanReader, "F1", ["Who ran?", "Ann ran to the town."], 1),
        ("pairs", Similarity, "Spearman", ["Ann ran", "Bob", "a", "b"], 2),
        ("embeddings", BiEncoder, "Spearman", ["Ann ran", "Bob", "a", "b"], 2),
        ("choice", Chooser, "accuracy", ["Ann ran", "late", "town", "old"], 3),
    ],
)
def test_a_task_from_its_file_to_predictions(
    tmp_path, base, capsys, task, kind, first, texts, lines
) -> None:
    assert adapt(tmp_path, base, task, FILES[task][1], "--epochs", "3", "--scheme", "lora") == 0
    said = capsys.readouterr().out
    record = files.read_json(tmp_path / "out" / "classifier.json")
    assert record["task"] == task and list(record["test"]["scores"])[0] == first
    assert f"test: {first} {record['test']['scores'][first]:.3f}" in said
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert f"adaptation.{kind.__name__}.load" in card and f"Test: {first}" in card
    assert main(["predict", str(tmp_path / "out"), *texts]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == lines
    model = kind.load(tmp_path / "out")
    if task == "tags":
        assert model.tags == ["B-PER", "O"]  # IOB1, where no entity has two words
        expected = model.predict([text.split() for text in texts])
        assert [[w.rsplit("/", 1)[1] for w in line.split()] for line in shown] == expected
    if task in ("pairs", "embeddings"):
        assert [float(line) for line in shown] == pytest.approx(
            model.predict([("Ann ran", "Bob"), ("a", "b")]), abs=1e-3
        )


@pytest.mark.parametrize(
    ("task", "content", "words"),
    [
        ("tags", "Ann B-PER\nran\n", "line 2, got 'ran'"),
        ("tags", "\n\n", "a word and its tag in"),
        ("spans", "[]", "a JSON object"),
        ("spans", '{"data": [{}]}', "SQuAD's form"),
        ("spans", '{"data": []}', "questions in"),
        (
            "spans",
            json.dumps(SQUAD).replace('"answer_start": 0', '"answer_start": 1'),
            "question a: expected 'Ann' at character 1 of its paragraph, got 'nn '",
        ),
        ("pairs", PAIRS.replace("3.5", "high"), "a number in column 'label' of"),
        ("pairs", PAIRS.replace("pair", "other"), "a column 'pair'"),
        ("choice", CHOICES.replace("choice2", "b"), "choice1, choice2"),
        ("choice", CHOICES.replace("sang,2", "sang,3"), "1 to 2, in column 'label'"),
    ],
)
def test_bad_files_are_one_line_that_says_where(
    tmp_path, base, capsys, task, content, words
) -> None:
    assert adapt(tmp_path, base, task, content) == 2
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1, error
    assert not (tmp_path / "out").exists()


def test_predictions_say_what_they_expect(tmp_path, base, capsys) -> None:
    adapt(tmp_path, base, "choice", CHOICES, "--epochs", "1")
    capsys.readouterr()
    assert main(["predict", str(tmp_path / "out"), "Ann"]) == 2
    assert "a text and at least two candidates, got 1" in capsys.readouterr().err
    assert main(["predict", str(tmp_path / "out"), "--csv", str(tmp_path / "train.csv")]) == 2
    assert "expected texts for a model of choice" in capsys.readouterr().err

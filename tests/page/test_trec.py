"""The shipped classifier of questions: small, with its card, and what it was measured to be."""

import json
from pathlib import Path

import pytest
import torch

from tlcourse import checkpoints, corpora, files
from tlcourse.adaptation import Classifier
from tlcourse.page import trec
from tlcourse.page.models import CLASSIFIERS

FOLDER = files.root() / CLASSIFIERS / "trec-lora"


def size(classifier: Classifier) -> int:
    return sum(2 * weights.numel() for weights in trec.added(classifier).values())


def test_it_is_small_and_its_card_says_what_its_record_says() -> None:
    assert (FOLDER / "model.safetensors").stat().st_size <= trec.LARGEST
    record = json.loads((FOLDER / "classifier.json").read_text(encoding="utf-8"))
    card = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert card == trec.card(record, size(trec.load(FOLDER)))
    assert record["base_model"] in checkpoints.names()
    assert record["labels"] == list(corpora.TREC_LABELS)


def test_it_answers() -> None:
    questions = ["Where do penguins sleep?", "How many people live in Iceland?", "Who ran?"]
    assert trec.load(FOLDER).predict(questions) == ["LOC", "NUM", "HUM"]


@pytest.mark.real_data
def test_it_is_wrong_on_the_questions_that_the_record_names() -> None:
    classifier, test = trec.load(FOLDER), corpora.load("trec")["test"]
    assert trec.tested(classifier, test["text"], test["label"]) == classifier.about["test"]


def test_what_is_saved_comes_back(tmp_path: Path) -> None:
    """Half precision keeps what was rounded before; another model's weights are refused."""
    classifier = trec.load(FOLDER)
    trec.save(tmp_path / "again", classifier, classifier.about)
    for name, weights in trec.added(trec.load(tmp_path / "again")).items():
        assert torch.equal(weights, trec.added(classifier)[name]), name
    record = tmp_path / "again" / "classifier.json"
    changed = json.loads(record.read_text(encoding="utf-8"))
    changed["scheme"]["edit"]["layers"] = "attention"
    files.write_json(record, changed)
    with pytest.raises(ValueError, match="24 tensors differ, first body.blocks.0.down.a"):
        trec.load(tmp_path / "again")

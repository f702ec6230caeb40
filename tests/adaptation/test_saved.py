"""An adapted classifier comes back from its folder as it was; other folders are refused."""

import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from tlcourse import checkpoints, files
from tlcourse.adaptation import saved
from tlcourse.adaptation.adapting import Recipe, adapt
from tlcourse.adaptation.classifier import POOLINGS, Classifier, predict
from tlcourse.adaptation.schemes import SCHEMES
from tlcourse.adaptation.tables import Columns
from tlcourse.bpe import Tokenizer
from tlcourse.device import Compute
from tlcourse.transformer import Config, Transformer

TEXTS = ["Who ran ?", "Where is the very old town ?", "When ?", "Who sang that song ?"]
GOALS = ["HUM", "LOC", "NUM", "HUM"]
CPU = Compute(torch.device("cpu"), torch.float32, "explicit", False)
FILES = {"README.md", "classifier.json", "config.json", "model.safetensors", "tokenizer.json"}
TOKENIZER = Tokenizer.train(TEXTS, 280)


def adapted(scheme="full fine-tuning", pooling="mean", texts=TEXTS, **shape):
    torch.manual_seed(0)
    config = Config(TOKENIZER.vocabulary_size, 16, 3, 2, 32, 48, **shape)
    body = Transformer(config, "explicit")
    for parameter in body.parameters():  # new blocks start as the identity: make them speak
        parameter.data.add_(0.1 * torch.randn_like(parameter))
    classifier = Classifier(body, sorted(set(GOALS)), pooling)
    recipe = Recipe(epochs=3, rate=1e-2)
    adapt(classifier, TOKENIZER, texts, GOALS, CPU, recipe, 0, SCHEMES[scheme])
    return classifier


def chances(classifier, texts=TEXTS):
    return predict(classifier, TOKENIZER, texts, CPU)


@pytest.fixture
def folder(tmp_path):
    saved.save(tmp_path / "mine", adapted("LoRA"), TOKENIZER, "LoRA")
    return tmp_path / "mine"


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_comes_back_and_predicts_the_same(tmp_path, scheme):
    classifier = adapted(scheme)
    saved.save(tmp_path / "mine", classifier, TOKENIZER, scheme)
    found = saved.load(tmp_path / "mine", CPU)
    assert torch.equal(chances(found.classifier), chances(classifier))
    now, before = found.classifier.state_dict(), classifier.state_dict()
    assert list(now) == list(before) and all(now[name].equal(before[name]) for name in now)
    assert found.tokenizer.merges == TOKENIZER.merges and not found.classifier.training
    assert (found.classifier.labels, found.record["scheme"]) == (["HUM", "LOC", "NUM"], scheme)
    shutil.rmtree(tmp_path / "mine")  # no file is held open


@pytest.mark.parametrize("pooling", POOLINGS)
def test_poolings_two_sided_bodies_and_pairs(tmp_path, pooling):
    pairs = list(zip(TEXTS, reversed(TEXTS), strict=True))
    shape = {"causal": False, "rotary": False, "token_types": 2}
    classifier = adapted(pooling=pooling, texts=pairs, **shape)
    about = {"columns": {"text": "a", "pair": "b", "label": "c"}}
    saved.save(tmp_path / "mine", classifier, TOKENIZER, "full fine-tuning", about)
    found = saved.load(tmp_path / "mine", CPU)
    assert torch.equal(chances(found.classifier, pairs), chances(classifier, pairs))
    assert found.columns == Columns("a", "b", "c") and found.classifier.pooling == pooling


def test_what_lies_in_the_folder(tmp_path):
    recipe = {"epochs": 3, "rate": 0.01}
    about = {
        "base_model": "little",
        "recipe": recipe,
        "train": {"file": "my.csv", "rows": 4, "wrong": [3], "labels": {"HUM": 2, "LOC": 2}},
        "test": {"file": "new.csv", "rows": 500, "wrong": list(range(18)), "interval": [0.1, 0.2]},
    }
    saved.save(tmp_path / "mine", adapted("LoRA"), TOKENIZER, "LoRA", about)
    assert {path.name for path in (tmp_path / "mine").iterdir()} == FILES
    assert list(tmp_path.iterdir()) == [tmp_path / "mine"]
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "mine").iterdir()} == {0o644}
    record = files.read_json(tmp_path / "mine" / "classifier.json")
    assert record["recipe"] == recipe and record["versions"]["torch"] == torch.__version__
    weights = load_file(tmp_path / "mine" / "model.safetensors")
    assert {weight.dtype for weight in weights.values()} == {torch.float32}
    card = (tmp_path / "mine" / "README.md").read_text(encoding="utf-8")
    assert card.startswith("# mine\n") and "Base model: little" in card
    assert "`my.csv`, 4 rows (HUM 2, LOC 2)" in card and "25.0 %, 1 of 4 rows" in card
    assert "3.6 %, 18 of 500 rows (95 % interval 10.0 to 20.0 %), on `new.csv`" in card
    assert "epochs 3, rate 0.01" in card


def test_large_ones_are_kept_in_half_precision_and_say_so(tmp_path, monkeypatch):
    monkeypatch.setattr(saved, "LARGEST", 1000)
    classifier = adapted()
    record = saved.save(tmp_path / "mine", classifier, TOKENIZER, "full fine-tuning")
    assert record["precision"] == "float16"
    assert "weights: float16" in (tmp_path / "mine" / "README.md").read_text(encoding="utf-8")
    found = saved.load(tmp_path / "mine").classifier.state_dict()
    for name, weight in classifier.state_dict().items():
        assert weight.dtype == torch.float32 and found[name].equal(weight.half().float())


def test_nothing_is_written_over(folder):
    before = (folder / "model.safetensors").read_bytes()
    with pytest.raises(FileExistsError, match="is there already"):
        saved.save(folder, adapted(), TOKENIZER, "full fine-tuning")
    assert (folder / "model.safetensors").read_bytes() == before


@pytest.mark.parametrize(
    ("scheme", "said"),
    [("mix of layers", r"tensors differ.*mix.scale"), ("sorcery", "KeyError.'sorcery'.")],
)
def test_what_the_scheme_does_not_make_is_not_written(tmp_path, scheme, said):
    with pytest.raises(ValueError, match=f"made by '{scheme}', but .*{said}"):
        saved.save(tmp_path / "mine", adapted(), TOKENIZER, scheme)
    assert list(tmp_path.iterdir()) == []


def test_saving_draws_no_chance(tmp_path):
    classifier = adapted("LoRA")
    torch.manual_seed(3)
    wanted = torch.rand(4)
    torch.manual_seed(3)
    saved.save(tmp_path / "mine", classifier, TOKENIZER, "LoRA")
    assert torch.equal(torch.rand(4), wanted)


def test_a_folder_that_is_none_is_told(tmp_path):
    checkpoints.save(tmp_path / "base", adapted().body, TOKENIZER)
    for path in (tmp_path / "nowhere", tmp_path, tmp_path / "base"):
        with pytest.raises(FileNotFoundError, match="`tlcourse adapt` wrote, got .*no classifier"):
            saved.load(path)


@pytest.mark.parametrize("name", sorted(FILES - {"README.md"}))
def test_a_file_cut_short_is_named(folder, name):
    path = folder / name
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ValueError, match=f"expected .*{name}"):
        saved.load(folder)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"labels": ["HUM", "LOC"]}, r"first head.bias: expected \(2,\), got \(3,\)"),
        ({"scheme": "full fine-tuning"}, "attention.query.a: expected None, got"),
        ({"scheme": "sorcery"}, "a scheme out of full fine-tuning, .*KeyError.'sorcery'."),
        ({"pooling": "max"}, "expected a pooling out of"),
        ({"columns": {"txt": "text"}}, "columns .*'txt'"),
        ({"labels": 3}, "expected labels"),
    ],
)
def test_a_record_that_does_not_fit_is_told(folder, change, said):
    record = files.read_json(folder / "classifier.json")
    files.write_json(folder / "classifier.json", record | change)
    with pytest.raises(ValueError, match=said):
        saved.load(folder)


def test_a_record_without_labels_is_told(folder):
    files.write_json(folder / "classifier.json", {"pooling": "mean", "scheme": "LoRA"})
    with pytest.raises(ValueError, match="KeyError.'labels'."):
        saved.load(folder)


def test_a_missing_tensor_is_named(folder):
    weights = load_file(folder / "model.safetensors")
    del weights["body.blocks.1.attention.value.b"]
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(ValueError, match="first body.blocks.1.attention.value.b"):
        saved.load(folder)


def test_nothing_is_unpickled(folder):
    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("unpickled",))

    torch.save(Bomb(), folder / "model.safetensors")
    with pytest.raises(ValueError, match="expected weights"):
        saved.load(folder)

"""An adapted classifier comes back from its folder as it was; other folders are refused."""

import shutil
import subprocess
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tests.adaptation.made import CPU, LABELLED, TEXTS, TOKENIZER, make
from tlcourse import checkpoints, files
from tlcourse.adaptation import (
    EWC,
    POOLINGS,
    SCHEMES,
    AddedOnly,
    Classifier,
    LoRA,
    LoRALinear,
    Recipe,
    Record,
    Scheme,
    Triangular,
    adapt,
    serialization,
)

FILES = {"README.md", "classifier.json", "config.json", "model.safetensors", "tokenizer.json"}
RECIPE = Recipe(epochs=3, learning_rate=1e-2)
FULL = SCHEMES["full fine-tuning"]


def adapted(scheme=FULL, pooling="mean", texts=TEXTS, **shape):
    scheme = SCHEMES[scheme] if isinstance(scheme, str) else scheme
    start = make(pooling, layers=3, **shape)
    return adapt(start, texts, LABELLED, scheme=scheme, recipe=RECIPE, compute=CPU)


def answers(classifier, texts=TEXTS):
    return classifier.probabilities(texts, compute=CPU)


@pytest.fixture
def folder(tmp_path):
    adapted("LoRA").save(tmp_path / "mine")
    return tmp_path / "mine"


@pytest.mark.parametrize("name", SCHEMES)
def test_every_scheme_comes_back_and_predicts_the_same(tmp_path, name):
    classifier = adapted(name)
    classifier.save(tmp_path / "mine")
    found = Classifier.load(tmp_path / "mine", compute=CPU)
    assert torch.equal(answers(found), answers(classifier))
    now, before = found.state_dict(), classifier.state_dict()
    assert list(now) == list(before) and all(now[each].equal(before[each]) for each in now)
    assert found.tokenizer.merges == TOKENIZER.merges and not found.training
    assert (found.labels, found.scheme, found.scheme.name) == (
        ["HUM", "LOC", "NUM"],
        SCHEMES[name],
        name,
    )
    assert found.added == classifier.added
    assert eval(repr(found.scheme), vars(sys.modules["tlcourse.adaptation"])) == SCHEMES[name]
    shutil.rmtree(tmp_path / "mine")  # no file is held open


@pytest.mark.parametrize("pooling", POOLINGS)
def test_poolings_two_sided_bodies_and_pairs(tmp_path, pooling):
    pairs = list(zip(TEXTS, reversed(TEXTS), strict=True))
    shape = {"causal": False, "rotary": False, "token_types": 2}
    classifier = adapted(pooling=pooling, texts=pairs, **shape)
    about = {"columns": {"text": "a", "pair": "b", "label": "c"}}
    classifier.save(tmp_path / "mine", about=about)
    found = Classifier.load(tmp_path / "mine", compute=CPU)
    assert torch.equal(answers(found, pairs), answers(classifier, pairs))
    assert found.about["columns"] == about["columns"] and found.pooling == pooling
    found.save(tmp_path / "again")  # what it reads is not lost on the way
    assert Classifier.load(tmp_path / "again").about["columns"] == about["columns"]


def test_what_learnt_from_pairs_is_kept_as_one_of_pairs(tmp_path):
    pairs = list(zip(TEXTS, reversed(TEXTS), strict=True))
    usual = {"text": "text", "pair": None, "label": "label"}
    known = {"text": "a", "pair": "b", "label": "c"}
    adapted(texts=pairs).save(tmp_path / "pairs")
    found = Classifier.load(tmp_path / "pairs", compute=CPU)
    assert found.about["columns"] == usual | {"pair": "pair"}
    found.about["columns"] = known
    for texts, columns in ((pairs, known), (TEXTS, usual)):
        further = adapt(found, texts, LABELLED, recipe=RECIPE, compute=CPU)
        assert further.save(tmp_path / "further", overwrite=True)["columns"] == columns


def test_what_lies_in_the_folder(tmp_path):
    recipe = {"epochs": 3, "learning_rate": 0.01}
    about = {
        "base_model": "little",
        "recipe": recipe,
        "train": {"file": "my.csv", "rows": 4, "wrong": [3], "labels": {"HUM": 2, "LOC": 2}},
        "test": {"file": "new.csv", "rows": 500, "wrong": list(range(18)), "interval": [0.1, 0.2]},
    }
    classifier = adapted("LoRA")
    classifier.save(tmp_path / "mine", about=about)
    assert {path.name for path in (tmp_path / "mine").iterdir()} == FILES
    assert list(tmp_path.iterdir()) == [tmp_path / "mine"]
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "mine").iterdir()} == {0o644}
    record = files.read_json(tmp_path / "mine" / "classifier.json")
    assert record["recipe"] == recipe and record["versions"]["torch"] == torch.__version__
    weights = load_file(tmp_path / "mine" / "model.safetensors")
    assert {weight.dtype for weight in weights.values()} == {torch.float32}
    card = (tmp_path / "mine" / "README.md").read_text(encoding="utf-8")
    assert card.startswith("# mine\n") and "Base model: little" in card
    assert f"Scheme: `{SCHEMES['LoRA']}`" in card
    assert "`my.csv`, 4 rows (HUM 2, LOC 2)" in card and "25.0 %, 1 of 4 rows" in card
    assert "3.6 %, 18 of 500 rows (95 % interval 10.0 to 20.0 %), on `new.csv`" in card
    assert "epochs 3, learning_rate 0.01" in card


def test_large_ones_are_kept_in_half_precision_and_say_so(tmp_path, monkeypatch):
    monkeypatch.setattr(serialization, "LARGEST", 1000)
    classifier = adapted()
    record = classifier.save(tmp_path / "mine")
    assert record["precision"] == "float16"
    assert "weights: float16" in (tmp_path / "mine" / "README.md").read_text(encoding="utf-8")
    found = Classifier.load(tmp_path / "mine").state_dict()
    for name, weight in classifier.state_dict().items():
        assert weight.dtype == torch.float32 and found[name].equal(weight.half().float())


def test_nothing_is_written_over_unless_one_asks(folder):
    before = (folder / "model.safetensors").read_bytes()
    with pytest.raises(FileExistsError, match="is there already"):
        adapted().save(folder)
    assert (folder / "model.safetensors").read_bytes() == before
    adapted().save(folder, overwrite=True)
    assert Classifier.load(folder).scheme == FULL
    assert list(folder.parent.iterdir()) == [folder]


def test_a_folder_of_other_things_is_never_replaced(tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "one.txt").write_text("dear", encoding="utf-8")
    with pytest.raises(FileExistsError, match="is there already"):
        adapted().save(tmp_path / "letters", overwrite=True)
    assert [path.name for path in (tmp_path / "letters").iterdir()] == ["one.txt"]


def test_what_cannot_be_saved_leaves_the_old_folder(folder):
    before = (folder / "classifier.json").read_bytes()
    with pytest.raises(ValueError, match="expected a knob that is a value"):
        adapted(Scheme(edit=lambda classifier: None)).save(folder, overwrite=True)
    assert (folder / "classifier.json").read_bytes() == before
    assert list(folder.parent.iterdir()) == [folder]


def test_what_the_scheme_does_not_make_is_not_written(tmp_path):
    classifier = adapted()
    classifier.scheme = SCHEMES["mix of layers"]
    with pytest.raises(ValueError, match=r"made by .*LayerMix.*tensors differ.*mix.scale"):
        classifier.save(tmp_path / "mine")
    assert list(tmp_path.iterdir()) == []


def test_saving_draws_no_random_number(tmp_path):
    classifier = adapted("LoRA")
    torch.manual_seed(3)
    wanted = torch.rand(4)
    torch.manual_seed(3)
    classifier.save(tmp_path / "mine")
    assert torch.equal(torch.rand(4), wanted)


# Knobs of one's own


@dataclass(frozen=True)
class MyLoRA:
    """LoRA in the values of the first `blocks` blocks."""

    rank: int = 2
    blocks: tuple[int, ...] = (0, 1)

    def __call__(self, classifier):
        for number in self.blocks:
            attention = classifier.body.blocks[number].attention
            attention.value = LoRALinear(attention.value, self.rank, 4.0)


@dataclass(frozen=True)
class Late:
    """A schedule that begins half way."""

    shape: Triangular = Triangular()

    def __call__(self, steps, groups):
        factor = self.shape(steps, groups)
        return lambda step: factor(step) if step >= steps // 2 else 0.0


OWN = Scheme("mine", edit=MyLoRA(3), groups=AddedOnly(2.0), schedule=Late(Triangular(0.2)))


def test_a_scheme_of_ones_own_comes_back_with_its_classes(tmp_path):
    classifier = adapted(OWN)
    classifier.save(tmp_path / "mine")
    found = Classifier.load(tmp_path / "mine", knobs=[MyLoRA, Late], compute=CPU)
    assert found.scheme == OWN and str(found.scheme) == str(OWN)
    assert torch.equal(answers(found), answers(classifier))
    again = adapt(found, TEXTS, LABELLED, scheme=OWN, recipe=RECIPE, compute=CPU)
    assert again.report.start_difference == 0.0 and again.added == classifier.added


def test_only_the_class_of_the_edit_is_needed(tmp_path):
    adapted(OWN).save(tmp_path / "mine")
    with pytest.raises(ValueError, match=r"MyLoRA\(rank=3, .*load\(.*mine', knobs=\[MyLoRA\]\)"):
        Classifier.load(tmp_path / "mine")
    found = Classifier.load(tmp_path / "mine", knobs=[MyLoRA], compute=CPU)
    assert isinstance(found.scheme.schedule, Record)
    assert str(found.scheme) == str(OWN)  # what it was
    with pytest.raises(ValueError, match=r"knobs=\[Late\]"):
        adapt(found, TEXTS, LABELLED, scheme=found.scheme, recipe=RECIPE, compute=CPU)
    found.save(tmp_path / "again")
    both = Classifier.load(tmp_path / "again", knobs=[MyLoRA, Late])
    assert both.scheme == OWN


@dataclass(frozen=True)
class Bias:
    """A number that is added to nothing."""

    def __call__(self, classifier):
        classifier.bias = torch.nn.Parameter(torch.zeros(1))


@dataclass(frozen=True)
class Both:
    """Several edits, one after the other."""

    edits: tuple = ()

    def __call__(self, classifier):
        for edit in self.edits:
            edit(classifier)


def test_knobs_of_ones_own_inside_one_are_saved_too(tmp_path):
    scheme = Scheme(edit=Both((LoRA(), Bias())), groups=AddedOnly())
    adapted(scheme).save(tmp_path / "mine")
    assert Classifier.load(tmp_path / "mine", knobs=[Both, Bias]).scheme == scheme
    with pytest.raises(ValueError, match=r"expected the class Bias; load with `knobs=\[Bias\]`"):
        Classifier.load(tmp_path / "mine", knobs=[Both])


@pytest.mark.parametrize("knobs", [MyLoRA, MyLoRA(), [MyLoRA()], ["MyLoRA"], 3])
def test_what_are_no_classes_of_ones_own(tmp_path, knobs):
    adapted(OWN).save(tmp_path / "mine")
    with pytest.raises(ValueError, match=r"knobs= as a list of classes: \[MyKnob\], got"):
        Classifier.load(tmp_path / "mine", knobs=knobs)


def test_numbers_of_numpy_are_kept_as_those_of_python(tmp_path):
    assert type(LoRA(np.int64(8)).rank) is int and LoRA(np.int64(8)) == LoRA(8)
    scheme = Scheme(edit=MyLoRA(np.int64(2), (np.int32(0),)), groups=AddedOnly(np.float32(2)))
    adapted(scheme).save(tmp_path / "mine")
    assert Classifier.load(tmp_path / "mine", knobs=[MyLoRA]).scheme == scheme


def test_a_classifier_that_was_not_adapted_comes_back_with_its_dropout(tmp_path):
    classifier = make(dropout=0.5)
    classifier.save(tmp_path / "mine")
    found = Classifier.load(tmp_path / "mine", compute=CPU)
    assert found.scheme is None and torch.equal(answers(found), answers(classifier))
    assert {m.p for m in found.modules() if isinstance(m, torch.nn.Dropout)} == {0.5}
    record = files.read_json(tmp_path / "mine" / "classifier.json")
    del record["dropout"]  # as earlier versions wrote it
    files.write_json(tmp_path / "mine" / "classifier.json", record)
    assert Classifier.load(tmp_path / "mine").dropout.p == 0.1


CHILD = """
import sys
from dataclasses import dataclass
from tlcourse.adaptation import AddedOnly, Classifier, LoRA, LoRALinear, SCHEMES, Scheme

@dataclass(frozen=True)
class MyLoRA:
    rank: int = 2
    blocks: tuple = (0, 1)

    def __call__(self, classifier):
        for number in self.blocks:
            attention = classifier.body.blocks[number].attention
            attention.value = LoRALinear(attention.value, self.rank, 4.0)

own = Classifier.load(sys.argv[1] + "/own", knobs=[MyLoRA]).scheme
known = Classifier.load(sys.argv[1] + "/known").scheme
print(own.edit == MyLoRA(3), own.groups == AddedOnly(2.0), own.edit)
print(known == SCHEMES["LoRA"], known.name, known == Scheme(edit=LoRA(9), groups=AddedOnly(4)))
"""


def test_another_process_loads_compares_and_prints(tmp_path):
    adapted(OWN).save(tmp_path / "own")
    adapted(replace(SCHEMES["LoRA"], name="my very own")).save(tmp_path / "known")
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path)], capture_output=True, text=True
    )
    assert done.stdout.splitlines() == [
        "True True MyLoRA(rank=3, blocks=(0, 1))",
        "True my very own False",
    ], done.stderr


def test_ewc_keeps_the_digest_of_its_importance(tmp_path):
    start = make()
    importance = {name: torch.rand_like(p) for name, p in start.body.named_parameters()}
    scheme = Scheme("EWC", extra_loss=EWC(importance, 0.5))
    classifier = adapt(start, TEXTS, LABELLED, scheme=scheme, recipe=RECIPE, compute=CPU)
    classifier.save(tmp_path / "mine")
    found = Classifier.load(tmp_path / "mine")
    assert found.scheme == scheme and str(found.scheme) == str(scheme)
    name = next(iter(importance))
    other = EWC(importance | {name: importance[name] + 1}, 0.5)
    assert found.scheme != replace(scheme, extra_loss=other)
    with pytest.raises(ValueError, match="compute them again"):
        adapt(found, TEXTS, LABELLED, scheme=found.scheme, recipe=RECIPE, compute=CPU)


def named_edit(classifier):
    """An edit that is no value."""


class Idle:
    """An edit that does nothing."""

    def __call__(self, classifier):
        """Nothing."""


@dataclass(frozen=True)
class Reserved(Idle):
    knob: int = 2


@dataclass
class Changing(Idle):
    rank: int = 2


def another(name):
    @dataclass(frozen=True)
    class Other(Idle):
        rank: int = 2

    Other.__name__ = Other.__qualname__ = name
    return Other()


@pytest.mark.parametrize(
    ("scheme", "said"),
    [
        (Scheme(edit=named_edit), "`edit`: .* got named_edit; write it as a class whose settings"),
        (Scheme(edit=lambda classifier: None), "got <lambda>; .*dataclass.frozen=True"),
        (Scheme(edit=Changing()), r"dataclass\(frozen=True\) over Changing"),
        (Scheme(edit=Reserved()), "fields of Reserved to have other names than knob"),
        (Scheme(edit=another("LoRA")), "another name than LoRA"),
        (Scheme(edit=MyLoRA(2, [0, 1])), "expected a tuple to save, got the list"),
        (Scheme(schedule=Late(lambda *_: lambda step: 1.0)), "`schedule`: .* got <lambda>"),
    ],
)
def test_what_is_no_value_trains_and_says_at_saving_how_to_make_it_one(tmp_path, scheme, said):
    classifier = adapted(scheme)
    assert len(classifier.report.history) == 3 and "Scheme(" in str(scheme)
    with pytest.raises(ValueError, match=said):
        classifier.save(tmp_path / "mine")
    assert list(tmp_path.iterdir()) == []


def test_a_class_with_a_name_of_the_packages_is_refused_at_loading(folder):
    with pytest.raises(ValueError, match="another name than LoRA"):
        Classifier.load(folder, knobs=[type(another("LoRA"))])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (LoRA(layers=("value", "query")), LoRA(layers=["query", "value"])),
        (LoRA(layers="all"), LoRA(layers=("down", "up", "query", "key", "value", "output"))),
        (LoRA(layers="attention"), LoRA(layers=("output", "query", "key", "value"))),
        (LoRA(layers="up"), LoRA(layers=("up",))),
    ],
)
def test_one_choice_of_layers_is_one_value(one, other):
    assert one == other and hash(one) == hash(other) and str(one) == str(other)


def test_another_edit_on_top_is_refused_and_the_same_goes_on(tmp_path):
    classifier = adapted("LoRA")
    how = {"recipe": RECIPE, "compute": CPU}
    with pytest.raises(ValueError, match="without an edit, or to continue with LoRA"):
        adapt(classifier, TEXTS, LABELLED, scheme=SCHEMES["prefix tuning"], **how)
    again = adapt(classifier, TEXTS, LABELLED, scheme=SCHEMES["LoRA"], **how)
    assert again.report.declared == classifier.report.declared
    assert list(again.state_dict()) == list(classifier.state_dict())
    everything = adapt(classifier, TEXTS, LABELLED, **how)  # the update is trained with the rest
    assert everything.scheme == Scheme(edit=LoRA())
    everything.save(tmp_path / "mine")
    assert torch.equal(
        answers(Classifier.load(tmp_path / "mine", compute=CPU)), answers(everything)
    )


# Folders that do not fit


def test_a_folder_that_is_none_is_told(tmp_path):
    checkpoints.save(tmp_path / "base", adapted().body, TOKENIZER)
    for path in (tmp_path / "nowhere", tmp_path, tmp_path / "base"):
        with pytest.raises(FileNotFoundError, match="`tlcourse adapt` wrote, got .*no classifier"):
            Classifier.load(path)


@pytest.mark.parametrize("name", sorted(FILES - {"README.md", "classifier.json"}))
def test_a_file_that_is_not_there_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"expected {name} in .*mine, got none"):
        Classifier.load(folder)


def lora(**fields):
    return {"name": "", "edit": {"knob": "LoRA", **fields}}


def nested(depth):
    return {"inner": nested(depth - 1)} if depth else 1


@pytest.mark.parametrize(
    "content", ["null", "[1]", '{"labels": [', "[" * 10**5], ids=lambda t: t[:5]
)
def test_a_record_that_is_no_object_is_told(folder, content):
    (folder / "classifier.json").write_text(content)
    with pytest.raises(ValueError, match="expected .*JSON.* in .*classifier.json"):
        Classifier.load(folder)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"labels": ["HUM", "LOC"]}, r"first head.bias: expected \(2,\), got \(3,\)"),
        ({"scheme": "full fine-tuning"}, "attention.query.a: expected None, got"),
        ({"scheme": "sorcery"}, "a scheme in .*KeyError.'sorcery'."),
        (
            {"scheme": {"name": "", "edit": {"knob": "LoRA", "rang": 8}}},
            "the fields .*'rank'.* LoRA",
        ),
        ({"scheme": {"name": "", "edits": None}}, "the fields .*'edit'.* of a scheme"),
        ({"scheme": 3}, "expected labels, a pooling and a scheme"),
        ({"scheme": {"edit": {"knob": "os.system"}}}, r"the class of the edit os.system\(\)"),
        ({"pooling": "max"}, "classifier.json, but expected a pooling out of"),
        ({"pooling": ["mean"]}, "classifier.json, but expected a pooling out of"),
        ({"labels": 3}, "classifier.json, but expected labels"),
        ({"labels": ["HUM", None, "NUM"]}, "classifier.json, but expected at least two labels"),
        ({"dropout": float("nan")}, "at least 0, at most 1 as dropout, got nan"),
        ({"dropout": True}, "as dropout, got True"),
        ({"scheme": {"edit": {"knob": ["LoRA"]}}}, "of a scheme"),
        ({"scheme": lora(rank="8")}, "classifier.json, but rank: expected a whole number"),
        ({"scheme": lora(rank=10**12)}, r"12 tensors differ, first .*query.a: .*\(10{12}, 16\)"),
        ({"scheme": lora(rank=10**30)}, "expected sizes that a model can have in .*mine"),
        ({"scheme": lora(layers=[[]])}, "layers: expected layers"),
        ({"scheme": {"edit": {"knob": "Prefixes", "length": 10**12}}}, "tensors differ"),
        ({"scheme": {"edit": nested(600)}}, "classifier.json, but RecursionError"),
        ({"columns": 3}, "names of columns in .*classifier.json, got 3"),
        ({"columns": {"text": ["a"]}}, "names of columns in .*classifier.json, got"),
    ],
)
def test_a_record_that_does_not_fit_is_told(folder, change, said):
    record = files.read_json(folder / "classifier.json")
    files.write_json(folder / "classifier.json", record | change)
    with pytest.raises(ValueError, match=said):
        Classifier.load(folder)


def test_a_record_without_labels_is_told(folder):
    files.write_json(folder / "classifier.json", {"pooling": "mean", "scheme": None})
    with pytest.raises(ValueError, match="KeyError.'labels'."):
        Classifier.load(folder)

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.models import PLAIN, noisy
from tlcourse import checkpoints, files
from tlcourse.bpe import Tokenizer
from tlcourse.recurrent import LSTM, LSTMConfig
from tlcourse.transformer import Config, Transformer

TOKENIZER = Tokenizer.train(["the rain on the trains in the rain"] * 3, 270)
CARD, LOG = "# little\n\nA card, naïve.\n", {"legs": [{"tokens": 5}]}
FILES = {"README.md", "config.json", "model.safetensors", "tokenizer.json", "training.json"}


def model_of(**changes) -> Transformer:
    return noisy(Config(270, 16, 2, 2, 32, 12, **changes), 1.0)


@pytest.fixture
def folder(tmp_path):
    checkpoints.save(tmp_path / "little", model_of(), TOKENIZER, card=CARD, log=LOG)
    return tmp_path / "little"


@pytest.mark.parametrize(
    "changes", [{}, {"causal": False, "rotary": False, "token_types": 2, "head_transform": True}]
)
def test_round_trip(tmp_path, changes):
    model = model_of(**changes)
    checkpoints.save(tmp_path, model, TOKENIZER, card=CARD, log=LOG)
    loaded, tokenizer = checkpoints.load(tmp_path, PLAIN)
    assert {block.attention.kernel for block in loaded.blocks} == {"explicit"}
    assert loaded.config == model.config
    for name, weight in model.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], weight.half().float()), name
    assert {p.dtype for p in loaded.parameters()} == {torch.float32}
    assert not loaded.training
    assert tokenizer.merges == TOKENIZER.merges
    tokens = torch.randint(270, (2, 9))
    with torch.no_grad():
        torch.testing.assert_close(loaded(tokens), model(tokens), atol=0.1, rtol=0.05)


def test_what_lies_in_the_folder(folder):
    assert {path.name for path in folder.iterdir()} == FILES
    weights = load_file(folder / "model.safetensors")
    assert {weight.dtype for weight in weights.values()} == {torch.float16}
    assert (folder / "README.md").read_text(encoding="utf-8") == CARD
    assert files.read_json(folder / "training.json") == LOG


def test_a_new_card_and_log_leave_the_weights(folder):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert checkpoints.rewrite(folder, "# new\n", {"legs": []}) == folder
    changed = {path.name for path in folder.iterdir() if path.read_bytes() != before[path]}
    assert changed == {"README.md", "training.json"}
    assert checkpoints.log_of(folder) == {"legs": []}


def test_a_checkpoint_is_called_by_its_folder_or_its_run(tmp_path):
    checkpoints.save(tmp_path / "mine" / "checkpoint", model_of(), TOKENIZER, card=CARD, log=LOG)
    assert checkpoints.name_of(tmp_path / "mine" / "checkpoint") == "mine"
    assert checkpoints.name_of("causal-small") == "causal-small"


def test_saving_leaves_the_live_model_and_chance_untouched(tmp_path):
    model = model_of().train()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    torch.manual_seed(3)
    wanted = torch.rand(4)
    torch.manual_seed(3)
    checkpoints.save(tmp_path, model, TOKENIZER, card=CARD, log=LOG)
    assert torch.equal(torch.rand(4), wanted), "saving drew random numbers"
    assert model.training
    for name, weight in model.state_dict().items():
        assert weight.dtype == torch.float32
        assert torch.equal(weight, before[name])


def test_shipped_names(folder, monkeypatch):
    (folder.parent / "data/checkpoints").mkdir(parents=True)
    folder.rename(folder.parent / "data/checkpoints/little")
    monkeypatch.setattr(files, "root", lambda: folder.parent)
    assert checkpoints.names() == ["little"]
    assert checkpoints.load("little")[0].config == model_of().config
    assert checkpoints.log_of("little") == LOG
    with pytest.raises(FileNotFoundError, match="one of little, got 'large'$"):
        checkpoints.load("large")
    with pytest.raises(FileNotFoundError, match="got 'litle'; did you mean little?"):
        checkpoints.load("litle")
    (folder.parent / "data/checkpoints/little").rename(folder.parent / "checkpoint")
    with pytest.raises(FileNotFoundError, match=f"; did you mean {folder.parent / 'checkpoint'}?"):
        checkpoints.load(folder.parent)
    (folder.parent / "checkpoint").rename(folder.parent / "data/checkpoints/little")
    with pytest.raises(FileNotFoundError, match="one of little, got 'large'"):
        checkpoints.log_of("large")


def test_a_classifier_is_no_checkpoint(folder):
    files.write_json(folder / "classifier.json", {})
    with pytest.raises(ValueError, match="which is a classifier"):
        checkpoints.load(folder)


def test_weights_of_another_shape(folder):
    config = files.read_json(folder / "config.json")
    files.write_json(folder / "config.json", config | {"feed_forward": 64})
    with pytest.raises(ValueError, match=r"6 tensors differ, first blocks.0.down.weight: expected"):
        checkpoints.load(folder)


OTHER_WEIGHTS = [("norm.bias", None, r"first norm.bias: expected \(16,\), got None")]
OTHER_WEIGHTS += [
    ("norm.bias", torch.full((16,), number), "finite weights in .* in norm.bias;")
    for number in (torch.nan, torch.inf, -torch.inf)
]
OTHER_WEIGHTS += [
    ("norm.bias", torch.ones(16, dtype=kind), f"floating-point .*, got {kind} in norm.bias;")
    for kind in (torch.int8, torch.bool, torch.complex64)
]


@pytest.mark.parametrize(("name", "other", "said"), OTHER_WEIGHTS)
def test_other_weights_are_named(folder, name, other, said):
    weights = load_file(folder / "model.safetensors") | {name: other}
    weights = {each: weight for each, weight in weights.items() if weight is not None}
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(ValueError, match=said):
        checkpoints.load(folder)


ABSURD = {
    "width": ["32", 10**12, 10**30, -16, True, 16.0, None],
    "layers": [10**12, 2**20, 0, []],
    "vocabulary_size": [10**12, 0, -1],
    "feed_forward": [10**12],
    "max_length": [10**12, 0],
    "token_types": [10**12, -1],
    "heads": [0, 3],
    "causal": [1, "yes", None],
    "activation": [["gelu"], "tanh"],
    "norm_epsilon": ["x", -1, float("nan")],
    "dropout": [2, float("inf"), True],
}


@pytest.mark.parametrize(
    ("field", "value"), [(name, value) for name, values in ABSURD.items() for value in values]
)
def test_values_that_no_configuration_has_allocate_nothing(folder, monkeypatch, field, value):
    monkeypatch.setattr(checkpoints, "filled", after_the_draft(checkpoints.filled))
    config = files.read_json(folder / "config.json")
    files.write_json(folder / "config.json", config | {field: value})
    with pytest.raises(ValueError, match=f"expected .*{folder}|{folder}.* does not fit") as told:
        checkpoints.load(folder)
    assert len(str(told.value).splitlines()) == 1 and len(str(told.value)) < 500


ABSURD_LSTM = {
    "kind": ["GRU", None, ["LSTM"], "Transformer", "BiLSTM"],
    "units": [8, [], ["8"], [0], [10**12], [8.0, 8], [8, True], {}, None, [8] * 10_000],
    "width": [10**12, 0, 15, None],
    "weight_drop": [2, "x", -1],
}


@pytest.mark.parametrize(
    ("field", "value"), [(name, value) for name, values in ABSURD_LSTM.items() for value in values]
)
def test_values_that_no_recurrent_model_has_allocate_nothing(tmp_path, monkeypatch, field, value):
    checkpoints.save(tmp_path, LSTM(LSTMConfig(275, 16, (8, 12))), TOKENIZER)
    config = files.read_json(tmp_path / "config.json")
    assert config["kind"] == "LSTM" and config["units"] == [8, 12]
    monkeypatch.setattr(checkpoints, "filled", after_the_draft(checkpoints.filled))
    files.write_json(tmp_path / "config.json", config | {field: value})
    with pytest.raises(ValueError, match=f"expected .*{tmp_path}|{tmp_path}.* does not fit"):
        checkpoints.load(tmp_path)


def test_a_transformer_s_folder_names_no_kind(folder):
    assert "kind" not in files.read_json(folder / "config.json")


def after_the_draft(filled):
    """`filled`, of which the second model, that with numbers, is a failure."""

    def tried(make, *given, **how):
        made = []

        def first_only():
            made.append(1)
            return make() if len(made) == 1 else pytest.fail("a model was allocated")

        return filled(first_only, *given, **how)

    return tried


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "training.json"])
@pytest.mark.parametrize(
    "content",
    [b"", b"null", b"[1]", b"3", b"NaN", b"[" * 100_000, b'{"a":' * 50_000, b"\xff", b"1" * 5000],
    ids=["empty", "null", "list", "number", "NaN", "deep", "deep object", "no UTF-8", "long"],
)
def test_what_is_no_json_object_is_named(folder, name, content):
    (folder / name).write_bytes(content)
    with pytest.raises(ValueError, match=f"expected .*{folder / name}"):
        checkpoints.load(folder)
        checkpoints.log_of(folder)


@pytest.mark.parametrize("legs", [None, {"a": 1}, [3], "leg"])
def test_legs_of_another_kind(folder, legs):
    files.write_json(folder / "training.json", {"legs": legs})
    with pytest.raises(ValueError, match="expected a list of objects as legs in .*training.json"):
        checkpoints.log_of(folder)


def test_loading_draws_what_a_new_model_draws(folder):
    """The draft draws nothing: a head that is drawn afterwards is as it always was."""
    config = model_of().config
    torch.manual_seed(3)
    Transformer(config)
    wanted = torch.rand(4)
    torch.manual_seed(3)
    checkpoints.load(folder)
    assert torch.equal(torch.rand(4), wanted)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
def test_a_file_cut_short_is_named(folder, name):
    path = folder / name
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ValueError, match=f"expected .*{name}"):
        checkpoints.load(folder)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises((ValueError, FileNotFoundError), match=name):
        checkpoints.load(folder)


def test_fields_of_another_version(folder):
    config = files.read_json(folder / "config.json")
    del config["rotary"]
    files.write_json(folder / "config.json", config | {"colour": "red"})
    with pytest.raises(ValueError, match=r"differing: \['colour', 'rotary'\]"):
        checkpoints.load(folder)


def test_a_vocabulary_that_is_too_large(folder):
    with files.atomic(folder / "tokenizer.json") as temporary:
        Tokenizer.train(["the rain on the trains in the rain"] * 3, 280).save(temporary)
    with pytest.raises(ValueError, match="files belong to different checkpoints"):
        checkpoints.load(folder)


def test_nothing_is_unpickled(folder):
    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("unpickled",))

    torch.save(Bomb(), folder / "model.safetensors")
    with pytest.raises(ValueError, match="expected weights"):
        checkpoints.load(folder)


def test_a_failing_save_leaves_the_old_weights(folder, monkeypatch):
    before = (folder / "model.safetensors").read_bytes()

    def full_disk(*arguments):
        raise OSError("no space left")

    monkeypatch.setattr(checkpoints, "save_file", full_disk)
    with pytest.raises(OSError, match="no space"):
        checkpoints.save(folder, model_of(), TOKENIZER, card=CARD, log=LOG)
    assert (folder / "model.safetensors").read_bytes() == before
    assert {path.name for path in folder.iterdir()} == FILES

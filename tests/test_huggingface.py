"""Our class against Hugging Face's GPT-2 and BERT, on random weights, offline."""

import pytest
import torch
import transformers  # its models are imported where they are first named
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from tlcourse import files, huggingface
from tlcourse.huggingface import from_huggingface, pretrained
from tlcourse.transformer import count_parameters, padding_mask, record

BATCH, LENGTH, LAYERS = 3, 11, 3
ENOUGH = 1e-5  # float32, values of order 1


def gpt2(**changes) -> "transformers.GPT2LMHeadModel":
    shape = dict(vocab_size=90, n_positions=16, n_embd=32, n_layer=LAYERS, n_head=4)
    special = dict(bos_token_id=0, eos_token_id=0, attn_implementation="eager")
    return randomised(
        transformers.GPT2LMHeadModel(transformers.GPT2Config(**shape | special | changes))
    )


def bert(**changes) -> "transformers.BertForMaskedLM":
    return small("BertForMaskedLM", **{"type_vocab_size": 2} | changes)


def small(kind: str, **changes):
    """A tiny model of RoBERTa or DistilBERT, or of BERT without an output layer."""
    if "DistilBert" in kind:
        shape = dict(vocab_size=90, max_position_embeddings=16, dim=32, n_layers=LAYERS, n_heads=4)
        shape |= dict(hidden_dim=48, attn_implementation="eager")
        config = transformers.DistilBertConfig(**shape | changes)
    else:
        shape = dict(vocab_size=90, max_position_embeddings=18, hidden_size=32)
        shape |= dict(num_hidden_layers=LAYERS, num_attention_heads=4, intermediate_size=48)
        named = transformers.RobertaConfig if "Roberta" in kind else transformers.BertConfig
        config = named(**shape | dict(attn_implementation="eager", type_vocab_size=1) | changes)
    return randomised(getattr(transformers, kind)(config))


def randomised(model):
    """Random biases and gains too: at their start (0 and 1) a mix-up would not show."""
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return model.eval()


MODELS = {
    "gpt2": gpt2,
    "gpt2 with a narrow feed-forward": lambda: gpt2(n_inner=40, activation_function="gelu"),
    "bert": bert,
    "roberta": lambda: small("RobertaForMaskedLM", pad_token_id=1),
    "roberta with two token types": lambda: small(
        "RobertaForMaskedLM", pad_token_id=1, type_vocab_size=2
    ),
    "distilbert": lambda: small("DistilBertForMaskedLM"),
    "bert with relu": lambda: bert(hidden_act="relu", layer_norm_eps=1e-5, type_vocab_size=3),
}
each_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


def inputs():
    """Ids without RoBERTa's pad, 1, except where they are padded: it counts positions by them."""
    tokens = torch.randint(2, 90, (BATCH, LENGTH), generator=torch.Generator().manual_seed(2))
    mask = padding_mask(torch.tensor([LENGTH, 6, 1]), LENGTH)
    return tokens.masked_fill(~mask, 1), mask


@each_model
def test_logits_attentions_and_hidden_states_are_equal(make) -> None:
    theirs, (tokens, mask) = make(), inputs()
    ours = from_huggingface(theirs)
    more = {"output_attentions": True, "output_hidden_states": True}
    with torch.no_grad(), record(ours) as seen:
        logits = ours(tokens, mask)
        expected = theirs(tokens, attention_mask=mask.long(), **more)
    assert (logits - expected.logits)[mask].abs().max() < ENOUGH
    assert len(expected.attentions) == LAYERS
    for one, other in zip(seen.attention, expected.attentions, strict=True):
        rows = mask[:, None].expand(one.shape[:3])
        assert (one - other)[rows].abs().max() < ENOUGH
    for one, other in zip(seen.hidden_states[:-1], expected.hidden_states[:-1], strict=True):
        assert (one - other)[mask].abs().max() < ENOUGH
    with torch.no_grad():  # without padding, by the fused kernel
        assert (ours(tokens[:1]) - theirs(tokens[:1]).logits).abs().max() < ENOUGH
    counted = count_parameters(ours.config)["total"]
    of_pads = 2 * 32 if theirs.config.model_type == "roberta" else 0  # rows of its positions
    assert counted + of_pads == sum(parameter.numel() for parameter in theirs.parameters())


BODIES = {
    "bert": lambda: small("BertModel"),
    "bert without a pooler": lambda: randomised(
        transformers.BertModel(small("BertModel").config, add_pooling_layer=False)
    ),
    "a classifier": lambda: small("BertForSequenceClassification"),
    "roberta": lambda: small("RobertaModel", pad_token_id=1, hidden_act="relu"),
    "distilbert": lambda: small("DistilBertModel"),
    "a body that was not tied": lambda: small("BertModel", tie_word_embeddings=False),
    "gpt2": lambda: gpt2().transformer,
}


@pytest.mark.parametrize("make", BODIES.values(), ids=BODIES)
def test_the_states_of_a_body_without_an_output_layer_are_equal(make) -> None:
    theirs, (tokens, mask) = make(), inputs()
    ours = from_huggingface(theirs)
    assert not ours.config.head_transform and ours.head_bias is None
    with torch.no_grad():
        expected = theirs.base_model(tokens, attention_mask=mask.long()).last_hidden_state
        assert (ours.hidden(tokens, mask) - expected)[mask].abs().max() < ENOUGH


def test_token_types_of_bert() -> None:
    theirs, (tokens, _) = bert(), inputs()
    types = (torch.arange(LENGTH) > 4).long().expand(BATCH, LENGTH)
    with torch.no_grad():
        expected = theirs(tokens, token_type_ids=types).logits
        assert (from_huggingface(theirs)(tokens, types=types) - expected).abs().max() < ENOUGH


def test_weights_are_copies_in_float32() -> None:
    halves = from_huggingface(gpt2().half())
    assert {parameter.dtype for parameter in halves.parameters()} == {torch.float32}
    theirs = gpt2()
    ours = from_huggingface(theirs)
    before = theirs.transformer.wte.weight.clone()
    with torch.no_grad():
        ours.embedding.weight.zero_()
    assert torch.equal(theirs.transformer.wte.weight, before)


T5 = transformers.T5Config(vocab_size=9, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: transformers.T5Model(T5), "expected a model of the family .*got a T5Model"),
        (lambda: small("BertModel", is_decoder=True), "is_decoder=False in the BertModel's"),
        (lambda: small("DistilBertModel", activation="silu"), "gelu_new"),
        (lambda: small("RobertaForMaskedLM", pad_token_id=1, hidden_act="relu"), "hidden_act=gelu"),
        (lambda: gpt2(activation_function="silu"), "gelu_new"),
        (lambda: gpt2(scale_attn_weights=False), "scale_attn_weights=True"),
        (lambda: gpt2(scale_attn_by_inverse_layer_idx=True), "inverse_layer_idx=False"),
        (lambda: gpt2(tie_word_embeddings=False), "tie_word_embeddings=True"),
        (lambda: bert(is_decoder=True), "is_decoder=False"),
        (
            lambda: bert(position_embedding_type="relative_key"),
            "position_embedding_type=absolute in .* got relative_key",
        ),
    ],
)
def test_what_our_class_lacks_is_refused(make, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        from_huggingface(make())


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(ValueError, match="openai-community/gpt2"):
        pretrained("gpt5")


def test_real_weights_that_cannot_be_had_are_one_line(tmp_path, monkeypatch, capsys) -> None:
    """With an empty cache, and nobody at the Hub's address."""
    monkeypatch.delenv("TLCOURSE_DATA", raising=False)
    monkeypatch.setattr(huggingface.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(huggingface.constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(huggingface.constants, "HF_HUB_OFFLINE", False)
    assert pretrained("openai-community/gpt2") is None
    (said,) = capsys.readouterr().out.splitlines()
    assert said.startswith("[skipped] openai-community/gpt2") and "does not answer" in said


GPT2, BERT = "openai-community/gpt2", "google-bert/bert-base-uncased"


def words(folder, size: int) -> None:
    """A tokenizer of so many words."""
    ids = {f"w{number}": number for number in range(size)}
    library = Tokenizer(WordLevel(ids, unk_token="w0"))
    transformers.PreTrainedTokenizerFast(tokenizer_object=library).save_pretrained(folder)


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """A little GPT-2 and a little BERT in the folders of TLCOURSE_DATA."""
    gpt2().save_pretrained(tmp_path / "gpt2")
    bert().save_pretrained(tmp_path / "bert-base-uncased")
    words(tmp_path / "gpt2", 2)
    words(tmp_path / "bert-base-uncased", 90)
    monkeypatch.setenv("TLCOURSE_DATA", str(tmp_path))
    return tmp_path


def rewrite(folder, change) -> None:
    """The weights of a folder, as `change` returns them."""
    weights = change(load_file(folder / "model.safetensors"))
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def test_a_folder_of_the_mirror_comes_first(mirror, capsys) -> None:
    model, tokenizer = pretrained(GPT2)
    assert capsys.readouterr().out == f"[weights] {GPT2}: from TLCOURSE_DATA\n"
    stored = load_file(mirror / "gpt2" / "model.safetensors")["transformer.wte.weight"]
    assert torch.equal(model.transformer.wte.weight, stored)
    assert tokenizer.get_vocab() == {"w0": 0, "w1": 1}


def stated(folder, **changes) -> None:
    """config.json, with other values."""
    config = files.read_json(folder / "config.json")
    files.write_json(folder / "config.json", config | changes)


LAYER_1 = "transformer.h.1."
NAN = {"transformer.h.0.ln_1.bias": torch.tensor([torch.nan] * 32)}
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 548105171\n"
OTHER_WEIGHTS = {
    "the prefix of DataParallel": (
        lambda w: {f"module.{name}": each for name, each in w.items()},
        "files that lack 40 tensors, first transformer.h.0.attn.c_attn.bias",
    ),
    "a layer too few": (
        lambda w: {name: each for name, each in w.items() if not name.startswith(LAYER_1)},
        "files that lack 12 tensors, first transformer.h.1.attn.c_attn.bias",
    ),
    "a layer too many": (
        lambda w: w | {n.replace("h.1", "h.3"): w[n].clone() for n in w if n.startswith(LAYER_1)},
        "files with 11 tensors of other blocks, first transformer.h.3.attn.c_attn.weight",
    ),
    "another shape": (
        lambda w: w | {"transformer.wpe.weight": torch.zeros(12, 32)},
        "files with 1 tensors of another shape, first transformer.wpe.weight",
    ),
    "NaN": (lambda w: w | NAN, "weights that are not finite, first in transformer.h.0.ln_1.bias"),
    "another output layer": (
        lambda w: w | {"lm_head.weight": torch.zeros(90, 32)},
        "other numbers in lm_head.weight than in transformer.wte.weight",
    ),
}


def write(name: str, content: bytes):
    """A damage: a file of a folder has other bytes."""
    return lambda folder: (folder / name).write_bytes(content)


def cut_short(folder) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-99])


WEIGHTS = "model.safetensors"
OTHER_FILES = {
    "weights cut short": (cut_short, "SafetensorError: .*incomplete metadata"),
    "a pointer of Git LFS": (
        write(WEIGHTS, POINTER),
        "files of 74 bytes for the 41,568 w",
    ),
    "no weights": (write(WEIGHTS, bytes(200_000)), "SafetensorError: .*deserializing header"),
    "terabytes": (lambda f: stated(f, n_embd=2**20), "files of [0-9,]+ bytes for the [0-9,]{18} w"),
    "layers": (lambda f: stated(f, n_layer=10**6), "files of [0-9,]+ bytes for the [0-9,]{14} w"),
    "an empty folder": (lambda f: [path.unlink() for path in f.iterdir()], "OSError: .*no file"),
    "null": (write("config.json", b"null"), "TypeError"),
    "no JSON": (write("config.json", b"{"), "OSError: .*valid JSON file"),
    "another model": (lambda f: bert().save_pretrained(f), "a model of type bert"),
    "no tokenizer": (lambda f: [path.unlink() for path in f.glob("tokenizer*")], "no tokenizer"),
    "a larger tokenizer": (lambda f: words(f, 91), "a tokenizer with ids up to 90 and 90 embed"),
} | {
    case: (lambda folder, change=change: rewrite(folder, change), f"{said}; save")
    for case, (change, said) in OTHER_WEIGHTS.items()
}


@pytest.mark.parametrize(("damage", "said"), OTHER_FILES.values(), ids=OTHER_FILES)
def test_a_folder_with_other_files_is_said(mirror, damage, said: str) -> None:
    damage(mirror / "gpt2")
    with pytest.raises(ValueError, match=f"{GPT2} .* in the folder gpt2 of .*, got {said}") as told:
        pretrained(GPT2)
    assert len(str(told.value).splitlines()) == 1


def pooled(weights: dict) -> dict:
    more = {"bert.pooler.dense.bias": torch.zeros(32), "cls.seq_relationship.bias": torch.zeros(2)}
    head = "cls.predictions.decoder.weight"
    return weights | more | {head: weights["bert.embeddings.word_embeddings.weight"].clone()}


def old_names(weights: dict) -> dict:
    new = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    for name, old in new.items():
        weights = {each.replace(name, old): weights[each] for each in weights}
    return weights


@pytest.mark.parametrize("change", [pooled, old_names])
def test_a_pooler_a_stored_tied_matrix_and_old_names_are_fine(mirror, change) -> None:
    stored = load_file(mirror / "bert-base-uncased" / "model.safetensors")
    rewrite(mirror / "bert-base-uncased", change)
    found = pretrained(BERT)[0].state_dict()
    assert all(torch.equal(found[name], stored[name]) for name in stored)


def test_weights_pickled_by_pytorch_are_fine_and_code_in_them_is_not(mirror) -> None:
    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("unpickled",))

    place = mirror / "gpt2" / "pytorch_model.bin"
    stored = load_file(mirror / "gpt2" / "model.safetensors")
    torch.save(stored, place)
    (mirror / "gpt2" / "model.safetensors").unlink()
    assert torch.equal(pretrained(GPT2)[0].lm_head.weight, stored["transformer.wte.weight"])
    torch.save({"lm_head.weight": Bomb(), "more": torch.zeros(50_000)}, place)
    with pytest.raises(ValueError, match="got UnpicklingError: Weights only load failed"):
        pretrained(GPT2)


@pytest.mark.parametrize("damaged", [False, True])
def test_a_whole_copy_in_the_cache_is_loaded_and_a_damaged_one_is_said(
    damaged, mirror, monkeypatch, capsys
) -> None:
    """Without a tokenizer the copy is not whole: the rest would be downloaded."""
    monkeypatch.delenv("TLCOURSE_DATA")
    monkeypatch.setattr(huggingface.constants, "HF_HUB_CACHE", str(mirror))
    monkeypatch.setattr(huggingface.constants, "HF_HUB_OFFLINE", True)
    repository = mirror / "models--openai-community--gpt2"
    place = repository / "snapshots" / "1234"
    place.parent.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("1234")
    (mirror / "gpt2").rename(place)
    if damaged:
        rewrite(place, lambda weights: weights | NAN)
        with pytest.raises(ValueError, match=f"not finite.*; remove {repository}, so that it is"):
            pretrained(GPT2)
    else:
        stored = load_file(place / "model.safetensors")["transformer.wte.weight"]
        assert torch.equal(pretrained(GPT2)[0].lm_head.weight, stored)
        assert capsys.readouterr().out.endswith("from the Hub's cache on this machine\n")
    (place / "tokenizer.json").unlink()
    capsys.readouterr()
    assert pretrained(GPT2) is None
    assert "not on this machine, and HF_HUB_OFFLINE is set" in capsys.readouterr().out


def untied(model, name: str):
    owner, parameter = model.get_submodule(name.rpartition(".")[0]), name.rpartition(".")[2]
    shape = getattr(owner, parameter).shape
    setattr(owner, parameter, torch.nn.Parameter(torch.zeros(shape)))
    return model


def with_a_bias():
    model = gpt2()
    model.lm_head = torch.nn.Linear(32, 90)
    return model


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: untied(gpt2(), "lm_head.weight"), "in lm_head.weight than in transformer.wte"),
        (lambda: untied(bert(), "cls.predictions.decoder.weight"), "than in bert.embeddings.word"),
        (lambda: untied(bert(), "cls.predictions.decoder.bias"), "than in cls.predictions.bias"),
        (with_a_bias, "another tensor lm_head.bias than its configuration"),
    ],
)
def test_an_output_layer_of_its_own_is_refused(make, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        from_huggingface(make())


@pytest.mark.network
@pytest.mark.parametrize("name", [GPT2, BERT])
def test_real_weights(name: str) -> None:
    found = pretrained(name)
    if found is None:
        pytest.skip("the Hub was not reached")
    theirs, tokenizer = found
    tokens = tokenizer("The capital of France is Paris.", return_tensors="pt")["input_ids"]
    with torch.no_grad():
        expected = theirs(tokens).logits
        error = (from_huggingface(theirs)(tokens) - expected).abs().max()
    assert error / expected.abs().max() < ENOUGH

"""Our class against Hugging Face's GPT-2 and BERT, on random weights, offline."""

import pytest
import torch
import transformers  # its models are imported where they are first named
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from tlcourse import huggingface
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
    shape = dict(vocab_size=90, max_position_embeddings=16, hidden_size=32, intermediate_size=48)
    depth = dict(num_hidden_layers=LAYERS, num_attention_heads=4, attn_implementation="eager")
    return randomised(
        transformers.BertForMaskedLM(transformers.BertConfig(**shape | depth | changes))
    )


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
    "bert with relu": lambda: bert(hidden_act="relu", layer_norm_eps=1e-5, type_vocab_size=3),
}
each_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


def inputs():
    tokens = torch.randint(90, (BATCH, LENGTH), generator=torch.Generator().manual_seed(2))
    return tokens, padding_mask(torch.tensor([LENGTH, 6, 1]), LENGTH)


@each_model
def test_logits_attentions_and_hidden_states_are_equal(make) -> None:
    theirs, (tokens, mask) = make(), inputs()
    ours = from_huggingface(theirs)
    with torch.no_grad(), record(ours) as seen:
        logits = ours(tokens, mask)
        expected = theirs(
            tokens,
            attention_mask=mask.long(),
            output_attentions=True,
            output_hidden_states=True,
        )
    assert (logits - expected.logits)[mask].abs().max() < ENOUGH
    assert len(expected.attentions) == LAYERS
    for one, other in zip(seen.attention, expected.attentions, strict=True):
        rows = mask[:, None].expand(one.shape[:3])
        assert (one - other)[rows].abs().max() < ENOUGH
    for one, other in zip(seen.hidden_states[:-1], expected.hidden_states[:-1], strict=True):
        assert (one - other)[mask].abs().max() < ENOUGH


@each_model
def test_logits_are_equal_without_padding_and_with_the_fused_kernel(make) -> None:
    theirs, (tokens, _) = make(), inputs()
    with torch.no_grad():
        assert (from_huggingface(theirs)(tokens) - theirs(tokens).logits).abs().max() < ENOUGH


def test_token_types_of_bert() -> None:
    theirs, (tokens, _) = bert(), inputs()
    types = (torch.arange(LENGTH) > 4).long().expand(BATCH, LENGTH)
    with torch.no_grad():
        expected = theirs(tokens, token_type_ids=types).logits
        assert (from_huggingface(theirs)(tokens, types=types) - expected).abs().max() < ENOUGH


@each_model
def test_the_number_of_parameters_is_equal(make) -> None:
    theirs = make()
    counted = count_parameters(from_huggingface(theirs).config)["total"]
    assert counted == sum(parameter.numel() for parameter in theirs.parameters())


def test_weights_are_copied() -> None:
    theirs = gpt2()
    ours = from_huggingface(theirs)
    before = theirs.transformer.wte.weight.clone()
    with torch.no_grad():
        ours.embedding.weight.zero_()
    assert torch.equal(theirs.transformer.wte.weight, before)


def test_half_precision_becomes_float32() -> None:
    ours = from_huggingface(gpt2().half())
    assert {parameter.dtype for parameter in ours.parameters()} == {torch.float32}


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: transformers.BertModel(bert().config), "got a BertModel"),
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


@pytest.mark.parametrize(
    ("offline", "why"), [(False, "does not answer"), (True, "HF_HUB_OFFLINE is set")]
)
def test_real_weights_that_cannot_be_had_are_one_line(
    offline, why, tmp_path, monkeypatch, capsys
) -> None:
    """With an empty cache, and nobody at the Hub's address."""
    monkeypatch.delenv("TLCOURSE_DATA", raising=False)
    monkeypatch.setattr(huggingface.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(huggingface.constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(huggingface.constants, "HF_HUB_OFFLINE", offline)
    assert pretrained("openai-community/gpt2") is None
    (said,) = capsys.readouterr().out.splitlines()
    assert said.startswith("[skipped] openai-community/gpt2") and why in said


@pytest.mark.parametrize("broken", [False, True])
def test_what_is_not_cached_is_downloaded_where_the_hub_answers(
    broken, monkeypatch, capsys
) -> None:
    def load(name: str, local_files_only: bool):
        if local_files_only:
            raise OSError("not cached")
        if broken:
            raise ConnectionResetError
        return "model", "tokenizer"

    monkeypatch.delenv("TLCOURSE_DATA", raising=False)
    monkeypatch.setattr(huggingface.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface, "_hub_answers", lambda patience: True)
    monkeypatch.setattr(huggingface, "_load", load)
    found = pretrained("openai-community/gpt2")
    assert found == (None if broken else ("model", "tokenizer"))
    said = capsys.readouterr().out
    assert ("download failed (ConnectionResetError)" in said) == broken
    assert ("[weights] openai-community/gpt2: downloaded from the Hub" in said) != broken


def test_a_folder_of_the_mirror_comes_first(tmp_path, monkeypatch, capsys) -> None:
    theirs = gpt2()
    theirs.save_pretrained(tmp_path / "gpt2")
    words = Tokenizer(WordLevel({"a": 0, "b": 1}, unk_token="a"))
    transformers.PreTrainedTokenizerFast(tokenizer_object=words).save_pretrained(tmp_path / "gpt2")
    monkeypatch.setenv("TLCOURSE_DATA", str(tmp_path))
    model, tokenizer = pretrained("openai-community/gpt2")
    assert capsys.readouterr().out == "[weights] openai-community/gpt2: from TLCOURSE_DATA\n"
    assert torch.equal(model.transformer.wte.weight, theirs.transformer.wte.weight)
    assert tokenizer.get_vocab() == {"a": 0, "b": 1}


def test_a_folder_of_the_mirror_without_the_model_is_said(tmp_path, monkeypatch) -> None:
    (tmp_path / "gpt2").mkdir()
    monkeypatch.setenv("TLCOURSE_DATA", str(tmp_path))
    with pytest.raises(ValueError, match="in the folder gpt2 of TLCOURSE_DATA, got OSError"):
        pretrained("openai-community/gpt2")


@pytest.mark.network
@pytest.mark.parametrize("name", ["openai-community/gpt2", "google-bert/bert-base-uncased"])
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

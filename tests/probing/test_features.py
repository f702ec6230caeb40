import numpy as np
import pytest
import tokenizers
import torch
import transformers

from tests.probing.made import PLAIN, TOKENIZER, model_of
from tlcourse.huggingface import from_huggingface
from tlcourse.probing import align, extract, features, linear_probe, removing
from tlcourse.transformer import record

SENTENCES = [
    ["The", "rain", "fell"],
    ["It", "do", "n't", "fall", "on", "1,234", "trains", "…"],
    ["Rain"],
    ["The", "well-known", "rain", "🙂", "fell", "and", "fell"],
]


def by_hand(model, tokenizer, words: list[str], pooling: str) -> list[np.ndarray]:
    """One sentence in one pass, layers by `record`, words pooled one after the other."""
    (found,) = align(tokenizer, [words])
    with record(model) as seen, torch.no_grad():
        model(torch.tensor([found.tokens]))
    pool = {"mean": lambda x: x.mean(0), "first": lambda x: x[0], "last": lambda x: x[-1]}[pooling]
    return [
        np.stack([pool(state[0][first:end]).numpy() for first, end in found.spans])
        for state in seen.hidden_states
    ]


@pytest.mark.parametrize("pooling", features.POOLINGS)
@pytest.mark.parametrize("at_a_time", [20, 4096])
def test_rows_are_those_of_one_sentence_at_a_time(pooling, at_a_time, monkeypatch):
    monkeypatch.setattr(features, "TOKENS_AT_A_TIME", at_a_time)
    model = model_of()
    found = extract(model, TOKENIZER, SENTENCES, pooling=pooling, compute=PLAIN)
    assert len(found.layers) == 3 and found.layers[0].dtype == np.float16
    for number, words in enumerate(SENTENCES):
        for layer, expected in enumerate(by_hand(model, TOKENIZER, words, pooling)):
            got = found.sentence(number, layer)
            assert got == pytest.approx(expected, rel=2e-3, abs=2e-3)


def test_rows_and_places_are_each_others_inverse():
    found = extract(model_of(), TOKENIZER, SENTENCES, compute=PLAIN)
    sentences = np.repeat(np.arange(4), [len(words) for words in SENTENCES])
    words = np.concatenate([np.arange(len(words)) for words in SENTENCES])
    assert np.array_equal(found.rows(sentences, words), np.arange(len(found)))
    for came, expected in zip(found.places(np.arange(len(found))), (sentences, words), strict=True):
        assert np.array_equal(came, expected)
    with pytest.raises(ValueError, match="expected words 0 to 0 of sentence 2, got word 1"):
        found.rows(np.array([0, 2]), np.array([0, 1]))


def test_what_is_longer_than_the_context_is_left_out_and_counted(capsys):
    model = model_of(max_length=12)
    found = extract(model, TOKENIZER, SENTENCES, compute=PLAIN)
    assert found.left_out == (1, 3)
    assert "[left out] 2 sentences of 4: more than 12 tokens" in capsys.readouterr().out
    assert [len(each) for each in found.sentences(0)] == [3, 0, 1, 0]
    assert np.array_equal(found.places(np.arange(4))[0], [0, 0, 0, 2])
    assert found.holds(np.arange(4)).tolist() == [True, False, True, False]
    with pytest.raises(ValueError, match="at least one sentence"):
        extract(model, TOKENIZER, SENTENCES[1:2], compute=PLAIN)


def test_what_is_kept_is_read_again_and_only_for_the_same(tmp_path, monkeypatch):
    model = model_of()
    first = extract(model, TOKENIZER, SENTENCES, folder=tmp_path, compute=PLAIN)
    plain = extract(model, TOKENIZER, SENTENCES, compute=PLAIN)
    assert all(np.array_equal(a, b) for a, b in zip(first.layers, plain.layers, strict=True))
    assert isinstance(first.layers[1], np.memmap) and len(list(tmp_path.iterdir())) == 1

    with monkeypatch.context() as patched:
        patched.setattr(type(model), "hidden_states", None)  # nothing may be computed
        again = extract(model, TOKENIZER, SENTENCES, folder=tmp_path, compute=PLAIN)
    assert np.array_equal(again.layers[2], first.layers[2])

    extract(model, TOKENIZER, SENTENCES, folder=tmp_path, pooling="last", compute=PLAIN)
    extract(model, TOKENIZER, SENTENCES[:3], folder=tmp_path, compute=PLAIN)
    extract(model_of(causal=False), TOKENIZER, SENTENCES, folder=tmp_path, compute=PLAIN)
    with torch.no_grad():
        model.blocks[0].up.weight[0, 0] += 1
    extract(model, TOKENIZER, SENTENCES, folder=tmp_path, compute=PLAIN)
    assert len(list(tmp_path.iterdir())) == 5


def test_an_interrupted_extraction_leaves_nothing(tmp_path, monkeypatch):
    def broken(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(features, "_fill", broken)
    with pytest.raises(KeyboardInterrupt):
        extract(model_of(), TOKENIZER, SENTENCES, folder=tmp_path, compute=PLAIN)
    assert list(tmp_path.iterdir()) == []


def test_what_is_refused(tmp_path):
    model = model_of()
    with pytest.raises(ValueError, match="expected a pooling out of mean, first, last"):
        extract(model, TOKENIZER, SENTENCES, pooling="max")
    direction = np.eye(16)[:1]
    with removing(model, direction, 1), pytest.raises(ValueError, match="without hooks"):
        extract(model, TOKENIZER, SENTENCES, folder=tmp_path, compute=PLAIN)
    with torch.no_grad():
        model.embedding.weight.mul_(1e6)
    with pytest.raises(ValueError, match="within half precision .* in layer 0"):
        extract(model, TOKENIZER, SENTENCES, compute=PLAIN)


def test_a_damaged_file_is_one_line(tmp_path):
    model = model_of()
    extract(model, TOKENIZER, SENTENCES, folder=tmp_path, compute=PLAIN)
    next(tmp_path.rglob("layer-1.npy")).write_bytes(b"\x93NUMPY")
    with pytest.raises(ValueError, match="expected kept features in .* remove it"):
        extract(model, TOKENIZER, SENTENCES, folder=tmp_path, compute=PLAIN)


def wordpiece() -> transformers.PreTrainedTokenizerFast:
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "rain", "fell", "##s", "do", "n", "'", "t"]
    library = tokenizers.Tokenizer(
        tokenizers.models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]")
    )
    library.normalizer = tokenizers.normalizers.BertNormalizer()
    library.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    library.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=library)


def test_the_same_on_a_model_of_hugging_face():
    """A random BERT: our rows are those of its own `hidden_states`, at its own offsets."""
    torch.manual_seed(0)
    sizes = {"vocab_size": 12, "max_position_embeddings": 16, "intermediate_size": 32}
    shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = transformers.BertConfig(**sizes, **shape)
    theirs, tokenizer = transformers.BertForMaskedLM(config).eval(), wordpiece()
    words, flags = ["The", "rains", "do", "n't", "fell"], [True, True, False, True, False]
    ours, sentences = from_huggingface(theirs), [words, words[:2]]
    found = extract(ours, tokenizer, sentences, space_after=[flags, flags[:2]], compute=PLAIN)
    with torch.no_grad():
        batch = tokenizer("The rains don't fell", return_tensors="pt")
        assert tokenizer.convert_ids_to_tokens(batch["input_ids"][0].tolist()) == (
            ["[CLS]", "the", "rain", "##s", "[UNK]", "'", "t", "fell", "[SEP]"]
        )
        states = theirs(batch["input_ids"], output_hidden_states=True).hidden_states
    owners = [[1], [2, 3], [4], [4, 5, 6], [7]]
    for layer, state in enumerate(states):
        expected = np.stack([state[0][own].mean(0).numpy() for own in owners])
        assert found.sentence(0, layer) == pytest.approx(expected, rel=2e-3, abs=2e-3)
    probe = linear_probe(found.layers[2], ["a", "b", "a", "b", "a", "a", "b"], compute=PLAIN)
    assert probe.logits(found.layers[2]).shape == (7, 2)

"""Classifiers on models that others trained: their special tokens, token types and vocabularies."""

from dataclasses import replace

import pytest
import torch
import transformers

from tests.adaptation.made import CPU
from tests.released import save_bert, save_gpt2
from tlcourse.adaptation import (
    POOLINGS,
    SCHEMES,
    Classifier,
    Recipe,
    TopLayers,
    adapt,
    causal_nats,
    pretrain_on_texts,
    serialization,
)
from tlcourse.batching import pad

LABELS = ["HUM", "NUM"]
TEXTS = ["Who ran?", "How many cats ran on the mat?", "Who sat?", "How many did it rain?"]
ENOUGH = 1e-5
TWO_STEPS = Recipe(epochs=2, batch_size=4, learning_rate=1e-3)
ONE_STEP = Recipe(epochs=1, batch_size=4, learning_rate=1e-3)


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """(folder, Transformers' model, its tokenizer)"""
    folder = tmp_path_factory.mktemp("released") / "bert"
    return folder, save_bert(folder), transformers.AutoTokenizer.from_pretrained(folder)


def classifier(folder, **more):
    made = Classifier.from_checkpoint(folder, LABELS, compute=CPU, dropout=0.0, **more)
    return made.eval()


def expected(bert, *texts, longest=24):
    """What Transformers' model makes of texts: hidden states, and which tokens are words."""
    _, model, tokenizer = bert
    how = {"return_tensors": "pt", "return_special_tokens_mask": True}
    read = tokenizer(*texts, truncation=True, max_length=longest, padding=False, **how)
    words = ~read.pop("special_tokens_mask")[0].bool()
    with torch.no_grad():
        return read, model(**read).last_hidden_state[0], words


@torch.no_grad()
def features(made, text):
    return made.features(*pad(made.encode([text]), made.tokenizer.pad))[0]


@pytest.mark.parametrize("texts", [("Who ran?",), ("Who sat?", "The cat sat on the mat.")])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_ids_and_features_are_those_of_transformers(bert, texts, pooling):
    made = classifier(bert[0], pooling=pooling)
    read, states, words = expected(bert, *texts)
    text = texts[0] if len(texts) == 1 else texts
    assert made.encode([text])[0] == read["input_ids"][0].tolist()
    if len(texts) == 2:  # the [SEP] between the two is inside the text, as our <sep> is
        words[1:-1] = True
    mean, largest, last = states[words].mean(0), states[words].amax(0), states[-2]
    wanted = {
        "classification token": states[0],
        "last token": last,
        "mean": mean,
        "concatenation": torch.cat([last, largest, mean]),
    }
    assert (features(made, text) - wanted[pooling]).abs().max() < ENOUGH


def test_padding_changes_nothing(bert):
    made = classifier(bert[0])
    together = made.features(*pad(made.encode(TEXTS), made.tokenizer.pad))
    for text, row in zip(TEXTS, together, strict=True):
        assert (features(made, text) - row).abs().max() < ENOUGH


def test_a_long_text_is_read_in_windows_that_each_have_their_special_tokens(bert):
    made, parts = classifier(bert[0]), ("who ran where is the cat " * 3, "how many sat on mat " * 3)
    parts = parts[0], parts[1] + "when did it"  # eighteen words each
    long = " ".join(parts)
    ids = made.encode([long])[0]
    assert len(ids) == 36 + 2  # neither cut to the file's own seven nor to 24
    halves = (expected(bert, part) for part in parts)
    mean = torch.stack([states[words].mean(0) for _, states, words in halves]).mean(0)
    assert (features(made, long) - mean).abs().max() < ENOUGH


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
def test_every_scheme_adapts_it_and_moves_what_it_declares(bert, scheme):
    start = classifier(bert[0])
    if scheme.name == "with the LM loss":
        with pytest.raises(ValueError, match="expected a causal body"):
            adapt(start, TEXTS, LABELS * 2, scheme=scheme, recipe=ONE_STEP, compute=CPU)
        return
    if scheme.name == "top 2 layers":  # this body has no more than two
        scheme = replace(scheme, groups=TopLayers(1))
    report = adapt(start, TEXTS, LABELS * 2, scheme=scheme, recipe=TWO_STEPS, compute=CPU).report
    # In the first step a gradient of 0 stops behind what starts at 0; gradual unfreezing has not
    # come to the lowest layers.
    late = scheme.name == "gradual unfreezing"
    assert set(report.moved) <= set(report.declared)
    assert late or set(report.moved) == set(report.declared)
    if scheme.name not in ("prefix tuning", "mix of layers"):
        assert report.start_difference == 0


def test_it_learns_pairs_by_their_token_types(bert):
    """Only the order of the two parts tells the labels apart."""
    pairs = [("Who ran?", "Who sat?"), ("Who sat?", "Who ran?")] * 4
    recipe = Recipe(epochs=40, batch_size=8, learning_rate=3e-3)
    adapted = adapt(classifier(bert[0]), pairs, LABELS * 4, recipe=recipe, compute=CPU)
    assert adapted.predict(pairs, compute=CPU) == LABELS * 4
    assert adapted.pairs


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("name", ["full fine-tuning", "LoRA"])
def test_what_is_saved_comes_back(bert, name, half, tmp_path, monkeypatch):
    if half:
        monkeypatch.setattr(serialization, "LARGEST", 1000)
    adapted = adapt(
        classifier(bert[0]), TEXTS, LABELS * 2, scheme=SCHEMES[name], recipe=ONE_STEP, compute=CPU
    )
    adapted.save(tmp_path / "mine")
    again = Classifier.load(tmp_path / "mine", compute=CPU)
    assert again.tokenizer.frame == adapted.tokenizer.frame
    assert again.encode(TEXTS) == adapted.encode(TEXTS)
    difference = again.probabilities(TEXTS, compute=CPU) - adapted.probabilities(TEXTS, compute=CPU)
    assert difference.abs().max() <= (2e-3 if half else 0)


def test_gpt2_ends_a_text_with_the_token_that_ends_its_documents(tmp_path):
    theirs = save_gpt2(tmp_path / "gpt2")
    made = classifier(tmp_path / "gpt2", pooling="classification token")
    assert made.encode(["Who?"])[0] == [*made.tokenizer.read("Who?"), 256]
    tokens, mask = pad(made.encode(TEXTS), made.tokenizer.pad)
    ours = causal_nats(made.body, tokens, mask, frame=made.tokenizer.frame)
    targets = tokens.masked_fill(~mask | (tokens == 256), -100)  # neither pads nor the end
    assert ours.item() == pytest.approx(theirs(tokens, labels=targets).loss.item(), abs=1e-5)
    scheme = SCHEMES["with the LM loss"]
    adapted = adapt(made, TEXTS, LABELS * 2, scheme=scheme, recipe=ONE_STEP, compute=CPU)
    assert set(adapted.report.moved) <= set(adapted.report.declared)


def test_what_needs_the_courses_vocabulary_says_so(bert):
    with pytest.raises(ValueError, match="expected a body with a vocabulary of the course"):
        pretrain_on_texts(classifier(bert[0]), TEXTS, compute=CPU)

"""The bag of words and the CNN: by hand, padding, order, adapting, saving, what is refused."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tlcourse import checkpoints
from tlcourse.adaptation import POOLINGS, SCHEMES, Classifier, LayerMix, Recipe, Scheme, adapt
from tlcourse.adaptation.groups import AddedOnly
from tlcourse.encoders import CNN, BagOfWords, BagOfWordsConfig, CNNConfig, Mean

VOCABULARY = 300
LENGTHS = torch.tensor([[9], [5]])
CONFIGS = {
    "bag of words": BagOfWordsConfig(VOCABULARY, 12),
    "CNN": CNNConfig(VOCABULARY, 12, kernels=(2, 3, 4)),
}
BODIES = {"bag of words": BagOfWords, "CNN": CNN}


def body_of(name: str) -> nn.Module:
    torch.manual_seed(0)
    return BODIES[name](CONFIGS[name]).eval()


def test_a_bag_of_words_is_the_mean_under_hidden_layers():
    model, tokens = body_of("bag of words"), torch.randint(VOCABULARY, (2, 9))
    x = model.embedding(tokens).mean(dim=1)
    for block in model.blocks[1:]:
        x = (x @ block.linear.weight.T + block.linear.bias).relu()
    torch.testing.assert_close(model(tokens), x)


def test_a_filter_of_a_cnn_looks_at_every_window():
    model, tokens = body_of("CNN"), torch.randint(VOCABULARY, (1, 7))
    x = model.embedding(tokens)[0]
    found = []
    for convolution in model.blocks[0].convolutions:
        (size,) = convolution.kernel_size
        rows = F.pad(x, (0, 0, (size - 1) // 2, size - 1 - (size - 1) // 2))
        windows = torch.stack([rows[at : at + size].T for at in range(7)])
        fits = torch.einsum("nws,fws->nf", windows, convolution.weight) + convolution.bias
        found.append(fits.amax(dim=0).relu())
    torch.testing.assert_close(model(tokens)[0], torch.cat(found))


@pytest.mark.parametrize("name", BODIES)
def test_padding_changes_nothing(name):
    model, tokens = body_of(name), torch.randint(VOCABULARY, (2, 9))
    mask = torch.arange(9) < LENGTHS
    torch.testing.assert_close(model(tokens, mask)[1], model(tokens[1:, :5])[0])


@pytest.mark.parametrize("name", BODIES)
def test_the_states_are_those_of_the_text_at_every_position(name):
    model, tokens = body_of(name), torch.randint(VOCABULARY, (2, 9))
    states = model.hidden_states(tokens)
    assert len(states) == len(model.blocks) + 1 == len(model.config.widths)
    assert [each.shape[-1] for each in states] == list(model.config.widths)
    assert model.config.layers == len(model.blocks)
    assert torch.equal(states[0], model.embedding(tokens))
    assert torch.equal(states[-1], model(tokens)[:, None].expand(2, 9, 12))
    assert torch.equal(model.hidden_at(tokens, at=torch.tensor([3, 4])), model(tokens))


def test_only_the_cnn_knows_the_order():
    tokens = torch.tensor([[1, 2, 3, 4], [1, 4, 3, 2]])  # not good, bad; not bad, good
    bag, cnn = (body_of(name)(tokens) for name in BODIES)
    torch.testing.assert_close(bag[0], bag[1])
    assert (cnn[0] - cnn[1]).abs().max() > 1e-3


def test_word_dropout_leaves_tokens_out_of_the_mean_of_training():
    torch.manual_seed(0)
    layer, x = Mean(0.25), torch.eye(40).repeat(500, 1, 1)
    mask = torch.ones(500, 40, dtype=torch.bool)
    kept = layer(x, mask) > 0
    assert kept.float().mean().item() == pytest.approx(0.75, abs=0.02)
    assert not layer.eval()(x, mask).sub(1 / 40).any()
    alone = Mean(0.9)(torch.ones(200, 1, 3), torch.ones(200, 1, dtype=torch.bool))
    assert torch.equal(alone, torch.ones(200, 3)), "a text keeps at least one token"


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_classifier_learns_on_an_encoder(name, pooling):
    _, tokenizer = checkpoints.load("causal-small")
    torch.manual_seed(0)
    config = type(CONFIGS[name])(tokenizer.vocabulary_size, 12)
    start = Classifier(BODIES[name](config), tokenizer, ["no", "yes"], pooling=pooling, dropout=0)
    texts, labels = ["a good film", "a bad film"] * 4, ["yes", "no"] * 4
    recipe = Recipe(epochs=60, learning_rate=1e-2)
    found = adapt(start, texts, labels, recipe=recipe)
    assert found.predict(texts) == labels
    assert set(found.report.moved) == set(found.report.declared)


@pytest.mark.parametrize("name", BODIES)
def test_schemes_without_attention_take_an_encoder(name):
    _, tokenizer = checkpoints.load("causal-small")
    config = type(CONFIGS[name])(tokenizer.vocabulary_size, 12)
    start = Classifier(BODIES[name](config), tokenizer, ["no", "yes"])
    mix = Scheme(edit=LayerMix(), groups=AddedOnly())
    for scheme in (SCHEMES["gradual unfreezing"], mix):
        adapt(start, ["a", "b"], ["no", "yes"], scheme=scheme, recipe=Recipe(epochs=2))
    with pytest.raises(ValueError, match="expected a body of blocks with attention"):
        adapt(start, ["a"], ["no"], scheme=SCHEMES["LoRA"])


@pytest.mark.parametrize("name", BODIES)
def test_saving_is_refused(name, tmp_path):
    _, tokenizer = checkpoints.load("causal-small")
    classifier = Classifier(body_of(name), tokenizer, ["no", "yes"])
    with pytest.raises(ValueError, match=f"got {BODIES[name].__name__}; keep its weights"):
        classifier.save(tmp_path / "classifier")


def test_shapes_that_no_encoder_has_are_refused():
    with pytest.raises(ValueError, match="width: expected at least 1, got 0"):
        CNNConfig(width=0)
    for values in ({"depth": -1}, {"word_dropout": 1.0}):
        with pytest.raises(ValueError, match="a depth of at least 0 and a word_dropout"):
            BagOfWordsConfig(**values)
    for values in ({"kernels": ()}, {"kernels": (0, 1)}, {"width": 100, "kernels": (3, 4, 5)}):
        with pytest.raises(ValueError, match="kernel sizes of at least 1 whose number divides"):
            CNNConfig(**values)

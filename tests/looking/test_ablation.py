import copy

import numpy as np
import pytest
import torch

from tests.looking.made import PLAIN, TEXTS, classifier_of, each_kind, ids_of, model_of
from tlcourse.looking import ablating, head_means, skipping
from tlcourse.transformer import Transformer, record

TOKENS = torch.tensor(ids_of(9, 9))
each_kernel = pytest.mark.parametrize("attention", ["sdpa", "explicit"])


def without_columns(model: Transformer, heads, means=None) -> Transformer:
    """A copy whose output layers do not read these heads; their means go into the bias."""
    other = copy.deepcopy(model)
    with torch.no_grad():
        for layer, head in heads:
            output = other.blocks[layer].attention.output
            columns = slice(8 * head, 8 * head + 8)
            if means is not None:
                mean = torch.from_numpy(means[layer, head]).float()
                output.bias += output.weight[:, columns] @ mean
            output.weight[:, columns] = 0.0
    return other


@torch.no_grad()
@each_kind
@each_kernel
def test_ablating_is_taking_the_heads_columns_away(kind, attention):
    model, heads = model_of(kind, attention), [(0, 1), (1, 0), (1, 2)]
    before = model(TOKENS)
    with ablating(model, heads):
        found = model(TOKENS)
    assert torch.allclose(found, without_columns(model, heads)(TOKENS), atol=1e-5)
    assert not torch.allclose(found, before, atol=1e-2)
    assert torch.equal(model(TOKENS), before)
    with ablating(model, []):
        assert torch.equal(model(TOKENS), before)


@torch.no_grad()
@each_kind
def test_a_mean_in_a_heads_place_is_a_bias(kind):
    model, heads = model_of(kind), [(1, 1), (0, 2)]
    means = head_means(model, ids_of(5, 8), compute=PLAIN)
    with ablating(model, heads, means=means):
        found = model(TOKENS)
    assert torch.allclose(found, without_columns(model, heads, means)(TOKENS), atol=1e-5)


@torch.no_grad()
def test_the_means_are_over_tokens_and_padding_does_not_count(monkeypatch):
    model, texts = model_of(), ids_of(5, 8, 3, 8)
    values = []
    for ids in texts:  # by the weights and values of each head
        with record(model) as seen:
            model(torch.tensor([ids]))
        each = []
        for block, x, weights in zip(
            model.blocks, seen.hidden_states[:-1], seen.attention, strict=True
        ):
            value = block.attention.value(block.attention_norm(x)).view(len(ids), 3, 8)
            each.append(torch.einsum("hqk,khd->qhd", weights[0], value))
        values.append(torch.stack(each, dim=1))
    expected = torch.cat(values).mean(0).numpy()
    assert head_means(model, texts, compute=PLAIN) == pytest.approx(expected, abs=1e-5)
    monkeypatch.setattr("tlcourse.looking.texts.TOKENS_AT_A_TIME", 16)
    assert head_means(model, texts, compute=PLAIN) == pytest.approx(expected, abs=1e-5)


@torch.no_grad()
@each_kind
def test_a_skipped_block_is_not_there(kind):
    model = model_of(kind)
    shorter = copy.deepcopy(model)
    del shorter.blocks[0]
    with skipping(model, [0]):
        assert torch.equal(model(TOKENS), shorter(TOKENS))
    with skipping(model, [1, 0]):
        assert torch.equal(model.hidden_states(TOKENS)[-1], model.embed(TOKENS))
    assert not torch.allclose(model(TOKENS), shorter(TOKENS))


@torch.no_grad()
@each_kind
@pytest.mark.parametrize("part", ["attention", "feed-forward"])
def test_a_skipped_half_adds_nothing(kind, part):
    model = model_of(kind)
    other = copy.deepcopy(model)
    block = other.blocks[1]
    last = block.attention.output if part == "attention" else block.down
    torch.nn.init.zeros_(last.weight)
    torch.nn.init.zeros_(last.bias)
    with skipping(model, [1], part=part):
        assert torch.allclose(model(TOKENS), other(TOKENS), atol=1e-6)
    assert not torch.allclose(model(TOKENS), other(TOKENS))


@pytest.mark.parametrize("pooling", ["classification token", "mean"])
@pytest.mark.parametrize("layer", [0, 1])
def test_the_heads_of_a_classifier(pooling, layer):
    """Also in the last block, of which a classification token reads one position."""
    classifier = classifier_of(pooling)
    before = classifier.probabilities(TEXTS, compute=PLAIN)
    other = classifier.copy()
    other.body = without_columns(other.body, [(layer, 1)])
    with ablating(classifier.body, [(layer, 1)]):
        found = classifier.probabilities(TEXTS, compute=PLAIN)
    assert torch.allclose(found, other.probabilities(TEXTS, compute=PLAIN), atol=1e-6)
    assert not torch.allclose(found, before, atol=1e-4)
    shorter = classifier.copy()
    del shorter.body.blocks[layer]
    with skipping(classifier.body, [layer]):
        found = classifier.probabilities(TEXTS, compute=PLAIN)
    assert torch.allclose(found, shorter.probabilities(TEXTS, compute=PLAIN), atol=1e-6)
    assert torch.equal(classifier.probabilities(TEXTS, compute=PLAIN), before)


@pytest.mark.parametrize(
    ("misuse", "said"),
    [
        (lambda m: ablating(m, [(2, 0)]), r"layers 0 to 1 and heads 0 to 2, got \(2, 0\)"),
        (lambda m: ablating(m, [(0, -1)]), r"got \(0, -1\)"),
        (lambda m: ablating(m, [(0, 1)], means=np.zeros((2, 3, 4))), r"of shape \(2, 3, 8\)"),
        (lambda m: skipping(m, [2]).__enter__(), r"layers from 0 to 1, got \[2\]"),
        (lambda m: skipping(m, [0], part="norm").__enter__(), "one of block, attention, feed"),
    ],
)
def test_misuse_says_what_was_expected(misuse, said):
    with pytest.raises(ValueError, match=said):
        misuse(model_of())

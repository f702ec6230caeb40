"""The encoder of words from characters against a loop over words, filters and positions."""

import pytest
import torch
from torch.nn import functional as F

from tlcourse.recurrent import CharacterEncoder, Highway, character_ids

WORDS = ["a", "rain", "trains", "café"]


def encoder() -> CharacterEncoder:
    torch.manual_seed(0)
    return CharacterEncoder(5, filters={1: 2, 3: 4, 7: 3}, character_width=6).double()


def by_hand(model: CharacterEncoder, word: torch.Tensor) -> torch.Tensor:
    """The vector of the ids of one word, without padding."""
    features = []
    vectors = [model.embedding.weight[character] for character in word]
    for convolution in model.convolutions:
        size = convolution.kernel_size[0]
        padded = vectors + (size - 1) * [torch.zeros(6, dtype=torch.double)]
        for weight, bias in zip(convolution.weight, convolution.bias, strict=True):
            fits = [
                float(sum(weight[:, i] @ padded[start + i] for i in range(size)) + bias)
                for start in range(len(vectors))
            ]
            features.append(max(0.0, *fits))
    x = torch.tensor(features, dtype=torch.double)
    gate = torch.sigmoid(model.highway.gate.weight @ x + model.highway.gate.bias)
    new = F.relu(model.highway.transform.weight @ x + model.highway.transform.bias)
    mixed = torch.stack([g * n + (1 - g) * o for g, n, o in zip(gate, new, x, strict=True)])
    return model.projection.weight @ mixed + model.projection.bias


def test_ids_are_bytes_between_marks():
    assert character_ids(["a", "é"]).tolist() == [[257, 98, 258, 0], [257, 196, 170, 258]]


@torch.no_grad()
def test_the_encoder_is_a_loop_over_words_filters_and_positions():
    model, ids = encoder(), character_ids(WORDS)
    found = model(ids)
    assert found.shape == (4, 5)
    for row, vector in zip(ids, found, strict=True):
        torch.testing.assert_close(vector, by_hand(model, row[row != 0]))


@torch.no_grad()
def test_padding_changes_no_vector():
    model, ids = encoder(), character_ids(WORDS)
    torch.testing.assert_close(model(F.pad(ids, (0, 9))), model(ids))
    torch.testing.assert_close(model(character_ids(WORDS[:1])), model(ids)[:1])


def test_a_pad_has_no_vector_and_learns_none():
    model = encoder()
    model(character_ids(WORDS)).sum().backward()
    assert (model.embedding.weight[0] == 0).all() and (model.embedding.weight.grad[0] == 0).all()


def test_a_new_highway_carries_most_of_its_input():
    torch.manual_seed(0)
    x = torch.randn(50, 16)
    highway = Highway(16)
    gate = highway.gate(x).sigmoid()
    assert gate.mean().item() == pytest.approx(0.27, abs=0.05)  # the sigmoid of -1
    torch.testing.assert_close(highway(x), x + gate * (highway.transform(x).relu() - x))


def test_a_word_of_pads_is_refused():
    with pytest.raises(ValueError, match="at least one character in every word"):
        encoder()(torch.tensor([[257, 98, 258], [0, 0, 0]]))

"""InferSent's encoder and its classifier of pairs."""

import pytest
import torch

from tlcourse.recurrent import PairClassifier, SentenceEncoder

torch.manual_seed(0)
VECTORS = torch.randn(9, 4)
TOKENS = torch.tensor([[1, 2, 3, 4], [5, 6, 0, 0]])
MASK = torch.tensor([[True] * 4, [True, True, False, False]])


def test_a_sentence_is_the_maximum_over_its_states_and_padding_changes_nothing():
    encoder = SentenceEncoder(VECTORS).eval()
    found = encoder(TOKENS, MASK)
    assert found.shape == (2, encoder.width) == (2, 8)
    alone = encoder.body.hidden(TOKENS[1:, :2])
    torch.testing.assert_close(found[1], alone[0].amax(dim=0))
    reverse = encoder(TOKENS.flip(1)[:1], MASK[:1])
    assert not torch.allclose(reverse, found[:1])  # the order of words matters


def test_vectors_of_lists_are_those_of_each_alone_in_their_order():
    encoder = SentenceEncoder(VECTORS)
    lists = [[1, 2, 3, 4], [5], [6, 7], [8, 8, 8, 8, 8]]
    found = encoder.embed(lists, batch_size=3)
    assert not found.requires_grad and not encoder.training
    for ids, vector in zip(lists, found, strict=True):
        alone = encoder(torch.tensor([ids]), torch.ones(1, len(ids), dtype=torch.bool))
        torch.testing.assert_close(vector, alone[0])
    assert encoder.embed([]).shape == (0, 8)
    with pytest.raises(ValueError, match="at least one id in each sentence"):
        encoder.embed([[1], []])


def test_word_vectors_are_scaled_and_frozen():
    encoder = SentenceEncoder(VECTORS)
    assert not encoder.body.embedding.weight.requires_grad
    states = encoder.body.hidden_states(torch.arange(9)[None])[0][0, :, :4]
    torch.testing.assert_close(states, VECTORS / VECTORS.std())
    encoder(TOKENS, MASK).sum().backward()
    trained = [name for name, each in encoder.named_parameters() if each.grad is not None]
    assert trained and not any("embedding" in name for name in trained)


def test_the_classifier_sees_both_vectors_their_difference_and_their_product():
    encoder = SentenceEncoder(VECTORS).eval()
    model = PairClassifier(encoder, encoder.width, (3, 2))
    first, second = (TOKENS, MASK), (TOKENS.flip(0), MASK.flip(0))
    u, v = encoder(*first), encoder(*second)
    seen = torch.cat([u, v, (u - v).abs(), u * v], dim=1)
    torch.testing.assert_close(model(first, second), model.heads[0](seen))
    assert model(first, second, 1).shape == (2, 2)

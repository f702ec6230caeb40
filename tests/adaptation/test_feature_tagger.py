"""The tagger on frozen states: shapes, padding, what it learns, what it refuses."""

import pytest
import torch

from tests.adaptation.made import CPU
from tlcourse.adaptation import FeatureTagger

TAGS = ["B-X", "I-X", "O"]


def sentences(count=24, layers=2, width=6):
    """States whose second layer says which tag is due; the tag of a word depends on the next."""
    generator = torch.Generator().manual_seed(0)
    states, tags = [], []
    for number in range(count):
        length = 2 + number % 4
        each = torch.randn(layers, length, width, generator=generator)
        begins = torch.rand(length, generator=generator) < 0.5
        each[1, :, 0] = 4.0 * begins - 2
        states.append(each)
        after = [*begins[1:].tolist(), False]
        tags.append(["B-X" if follows else "O" for follows in after])
    return states, tags


def tagger(**settings) -> FeatureTagger:
    torch.manual_seed(0)
    return FeatureTagger(2, 6, TAGS, units=8, **settings)


@torch.no_grad()
def test_padding_changes_no_score():
    model, (states, _) = tagger().eval(), sentences(5)
    longest = max(each.shape[1] for each in states)
    for each in states:
        alone = model(each[None], torch.ones(1, each.shape[1], dtype=torch.bool))
        padded = torch.nn.functional.pad(each, (0, 0, 0, longest - each.shape[1]), value=7.0)
        mask = torch.arange(longest)[None] < each.shape[1]
        found = model(padded[None], mask)
        assert found.shape == (1, longest, 3)
        torch.testing.assert_close(found[:, : each.shape[1]], alone)


def test_it_learns_what_the_next_word_says_and_which_layer_says_it():
    model, (states, tags) = tagger(dropout=0.0), sentences()
    history = model.fit(states, tags, epochs=60, learning_rate=1e-2, batch_size=8, compute=CPU)
    assert len(history) == 60 * 3 and history[-1]["loss"] < 0.1 * history[0]["loss"]
    assert model.predict(states) == tags
    assert model.mix.weights[1] > model.mix.weights[0]


def test_the_same_seed_gives_the_same_tagger():
    states, tags = sentences(9)
    found = []
    for _ in range(2):
        model = tagger()
        model.fit(states, tags, epochs=1, seed=3, compute=CPU)
        found.append(model.head.weight.detach().clone())
    assert torch.equal(*found)


def test_other_tags_are_refused():
    states, tags = sentences(3)
    for wrong in (["O"], ["B-Y"] * len(tags[1])):
        with pytest.raises(ValueError, match=r"expected a tag out of .* in sentence 1"):
            tagger().fit(states, [tags[0], wrong, tags[2]], compute=CPU)

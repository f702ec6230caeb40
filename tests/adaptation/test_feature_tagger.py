"""The tagger on frozen states: its loss, what it learns, what it refuses."""

import pytest
import torch
from torch.nn import functional as F

from tests.adaptation.made import CPU
from tlcourse.adaptation import FeatureTagger
from tlcourse.adaptation.feature_tagger import stacked
from tlcourse.adaptation.tagger import IGNORED

TAGS = ["B-X", "I-X", "O"]


def sentences(count=24, layers=2, width=6):
    """States whose second layer says which words are an entity."""
    generator = torch.Generator().manual_seed(0)
    states, tags = [], []
    for number in range(count):
        each = torch.randn(layers, 2 + number % 4, width, generator=generator)
        begins = torch.rand(each.shape[1], generator=generator) < 0.2
        each[1, :, 0] = 8.0 * begins - 4
        states.append(each)
        tags.append(["B-X" if begin else "O" for begin in begins])
    return states, tags


def tagger(**settings) -> FeatureTagger:
    torch.manual_seed(0)
    return FeatureTagger(2, 6, TAGS, **settings)


def test_the_loss_is_the_weighted_sum_over_words():
    model, (states, tags) = tagger(entity_weight=3.0).eval(), sentences(4)
    targets = [torch.tensor([TAGS.index(tag) for tag in each]) for each in tags]
    padded = torch.nn.utils.rnn.pad_sequence(targets, batch_first=True, padding_value=IGNORED)
    nats, count = model.loss((stacked(states), padded))
    alone = torch.zeros(())
    for each, of_words in zip(states, targets, strict=True):
        lost = F.cross_entropy(model(each[None])[0], of_words, reduction="none")
        alone += (lost * torch.where(of_words == 2, 1.0, 3.0)).sum()
    assert count == sum(map(len, tags))
    torch.testing.assert_close(nats, alone)


def test_it_learns_what_one_layer_says():
    model, (states, tags) = tagger(dropout=0.0), sentences()
    history = model.fit(states, tags, epochs=60, learning_rate=1e-2, compute=CPU)
    assert len(history) == 60 * 3 and history[-1]["loss"] < 0.3 * history[0]["loss"]
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


def test_features_of_any_scale_and_mean_are_learnt_alike():
    states, tags = sentences()
    scaled = [4 * each + torch.arange(6.0) for each in states]
    found = []
    for each in (states, scaled):
        model = tagger(dropout=0.0)
        model.fit(each, tags, epochs=2, compute=CPU)
        found.append(torch.cat([model(one[None])[0].detach() for one in each]))
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-4)

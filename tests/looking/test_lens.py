import copy

import pytest
import torch

from tests.looking.made import TEXTS, classifier_of, each_kind, ids_of, model_of
from tlcourse.looking import lens_guesses, logit_lens

(IDS,) = ids_of(9)


@torch.no_grad()
@each_kind
@pytest.mark.parametrize("attention", ["sdpa", "explicit"])
def test_the_last_layer_says_what_the_model_says(kind, attention):
    model = model_of(kind, attention)
    found = logit_lens(model, IDS)
    assert found.shape == (3, 9, 50)
    assert torch.equal(found[-1], model(torch.tensor([IDS]))[0])


@torch.no_grad()
@each_kind
def test_an_earlier_layer_says_what_a_shorter_model_says(kind):
    model = model_of(kind)
    found = logit_lens(model, torch.tensor(IDS))
    shorter = copy.deepcopy(model)
    del shorter.blocks[1]
    assert torch.allclose(found[1], shorter(torch.tensor([IDS]))[0], atol=1e-6)
    assert not torch.allclose(found[0], found[1])
    embedded = model.embed(torch.tensor([IDS]))
    normed = model.norm(embedded) if model.config.norm_first else embedded
    assert torch.allclose(found[0], model.logits(normed)[0], atol=1e-6)


@torch.no_grad()
def test_the_likeliest_tokens_of_each_layer():
    model = model_of()
    shares = logit_lens(model, IDS).softmax(-1)
    found = lens_guesses(model, IDS, count=3)
    assert found.ids.shape == found.probabilities.shape == (3, 9, 3)
    assert (found.ids == shares.argsort(-1, descending=True)[..., :3].numpy()).all()
    expected = shares.sort(-1, descending=True)[0][..., :3].numpy()
    assert found.probabilities == pytest.approx(expected)


def test_the_body_of_a_classifier_without_dropout():
    classifier = classifier_of("mean").train()
    (ids,) = classifier.encode(TEXTS[:1])
    first = logit_lens(classifier.body, ids)
    assert torch.equal(first, logit_lens(classifier.body.train(), ids))


@pytest.mark.parametrize("ids", [[], [IDS]])
def test_it_takes_one_text(ids):
    with pytest.raises(ValueError, match="expected the ids of one text"):
        logit_lens(model_of(), ids)

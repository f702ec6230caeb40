import copy

import numpy as np
import pytest
import torch

from tests.looking.made import TEXTS, classifier_of, ids_of, model_of
from tests.transformer.test_model import SHAPE, random_model
from tlcourse.adaptation import Adapters, LoRA
from tlcourse.looking import attribution
from tlcourse.transformer import Config

(IDS,) = ids_of(9)
each_kind = pytest.mark.parametrize("kind", ["shipped", "gpt2"])


@torch.no_grad()
@each_kind
@pytest.mark.parametrize("place", [0, 4, -1])
def test_the_parts_sum_to_the_logit(kind, place):
    model = model_of(kind)
    logits = model(torch.tensor([IDS]))[0, place]
    for token in (3, 17):
        found = attribution(model, IDS, token, place=place)
        assert found.logit == pytest.approx(float(logits[token]), abs=1e-4)
        assert found.heads.shape == (2, 3) and len(found.parts()) == 1 + 2 * (3 + 2) + 1


@torch.no_grad()
def test_a_head_that_goes_takes_its_share_along_where_the_scale_stays():
    """In the last layer, where nobody else hears it, and by the scale that it leaves behind."""
    model = model_of("gpt2")
    found = attribution(model, IDS, 20, place=6)
    block = model.blocks[1]
    block.down.weight.zero_()  # which would hear it
    before = attribution(model, IDS, 20, place=6)
    assert before.heads == pytest.approx(found.heads * _scales(model_of("gpt2"), model), rel=1e-4)
    without = copy.deepcopy(model)
    without.blocks[1].attention.output.weight[:, 8:16] = 0.0
    after = attribution(without, IDS, 20, place=6)
    assert after.heads[1, 1] == 0.0
    sums = before.logit - before.rest, after.logit - after.rest
    ratio = _scales(model, without)
    assert sums[0] - before.heads[1, 1] == pytest.approx(sums[1] / ratio, abs=1e-4)


def _scales(one, other) -> float:
    """How much more one model's final norm shrinks place 6 than the other's."""
    one, other = (m.hidden_states(torch.tensor([IDS]))[-1][0, 6].std() for m in (one, other))
    return float(one / other)


@torch.no_grad()
def test_the_parts_are_products_with_one_direction():
    """By an explicit final norm of each part, its scale frozen at the whole's."""
    model = model_of()
    states = model.hidden_states(torch.tensor([IDS]))
    scale = states[-1][0, 5].var(correction=0).add(model.norm.eps).sqrt()
    block, x = model.blocks[0], states[0]
    inner = x + block.attention(block.attention_norm(x), *_mask_and_table(model))
    fed = block.feed_forward(block.feed_forward_norm(inner))[0, 5]
    found = attribution(model, IDS, 11, place=5)
    normed = (fed - fed.mean()) / scale * model.norm.weight
    assert found.feed_forwards[0] == pytest.approx(float(model.logits(normed)[11]), abs=1e-5)
    normed = (x[0, 5] - x[0, 5].mean()) / scale * model.norm.weight
    assert found.embeddings == pytest.approx(float(model.logits(normed)[11]), abs=1e-5)
    assert found.rest == pytest.approx(float(model.logits(model.norm.bias)[11]), abs=1e-5)


def _mask_and_table(model):
    return model._inputs(torch.tensor([IDS]), None)[1:]


@torch.no_grad()
def test_a_new_model_has_nothing_but_its_embeddings():
    torch.manual_seed(0)
    model = type(model_of())(Config(**SHAPE)).eval()
    found = attribution(model, IDS, 8)
    assert not found.heads.any() and not found.biases.any() and not found.feed_forwards.any()
    assert found.embeddings == pytest.approx(float(model(torch.tensor([IDS]))[0, -1, 8]), abs=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("edit", [LoRA(2, layers="all"), Adapters(4)])
def test_what_was_added_belongs_to_its_part(edit):
    classifier = classifier_of("mean")
    classifier.add(edit)
    for parameter in classifier.parameters():
        parameter.add_(0.1 * torch.randn_like(parameter))
    (ids,) = classifier.encode(TEXTS[:1])
    logits = classifier.body(torch.tensor([ids]))[0, -1]
    found = attribution(classifier.body, ids, 9)
    assert found.logit == pytest.approx(float(logits[9]), abs=1e-4)
    assert np.abs(found.heads).min() > 0


def test_misuse_says_what_was_expected():
    with pytest.raises(ValueError, match="got one like BERT"):
        attribution(model_of("bert"), IDS, 3)
    with pytest.raises(ValueError, match="a place from 0 to 8, got 9"):
        attribution(random_model(Config(**SHAPE)), IDS, 3, place=9)

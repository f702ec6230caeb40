import numpy as np
import pytest
import torch

from tests.looking.made import PLAIN, TEXTS, classifier_of, each_kind, ids_of, model_of
from tlcourse.batching import generator_for
from tlcourse.looking import patching, permuting
from tlcourse.transformer import padding_mask, record

ONE, OTHER = torch.tensor(ids_of(9, 9)).split(1)


@torch.no_grad()
@each_kind
@pytest.mark.parametrize("layer", [0, 1, 2])
def test_all_states_of_another_text_make_the_model_say_what_it_says_there(kind, layer):
    model = model_of(kind)
    states = model.hidden_states(OTHER)[layer][0]
    expected, before = model(OTHER), model(ONE)
    with patching(model, states, layer):
        assert torch.equal(model(ONE), expected)
    assert torch.equal(model(ONE), before)


@torch.no_grad()
@each_kind
def test_places_get_their_states_and_the_others_keep_theirs(kind):
    model = model_of(kind)
    mine, theirs = (model.hidden_states(each)[1][0] for each in (ONE, OTHER))
    with patching(model, theirs[[5, 2]].numpy(), 1, places=[5, 2]), record(model) as seen:
        model(ONE)
    mixed = seen.hidden_states[1][0]
    for place in range(9):
        expected = theirs[place] if place in (2, 5) else mine[place]
        assert torch.allclose(mixed[place], expected, atol=1e-5)
    with patching(model, mine[4:5], 1, places=[4]):  # its own
        assert torch.allclose(model(ONE), model(ONE), atol=1e-6)


@torch.no_grad()
def test_a_causal_model_says_the_same_before_the_place():
    model = model_of()
    theirs = model.hidden_states(OTHER)[1][0]
    with patching(model, theirs[6:7], 1, places=[6]):
        found = model(ONE)
    assert torch.equal(found[:, :6], model(ONE)[:, :6])
    assert (found[:, 6:] - model(ONE)[:, 6:]).abs().amax(-1).min() > 1e-4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((torch.zeros(2, 24), 3), "layer from 0 to 2, got 3"),
        ((torch.zeros(2, 23), 1), r"shape \(2, 24\), one for each place, got \(2, 23\)"),
        ((torch.zeros(1, 9, 24), 1), r"got \(1, 9, 24\)"),
        ((torch.zeros(10, 24), 1), "places from 0 to 8, got"),
    ],
)
def test_misuse_says_what_was_expected(arguments, said):
    model = model_of()
    with pytest.raises(ValueError, match=said), patching(model, *arguments):
        model(ONE)
    assert not any(block._forward_hooks for block in model.blocks)


def weights_of(model, tokens, mask=None) -> torch.Tensor:
    with torch.no_grad(), record(model) as seen:
        model(tokens, mask)
    return torch.stack(seen.attention)


@each_kind
@pytest.mark.parametrize("attention", ["sdpa", "explicit"])
def test_weights_are_permuted_among_what_may_be_seen(kind, attention):
    model, mask = model_of(kind, attention), padding_mask(torch.tensor([9, 5]), 9)
    tokens = torch.cat([ONE, OTHER])
    before = weights_of(model, tokens, mask)
    with permuting(model):
        after = weights_of(model, tokens, mask)
    allowed = mask[:, None, None, :].expand(2, 3, 9, 9)
    if model.config.causal:
        allowed = allowed & torch.ones(9, 9).tril().bool()
    assert (after[:, ~allowed] == 0).all()
    # of the first layer, whose input is what it was: the same weights, elsewhere
    assert torch.allclose(after[0].sort(-1)[0], before[0].sort(-1)[0], atol=1e-6)
    moved = (after[0] - before[0]).abs().amax(-1) > 1e-6
    assert moved[0, :, 4:].float().mean() > 0.9
    assert [block.attention.kernel for block in model.blocks] == [attention] * 2
    assert torch.equal(weights_of(model, tokens, mask), before)


def test_every_permutation_is_as_likely_and_the_generator_decides():
    model = model_of()
    before = weights_of(model, ONE[:, :3])[0, 0, 0, 2]
    places, generator = np.zeros((3, 3)), generator_for(5)
    for _ in range(300):
        with permuting(model, generator):
            after = weights_of(model, ONE[:, :3])[0, 0, 0, 2]
        for key in range(3):
            places[key, int((after - before[key]).abs().argmin())] += 1
    assert places == pytest.approx(np.full((3, 3), 100), abs=30)  # 3.7 standard deviations
    found = []
    for seed in (5, 5, 6):
        with permuting(model, generator_for(seed)), torch.no_grad():
            found.append(model(ONE))
    assert torch.equal(found[0], found[1]) and not torch.allclose(found[0], found[2])


@pytest.mark.parametrize("pooling", ["classification token", "mean"])
def test_predictions_of_a_classifier_are_those_of_its_permuted_weights(pooling):
    """Where one position of the last block is asked, too: there one more text shows it."""
    classifier = classifier_of(pooling)
    before = classifier.probabilities(TEXTS, compute=PLAIN)
    with permuting(classifier.body):
        assert not torch.allclose(classifier.probabilities(TEXTS, compute=PLAIN), before, atol=1e-4)
    assert torch.equal(classifier.probabilities(TEXTS, compute=PLAIN), before)


def test_one_position_is_permuted_among_what_it_may_see():
    model, seen = model_of("shipped", "explicit"), []
    before = weights_of(model, ONE)
    with permuting(model):
        permuted = model.blocks[-1].attention.change
        model.blocks[0].attention.change = None
        model.blocks[-1].attention.change = lambda *given: seen.append(permuted(*given)) or seen[-1]
        model.hidden_at(ONE, at=torch.tensor([4]))
    (found,) = seen
    assert found.shape == (1, 3, 1, 9) and (found[..., 5:] == 0).all()
    expected = before[1][:, :, 4:5].sort(-1)[0]
    assert torch.allclose(found.sort(-1)[0], expected, atol=1e-6)
    assert all(block.attention.change is None for block in model.blocks)

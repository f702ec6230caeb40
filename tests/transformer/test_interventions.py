import pytest
import torch

from tests.transformer.test_model import CONFIGS, draw_tokens, each_config, random_model
from tlcourse.transformer import intervening


@torch.no_grad()
@each_config
@pytest.mark.parametrize("layer", [0, 1, 2])
def test_later_layers_see_the_change_and_it_ends_with_the_block(config, layer):
    model, tokens = random_model(config), draw_tokens()
    before, seen = model.hidden_states(tokens), []
    with intervening(model, lambda x: seen.append(x) or 2 * x, layer):
        after = model.hidden_states(tokens)
    (given,) = seen
    assert torch.equal(given, before[layer])
    x, *rest = model._inputs(tokens, None)
    expected = 2 * x if layer == 0 else x
    for number, block in enumerate(model.blocks, 1):
        expected = block(expected, *rest) * (2 if number == layer else 1)
        assert torch.equal(after[number], expected)
    assert all(torch.equal(*pair) for pair in zip(before, model.hidden_states(tokens), strict=True))


def test_blocks_may_be_nested_and_a_failure_leaves_no_trace():
    model, tokens = random_model(CONFIGS["shipped"]), draw_tokens()
    with intervening(model, lambda x: 3 * x, 1), intervening(model, lambda x: x / 3, 1):
        assert torch.allclose(model(tokens), random_model(CONFIGS["shipped"])(tokens), atol=1e-5)
    with pytest.raises(ZeroDivisionError), intervening(model, lambda x: 1 / 0, 2):
        model(tokens)
    assert not any(block._forward_hooks for block in model.blocks)
    with (
        pytest.raises(ValueError, match="a layer from 0 to 2, got -1"),
        intervening(model, abs, -1),
    ):
        pass

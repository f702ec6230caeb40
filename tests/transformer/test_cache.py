"""Keys and values that are kept: the logits are those of the whole text."""

import pytest
import torch

from tlcourse.transformer import Config, Transformer, bert, cached, gpt2, reorder

SMALL = {"vocabulary_size": 50, "width": 16, "layers": 3, "heads": 2, "feed_forward": 32}


def model(config: Config, attention: str = "explicit") -> Transformer:
    torch.manual_seed(0)
    made = Transformer(config, attention).eval()
    for parameter in made.parameters():
        parameter.data.add_(0.2 * torch.randn_like(parameter))
    return made


@pytest.mark.parametrize("attention", ["explicit", "sdpa"])
@pytest.mark.parametrize("config", [Config(**SMALL), gpt2(**SMALL)], ids=["rotary", "gpt2"])
@pytest.mark.parametrize("cuts", [(1,) * 12, (5, 1, 1, 5), (12,), (11, 1)])
@torch.no_grad()
def test_read_in_parts_the_logits_are_those_of_the_whole(config, attention, cuts) -> None:
    made, tokens = model(config, attention), torch.randint(50, (3, 12))
    whole = made(tokens)
    with cached(made):
        parts = [made(part) for part in tokens.split(cuts, dim=1)]
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, atol=2e-5, rtol=1e-5)
    torch.testing.assert_close(made(tokens), whole, atol=0, rtol=0)  # nothing is left behind


@torch.no_grad()
def test_rows_can_be_reordered() -> None:
    made, tokens = model(Config(**SMALL)), torch.randint(50, (3, 6))
    rows = torch.tensor([2, 0, 0])
    with cached(made):
        made(tokens[:, :4])
        reorder(made, rows)
        found = made(tokens[:, 4:])
    whole = made(torch.cat([tokens[rows, :4], tokens[:, 4:]], dim=1))[:, 4:]
    torch.testing.assert_close(found, whole, atol=2e-5, rtol=1e-5)


@torch.no_grad()
def test_the_positions_are_limited_and_an_error_leaves_nothing_behind() -> None:
    made, tokens = model(Config(**SMALL, max_length=8)), torch.randint(50, (1, 9))
    with pytest.raises(ValueError, match="at most 8 positions, got 9"), cached(made):
        made(tokens[:, :8])
        made(tokens[:, 8:])
    assert made.blocks[0].attention.past == 0


def test_a_model_that_sees_both_sides_is_refused() -> None:
    with pytest.raises(ValueError, match="causal model"), cached(model(bert(**SMALL))):
        pass

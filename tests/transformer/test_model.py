"""The model's promises: causality, padding, kernels that agree, looking that changes nothing."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from tests.models import noisy
from tlcourse.transformer import Block, Config, Transformer, bert, gpt2, padding_mask, record

SHAPE = dict(vocabulary_size=50, width=24, layers=2, heads=3, feed_forward=40, max_length=12)
CONFIGS = {"shipped": Config(**SHAPE), "gpt2": gpt2(**SHAPE), "bert": bert(**SHAPE)}
CAUSAL = {name: config for name, config in CONFIGS.items() if config.causal}
each_config = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)


def random_model(config: Config, attention: str = "sdpa") -> Transformer:
    return noisy(config, attention=attention)


def draw_tokens(batch: int = 3, length: int = 9) -> torch.Tensor:
    return torch.randint(50, (batch, length), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("config", CAUSAL.values(), ids=CAUSAL)
@pytest.mark.parametrize("attention", ["sdpa", "explicit"])
def test_the_future_changes_nothing_before(config: Config, attention: str) -> None:
    model, tokens = random_model(config, attention), draw_tokens()
    before = model(tokens)
    tokens[:, 5] = (tokens[:, 5] + 1) % 50
    after = model(tokens)
    assert torch.equal(before[:, :5], after[:, :5])
    assert (before[:, 5:] - after[:, 5:]).abs().amax(-1).min() > 1e-4


@each_config
@pytest.mark.parametrize("attention", ["sdpa", "explicit"])
def test_padding_changes_nothing(config: Config, attention: str) -> None:
    model, tokens = random_model(config, attention), draw_tokens(2, 9)
    mask = padding_mask(torch.tensor([9, 4]), 9)
    together = model(tokens, mask)
    assert torch.allclose(together[0], model(tokens[:1])[0], atol=1e-5)
    assert torch.allclose(together[1, :4], model(tokens[1:, :4])[0], atol=1e-5)
    tokens[1, 4:] = 7  # whatever stands at a pad
    assert torch.equal(model(tokens, mask)[1, :4], together[1, :4])
    assert model(tokens, padding_mask(torch.tensor([9, 0]), 9)).isfinite().all()


@each_config
def test_both_kernels_agree_up_to_gradients(config: Config) -> None:
    fused, explicit = random_model(config, "sdpa"), random_model(config, "explicit")
    tokens, mask = draw_tokens(), padding_mask(torch.tensor([9, 6, 1]), 9)
    for model in (fused, explicit):
        model(tokens, mask)[mask].logsumexp(-1).sum().backward()
    assert torch.allclose(fused(tokens, mask), explicit(tokens, mask), atol=1e-5)
    for one, other in zip(fused.parameters(), explicit.parameters(), strict=True):
        assert torch.allclose(one.grad, other.grad, rtol=1e-4, atol=1e-4)


def test_a_new_pre_norm_block_is_the_identity() -> None:
    model = Transformer(CONFIGS["shipped"])
    x = torch.randn(2, 9, 24)
    table = model.rotary_table if hasattr(model, "rotary_table") else None
    for block in model.blocks:
        assert torch.equal(block(x, None, table), x)
    post = Block(CONFIGS["bert"])
    assert not torch.allclose(post(x, None, None), x)


@each_config
def test_recording_gives_what_ran_and_leaves_no_trace(config: Config) -> None:
    model, tokens = random_model(config), draw_tokens()
    mask = padding_mask(torch.tensor([9, 6, 1]), 9)
    expected = model.hidden(tokens, mask)
    with record(model) as seen:
        looked = model.hidden(tokens, mask)
    assert torch.allclose(looked, expected, atol=1e-5)
    assert [block.attention.kernel for block in model.blocks] == ["sdpa", "sdpa"]
    assert all(block.attention.weights is None for block in model.blocks)
    assert not any(block._forward_hooks or block._forward_pre_hooks for block in model.blocks)
    assert [w.shape for w in seen.attention] == [(3, 3, 9, 9)] * 2
    assert len(seen.hidden_states) == 3
    assert torch.equal(seen.hidden_states[0], model.embed(tokens))
    last = seen.hidden_states[-1]
    assert torch.equal(model.norm(last) if config.norm_first else last, looked)


@torch.no_grad()
@each_config
@pytest.mark.parametrize("attention", ["sdpa", "explicit"])
def test_looking_changes_no_logit(config: Config, attention: str) -> None:
    """Not by more than rounding: what differs in float32 is gone in float64."""
    for precision, most in ((torch.float32, 1e-5), (torch.float64, 1e-13)):
        model, tokens = random_model(config, attention).to(precision), draw_tokens()
        mask = padding_mask(torch.tensor([9, 6, 1]), 9)
        expected = model(tokens, mask)
        with record(model):
            looked = model(tokens, mask)
        difference = (looked - expected)[mask].abs().max() / expected.abs().max()
        assert difference <= (0.0 if attention == "explicit" else most)


def test_a_new_pass_replaces_the_old_record() -> None:
    model = random_model(CONFIGS["shipped"])
    with record(model) as seen:
        model(draw_tokens(1, 4))
        model(draw_tokens(2, 7))
    assert [w.shape for w in seen.attention] == [(2, 3, 7, 7)] * 2
    assert len(seen.hidden_states) == 3


def test_recording_ends_when_the_pass_fails() -> None:
    model = random_model(CONFIGS["shipped"], "explicit")
    with pytest.raises(ValueError, match="at most 12 positions"), record(model):
        model(draw_tokens(1, 13))
    assert [block.attention.kernel for block in model.blocks] == ["explicit", "explicit"]
    assert not any(block._forward_hooks for block in model.blocks)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda m, t: m(t.repeat(1, 2)), "at most 12 positions, got 18; cut the text"),
        (lambda m, t: m(t, torch.ones(3, 9)), "boolean padding mask"),
        (lambda m, t: m(t, torch.ones(3, 8, dtype=torch.bool)), r"of shape \(3, 9\)"),
        (lambda m, t: m(t, types=t), "no token types"),
        (lambda m, t: m.set_attention("flash"), "'explicit'"),
    ],
)
def test_misuse_says_what_was_expected(call, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        call(random_model(CONFIGS["shipped"]), draw_tokens())


READ = torch.tensor([8, 0, 5])  # one position of each row


def gradients(model: Transformer, states: torch.Tensor) -> list[torch.Tensor]:
    weights = torch.randn(states.shape, generator=torch.Generator().manual_seed(2)).to(states)
    return torch.autograd.grad((states * weights).sum(), list(model.blocks.parameters()))


@each_config
@pytest.mark.parametrize("attention", ["sdpa", "explicit"])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("double", [False, True])
def test_one_position_is_what_the_whole_has_there(config, attention, padded, double) -> None:
    model, tokens = random_model(config, attention), draw_tokens()
    mask = padding_mask(torch.tensor([9, 4, 6]), 9) if padded else None
    model = model.double() if double else model
    found = []
    for read in (
        lambda: model.hidden(tokens, mask)[torch.arange(3), READ],
        lambda: model.hidden_at(tokens, mask, at=READ),
    ):
        states = read()
        found.append([states, *gradients(model, states)])
    largest = max(whole.abs().max() for whole in found[0])
    for whole, alone in zip(*found, strict=True):
        assert (whole - alone).abs().max() <= (1e-14 if double else 1e-6) * largest


@each_config
def test_one_position_spares_the_last_block_most_of_its_work(config) -> None:
    model, work = random_model(config), {}
    for name, read in (
        ("whole", lambda: model.hidden(draw_tokens())),
        ("alone", lambda: model.hidden_at(draw_tokens(), at=READ)),
    ):
        with FlopCounterMode(display=False) as counter:
            read()
        work[name] = counter.get_total_flops()
    assert work["alone"] < 0.75 * work["whole"]  # of two blocks


class Neighbours(torch.nn.Linear):
    """A layer that looks at other positions."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x + x.roll(1, dims=1))


def test_one_position_is_right_whatever_stands_in_the_last_block() -> None:
    model, tokens, rows = random_model(CONFIGS["shipped"]), draw_tokens(), torch.arange(3)
    model.blocks[-1].down.__class__ = Neighbours
    found = model.hidden_at(tokens, at=READ)
    assert torch.allclose(found, model.hidden(tokens)[rows, READ], atol=1e-6)


def test_who_looks_at_the_last_block_sees_all_positions() -> None:
    model, tokens, seen = random_model(CONFIGS["shipped"]), draw_tokens(), []
    expected = model.hidden_at(tokens, at=READ)
    for part in (model.blocks[-1], model.blocks[-1].attention.query, model.norm):
        hook = part.register_forward_hook(lambda part, given, out: seen.append(out.shape))
        looked = model.hidden_at(tokens, at=READ)
        hook.remove()
        assert torch.allclose(looked, expected, atol=1e-6)
    assert seen == [(3, 9, 24)] * 3
    with record(model) as kept:
        model.hidden_at(tokens, at=READ)
    assert [w.shape for w in kept.attention] == [(3, 3, 9, 9)] * 2
    assert kept.hidden_states[-1].shape == (3, 9, 24)
    model.set_attention("record")
    model.hidden_at(tokens, at=READ)
    assert model.blocks[-1].attention.weights.shape == (3, 3, 9, 9)

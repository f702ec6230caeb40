from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from tests.models import noisy
from tlcourse import objectives
from tlcourse.batching import generator_for
from tlcourse.bpe import MASK, SPECIALS
from tlcourse.transformer import Config, Transformer


def tiny(**changes) -> Transformer:
    return noisy(Config(60, 16, 2, 2, 32, 12, **changes), 0.1)


@pytest.mark.parametrize("chunk", [1, 3, 7, 100])
@pytest.mark.parametrize("with_bias", [True, False])
def test_chunked_cross_entropy_is_the_library_s_with_gradients(chunk, with_bias):
    torch.manual_seed(1)
    hidden, weight = torch.randn(7, 5, requires_grad=True), torch.randn(11, 5, requires_grad=True)
    bias = torch.randn(11, requires_grad=True) if with_bias else None
    targets = torch.randint(11, (7,))
    inputs = [hidden, weight, bias] if with_bias else [hidden, weight]
    right = F.cross_entropy(F.linear(hidden, weight, bias), targets, reduction="sum")
    got = objectives.cross_entropy(hidden, targets, weight, bias=bias, chunk=chunk)
    torch.testing.assert_close(got, right)
    for mine, theirs in zip(
        torch.autograd.grad(3 * got, inputs), torch.autograd.grad(3 * right, inputs), strict=True
    ):
        torch.testing.assert_close(mine, theirs)


def test_chunked_cross_entropy_of_huge_logits_is_finite():
    hidden = torch.full((2, 4), 100.0)
    weight = torch.stack([torch.full((4,), 100.0), torch.full((4,), -100.0)])
    nats = objectives.cross_entropy(hidden, torch.tensor([0, 1]), weight)
    assert nats.item() == pytest.approx(80_000.0)


def test_chunked_cross_entropy_in_halves_errs_by_rounding_alone():
    torch.manual_seed(0)
    hidden, weight, targets = torch.randn(200, 16), torch.randn(50, 16), torch.randint(50, (200,))
    right = [hidden.clone().requires_grad_(), weight.clone().requires_grad_()]
    nats = F.cross_entropy(right[0] @ right[1].T, targets, reduction="sum")
    expected = torch.autograd.grad(nats, right)
    mine = [hidden.requires_grad_(), weight.requires_grad_()]
    with torch.autocast("cpu", torch.bfloat16):
        got = objectives.cross_entropy(mine[0], targets, mine[1], chunk=48)
    assert got.item() == pytest.approx(nats.item(), rel=2e-3)
    for ours, theirs in zip(torch.autograd.grad(got, mine), expected, strict=True):
        assert (ours - theirs).norm() < 0.01 * theirs.norm()


def test_causal_loss_scores_each_token_given_the_ones_before():
    model, tokens = tiny(), torch.randint(6, 60, (2, 9))
    right = 0.0
    for row in tokens:
        for place in range(1, 9):  # one at a time, the future not even handed in
            scores = model(row[None, :place])[0, -1].log_softmax(-1)
            right -= scores[row[place]].item()
    nats, targets = objectives.causal_loss(model, tokens)
    assert (nats.item(), targets) == (pytest.approx(right, rel=1e-5), 16)


@pytest.mark.parametrize("changes", [{}, {"head_transform": True, "head_bias": True}])
def test_masked_loss_scores_the_chosen_positions_only(changes):
    model, tokens = tiny(causal=False, **changes), torch.randint(6, 60, (3, 8))
    corrupted, chosen = objectives.mask_tokens(tokens, generator_for(0), 60, probability=0.4)
    scores = model(corrupted).log_softmax(-1)
    right = -sum(scores[r, p, tokens[r, p]].item() for r, p in chosen.nonzero().tolist())
    nats, targets = objectives.masked_loss(model, corrupted, tokens, chosen=chosen)
    assert (nats.item(), targets) == (pytest.approx(right, rel=1e-5), int(chosen.sum()))


def test_losses_refuse_the_other_kind_of_model():
    tokens = torch.randint(6, 60, (2, 8))
    with pytest.raises(ValueError, match="needs a causal model"):
        objectives.causal_loss(tiny(causal=False), tokens)
    with pytest.raises(ValueError, match="needs a bidirectional model"):
        objectives.masked_loss(tiny(), tokens, tokens, chosen=tokens > 30)


def test_masks_are_80_10_10_of_15_percent():
    tokens = torch.randint(6, 2000, (400, 500), generator=generator_for(1))
    corrupted, chosen = objectives.mask_tokens(tokens, generator_for(2), 2000)
    assert chosen.float().mean().item() == pytest.approx(0.15, abs=0.003)
    was, became = tokens[chosen], corrupted[chosen]
    shares = [(became == MASK), (became == was), (became != was) & (became != MASK)]
    assert [s.float().mean().item() for s in shares] == pytest.approx([0.8, 0.1, 0.1], abs=0.01)
    assert (became[(became != was) & (became != MASK)] >= len(SPECIALS)).all()
    assert torch.equal(corrupted[~chosen], tokens[~chosen])


def test_specials_are_never_chosen_and_the_input_stays():
    tokens = torch.arange(10).repeat(50, 20)
    before = tokens.clone()
    corrupted, chosen = objectives.mask_tokens(tokens, generator_for(3), 60, probability=1.0)
    assert torch.equal(chosen, tokens >= len(SPECIALS))
    assert torch.equal(tokens, before)
    assert torch.equal(corrupted[~chosen], tokens[~chosen])


def test_hidden_next_tokens_are_asked_for_at_the_position_before():
    tokens = torch.randint(6, 60, (40, 13), generator=generator_for(1))
    inputs, targets, chosen = objectives.hide_next_tokens(
        tokens, generator_for(2), 60, probability=0.4
    )
    assert inputs.shape == targets.shape == chosen.shape == (40, 12)
    assert torch.equal(targets, tokens[:, 1:])
    assert torch.equal(inputs[:, 0], tokens[:, 0]) and not chosen[:, -1].any()
    corrupted, hidden = objectives.mask_tokens(tokens, generator_for(2), 60, probability=0.4)
    assert torch.equal(inputs[:, 1:], corrupted[:, 1:-1])
    assert torch.equal(chosen[:, :-1], hidden[:, 1:-1])


def test_hybrid_loss_is_the_causal_loss_on_some_rows_and_two_sided_on_the_others():
    model = tiny()
    tokens = torch.randint(6, 60, (4, 10), generator=generator_for(4))
    inputs, targets, chosen = objectives.hide_next_tokens(
        tokens, generator_for(5), 60, probability=0.5
    )
    causal = torch.tensor([True, False, False, True])
    inputs[causal], chosen[causal] = tokens[causal, :-1], True
    one, count = objectives.causal_loss(model, tokens[causal])
    both = Transformer(replace(model.config, causal=False))
    both.load_state_dict(model.state_dict())
    scores = both(inputs[~causal]).log_softmax(-1)
    asked = chosen[~causal].nonzero().tolist()
    other = -sum(scores[r, p, targets[~causal][r, p]].item() for r, p in asked)
    nats, number = objectives.hybrid_loss(model, inputs, targets, chosen=chosen, causal=causal)
    assert number == count + len(asked)
    assert nats.item() == pytest.approx(one.item() + other, rel=1e-5)


def test_no_target_costs_nothing_and_has_gradients_of_zero():
    model = tiny(causal=False)
    tokens = torch.randint(6, 60, (2, 8))
    nats, targets = objectives.masked_loss(model, tokens, tokens, chosen=tokens < 0)
    nats.backward()
    assert (nats.item(), targets) == (0.0, 0)
    assert all(not p.grad.any() for p in model.parameters())

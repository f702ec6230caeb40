"""Layers of experts against the feed-forward layer, the dense mixture, and a count of the rows."""

from copy import deepcopy

import pytest
import torch

from tlcourse.objectives import causal_loss
from tlcourse.transformer import (
    Block,
    Config,
    Deberta,
    EncoderDecoder,
    ExpertBlock,
    Experts,
    Routes,
    Transformer,
    add_experts,
    balance_loss,
    bert,
    routing,
)

CONFIG = Config(50, width=16, layers=3, heads=2, feed_forward=24, max_length=12)


def draw_tokens(batch: int = 3, length: int = 9, seed: int = 1) -> torch.Tensor:
    return torch.randint(50, (batch, length), generator=torch.Generator().manual_seed(seed))


def drawn(module: torch.nn.Module) -> torch.nn.Module:
    """The module with random weights, so that experts and probabilities differ."""
    torch.manual_seed(0)
    for each in module.parameters():
        torch.nn.init.normal_(each, std=0.5)
    return module


def layer(experts: int, k: int = 1) -> Experts:
    return drawn(Experts(CONFIG, experts, k=k))


@torch.no_grad()
def test_one_expert_is_the_feed_forward_layer():
    block, x = drawn(Block(CONFIG)), torch.randn(3, 5, 16)
    one = ExpertBlock(block, CONFIG, experts=1)
    assert torch.allclose(one.experts(x), block.feed_forward(x), atol=1e-6)
    assert torch.allclose(one(x, None, None), block(x, None, None), atol=1e-6)


@torch.no_grad()
def test_with_all_experts_it_is_the_dense_mixture():
    experts, x = layer(4, k=4), torch.randn(3, 5, 16)
    weights = experts.router.scores(x).softmax(-1)
    outputs = torch.stack([expert(x) for expert in experts.experts], dim=-1)
    expected = (outputs * weights[..., None, :]).sum(-1)
    print(f"largest difference {(experts(x) - expected).abs().max():.1e}")
    assert torch.allclose(experts(x), expected, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("k", [1, 2])
def test_each_token_is_the_sum_of_its_experts(k):
    experts, x = layer(4, k), torch.randn(3, 5, 16)
    found = experts(x)
    for row, output in zip(x.view(-1, 16), found.view(-1, 16), strict=True):
        weights = experts.router.scores(row).softmax(-1)
        best = weights.argsort(descending=True)[:k]
        total = 1 if k == 1 else weights[best].sum()  # Switch's gate is the probability itself
        expected = sum(weights[i] / total * experts.experts[i](row) for i in best)
        assert torch.allclose(output, expected, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("k", [1, 2])
def test_a_token_is_computed_by_its_experts_only(k):
    experts, x, rows = layer(4, k), torch.randn(3, 5, 16), [0] * 4
    for number, expert in enumerate(experts.experts):

        def count(_, inputs, number=number):
            rows[number] += len(inputs[0])

        expert.register_forward_pre_hook(count)
    with routing(experts) as routes:
        experts(x)
    assert rows == torch.bincount(routes[0].chosen.flatten(), minlength=4).tolist()
    assert sum(rows) == k * 15


def test_an_expert_that_no_token_chooses_gets_no_rows_and_gradients_of_zero():
    experts = layer(3)
    experts.router.scores.weight.data.copy_(torch.tensor([[0.0], [1.0], [0.0]]))
    rows = {}
    for number, expert in enumerate(experts.experts):
        expert.register_forward_pre_hook(
            lambda _, inputs, number=number: rows.update({number: len(inputs[0])})
        )
    experts(torch.rand(2, 4, 16)).square().sum().backward()
    assert rows == {0: 0, 1: 8, 2: 0}
    used = [any(each.grad.any() for each in expert.parameters()) for expert in experts.experts]
    assert used == [False, True, False]


def routes(probabilities: torch.Tensor, k: int = 1) -> Routes:
    gates, chosen = probabilities.topk(k)
    return Routes(probabilities, chosen, gates)


@pytest.mark.parametrize("k", [1, 2])
def test_the_balance_loss_is_1_for_uniform_routes_and_grows(k):
    likelier = sum(torch.eye(4).roll(i, 0) for i in range(k))  # each expert for as many tokens
    uniform = routes((0.25 + 1e-6 * likelier).repeat(5, 1), k)
    assert balance_loss([uniform], coefficient=1.0).item() == pytest.approx(1, abs=1e-4)
    assert balance_loss([uniform]).item() == pytest.approx(0.01, abs=1e-6)
    assert balance_loss([uniform] * 3).item() == pytest.approx(0.03, abs=1e-6)  # layers add up
    losses = []
    for share in (0.3, 0.6, 1.0):
        rest = (1 - share) / 3
        one = torch.tensor([share, rest, rest, rest]).repeat(20, 1)
        losses.append(balance_loss([routes(one)], coefficient=1.0).item())
    assert losses == pytest.approx([1.2, 2.4, 4.0])


def test_the_balance_loss_pushes_away_from_the_experts_in_use():
    torch.manual_seed(0)
    experts, x = layer(4), torch.rand(5, 40, 16)
    experts.router.scores.weight.data[2] += 1.0  # which takes all
    optimizer, shares = torch.optim.SGD(experts.parameters(), lr=1.0), []
    for _ in range(100):
        with routing(experts) as seen:
            experts(x)
        shares.append(torch.bincount(seen[0].chosen.flatten(), minlength=4).max().item() / 200)
        optimizer.zero_grad()
        balance_loss(seen, coefficient=1.0).backward()
        optimizer.step()
    assert shares[0] == 1.0 and sum(shares[-20:]) / 20 < 0.7


@pytest.mark.parametrize("k", [1, 2])
def test_gradients_reach_the_router(k):
    model = drawn(Transformer(CONFIG))
    add_experts(model, 4, k=k)
    drawn(model)
    nats, targets = causal_loss(model, draw_tokens())
    (nats / targets).backward()
    for block in model.blocks:
        assert block.experts.router.scores.weight.grad.abs().max() > 1e-6


@torch.no_grad()
def test_copies_of_a_layer_change_nothing_if_the_gates_sum_to_1():
    model, tokens = drawn(Transformer(CONFIG)).eval(), draw_tokens()
    expected, names = model(tokens), {*model.state_dict()}
    kept = model.blocks[1]
    for k, same in ((2, True), (1, False)):
        changed = deepcopy(model)
        assert add_experts(changed, 4, k=k, layers=[0, 2]) is None
        assert torch.allclose(changed(tokens), expected, atol=1e-4) == same
        assert not changed.training and not any(part.training for part in changed.modules())
        kinds = [type(block) for block in changed.blocks]
        assert kinds == [ExpertBlock, Block, ExpertBlock]
        gone = names - {*changed.state_dict()}
        parts = ("up.weight", "up.bias", "down.weight", "down.bias")
        assert gone == {f"blocks.{i}.{part}" for i in (0, 2) for part in parts}
    assert model.blocks[1] is kept


@torch.no_grad()
def test_routes_are_those_of_the_last_pass():
    model = drawn(Transformer(CONFIG))
    add_experts(model, 4, k=2, layers=[1, 2])
    with routing(model) as seen:
        model(draw_tokens(2, 9))
        model(draw_tokens(3, 5))
    assert [each.chosen.shape for each in seen] == [(15, 2)] * 2
    assert all(each.gates.sum(-1).allclose(torch.ones(15)) for each in seen)
    model(draw_tokens(2, 9))
    assert len(seen[0].chosen) == 15  # outside nothing is kept


@torch.no_grad()
def test_one_position_alone_is_computed_as_in_the_text():
    model, at = drawn(Transformer(CONFIG)), torch.tensor([2, 8, 0])
    add_experts(model, 4, k=2)
    expected = model.hidden(draw_tokens())[torch.arange(3), at]
    assert torch.allclose(model.hidden_at(draw_tokens(), at=at), expected, atol=1e-5)


@torch.no_grad()
def test_an_encoder_decoder_can_have_them_too():
    model = drawn(EncoderDecoder(CONFIG))
    tokens, source = draw_tokens(), draw_tokens(seed=2)
    expected = model(tokens, source=source)
    add_experts(model.encoder, 2, k=2)
    add_experts(model.decoder, 2, k=2)
    assert torch.allclose(model(tokens, source=source), expected, atol=1e-4)


@torch.no_grad()
def test_it_works_in_lower_precision():
    model = drawn(Transformer(CONFIG)).bfloat16()
    add_experts(model, 4, k=2)
    assert model(draw_tokens()).dtype == torch.bfloat16
    with torch.autocast("cpu", torch.bfloat16):
        assert model.float()(draw_tokens()).isfinite().all()


def test_what_cannot_be_is_refused_and_changes_nothing():
    for k in (0, 5):
        with pytest.raises(ValueError, match=f"from 1 to the 4 experts, got {k}"):
            Experts(CONFIG, 4, k=k)
    with pytest.raises(ValueError, match="got EncoderDecoder; give the encoder"):
        add_experts(EncoderDecoder(CONFIG))
    model = Transformer(CONFIG)
    with pytest.raises(ValueError, match=r"from 0 to 2, got \[3\]"):
        add_experts(model, layers=[0, 3])
    with pytest.raises(ValueError, match="from 1 to the 2 experts"):
        add_experts(model, 2, k=3)
    with pytest.raises(ValueError, match="expected a model with layers of experts"), routing(model):
        pass
    assert [type(block) for block in model.blocks] == [Block] * 3
    add_experts(model, layers=[1])
    with pytest.raises(ValueError, match="in layer 1, got ExpertBlock"):
        add_experts(model)
    with pytest.raises(ValueError, match="got DisentangledBlock"):
        shape = dict(vocabulary_size=50, width=16, layers=2, heads=2, feed_forward=24)
        add_experts(Deberta(bert(**shape), reach=4))

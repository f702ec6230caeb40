"""The LSTM against a loop by hand and `nn.LSTM`; its dropout; texts in pieces; what is refused."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from tlcourse.recurrent import LSTM, LockedDropout, LSTMConfig, LSTMLayer, awd_lstm
from tlcourse.transformer import Config, count_parameters

SMALL = LSTMConfig(300, 8, (12, 10))
DROPOUTS = {
    "weight_drop": 0.5,
    "embedding_dropout": 0.3,
    "input_dropout": 0.4,
    "dropout": 0.4,
    "output_dropout": 0.4,
}


def model_of(config: LSTMConfig = SMALL) -> LSTM:
    torch.manual_seed(0)
    return LSTM(config).eval()


def by_hand(layer: LSTMLayer, x: torch.Tensor) -> torch.Tensor:
    """The states of a layer, one row, one step and one gate at a time."""
    of_gates = list(zip(*(each.chunk(4) for each in layer.lstm.parameters()), strict=True))
    rows = []
    for row in x:
        hidden = cell = torch.zeros(layer.lstm.hidden_size, dtype=x.dtype)
        steps = []
        for step in row:
            gates = [w @ step + b + c + u @ hidden for w, u, b, c in of_gates]
            enters, keeps, new, leaves = gates
            cell = keeps.sigmoid() * cell + enters.sigmoid() * new.tanh()
            hidden = leaves.sigmoid() * cell.tanh()
            steps.append(hidden)
        rows.append(torch.stack(steps))
    return torch.stack(rows)


def test_a_layer_is_the_equations_of_an_lstm():
    torch.manual_seed(0)
    layer, x = LSTMLayer(5, 7, 7).double(), torch.randn(2, 6, 5, dtype=torch.double)
    torch.testing.assert_close(layer(x), by_hand(layer, x), rtol=1e-12, atol=1e-12)
    narrow = LSTMLayer(5, 7, 3).double()
    expected = by_hand(narrow, x) @ narrow.down.weight.T + narrow.down.bias
    torch.testing.assert_close(narrow(x), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("training", [True, False])
def test_without_dropout_the_layers_are_those_of_pytorch(training):
    model = model_of(LSTMConfig(300, 8, (8, 8, 8))).train(training)
    reference = nn.LSTM(8, 8, num_layers=3, batch_first=True)
    for number, block in enumerate(model.blocks):
        for name, parameter in block.lstm.named_parameters():
            getattr(reference, name.replace("l0", f"l{number}")).data.copy_(parameter.data)
    tokens = torch.randint(300, (2, 9))
    hidden, state = model.read(tokens)
    expected, (hiddens, cells) = reference(8**0.5 * model.embedding(tokens))
    assert torch.equal(hidden, expected)
    assert torch.equal(torch.cat([each for each, _ in state]), hiddens)
    assert torch.equal(torch.cat([each for _, each in state]), cells)
    assert torch.equal(model(tokens), expected @ model.embedding.weight.T)


def test_the_dropout_of_awd_lstm_is_off_in_evaluation():
    plain, dropping = model_of(), LSTM(replace(SMALL, **DROPOUTS))
    dropping.load_state_dict(plain.state_dict())
    tokens = torch.randint(300, (2, 9))
    assert torch.equal(dropping.eval()(tokens), plain(tokens))
    assert not torch.equal(dropping.train()(tokens), plain(tokens))


def dropped_weights(layer: LSTMLayer, x: torch.Tensor) -> torch.Tensor:
    """Which recurrent weights a forward pass did not use: those without a gradient."""
    (gradient,) = torch.autograd.grad(layer(x).sum(), layer.lstm.weight_hh_l0)
    return gradient == 0


def test_the_mask_of_the_weights_is_one_for_a_pass_and_another_for_the_next():
    torch.manual_seed(0)
    layer, x = LSTMLayer(5, 20, 20, weight_drop=0.3), torch.randn(2, 6, 5)
    masks = [dropped_weights(layer, x) for _ in range(20)]
    assert not torch.equal(masks[0], masks[1])
    share = torch.stack(masks).float().mean()  # had the steps masks of their own: 0.3 ** 5
    assert share.item() == pytest.approx(0.3, abs=0.01)
    assert not dropped_weights(layer.eval(), x).any()


def test_a_pass_with_dropped_weights_is_one_with_these_weights():
    torch.manual_seed(0)
    layer, x = LSTMLayer(5, 6, 6, weight_drop=0.5), torch.randn(2, 6, 5)
    weight = layer.lstm.weight_hh_l0
    torch.manual_seed(1)
    dropped = dropped_weights(layer, x)
    torch.manual_seed(1)
    found = layer(x)
    plain = LSTMLayer(5, 6, 6)
    plain.load_state_dict(layer.state_dict())
    plain.lstm.weight_hh_l0.data = weight.detach().masked_fill(dropped, 0.0) / 0.5
    torch.testing.assert_close(found, plain(x))
    assert torch.equal(layer.lstm.weight_hh_l0, weight)  # the parameter itself is whole


def test_the_mean_of_the_dropped_weights_is_the_weights():
    torch.manual_seed(0)
    layer, x, used = LSTMLayer(1, 4, 4, weight_drop=0.5), torch.zeros(1, 1, 1), []
    layer.lstm.register_forward_pre_hook(lambda lstm, _: used.append(lstm.weight_hh_l0.detach()))
    for _ in range(2000):
        layer(x)
    mean, weight = torch.stack(used).mean(dim=0), layer.lstm.weight_hh_l0.detach()
    # Each is 0 or twice the weight, so the mean of 2,000 has a standard error of 2 %.
    assert ((mean - weight).abs() < 4 * weight.abs() / 2000**0.5).all()


def test_locked_dropout_drops_a_feature_at_all_positions_of_a_row():
    torch.manual_seed(0)
    kept = LockedDropout(0.25)(torch.ones(200, 5, 30))
    assert torch.equal(kept, kept[:, :1].expand_as(kept))
    assert kept.unique().tolist() == [0.0, pytest.approx(1 / 0.75)]
    assert (kept[:, 0] == 0).float().mean().item() == pytest.approx(0.25, abs=0.02)
    assert not torch.equal(kept[0, 0], kept[1, 0])


def test_embedding_dropout_drops_whole_words():
    model = model_of(replace(SMALL, embedding_dropout=0.3)).train()
    tokens = torch.arange(300).repeat(2, 3)  # each word six times
    found = model.embed(tokens).view(6, 300, 8)
    dropped = (found == 0).all(dim=-1)
    assert torch.equal(dropped, dropped[:1].expand_as(dropped))
    assert dropped[0].float().mean().item() == pytest.approx(0.3, abs=0.08)
    kept = ~dropped[0]
    expected = 8**0.5 * model.embedding.weight[kept] / 0.7
    torch.testing.assert_close(found[0, kept], expected)


def test_a_position_sees_only_itself_and_the_past():
    model, tokens = model_of(), torch.randint(300, (2, 9))
    other = tokens.clone()
    other[:, 6] = (other[:, 6] + 1) % 300
    same = model(tokens) == model(other)
    assert same[:, :6].all() and not same[:, 6:].all(dim=-1).any()


def test_padding_at_the_end_changes_no_token():
    model, tokens = model_of(), torch.randint(300, (2, 9))
    mask = torch.arange(9) < torch.tensor([[9], [5]])
    states = model.hidden_states(tokens, mask)
    alone = model.hidden_states(tokens[1:, :5])
    for state, expected in zip(states, alone, strict=True):
        torch.testing.assert_close(state[1:, :5], expected)
    at = model.hidden_at(tokens, mask, at=mask.sum(dim=1) - 1)
    torch.testing.assert_close(at[1], alone[-1][0, -1])


@pytest.mark.parametrize("config", [SMALL, LSTMConfig(300, 8, (8,))])
def test_pieces_with_their_state_are_the_whole_text(config):
    model, tokens = model_of(config), torch.randint(300, (2, 11))
    state, pieces = None, []
    for piece in tokens.split(4, dim=1):
        hidden, state = model.read(piece, state=state)
        pieces.append(hidden)
    torch.testing.assert_close(torch.cat(pieces, dim=1), model.hidden(tokens))
    assert not any(each.requires_grad for layer in state for each in layer)
    afresh = model.hidden(tokens[:, 8:])
    assert not torch.allclose(pieces[-1], afresh, atol=1e-3)


def test_the_states_are_as_wide_as_the_layers():
    states = model_of().hidden_states(torch.randint(300, (2, 9)))
    assert [state.shape for state in states] == [(2, 9, 8), (2, 9, 12), (2, 9, 8)]


def test_the_context_reaches_the_head_of_a_new_model():
    model, tokens = model_of(LSTMConfig()), torch.randint(8192, (2, 12))
    other = tokens.clone()
    other[:, 3] = (other[:, 3] + 1) % 8192
    states, others = model.hidden(tokens), model.hidden(other)
    for ahead, least in ((3, 0.3), (6, 0.1)):
        apart = (states - others)[:, ahead].norm(dim=-1) / states[:, ahead].norm(dim=-1)
        assert (apart > least).all()


def test_the_default_is_as_large_as_the_shipped_transformer():
    parameters = count_parameters(LSTM(LSTMConfig()))["total"]
    assert parameters == pytest.approx(count_parameters(Config())["total"], rel=0.01)


def test_awd_lstm_has_the_sizes_of_the_paper():
    """Merity et al. (2018), tables 1 and 2: 33M for WikiText-2, 24M with Penn Treebank's words."""
    for words, millions in ((33_278, 33), (10_000, 24)):
        config = awd_lstm(vocabulary_size=words)
        with torch.device("meta"):
            model = LSTM(config)
        assert count_parameters(model)["total"] == pytest.approx(millions * 1e6, rel=0.02)
        assert all(isinstance(block.down, nn.Identity) for block in model.blocks)
    assert awd_lstm(output_dropout=0.1) == replace(awd_lstm(), output_dropout=0.1)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"units": ()}, "layers: expected at least 1, got 0"),
        ({"units": (8, 0)}, "units of layer 1: expected at least 1, got 0"),
        ({"width": 0}, "width: expected at least 1, got 0"),
        ({"weight_drop": 1.5}, "weight_drop: expected a rate from 0 to 1, got 1.5"),
    ],
)
def test_shapes_that_no_model_has_are_refused(changes, said):
    with pytest.raises(ValueError, match=said):
        LSTMConfig(**changes)


def test_masks_and_states_that_do_not_fit_are_refused():
    model, tokens = model_of(), torch.randint(300, (2, 9))
    with pytest.raises(ValueError, match="a boolean padding mask .* of shape"):
        model(tokens, torch.ones(2, 9))
    left = torch.arange(9) >= torch.tensor([[0], [4]])
    with pytest.raises(ValueError, match="padding at the end of each row"):
        model(tokens, left)
    _, state = model.read(tokens)
    with pytest.raises(ValueError, match="a state of 2 layers and 1 rows, got 2 and 2"):
        model.read(tokens[:1], state=state)
    with pytest.raises(ValueError, match="a state of 2 layers and 2 rows, got 1 and 2"):
        model.read(tokens, state=state[:1])

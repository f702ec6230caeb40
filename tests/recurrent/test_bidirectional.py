"""ELMo's pair of language models: two directions that do not see what they predict."""

import pytest
import torch

from tlcourse.recurrent import LSTM, BiLSTM, BiLSTMConfig, LSTMConfig, mirrored
from tlcourse.transformer import count_parameters

SMALL = BiLSTMConfig(300, 16, (12, 10))
LENGTHS = torch.tensor([[9], [5]])


def model_of(config: BiLSTMConfig = SMALL) -> BiLSTM:
    torch.manual_seed(0)
    return BiLSTM(config).eval()


def test_rows_are_mirrored_within_their_padding():
    x = torch.tensor([[1, 2, 3, 4], [1, 2, 0, 0], [7, 0, 0, 0]])
    found = mirrored(x, x != 0)
    assert found.tolist() == [[4, 3, 2, 1], [2, 1, 0, 0], [7, 0, 0, 0]]
    assert torch.equal(mirrored(found, x != 0), x)
    assert mirrored(x).tolist() == [[4, 3, 2, 1], [0, 0, 2, 1], [0, 0, 0, 7]]


def test_the_directions_share_the_embedding_and_nothing_else():
    model = model_of()
    one = count_parameters(LSTM(LSTMConfig(300, 8, (12, 10))))
    both = count_parameters(model)
    assert both["total"] == 2 * one["total"] - one["embedding"]
    assert one["embedding"] == 300 * 8


def test_the_backward_model_is_the_forward_model_of_the_mirrored_text():
    model, tokens = model_of(), torch.randint(300, (2, 9))
    model.backward_lm.load_state_dict(model.forward_lm.state_dict())
    states = model.hidden_states(tokens)
    other_way = model.hidden_states(tokens.flip(1))
    for state, other in zip(states, other_way, strict=True):
        forward, backward = state.chunk(2, dim=-1)
        assert torch.equal(backward.flip(1), other.chunk(2, dim=-1)[0])
        assert torch.equal(forward.flip(1), other.chunk(2, dim=-1)[1])


def test_the_states_are_those_of_each_direction_alone():
    model, tokens = model_of(), torch.randint(300, (2, 9))
    states = model.hidden_states(tokens)
    forward = model.forward_lm.hidden_states(tokens)
    backward = model.backward_lm.hidden_states(tokens.flip(1))
    assert [state.shape[-1] for state in states] == [16, 24, 16]
    for state, left, right in zip(states, forward, backward, strict=True):
        assert torch.equal(state, torch.cat([left, right.flip(1)], dim=-1))


def test_each_direction_sees_its_side_alone():
    model, tokens = model_of(), torch.randint(300, (2, 9))
    other = tokens.clone()
    other[:, 6] = (other[:, 6] + 1) % 300
    forward, backward = (
        (logits == others).all(dim=-1)
        for logits, others in zip(model(tokens), model(other), strict=True)
    )
    assert forward[:, :6].all() and not forward[:, 6:].any()
    assert backward[:, 7:].all() and not backward[:, :7].any()


def test_padding_at_the_end_changes_no_token():
    model, tokens = model_of(), torch.randint(300, (2, 9))
    mask = torch.arange(9) < LENGTHS
    states, alone = model.hidden_states(tokens, mask), model.hidden_states(tokens[1:, :5])
    for state, expected in zip(states, alone, strict=True):
        torch.testing.assert_close(state[1:, :5], expected)
    at = model.hidden_at(tokens, mask, at=torch.tensor([0, 0]))
    torch.testing.assert_close(at[1], alone[-1][0, 0])
    with pytest.raises(ValueError, match="padding at the end"):
        model.hidden(tokens, mask.flip(1))


def test_an_odd_width_is_refused():
    with pytest.raises(ValueError, match="an even width, half for each direction, got 15"):
        BiLSTMConfig(300, 15, (8,))

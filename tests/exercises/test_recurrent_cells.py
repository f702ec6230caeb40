"""Right and wrong answers to the exercises on recurrent models."""

import torch
from torch import nn

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.recurrent.lstm_cell import kept, lstm_cell, of_cell, right, stepping


def by_cell(x, weight_ih, weight_hh, bias):
    """PyTorch's function for one step."""
    state = (x.new_zeros(x.shape[0], weight_hh.shape[1]),) * 2
    states = []
    for step in x.unbind(1):
        state = torch.lstm_cell(step, state, weight_ih, weight_hh, bias, torch.zeros_like(bias))
        states.append(state[0])
    return torch.stack(states, 1)


def by_parts(x, weight_ih, weight_hh, bias):
    """All inputs are multiplied at once; the gates are cut by slices."""
    n = weight_hh.size(1)
    inputs = torch.einsum("bli,gi->blg", x, weight_ih) + bias
    hidden, cell, found = torch.zeros(len(x), n), torch.zeros(len(x), n), []
    for position in range(x.size(1)):
        total = inputs[:, position] + hidden.mm(weight_hh.t())
        gates = torch.sigmoid(total)
        cell = gates[:, n : 2 * n] * cell + gates[:, :n] * torch.tanh(total[:, 2 * n : 3 * n])
        hidden = gates[:, 3 * n :] * torch.tanh(cell)
        found += [hidden.unsqueeze(1)]
    return torch.cat(found, 1)


def recursive(x, weight_ih, weight_hh, bias):
    """Column vectors, and a list of pairs (h, c)."""
    pairs = [(torch.zeros(weight_hh.shape[1], len(x)),) * 2]
    for step in x.permute(1, 2, 0):
        h, c = pairs[-1]
        i, f, g, o = (weight_ih @ step + weight_hh @ h + bias[:, None]).split(len(h))
        c = torch.addcmul(torch.sigmoid(f) * c, torch.sigmoid(i), torch.tanh(g))
        pairs.append((torch.sigmoid(o) * torch.tanh(c), c))
    return torch.stack([h.T for h, _ in pairs[1:]], dim=1)


def with_first_zeros(x, *weights):
    """The zeros at the beginning are returned, too, and the last state is not."""
    states = lstm_cell(x, *weights)
    return torch.cat([torch.zeros_like(states[:, :1]), states[:, :-1]], dim=1)


def backwards(x, *weights):
    return lstm_cell(x.flip(1), *weights).flip(1)


def with_one_state(x, *weights):
    """All rows share the state of the first row."""
    return lstm_cell(x, *weights)[:1].expand(len(x), -1, -1)


def rows_as_steps(x, *weights):
    """The rows of the batch are read one after the other, as one text."""
    return lstm_cell(x.reshape(1, -1, x.shape[2]), *weights).reshape(*x.shape[:2], -1)


def detached(x, weight_ih, weight_hh, bias):
    """The gradient ends at each step."""
    return stepping(right, reads=lambda h, c: h.detach())(x, weight_ih, weight_hh, bias)


def without_gradient(*given):
    with torch.no_grad():
        return lstm_cell(*given)


def in_place(x, weight_ih, weight_hh, bias):
    bias += 1
    return lstm_cell(x, weight_ih, weight_hh, bias - 1)


def plain_recurrence(x, weight_ih, weight_hh, bias):
    """An Elman network with the first gate's weights."""
    n = weight_hh.shape[1]
    h, states = x.new_zeros(len(x), n), []
    for step in x.unbind(1):
        h = torch.tanh(step @ weight_ih[:n].T + h @ weight_hh[:n].T + bias[:n])
        states.append(h)
    return torch.stack(states, 1)


def coupled(i, f, g, c):
    """As in a GRU: what is forgotten is filled."""
    return f.sigmoid() * c + (1 - f.sigmoid()) * g.tanh()


def doubled_bias(x, weight_ih, weight_hh, bias):
    return lstm_cell(x, weight_ih, weight_hh, 2 * bias)


def cut_by_units(x, weight_ih, weight_hh, bias):
    """The four gates of a unit are neighbours."""
    h = c = x.new_zeros(len(x), weight_hh.shape[1])
    states = []
    for step in x.unbind(1):
        total = step @ weight_ih.T + h @ weight_hh.T + bias
        h, c = right([total[:, k::4] for k in range(4)], c)
        states.append(h)
    return torch.stack(states, 1)


def over_the_batch(x, weight_ih, weight_hh, bias):
    h = c = x.new_zeros(x.shape[1], weight_hh.shape[1])
    states = []
    for step in x:
        h, c = right((step @ weight_ih.T + h @ weight_hh.T + bias).chunk(4, -1), c)
        states.append(h)
    return torch.stack(states)


def in_one_tensor(x, weight_ih, weight_hh, bias):
    """The same tensor is appended in each step."""
    h = c = x.new_zeros(len(x), weight_hh.shape[1])
    h, states = h.clone(), []
    for step in x.unbind(1):
        h[:], c = right((step @ weight_ih.T + h @ weight_hh.T + bias).chunk(4, -1), c)
        states.append(h)
    return torch.stack(states, 1)


with_relu = stepping(
    of_cell(
        lambda i, f, g, c: f.sigmoid() * c + i.sigmoid() * g.relu(),
        lambda o, c, old: o.sigmoid() * c.relu(),
    )
)

test_lstm_cell_right = accepts("recurrent.lstm_cell", by_cell, by_parts, recursive)
test_lstm_cell_wrong = rejects(
    "recurrent.lstm_cell",
    (lambda *given: print(), 1, "None"),
    (lambda *given: (lstm_cell(*given), None), 1, "states alone, as one tensor"),
    (lambda *given: lstm_cell(*given).numpy(), 1, "an ndarray"),
    (lambda *given: lstm_cell(*given)[:, -1], 1, "the last position alone"),
    (stepping(right, dim=0), 1, "The positions stand first"),
    (in_place, 1, "after the call"),
    (stepping(of_cell(kept, lambda o, c, old: o.sigmoid() * c)), 2, "without `tanh`"),
    (stepping(of_cell(kept, lambda o, c, old: c)), 2, "These are the cell states"),
    (stepping(of_cell(kept, lambda o, c, old: c.tanh())), 2, "0.310"),
    (stepping(lambda gates, c: right([gates[k] for k in (0, 1, 3, 2)], c)), 2, "The last two"),
    (with_first_zeros, 2, "The first state is 0 here"),
    (with_relu, 2, "0.310"),
    (plain_recurrence, 2, "0.310"),
    (doubled_bias, 2, "Add the bias once"),
    (cut_by_units, 2, "four blocks, one behind the other"),
    (lambda *given: lstm_cell(*given).squeeze(), 2, "Keep the axes of size 1"),
    (stepping(of_cell(lambda i, f, g, c: c + i.sigmoid() * g.tanh())), 3, "kept whole"),
    (stepping(of_cell(lambda i, f, g, c: i.sigmoid() * g.tanh())), 3, "nothing is remembered"),
    (stepping(of_cell(coupled)), 2, "0.310"),
    (backwards, 3, "In the unit that keeps half"),
    (over_the_batch, 3, "The axes of `x` are swapped"),
    (in_one_tensor, 3, "All positions hold the same state"),
    (rows_as_steps, 3, "go on into the next"),
    (stepping(right, reads=lambda h, c: c), 4, "The *cell* state is multiplied"),
    (stepping(right, reads=lambda h, c: torch.zeros_like(h)), 4, "do not read the state"),
    (with_one_state, 5, "Every row of the batch has states of its own"),
    (without_gradient, 6, "Nothing is learned without a gradient"),
    (detached, 6, "The gradient runs back through all steps"),
)


def test_a_layer_of_pytorch_has_these_states():
    torch.manual_seed(0)
    layer, x = nn.LSTM(3, 5, batch_first=True), torch.randn(2, 7, 3)
    weight_ih, weight_hh, *biases = layer.parameters()
    torch.testing.assert_close(lstm_cell(x, weight_ih, weight_hh, sum(biases)), layer(x)[0])

"""Bytes of a training step against sums done by hand."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.memory import memory_over_time, training_memory
from tlcourse.objectives import causal_loss, cross_entropy
from tlcourse.transformer import Config, Transformer

FLOAT, ROWS = 4, 7


def step(model, loss):
    return training_memory(model, [torch.optim.AdamW(model.parameters())], loss)


def test_one_layer_by_hand():
    model, x = nn.Linear(3, 5), torch.randn(ROWS, 3)
    found = step(model, lambda: model(x).square().sum())
    assert found.parameters == found.gradients == FLOAT * (3 * 5 + 5)
    # AdamW: two moments a parameter, and a counter a tensor.
    assert found.optimizer == 2 * found.parameters + 2 * FLOAT
    # The gradient of the weights needs the input, that of the square its own input.
    assert found.saved == FLOAT * ROWS * (3 + 5)
    assert found.total == found.parameters * 4 + 2 * FLOAT + found.saved
    assert found.allocator_peak is None


def test_weights_needed_for_backward_are_not_counted_twice():
    model, x = nn.Sequential(nn.Linear(3, 5), nn.Linear(5, 2)), torch.randn(ROWS, 3)
    # The second layer's weights are saved, too: its input needs a gradient.
    assert step(model, lambda: model(x).sum()).saved == FLOAT * ROWS * (3 + 5)


def test_views_count_once_and_a_slice_counts_the_whole():
    model, x = nn.Linear(4, 4, bias=False), torch.randn(100, 4)
    both = step(model, lambda: (model(x[:50]) + model(x[50:])).sum())
    assert both.saved == FLOAT * 100 * 4
    assert step(model, lambda: model(x[:1]).sum()).saved == FLOAT * 100 * 4


def test_what_the_graph_let_go_before_backward_is_not_counted():
    model, x = nn.Linear(3, 5), torch.randn(ROWS, 3)

    def loss():
        model(torch.randn(1000, 3)).square().sum()  # made and thrown away
        return model(x).square().sum()

    assert step(model, loss).saved == FLOAT * ROWS * (3 + 5)


def test_frozen_layers_have_no_gradient_and_no_state():
    model, x = nn.Sequential(nn.Linear(3, 5), nn.Linear(5, 2)), torch.randn(ROWS, 3)
    model[0].requires_grad_(False)
    moving = [p for p in model.parameters() if p.requires_grad]
    found = training_memory(model, [torch.optim.SGD(moving)], lambda: model(x).sum())
    assert found.parameters == FLOAT * (3 * 5 + 5 + 5 * 2 + 2)
    assert found.gradients == FLOAT * (5 * 2 + 2)
    assert found.optimizer == 0
    assert found.saved == FLOAT * ROWS * 5


def test_tied_weights_are_one():
    model = nn.Sequential(nn.Embedding(11, 4), nn.Linear(4, 11, bias=False))
    model[1].weight = model[0].weight
    tokens = torch.randint(11, (ROWS,))
    found = step(model, lambda: model(tokens).sum())
    assert found.parameters == found.gradients == FLOAT * 11 * 4


def test_chunked_cross_entropy_keeps_gradients_where_the_plain_one_keeps_logits():
    count, width, vocabulary = 64, 8, 1000
    head, hidden = nn.Linear(width, vocabulary, bias=False), nn.Embedding(count, width)
    model, targets = nn.ModuleList([head, hidden]), torch.randint(vocabulary, (count,))
    rows = torch.arange(count)

    def chunked():
        return cross_entropy(hidden(rows), targets, head.weight, chunk=16)

    def plain():
        return F.cross_entropy(head(hidden(rows)), targets, reduction="sum")

    rows_bytes = 8 * count  # kept by the embedding
    gradients = FLOAT * width * (count + vocabulary)
    assert step(model, chunked).saved == rows_bytes + gradients
    normaliser = FLOAT  # the number of targets, kept by PyTorch's loss
    logits = FLOAT * count * vocabulary
    # Log-probabilities, hidden states, targets, rows.
    inputs = FLOAT * count * width + 8 * count
    assert step(model, plain).saved == logits + inputs + rows_bytes + normaliser


def test_a_step_is_taken_and_nothing_is_left_behind():
    torch.manual_seed(0)
    model = Transformer(Config(vocabulary_size=50, width=16, layers=2, heads=2, feed_forward=32))
    before = model.embedding.weight.clone()
    tokens = torch.randint(6, 50, (2, 9))
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    first = training_memory(model, [optimizer], lambda: causal_loss(model, tokens)[0])
    again = training_memory(model, [optimizer], lambda: causal_loss(model, tokens)[0])
    assert first == again
    assert not torch.equal(before, model.embedding.weight)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_loss_that_reaches_no_parameter_is_an_error():
    model = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="reaches no parameter"):
        step(model, lambda: torch.ones((), requires_grad=True) * 2)


def test_memory_over_time_of_two_products_by_hand():
    a, b = torch.ones(10, 20), torch.ones(20, 30)

    def work():
        first = a @ b  # 10 by 30
        second = first + 1  # the same again
        del first
        return second.sum().item()

    seconds, held = memory_over_time(work)
    table = FLOAT * 10 * 30
    assert held[0] == held[-1] == 0 and max(held) == 2 * table
    assert held[:5] == [0, 0, table, table, 2 * table]
    assert seconds == sorted(seconds) and len(seconds) == len(held)


def test_views_and_what_was_there_before_take_no_memory():
    a = torch.ones(10, 20)
    _, held = memory_over_time(lambda: a.T[:5].view(5, 10).add_(1))
    assert max(held) == 0


def test_the_backward_pass_is_watched_too():
    hidden, weight = torch.randn(64, 8, requires_grad=True), torch.randn(500, 8)
    targets, table = torch.zeros(64, dtype=torch.long), FLOAT * 64 * 500

    def naive():
        F.cross_entropy(hidden @ weight.T, targets, reduction="sum").backward()

    def chunked():
        cross_entropy(hidden, targets, weight, chunk=64).backward()

    tables = [max(memory_over_time(work)[1]) / table for work in (naive, chunked)]
    assert 3 <= tables[0] < 3.1 and tables[1] < tables[0]

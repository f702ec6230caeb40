"""Transformer-XL: relative attention against its definition, the memory against one long pass."""

import math

import pytest
import torch
from torch.nn import functional as F

from tlcourse.objectives import causal_loss
from tlcourse.training import train
from tlcourse.transformer import (
    RelativeAttention,
    RelativeConfig,
    TransformerXL,
    relative_shift,
    sinusoids,
)

SHAPE = dict(vocabulary_size=50, width=24, layers=3, heads=3, feed_forward=40, memory_length=64)


def random_model(**changes) -> TransformerXL:
    """A model in which every parameter is random: no zero bias, no unit gain hides a mistake."""
    torch.manual_seed(0)
    model = TransformerXL(RelativeConfig(**SHAPE | changes))
    for parameter in model.parameters():
        parameter.data.add_(0.3 * torch.randn_like(parameter))
    return model.eval()


def draw_tokens(batch: int = 2, length: int = 12, seed: int = 1) -> torch.Tensor:
    return torch.randint(50, (batch, length), generator=torch.Generator().manual_seed(seed))


def by_definition(layer: RelativeAttention, x, source, mask) -> torch.Tensor:
    """The attention weights, each score computed from its definition."""
    (batch, queries, width), keys, size = x.shape, source.shape[1], x.shape[-1] // layer.heads
    weights = torch.zeros(batch, layer.heads, queries, keys)
    for b in range(batch):
        for head in range(layer.heads):
            rows = slice(head * size, (head + 1) * size)
            u, v = layer.content_bias[head, 0], layer.distance_bias[head, 0]
            for i in range(queries):
                q, scores = layer.query.weight[rows] @ x[b, i], []
                for j in range(keys):
                    distance = keys - queries + i - j
                    angles = [distance / 10_000 ** (2 * k / width) for k in range(width // 2)]
                    r = [*map(math.sin, angles), *map(math.cos, angles)]
                    r = layer.distance.weight[rows] @ torch.tensor(r)
                    k = layer.key.weight[rows] @ source[b, j]
                    score = ((q + u) @ k + (q + v) @ r) / math.sqrt(size)
                    scores.append(score if mask[i, j] else torch.tensor(-math.inf))
                weights[b, head, i] = torch.stack(scores).softmax(0)
    return weights


@torch.no_grad()
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("past", [0, 4])
def test_each_score_is_the_sum_of_its_two_terms(causal, past):
    model = random_model(causal=causal)
    layer, source = model.blocks[0].attention, torch.randn(2, past + 5, 24)
    x, mask = source[:, past:], torch.ones(5, past + 5).bool()
    if causal:
        mask = mask.tril(past)
    found = layer.weights(x, source, model.distance_table(5, past), mask)
    assert torch.allclose(found, by_definition(layer, x, source, mask), atol=1e-5)


def test_the_shift_puts_each_distance_below_its_key():
    """The numbers of the row are the distances themselves, from keys down to 1 - queries."""
    queries, keys = 3, 5
    scores = torch.arange(keys, -queries, -1).expand(2, queries, -1)
    places = torch.arange(keys)
    expected = places[keys - queries :, None] - places
    assert torch.equal(relative_shift(scores, keys), expected.expand(2, -1, -1))
    causal = relative_shift(torch.arange(keys, -1, -1).expand(queries, -1), keys)
    ahead = expected < 0
    assert torch.equal(causal[~ahead], expected[~ahead]) and ahead.sum() == 3


@torch.no_grad()
def test_chosen_queries_have_the_weights_that_they_have_among_all():
    model = random_model(causal=False)
    layer, source, mask = model.blocks[0].attention, torch.randn(2, 9, 24), torch.ones(1).bool()
    at = torch.tensor([[8, 4], [5, 8]])  # the queries are places 4 to 8
    table = model.distance_table(5, 4)
    every = layer.weights(source[:, 4:], source, table, mask)
    x = source.gather(1, at[..., None].expand(-1, -1, 24))
    found = layer.weights(x, source, table, mask, at)
    rows = (at - 4)[:, None, :, None].expand(-1, 3, -1, 9)
    assert torch.allclose(found, every.gather(2, rows), atol=1e-6)


def test_the_encoding_tells_the_direction():
    """Sine changes its sign with the distance, cosine does not."""
    here, back = sinusoids(torch.tensor([3]), 8), sinusoids(torch.tensor([-3]), 8)
    assert torch.allclose(here[:, :4], -back[:, :4]) and torch.equal(here[:, 4:], back[:, 4:])
    assert torch.equal(sinusoids(torch.tensor([0]), 8)[0], torch.tensor([0.0] * 4 + [1.0] * 4))


@torch.no_grad()
def test_only_distances_count():
    """The same tokens one place further on, behind the same memory, give the same states."""
    model, tokens = random_model(causal=False), draw_tokens(1, 6)
    padded = F.pad(tokens, (3, 2), value=7)
    mask = F.pad(torch.ones(1, 6).bool(), (3, 2))
    found = model.hidden(padded, mask)[:, 3:9]
    assert torch.allclose(found, model.hidden(tokens), atol=1e-5)


@torch.no_grad()
def long_pass(model: TransformerXL, tokens, segment: int) -> torch.Tensor:
    """The logits of all tokens in one pass: each sees its segment so far, and the
    `memory_length` positions before its segment.
    """
    length = tokens.shape[1]
    places = torch.arange(length)
    first = places // segment * segment - model.config.memory_length
    mask = (places <= places[:, None]) & (places >= first[:, None])
    x, table = model.embedding(tokens), model.distance_table(length, 0)
    for block in model.blocks:
        x = block(x, x, table, mask)
    return model.logits(x)


@torch.no_grad()
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("memory_length", [0, 2, 4, 6, 64])
def test_segments_with_a_memory_are_one_long_pass_with_a_mask(layers, memory_length):
    """Exactly, for any number of layers: the states in the memory are those of the long pass,
    because no position ever sees a later one.
    """
    model, tokens = random_model(layers=layers, memory_length=memory_length), draw_tokens()
    found, memory = [], None
    for part in tokens.split(4, dim=1):
        logits, memory = model(part, memory=memory)
        found.append(logits)
    assert [kept.shape for kept in memory] == [(2, min(12, memory_length), 24)] * layers
    assert torch.allclose(torch.cat(found, 1), long_pass(model, tokens, 4), atol=1e-5)


@torch.no_grad()
def test_a_long_memory_makes_segments_the_whole_text():
    model, tokens = random_model(), draw_tokens()
    _, memory = model(tokens[:, :7])
    logits, _ = model(tokens[:, 7:], memory=memory)
    assert torch.allclose(logits, model(tokens)[0][:, 7:], atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize(("layers", "reached"), [(1, 4), (2, 0), (3, 0)])
def test_the_reach_grows_with_the_layers(layers, reached):
    """The last of three segments of 4 reads a memory of 4: with one layer, it sees the second
    segment; with two, also the first, from which the states of the second were computed.
    """
    model, tokens = random_model(layers=layers, memory_length=4), draw_tokens(1)

    def last(tokens):
        memory = None
        for part in tokens.split(4, dim=1):
            logits, memory = model(part, memory=memory)
        return logits[:, -1]

    before = last(tokens)
    changes = []
    for place in range(12):
        other = tokens.clone()
        other[:, place] = (other[:, place] + 1) % 50
        changes.append((last(other) - before).abs().max().item() > 1e-6)
    assert changes.index(True) == reached


def test_no_gradient_flows_into_the_memory():
    model, tokens = random_model(), draw_tokens()
    _, memory = model(tokens[:, :6])
    assert not any(kept.requires_grad for kept in memory)
    unused = (torch.arange(50)[:, None] == tokens[:, :6].flatten()).any(1)
    unused &= ~(torch.arange(50)[:, None] == tokens[:, 6:].flatten()).any(1)
    hidden = model.hidden(tokens[:, 6:], memory=memory)  # no head, which uses all embeddings
    hidden.sum().backward()
    assert unused.any() and not model.embedding.weight.grad[unused].any()
    model.zero_grad()
    model.hidden(tokens)[:, 6:].square().sum().backward()
    assert model.embedding.weight.grad[unused].abs().sum(1).min() > 0


@torch.no_grad()
def test_a_loss_depends_on_the_segment_before():
    model, tokens = random_model(), draw_tokens()
    other = tokens.clone()
    other[:, 2] = (other[:, 2] + 1) % 50

    def nats(tokens):
        _, memory = model(tokens[:, :6])
        logits, _ = model(tokens[:, 6:-1], memory=memory)
        return F.cross_entropy(logits[:, -1], tokens[:, -1])

    assert (nats(tokens) - nats(other)).abs() > 1e-4


def test_a_memory_of_another_model_is_refused():
    _, memory = random_model(layers=2)(draw_tokens())
    with pytest.raises(ValueError, match="3 layers and 2 rows, got 2 and 2"):
        random_model()(draw_tokens(), memory=memory)
    with pytest.raises(ValueError, match="2 layers and 3 rows, got 2 and 2"):
        random_model(layers=2)(draw_tokens(3), memory=memory)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(width=25), "a multiple of the 3 heads"),
        (dict(width=9), "an even width"),
        (dict(layers=0), "layers: expected at least 1"),
        (dict(memory_length=-1), "memory_length of at least 0"),
        (dict(activation="none"), "an activation out of"),
    ],
)
def test_a_shape_that_cannot_be_built_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        RelativeConfig(**SHAPE | changes)


def test_the_one_engine_trains_it():
    """Copying the first half: the token four places back is the next."""
    torch.manual_seed(0)
    model = TransformerXL(RelativeConfig(12, 32, layers=2, heads=2, feed_forward=64))

    def batch(step):
        half = torch.randint(12, (32, 4), generator=torch.Generator().manual_seed(step))
        return (half.repeat(1, 2),)

    more = {"steps": 150, "optimizers": [torch.optim.Adam(model.parameters(), lr=1e-2)]}
    train(model, lambda model, part: causal_loss(model, *part), batch, **more)
    (tokens,) = batch(10_000)
    logits, _ = model(tokens)
    right = logits[:, 3:-1].argmax(-1) == tokens[:, 4:]
    assert right.float().mean() > 0.9

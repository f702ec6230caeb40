"""Right and wrong answers to the exercises of lesson 10b, and their agreement with the package."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse import transformer
from tlcourse.batching import generator_for
from tlcourse.exercises.architectures.attend_with_memory import attend_with_memory, attending
from tlcourse.exercises.architectures.order_masks import compared, order_masks
from tlcourse.exercises.architectures.route import gated, route
from tlcourse.transformer import Config, Experts, RelativeAttention, RelativeConfig

# order_masks


def step_after_step(order):
    n, before = len(order), []
    content, query = torch.zeros(n, n, dtype=torch.bool), torch.zeros(n, n, dtype=torch.bool)
    for position in order.tolist():
        query[position, before] = True
        before.append(position)
        content[position, before] = True
    return content, query


def permuted_triangle(order):
    n = len(order)
    query = torch.zeros(n, n, dtype=torch.bool)
    query[order[:, None], order] = torch.ones(n, n, dtype=torch.bool).tril(-1)
    return query | torch.eye(n, dtype=torch.bool), query


def by_matrices(order):
    places = F.one_hot(order, len(order)).float()
    triangle = torch.ones(len(order), len(order)).tril()
    content = places.T @ triangle @ places > 0
    return [content, content & ~torch.eye(len(order)).bool()]


def by_numpy(order):
    steps = np.empty(len(order), dtype=int)
    steps[order.numpy()] = np.arange(len(order))
    later = np.subtract.outer(steps, steps)
    return torch.from_numpy(later >= 0), torch.from_numpy(later > 0)


def after_masks(change):
    """The reference with its two masks changed: `change(content, query)`."""
    return lambda order: change(*order_masks(order))


def in_place(order):
    order[order.clone()] = torch.arange(len(order))
    return compared(step=lambda order: order)(order)


def with_infinities(mask):
    return torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)


def without_empty_rows(content, query):
    """The first position may attend to itself, so that no softmax is empty."""
    return content, query | (torch.eye(len(query)).bool() & ~query.any(1, keepdim=True))


def last_only(order):
    """Each position sees the one before it in the order only."""
    query = torch.zeros(len(order), len(order), dtype=torch.bool)
    query[order[1:], order[:-1]] = True
    return query | torch.eye(len(order)).bool(), query


def causal_too(content, query):
    left = torch.ones_like(query).tril()
    return content & left, query & left


test_order_masks_right = accepts(
    "architectures.order_masks", step_after_step, permuted_triangle, by_matrices, by_numpy
)
test_order_masks_wrong = rejects(
    "architectures.order_masks",
    (lambda order: print(), 1, "None (is a `return` missing?)"),
    (lambda order: order_masks(order)[0], 1, "2 values, `return content, query`"),
    (lambda order: torch.stack(order_masks(order)), 1, "2 values, `return content, query`"),
    (after_masks(lambda *both: [each.float() for each in both]), 1, "gives booleans"),
    (after_masks(lambda *both: [*map(with_infinities, both)]), 1, "gives booleans"),
    (after_masks(lambda *both: [each.tolist() for each in both]), 1, "('list',)"),
    (after_masks(lambda *both: [each[None] for each in both]), 1, "shape (length, length)"),
    (in_place, 1, "Argument 1, `order`, after the call"),
    (after_masks(lambda content, query: (query, content)), 2, "the second of the two"),
    (after_masks(lambda content, query: (~content, query)), 2, "row 2 of the content mask 1 1 1"),
    (after_masks(lambda content, query: (~content, ~query)), 2, "Both masks are inverted"),
    (after_masks(without_empty_rows), 2, "row 2 of the query mask"),
    (last_only, 2, "position 2 may attend to 0 and 1"),
    (compared(step=lambda order: order.flip(0).argsort()), 2, "the order is read backwards"),
    (after_masks(causal_too), 3, "when a position is predicted"),
    (lambda order: [each[:, order] for each in order_masks(order)], 3, "where it stands in the"),
    (compared(step=lambda order: order.argsort().argsort()), 4, "`order[t]` is the position"),
    (lambda order: [m[:3, :3] for m in order_masks(order)], 1, "(length, length)"),
    (lambda order: [m.squeeze() for m in order_masks(order)], 5, "Expected: shape (1, 1)"),
)


@pytest.mark.parametrize("length", [1, 2, 7, 30])
def test_the_reference_builds_the_masks_of_the_package(length):
    orders = torch.rand(6, length, generator=generator_for(length)).argsort(-1)
    contents, queries = transformer.order_masks(orders)
    for order, content, query in zip(orders, contents, queries, strict=True):
        mine = order_masks(order)
        assert torch.equal(mine[0], content) and torch.equal(mine[1], query)


# attend_with_memory


def position_after_position(x, memory, query, key, value):
    memory, rows = memory.detach(), []
    for i in range(len(x)):
        seen = torch.cat((memory, x[: i + 1]))
        scores = key(seen) @ query(x[i : i + 1]).squeeze(0) / x.shape[-1] ** 0.5
        rows.append((scores.softmax(0)[:, None] * value(seen)).sum(0))
    return torch.stack(rows)


def by_the_library(x, memory, query, key, value):
    source = torch.vstack([memory.detach(), x])
    mask = torch.arange(len(source)) <= torch.arange(len(x))[:, None] + len(memory)
    return F.scaled_dot_product_attention(query(x), key(source), value(source), attn_mask=mask)


def last_rows(x, memory, query, key, value):
    source = torch.cat([memory.detach(), x])
    parts = (part(source)[None] for part in (query, key, value))
    return F.scaled_dot_product_attention(*parts, is_causal=True)[0, len(memory) :]


def in_two_parts(x, memory, query, key, value):
    memory, asks = memory.clone().detach(), query(x) / math.sqrt(x.size(1))
    old = asks @ key(memory).mT
    new = asks @ key(x).mT + torch.full((len(x), len(x)), -torch.inf).triu(1)
    total = torch.cat([old, new], dim=1).logsumexp(1, keepdim=True)
    return (old - total).exp() @ value(memory) + (new - total).exp() @ value(x)


def mixing(weights):
    """The reference with other weights: `weights(scores, seen)`."""

    def wrong(x, memory, query, key, value):
        source = torch.cat([memory.detach(), x])
        scores = query(x) @ key(source).T / x.shape[1] ** 0.5
        return weights(scores, torch.ones_like(scores).tril(len(memory)) > 0) @ value(source)

    return wrong


def shares(scores, seen):
    return scores.masked_fill(~seen, -torch.inf).softmax(-1)


def by_hand(scores, seen):
    shares = scores.exp() * seen
    return shares / shares.sum(-1, keepdim=True)


def filled(value):
    """The reference with this number in place of masked scores."""
    return mixing(lambda scores, seen: scores.masked_fill(~seen, value).softmax(-1))


def joined(x, memory):
    return torch.cat([memory.detach(), x])


def window(seen, past):
    """Where there is a memory, all positions see equally many others: the last ones."""
    return seen.tril(past) & (seen.triu() if past else seen)


def scaled_by_keys(x, memory, query, key, value):
    factor = (x.shape[1] / (len(memory) + len(x))) ** 0.5
    return attend_with_memory(x, memory, lambda rows: factor * query(rows), key, value)


def first_rows(x, memory, query, key, value):
    return attending(joined, ask=lambda x, memory: joined(x, memory)[: len(x)])(
        x, memory, query, key, value
    )


def library_causal(x, memory, query, key, value):
    source = joined(x, memory)
    return F.scaled_dot_product_attention(query(x), key(source), value(source), is_causal=True)


def constant_keys(x, memory, query, key, value):
    """What is computed from the memory is detached, too."""
    keys, values = (torch.cat([part(memory).detach(), part(x)]) for part in (key, value))
    seen = torch.ones(len(x), len(keys), dtype=torch.bool).tril(len(memory))
    return F.scaled_dot_product_attention(query(x), keys, values, seen)


def constant_source(x, memory, query, key, value):
    return attending(lambda x, memory: joined(x, memory).detach())(x, memory, query, key, value)


def without_graph(*given):
    with torch.no_grad():
        return attend_with_memory(*given)


def detached_in_place(x, memory, *functions):
    return attend_with_memory(x, memory.detach_(), *functions)


def without_keys_of_x(x, memory, query, key, value):
    return attend_with_memory(x, memory, query, lambda rows: key(rows.detach()), value)


def frozen_memory(x, memory, query, key, value):
    return attend_with_memory(x, memory.requires_grad_(False), query, key, value)


def changing_x(x, *rest):
    x -= x.mean()
    return attend_with_memory(x, *rest)


def needs_a_memory(x, memory, query, key, value):
    assert len(memory)
    return attend_with_memory(x, memory, query, key, value)


def equal_lengths(x, memory, *functions):
    return attend_with_memory(x, memory[-len(x) :], *functions)


test_attend_with_memory_right = accepts(
    "architectures.attend_with_memory",
    position_after_position,
    by_the_library,
    last_rows,
    in_two_parts,
    mixing(by_hand),
)
test_attend_with_memory_wrong = rejects(
    "architectures.attend_with_memory",
    (lambda *given: print(), 1, "None (is a `return` missing?)"),
    (lambda *given: attend_with_memory(*given).tolist(), 1, "Expected: a Tensor"),
    (lambda *given: attend_with_memory(*given)[None], 1, "a row for each position"),
    (lambda x, memory, *functions: functions[0](x) @ functions[1](x).T, 1, "(length, past +"),
    (changing_x, 1, "Argument 1, `x`, after the call"),
    (mixing(lambda scores, seen: scores.softmax(-1)), 2, "position i attends to"),
    (mixing(lambda scores, seen: shares(scores, seen).softmax(0)), 2, "causal attention"),
    (mixing(lambda scores, seen: scores.softmax(-1) * seen), 2, "causal attention"),
    (mixing(lambda scores, seen: (scores * seen).softmax(-1)), 2, "causal attention"),
    (attending(joined, lambda seen, past: seen.tril(past - 1)), 2, "NaN"),
    (attending(joined, lambda seen, past: seen.tril(past + 1)), 2, "the positions 0 to i"),
    (lambda *given: given[0] + attend_with_memory(*given), 2, "the result is `value(x)`"),
    *((filled(each), 2, "such as -100 they keep some weight") for each in (-10, -20, -50, -100)),
    (attending(joined, scale=1), 2, "`width ** 0.5`"),
    (scaled_by_keys, 2, "`width ** 0.5`"),
    (needs_a_memory, 2, "raised AssertionError"),
    (library_causal, 3, "PyTorch's `is_causal=True`"),
    (attending(joined, window), 3, "of 6, 9, 1 and 2 for"),
    (first_rows, 3, "Each position attends to the whole memory"),
    (attending(lambda x, memory: torch.cat([x, memory])), 3, "stands behind the segment"),
    (equal_lengths, 3, "the whole memory"),
    (without_graph, 5, "Nothing is learned without a gradient"),
    (frozen_memory, 5, "raised RuntimeError"),
    (constant_keys, 5, "`key` and `value` learn from it"),
    (constant_source, 5, "Detach only the memory, before it is joined"),
    (without_keys_of_x, 5, "its keys and its values"),
    (detached_in_place, 5, "changes the tensor of the caller"),
)


def test_segments_with_a_memory_are_one_long_text():
    torch.manual_seed(0)
    text, functions = torch.randn(11, 8), [torch.nn.Linear(8, 8) for _ in range(3)]
    whole = F.scaled_dot_product_attention(*(f(text)[None] for f in functions), is_causal=True)[0]
    ends, memory, found = (3, 4, 9, 11), text[:0], []
    for start, end in zip((0, *ends), ends, strict=False):
        found.append(attend_with_memory(text[start:end], memory, *functions))
        memory = text[:end]
    torch.testing.assert_close(torch.cat(found), whole)


def test_it_is_the_attention_of_the_package_without_distances():
    torch.manual_seed(0)
    layer = RelativeAttention(RelativeConfig(width=8, heads=1))
    for part in (layer.distance.weight, layer.content_bias, layer.distance_bias):
        torch.nn.init.zeros_(part)
    torch.nn.init.eye_(layer.output.weight)
    x, memory = torch.randn(4, 8), torch.randn(3, 8)
    mask = torch.ones(4, 7, dtype=torch.bool).tril(3)
    due = layer(x[None], torch.cat([memory, x])[None], torch.randn(8, 8), mask)[0]
    found = attend_with_memory(x, memory, layer.query, layer.key, layer.value)
    torch.testing.assert_close(found, due)


# route


def by_numbers(x, router, experts):
    probabilities = F.softmax(router(x), 1)
    gate, best = probabilities.topk(1)
    mixed, counts = torch.zeros_like(x), []
    for e in range(len(experts)):
        (tokens,) = torch.where(best[:, 0] == e)
        counts.append(tokens.numel())
        if len(tokens):
            mixed = mixed.index_add(0, tokens, experts[e](x[tokens]) * gate[tokens])
    return mixed, torch.tensor(counts)


def by_sorting(x, router, experts):
    scores = router(x)
    chosen = scores.argmax(dim=1)
    order = chosen.argsort(stable=True)
    counts = F.one_hot(chosen, len(experts)).sum(0)
    groups = x[order].split(counts.tolist())
    outputs = torch.cat([run(group) for run, group in zip(experts, groups, strict=True)])
    gate = (scores.amax(1) - scores.logsumexp(1)).exp()
    return gate[:, None] * outputs[order.argsort()], counts


def by_lists(x, router, experts):
    shares = [router(token[None])[0].softmax(0) for token in x]
    groups = [[] for _ in experts]
    for token, share in enumerate(shares):
        groups[share.argmax()].append(token)
    rows = [None] * len(x)
    for expert, group in zip(experts, groups, strict=True):
        if group:
            for token, row in zip(group, expert(torch.stack([x[i] for i in group])), strict=True):
                rows[token] = row * shares[token].max()
    return [torch.stack(rows), torch.tensor([len(group) for group in groups], dtype=torch.int32)]


def by_weights(x, router, experts):
    probabilities = router(x).softmax(-1)
    one_hot = F.one_hot(probabilities.argmax(-1), len(experts))
    output = x.new_zeros(x.shape)
    for number, expert in enumerate(experts):
        output = output.masked_scatter(
            one_hot[:, number, None] > 0, expert(x[one_hot[:, number] > 0])
        )
    return output * (probabilities * one_hot).sum(-1, keepdim=True), one_hot.sum(0)


def after_route(change):
    """The reference with its results changed: `change(output, counts, *given)`."""
    return lambda *given: change(*route(*given), *given)


def summed_probabilities(output, counts, x, router, experts):
    return output, router(x).softmax(-1).sum(0)


def calls(run):
    """The reference with experts that are called in another way: `run(expert, rows)`."""

    def wrong(x, router, experts):
        return route(
            x, router, [lambda rows, e=e: run(e, rows) if len(rows) else rows for e in experts]
        )

    return wrong


def through_zeros(x, router, experts):
    gate, chosen = router(x).softmax(-1).max(-1)
    mine = [(chosen == number)[:, None] for number in range(len(experts))]
    output = sum(m * run(x * m) for m, run in zip(mine, experts, strict=True))
    return gate[:, None] * output, torch.stack(mine).sum((1, 2))


def gated_input(x, router, experts):
    gate, chosen = router(x).softmax(-1).max(-1)
    output = torch.zeros_like(x)
    for number, expert in enumerate(experts):
        mine = chosen == number
        output[mine] = expert(gate[mine, None] * x[mine])
    return output, chosen.bincount(minlength=len(experts))


def with_capacity(x, router, experts):
    """An expert takes no more than its share; the other tokens get 0."""
    gate, chosen = router(x).softmax(-1).max(-1)
    room, output = math.ceil(len(x) / len(experts)), torch.zeros_like(x)
    for number, expert in enumerate(experts):
        mine = (chosen == number).nonzero()[:room, 0]
        output[mine] = gate[mine, None] * expert(x[mine])
    return output, chosen.bincount(minlength=len(experts))


def two_experts(x, router, experts):
    gates, chosen = router(x).softmax(-1).topk(min(2, len(experts)))
    output = torch.zeros_like(x)
    for number, expert in enumerate(experts):
        token, place = (chosen == number).nonzero(as_tuple=True)
        output = output.index_add(0, token, gates[token, place, None] * expert(x[token]))
    return output, chosen.flatten().bincount(minlength=len(experts))


def loudest(x, router, experts):
    """Chooses by the size of a score, whatever its sign."""
    scores = router(x)
    return after_choice(x, scores.softmax(-1), scores.abs().argmax(-1), experts)


def worst(x, router, experts):
    shares = router(x).softmax(-1)
    return after_choice(x, shares, shares.argmin(-1), experts)


def most_certain_first(x, router, experts):
    gate, chosen = router(x).softmax(-1).max(-1)
    order, output = gate.argsort(descending=True), torch.zeros_like(x)
    for number, expert in enumerate(experts):
        mine = order[chosen[order] == number]
        output[mine] = gate[mine, None] * expert(x[mine])
    return output, chosen.bincount(minlength=len(experts))


def all_of_the_best(x, router, experts):
    """With equal scores a token has several experts, of which the last one counts."""
    scores, counts, output = router(x), [], torch.zeros_like(x)
    for number, expert in enumerate(experts):
        mine = scores[:, number] == scores.amax(1)
        counts.append(mine.sum())
        output[mine] = scores.softmax(-1)[mine, number, None] * expert(x[mine])
    return output, torch.stack(counts)


def sorted_twice(output, counts, x, router, experts):
    """Sorted by expert, and by the same permutation once more in place of its inverse."""
    order = router(x).argmax(-1).argsort(stable=True)
    return output[order][order], counts


def after_choice(x, shares, chosen, experts):
    output = torch.zeros_like(x)
    for number, expert in enumerate(experts):
        mine = chosen == number
        output[mine] = shares[mine, number, None] * expert(x[mine])
    return output, chosen.bincount(minlength=len(experts))


def adding_to_x(x, router, experts):
    x += route(x, router, experts)[0]
    return x, route(x, router, experts)[1]


def without_learning(*given):
    with torch.no_grad():
        return route(*given)


def probability(scores):
    return scores.softmax(-1).amax(-1)


test_route_right = accepts("architectures.route", by_numbers, by_sorting, by_lists, by_weights)
test_route_wrong = rejects(
    "architectures.route",
    (lambda *given: print(), 1, "None (is a `return` missing?)"),
    (lambda *given: route(*given)[0], 1, "2 values, `return output, counts`"),
    (after_route(lambda output, counts, *_: (counts, output)), 1, "a row for each token"),
    (after_route(lambda output, counts, *_: (output, counts.tolist())), 1, "two tensors"),
    (after_route(summed_probabilities), 1, "a whole number for each expert"),
    (adding_to_x, 1, "Argument 1, `x`, after the call"),
    (worst, 2, "for the expert with its largest score"),
    (
        after_route(lambda output, counts, *_: (output, counts.flip(0).cumsum(0).flip(0))),
        *(2, "Each token counts once"),
    ),
    (
        after_route(lambda output, counts, *_: (output, counts[: counts.nonzero().max() + 1])),
        *(2, "Experts without tokens are counted, too."),
    ),
    (two_experts, 2, "Each token counts once"),
    (all_of_the_best, 2, "A token has one expert, even if several"),
    (calls(lambda expert, rows: torch.cat([expert(row[None]) for row in rows])), 3, "2 times"),
    (calls(lambda expert, rows: torch.stack([expert(row) for row in rows])), 3, "(n, 3)"),
    (calls(lambda expert, rows: expert(rows.flip(0)).flip(0)), 3, "in their order"),
    (through_zeros, 3, 'A "?" is a row that is not in x'),
    (gated_input, 3, "as they are"),
    (most_certain_first, 3, "in their order"),
    (with_capacity, 3, "An expert reads the rows of x that chose it"),
    (after_route(lambda output, counts, x, *_: (x + output, counts)), 4, "a single softmax"),
    (gated(lambda scores: probability(scores.softmax(-1))), 4, "a single softmax"),
    (after_route(sorted_twice), 4, "undoes a sorting by `order`"),
    (loudest, 2, "not the one that is furthest from 0"),
    (gated(lambda scores: scores.amax(-1).sigmoid()), 5, "Multiply what the expert returns"),
    (gated(lambda scores: probability(scores).square()), 5, "Multiply what the expert returns"),
    (gated(lambda scores: probability(scores / scores.shape[1] ** 0.5)), 5, "its probability"),
    (gated(lambda scores: scores.amax(-1, True).softmax(-1)[:, 0]), 5, "always 1"),
    (gated(lambda scores: probability(scores) / probability(scores).detach()), 5, "always 1"),
    (without_learning, 6, "Nothing is learned without a gradient"),
    (
        gated(lambda scores: (probability(scores) + probability(scores).detach()) / 2),
        *(6, "Is a part of it detached?"),
    ),
)


def test_the_reference_is_the_layer_of_the_package():
    torch.manual_seed(0)
    layer = Experts(Config(50, width=16, layers=1, heads=2, feed_forward=24), experts=4)
    torch.nn.init.normal_(layer.router.scores.weight, std=0.5)
    x, pull = torch.randn(3, 7, 16), torch.randn(3, 7, 16)
    with transformer.routing(layer) as routes:
        due = layer(x)
    found, counts = route(x.flatten(0, 1), layer.router.scores, [*layer.experts])
    torch.testing.assert_close(found.view_as(x), due)
    assert torch.equal(counts, routes[0].chosen.flatten().bincount(minlength=4)) and counts.all()
    weights = [*layer.parameters()]
    right, mine = (
        torch.autograd.grad((pull * output.view_as(x)).sum(), weights) for output in (due, found)
    )
    torch.testing.assert_close(mine, right)
    assert mine[0].abs().max() > 0.01  # the router's

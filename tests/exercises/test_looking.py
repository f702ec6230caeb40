import contextlib
import copy
from functools import partial
from types import SimpleNamespace

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.looking.ablate import mutes, run_without
from tlcourse.exercises.looking.greedy_pruning import greedy_pruning, rounds
from tlcourse.exercises.looking.head_score import before, previous_token_score, rolled
from tlcourse.exercises.looking.induction_score import as_given, induction_score, stripe
from tlcourse.exercises.looking.logit_lens import logit_lens
from tlcourse.exercises.looking.recorded_attention import recorded_attention
from tlcourse.transformer import rotary_table, rotate

# recorded_attention


def by_einsum_over_positions(layer, x, mask, table=None):
    parts = []
    for part in (layer.query(x), layer.key(x)):
        part = part.unflatten(-1, (layer.config.heads, -1))
        if layer.config.qk_norm:
            part = part / part.square().mean(-1, keepdim=True).sqrt()
        if table is not None:
            part = part * table[0][:, None] + part.roll(part.shape[-1] // 2, -1) * table[1][:, None]
        parts.append(part)
    scores = torch.einsum("bqhd,bkhd->bhqk", *parts) * parts[0].shape[-1] ** -0.5
    powers = (scores - scores.amax(-1, keepdim=True)).exp() * mask
    return powers / powers.sum(-1, keepdim=True)


def with_float_masks(layer, x, mask, table=None):
    """Norms after the rotation, which is the same, and adds a large negative number."""
    parts = layer.query(x), layer.key(x)
    query, key = (each.unflatten(-1, (layer.config.heads, -1)).transpose(1, 2) for each in parts)
    if table is not None:
        query, key = rotate(query, table), rotate(key, table)
    if layer.config.qk_norm:
        norm = nn.RMSNorm(query.shape[-1], elementwise_affine=False)
        query, key = norm(query), norm(key)
    scores = query.div(query.shape[-1] ** 0.5) @ key.mT
    return F.softmax(scores + torch.zeros(mask.shape).masked_fill_(~mask, -1e9), dim=3)


def runs_the_layer(layer, x, mask, table=None):
    layer.kernel = "record"
    layer(x, mask, table)
    return layer.weights


def unmasked(layer, x, mask, table=None):
    return recorded_attention(layer, x, torch.ones_like(mask), table)


def over_the_queries(layer, x, mask, table=None):
    weights = recorded_attention(layer, x, mask, table)
    return weights / weights.sum(-2, keepdim=True)


def cut_wrongly(part, x):
    """Columns that `.view(batch, length, heads, -1)` cuts as `.view(batch, heads, length, -1)`."""
    return part(x).view(len(x), 3, x.shape[1], -1).transpose(1, 2).flatten(2)


def own_table(layer, x, mask, table=None):
    table = rotary_table(x.shape[1], x.shape[2] // layer.config.heads)
    return recorded_attention(layer, x, mask, table if layer.config.rotary else None)


def on_parts(qk_norm=None, project=lambda part, x: part(x)):
    """The reference on a layer that norms, or projects, in another way."""

    def candidate(layer, x, mask, table=None):
        norms = layer.config.qk_norm if qk_norm is None else qk_norm
        config = SimpleNamespace(heads=layer.config.heads, qk_norm=norms)
        query, key = (partial(project, part) for part in (layer.query, layer.key))
        other = SimpleNamespace(config=config, query=query, key=key)
        return recorded_attention(other, x, mask, table)

    return candidate


test_recorded_attention_right = accepts(
    "looking.recorded_attention", by_einsum_over_positions, with_float_masks
)
test_recorded_attention_wrong = rejects(
    "looking.recorded_attention",
    (runs_the_layer, 1, "The layer itself cannot be called here. Use `layer.query`"),
    (lambda layer, x, *rest: layer.value(x), 1, "the layer's `value` is not needed: use"),
    (lambda *given: recorded_attention(*given).mean(1), 1, "Each head has a matrix of its own"),
    (on_parts(project=cut_wrongly), 2, "mixes positions and heads"),
    (over_the_queries, 2, "The weights of each *query* sum to 1"),
    (on_parts(project=lambda part, x: x @ part.weight.T), 2, "Head 0 has the first columns"),
    (on_parts(project=lambda part, x: 2 * part(x)), 3, "the square root of head_dim"),
    (unmasked, 4, "get the weight 0"),
    (on_parts(qk_norm=False), 5, "normed in each head"),
    (lambda layer, x, mask, table=None: recorded_attention(layer, x, mask), 6, "`table` is given"),
    (own_table, 6, "rotary positions 0, 2, 4, 6 and 8"),
)


# head_score


def by_einsum(attention):
    n = attention.shape[-1]
    return torch.einsum("lhqk,qk->lh", attention, torch.eye(n).roll(-1, 1).tril()) / (n - 1)


def how_often_it_is_largest(attention):
    hits = attention.argmax(-1)[..., 1:] == torch.arange(attention.shape[-1] - 1)
    return hits.float().mean(-1)


test_head_score_right = accepts(
    "looking.head_score", by_einsum, lambda a: a[..., 1:, :].diagonal(0, -2, -1).mean(-1)
)
ONE_SCORE, MEAN = "Each layer and head has one score", "divide by n - 1"
test_head_score_wrong = rejects(
    "looking.head_score",
    (lambda a: previous_token_score(a).tolist(), 1, "not a list or an array"),
    (lambda a: before(a).mean((0, 2)), 1, ONE_SCORE),
    (how_often_it_is_largest, 2, MEAN),
    (lambda a: rolled(a).mean(-1), 2, MEAN),
)


# logit_lens


def by_matrix_products(model, hidden_states):
    matrix, bias = model.output_layer
    rows = [model.norm(each) @ matrix.mT for each in hidden_states]
    return torch.stack(rows) + (0 if bias is None else bias)


def lens_with(norm=lambda model, state: model.norm(state), head=lambda model, x: model.logits(x)):
    """The lens with another norm, or another output layer."""
    return lambda model, hidden_states: head(model, norm(model, torch.stack(hidden_states)))


def norm_of_its_block(model, hidden_states):
    norms = [*(block.attention_norm for block in model.blocks), model.norm]
    normed = [norm(each) for norm, each in zip(norms, hidden_states, strict=True)]
    return model.logits(torch.stack(normed))


def transposed_if_it_must_be(model, x):
    matrix = model.embedding.weight
    return x @ (matrix if len(matrix) == x.shape[-1] else matrix.T)


def empties_the_list(model, hidden_states):
    found = []
    while hidden_states:
        found.insert(0, model.logits(model.norm(hidden_states.pop())))
    return torch.stack(found)


test_logit_lens_right = accepts("looking.logit_lens", by_matrix_products, lens_with())
test_logit_lens_wrong = rejects(
    "looking.logit_lens",
    (lambda model, states: list(logit_lens(model, states)), 1, "not a list or an array"),
    (lambda model, states: logit_lens(model, states)[1:], 1, "the embeddings"),
    (empties_the_list, 1, "Leave the list as it is"),
    (lens_with(norm=lambda model, x: 2 * model.norm(x)), 2, "`model.norm`, once, then"),
    (norm_of_its_block, 3, "Every layer is followed by the same end"),
    (lens_with(head=transposed_if_it_must_be), 4, "multiply by the transposed matrix"),
    (lens_with(head=lambda model, x: x @ model.embedding.weight.T), 5, "Add `model.head_bias`"),
    (lambda model, states: logit_lens(model.eval(), states), 6, "in its mode, too"),
    (lambda model, states: logit_lens(model.requires_grad_(False), states), 6, "another `requires"),
)


# ablate


def by_a_hook_on_values(model, tokens, layer, head):
    def mute(module, inputs, output):
        parts = list(output.chunk(model.config.heads, dim=-1))
        parts[head] = torch.zeros_like(parts[head])
        return torch.cat(parts, dim=-1)

    with contextlib.ExitStack() as stack:
        hook = model.blocks[layer].attention.value.register_forward_hook(mute)
        stack.callback(hook.remove)
        return model(tokens)


def columns_of(model, head):
    """The columns of a head, a slice."""
    size = model.config.width // model.config.heads
    return slice(size * head, size * (head + 1))


@torch.no_grad()
def with_its_weights_put_back(model, tokens, layer, head):
    values, rows = model.blocks[layer].attention.value, columns_of(model, head)
    kept = [each[rows].clone() for each in values.parameters()]
    try:
        for each in values.parameters():
            each[rows] = 0
        return model(tokens)
    finally:
        for each, old in zip(values.parameters(), kept, strict=True):
            each[rows] = old


def in_a_copy(edit):
    """Runs a copy of the model whose layer was edited: `edit(attention, columns)`."""

    def run_without(model, tokens, layer, head):
        other = copy.deepcopy(model)
        with torch.no_grad():
            edit(other.blocks[layer].attention, columns_of(model, head))
        return other(tokens)

    return run_without


def edits(restores):
    """Edits the weights of the model itself, and restores them or not."""

    def run_without(model, tokens, layer, head):
        weight = model.blocks[layer].attention.output.weight.data
        before = weight.clone()
        weight[:, columns_of(model, head)] = 0
        found = model(tokens)
        if restores:
            weight.copy_(before)
        return found

    return run_without


def prints_the_error(model, tokens, layer, head):
    try:
        return run_without(model, tokens, layer, head)
    except Exception as error:
        print(error)


def removes_all_hooks(model, tokens, layer, head):
    found = run_without(model, tokens, layer, head)
    model.blocks[layer].attention.output._forward_pre_hooks.clear()
    return found


test_ablate_right = accepts(
    "looking.ablate",
    by_a_hook_on_values,
    with_its_weights_put_back,
    in_a_copy(lambda attention, columns: attention.output.weight[:, columns].zero_()),
)
FROM_ZERO = "Layers and heads are counted from 0"
test_ablate_wrong = rejects(
    "looking.ablate",
    (lambda *given: run_without(*given)[:, -1], 1, "Return the logits of all positions"),
    (mutes(lambda model, head: ...), 2, "In the last dimension of the input"),
    (in_a_copy(lambda attention, r: attention.value.weight[r].zero_()), 3, "before the projection"),
    (lambda model, ids, layer, head: run_without(model, ids, layer - 1, head), 4, FROM_ZERO),
    (mutes(lambda _, head: (..., slice(4 * head, 4 * head + 4))), 4, "here 6 and not 4"),
    (edits(restores=False), 5, "'blocks.1.attention.output.weight has other numbers'"),
    (lambda model, *rest: run_without(model.eval(), *rest), 5, "Leave the model as it was"),
    (removes_all_hooks, 5, "Remove your own hook afterwards, and no other"),
    (mutes(), 6, "Restore everything in a `finally:`"),
    (prints_the_error, 6, "use no `except`"),
)


# induction_score


def by_blocks(attention, length):
    lower_left = attention[..., length:, 1 : length + 1]
    return lower_left.diagonal(dim1=-2, dim2=-1).mean(-1)


def largest_there(attention, length):
    queries = torch.arange(length, 2 * length)
    return (attention[:, :, length:].argmax(-1) == queries - length + 1).float().mean(-1)


test_induction_score_right = accepts(
    "looking.induction_score", by_blocks, lambda a, n: stripe(a, 1 - n, 1)
)
AFTER = "Take the mean weight on the token *after* the first occurrence"
test_induction_score_wrong = rejects(
    "looking.induction_score",
    (as_given, 0, "the code as it was given"),
    (lambda a, length: induction_score(a, length).mean(), 1, ONE_SCORE),
    (lambda a, length: as_given(a, length), 2, "one column too far to the left"),
    (lambda a, length: a.diagonal(1 - length).mean(-1), 1, ONE_SCORE),
    (largest_there, 2, AFTER),
)


# greedy_pruning


def with_a_list_of_what_is_left(judge, heads, count):
    left, gone, found = list(heads), [], []
    for _ in range(count):
        errors = [judge(frozenset(gone + [head])) for head in left]
        place = int(np.argmin(errors))
        gone.append(left.pop(place))
        found.append((gone[-1], errors[place]))
    return found


def by_recursion(judge, heads, count, removed=frozenset()):
    if count == 0:
        return []
    error, place = min((judge(removed | {head}), place) for place, head in enumerate(heads))
    rest = heads[:place] + heads[place + 1 :]
    return [[heads[place], error], *by_recursion(judge, rest, count - 1, removed | {heads[place]})]


def asks_again_for_the_best(judge, heads, count):
    gone, found = frozenset(), []
    for _ in range(count):
        left = [head for head in heads if head not in gone]
        gone |= {best := min(left, key=lambda head: judge(gone | {head}))}
        found.append((best, judge(gone)))
    return found


def told(change):
    """The right pairs, changed: `change(judge, pairs)`."""
    return lambda judge, *given: change(judge, greedy_pruning(judge, *given))


test_greedy_pruning_right = accepts(
    "looking.greedy_pruning", with_a_list_of_what_is_left, by_recursion
)
PAIRS, ANEW = "Return `count` pairs (head, error)", "Call `judge` anew in each round"
test_greedy_pruning_wrong = rejects(
    "looking.greedy_pruning",
    (rounds(asks=lambda gone, head, heads: {*gone, head}), 1, "a frozenset of heads out of"),
    (told(lambda judge, pairs: dict(pairs)), 1, "Expected: a list"),
    (told(lambda judge, pairs: [(error, head) for head, error in pairs]), 1, PAIRS),
    (told(lambda judge, pairs: [(h, judge(frozenset({h}))) for h, _ in pairs]), 2, ANEW),
    (rounds(choose=lambda errors, key: min(sorted(errors), key=key)), 3, "the first in the order"),
    (told(lambda _, pairs: [(h, min(error, 100)) for h, error in pairs]), 4, "has one head left"),
    (told(lambda judge, pairs: sorted(pairs, key=lambda pair: pair[1])), 4, "order of removal"),
    (asks_again_for_the_best, 5, "Yours: [0, 5, 4, 3]\nExpected: [0, 4, 3, 2]"),
)

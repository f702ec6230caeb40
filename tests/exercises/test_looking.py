import contextlib
import copy
import itertools
import math
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.looking import _common
from tlcourse.exercises.looking.ablate import mutes, own, run_without
from tlcourse.exercises.looking.greedy_pruning import (
    Judge,
    by_all_sets,
    greedy_pruning,
    ranked_once,
    rounds,
)
from tlcourse.exercises.looking.head_score import before, looking_at, previous_token_score, rolled
from tlcourse.exercises.looking.induction_score import as_given, induction_score, looks, stripe
from tlcourse.exercises.looking.logit_lens import by_library, lens_with, logit_lens
from tlcourse.exercises.looking.recorded_attention import (
    Parts,
    counted,
    recorded_attention,
    rms,
    split,
    weights_by,
)
from tlcourse.transformer import causal_mask, record, rotary_table, rotate


def nothing(*arguments): ...  # your code here


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


def by_mixing_an_identity(layer, x, mask, table=None):
    """What comes out of attention whose values are the rows of an identity is its weights."""
    parts = []
    for projection in (layer.query, layer.key):
        part = torch.stack(projection(x).chunk(layer.config.heads, dim=-1), dim=1)
        part = F.rms_norm(part, part.shape[-1:]) if layer.config.qk_norm else part
        parts.append(part if table is None else rotate(part, table))
    eye = torch.eye(x.shape[1]).expand(*parts[0].shape[:3], -1)
    return F.scaled_dot_product_attention(*parts, eye, attn_mask=mask)


def head_by_head(layer, x, mask, table=None):
    size = layer.config.width // layer.config.heads
    found = []
    for start in range(0, layer.config.width, size):
        query, key = (part(x)[..., start : start + size] for part in (layer.query, layer.key))
        if layer.config.qk_norm:
            query = query * size**0.5 / query.norm(dim=-1, keepdim=True)
            key = key * size**0.5 / key.norm(dim=-1, keepdim=True)
        if table is not None:
            query, key = (rotate(each[:, None], table)[:, 0] for each in (query, key))
        scores = torch.baddbmm(torch.zeros(1), query, key.mT, alpha=size**-0.5)
        found.append(torch.where(mask, scores, -torch.inf).softmax(2))
    return torch.stack(found, dim=1)


def norms_afterwards(layer, x, mask, table=None):
    """Norms what is turned, which is the same, and adds a large negative number."""
    query, key = (split(part(x), layer.config.heads) for part in (layer.query, layer.key))
    if table is not None:
        query, key = rotate(query, table), rotate(key, table)
    if layer.config.qk_norm:
        norm = nn.RMSNorm(query.shape[-1], elementwise_affine=False)
        query, key = norm(query), norm(key)
    scores = query.div(query.shape[-1] ** 0.25) @ key.mT.div(key.shape[-1] ** 0.25)
    return F.softmax(scores + torch.zeros(mask.shape).masked_fill_(~mask, -1e9), dim=3)


def runs_the_layer(layer, x, mask, table=None):
    layer.kernel = "record"
    layer(x, mask, table)
    return layer.weights


def rotates_before_cutting(layer, x, mask, table=None):
    def cut(part):
        part = part.view(*part.shape[:2], layer.config.heads, -1)
        return (part if table is None else rotate(part, table)).transpose(1, 2)

    q, k = cut(layer.query(x)), cut(layer.key(x))
    if layer.config.qk_norm:
        q, k = rms(q), rms(k)
    return (q @ k.mT / q.size(-1) ** 0.5).masked_fill(~mask, -torch.inf).softmax(-1)


def own_table(layer, x, mask, table=None):
    table = rotary_table(x.shape[1], x.shape[2] // layer.config.heads)
    return recorded_attention(layer, x, mask, table if layer.config.rotary else None)


def on_parts(qk_norm=lambda layer, table: layer.config.qk_norm, project=lambda part, x: part(x)):
    """The reference on a layer that norms, or projects, in another way."""

    def candidate(layer, x, mask, table=None):
        config = SimpleNamespace(heads=layer.config.heads, qk_norm=qk_norm(layer, table))
        query, key = (partial(project, part) for part in (layer.query, layer.key))
        other = SimpleNamespace(config=config, query=query, key=key)
        return recorded_attention(other, x, mask, table)

    return candidate


def told_weights(change):
    """The right weights, changed."""
    return lambda *given: change(recorded_attention(*given))


test_recorded_attention_right = accepts(
    "looking.recorded_attention",
    by_einsum_over_positions,
    by_mixing_an_identity,
    head_by_head,
    norms_afterwards,
)
OWN, FOR_EACH = "Each head has a matrix of its own", "Head 0 has the first columns"
SCALE, NORM = "the square root of head_dim", "queries and keys are normed in each head"
MASK, TURN = "All other keys get the weight 0", "Where `table` is given"
test_recorded_attention_wrong = rejects(
    "looking.recorded_attention",
    (nothing, 0, "Not solved yet"),
    (runs_the_layer, 1, "its parts `layer.query`, `layer.key` and `layer.config`"),
    (lambda layer, x, *rest: layer.value(x), 1, "the layer's `value` is not needed: use"),
    (told_weights(lambda found: found.numpy()), 1, "no list and no array"),
    (told_weights(lambda found: None), 1, "is a `return` missing?"),
    (told_weights(lambda found: found.mean(dim=1)), 1, OWN),
    (weights_by(cut=lambda part, heads: part), 1, OWN),
    (told_weights(lambda found: found.log()), 2, FOR_EACH),
    (told_weights(lambda found: found.mT), 2, FOR_EACH),
    (weights_by(cut=lambda part, n: part.unflatten(-1, (-1, n)).movedim(-1, 1)), 2, FOR_EACH),
    (weights_by(finish=lambda scores, mask: scores.softmax(1)), 2, FOR_EACH),
    (weights_by(finish=lambda s, mask: s.masked_fill(mask, -1e9).softmax(-1)), 2, FOR_EACH),
    (lambda layer, x, *_: recorded_attention(layer, x, causal_mask(x.shape[1])), 2, FOR_EACH),
    (on_parts(qk_norm=lambda layer, table: True), 2, FOR_EACH),
    (on_parts(project=lambda part, x: x @ part.weight.T), 2, FOR_EACH),
    (on_parts(project=lambda part, x: x @ part.weight + part.bias), 2, FOR_EACH),
    *((weights_by(divide=lambda size, _, by=by: size**by), 3, SCALE) for by in (0, 1)),
    (weights_by(finish=lambda scores, mask: scores.softmax(-1)), 4, MASK),
    (weights_by(finish=lambda s, mask: s.masked_fill(~mask, 0).softmax(-1)), 4, MASK),
    (weights_by(finish=lambda s, mask: (s - 10 * ~mask).softmax(-1)), 4, MASK),
    (on_parts(qk_norm=lambda layer, table: False), 5, NORM),
    (weights_by(norm=lambda part: F.normalize(part, dim=-1)), 5, NORM),
    (weights_by(norm=lambda part: F.layer_norm(part, part.shape[-1:])), 5, NORM),
    (lambda layer, x, mask, table=None: recorded_attention(layer, x, mask), 6, TURN),
    (on_parts(qk_norm=lambda layer, table: layer.config.qk_norm or table is not None), 6, TURN),
    (own_table, 6, "rotary positions 0 to 8 by 2"),
    (rotates_before_cutting, 6, "raised RuntimeError"),
)


@pytest.mark.parametrize("rotary", [False, True])
def test_weights_that_are_counted_out_are_those_that_a_model_records(rotary):
    model, ids = _common.toy(seed=3, rotary=rotary, causal=False), _common.tokens(5)
    with torch.no_grad(), record(model) as seen:
        model(ids)
        x = model.blocks[1].attention_norm(seen.hidden_states[1])
    mask, table = torch.ones(6, 6, dtype=torch.bool), rotary_table(6, 4) if rotary else None
    found = counted(Parts(model.blocks[1].attention), x, mask, table)
    torch.testing.assert_close(found.float(), seen.attention[1], atol=1e-5, rtol=1e-4)


# head_score


def by_einsum(attention):
    n = attention.shape[-1]
    return torch.einsum("lhqk,qk->lh", attention, torch.eye(n).roll(-1, 1).tril()) / (n - 1)


def by_loops(attention):
    scores = torch.empty(attention.shape[:2])
    for layer, head in itertools.product(*map(range, attention.shape[:2])):
        one = attention[layer, head]
        scores[layer, head] = np.mean([one[i, i - 1].item() for i in range(1, len(one))])
    return scores


def by_numbers(attention):
    queries = torch.arange(1, attention.shape[-1])
    return attention[..., queries, queries - 1].mean(-1)


def by_a_mask_of_cells(attention):
    n = attention.shape[-1]
    cells = torch.eye(n - 1, dtype=attention.dtype)
    return (attention[:, :, 1:, :-1] * cells).sum((2, 3)) / (n - 1)


def how_often_it_is_largest(attention):
    hits = attention.argmax(-1)[..., 1:] == torch.arange(attention.shape[-1] - 1)
    return hits.float().mean(-1)


test_head_score_right = accepts(
    "looking.head_score",
    by_einsum,
    by_loops,
    by_numbers,
    by_a_mask_of_cells,
    lambda a: a[..., 1:, :].diagonal(dim1=-2, dim2=-1).mean(-1),
)
ONE_SCORE, MEAN = "Each layer and head has one score", "Take the mean over the queries 1 to 4"
test_head_score_wrong = rejects(
    "looking.head_score",
    (nothing, 0, "Not solved yet"),
    (lambda a: previous_token_score(a).tolist(), 1, "no list and no array"),
    (lambda a: a.diagonal(-1), 1, ONE_SCORE),
    (before, 1, ONE_SCORE),
    *((lambda a, over=over: before(a).mean(over), 1, ONE_SCORE) for over in ((0, 1, 2), (0, 2))),
    (lambda a: a[:, :, 1:, :-1].mean((-1, -2)), 2, MEAN),
    (lambda a: a[:, :, -1, -2], 2, MEAN),
    (lambda a: before(a).sum(-1) / a.tril(-1).sum((-1, -2)), 2, MEAN),
    (lambda a: before(a)[..., :-1].mean(-1), 2, MEAN),
    (lambda a: before(a, 0)[..., 1:].mean(-1), 2, MEAN),
    (lambda a: before(a).amax(-1), 2, MEAN),
    (lambda a: before(a).sum(-1) / a.shape[-1] ** 2, 2, MEAN),
    (how_often_it_is_largest, 2, MEAN),
    (lambda a: rolled(a).mean(-1), 2, "divide by n - 1"),
)


# logit_lens


def by_matrix_products(model, hidden_states):
    matrix, bias = model.output_layer
    rows = [model.norm(each) @ matrix.mT for each in hidden_states]
    return torch.stack(rows) + (0 if bias is None else bias)


def by_einsum_over_tokens(model, hidden_states):
    norm, states = model.norm, torch.stack(hidden_states)
    states = F.layer_norm(states, states.shape[-1:], norm.weight, norm.bias, norm.eps)
    logits = torch.einsum("ltw,vw->ltv", states, model.embedding.weight)
    return logits if model.head_bias is None else logits.add(model.head_bias)


def norm_by_hand(model, hidden_states):
    norm, found = model.norm, []
    for state in hidden_states:
        centred = state - state.mean(dim=-1, keepdim=True)
        root = (centred.square().mean(dim=-1, keepdim=True) + norm.eps).sqrt()
        scaled = centred / root * norm.weight + norm.bias
        found.append(F.linear(scaled, model.embedding.weight, model.head_bias)[None])
    return torch.cat(found)


def runs_the_rest(model, hidden_states):
    """Each state is sent through the blocks that follow: the same logits for every layer."""
    return logit_lens(model, [hidden_states[-1] for _ in hidden_states])


def norm_of_its_block(model, hidden_states):
    norms = [*(block.attention_norm for block in model.blocks), model.norm]
    normed = [norm(each) for norm, each in zip(norms, hidden_states, strict=True)]
    return model.logits(torch.stack(normed))


def norms_the_last_alone(model, hidden_states):
    *others, last = hidden_states
    return model.logits(torch.stack([*others, model.norm(last)]))


def in_its_place(model, hidden_states):
    for each in hidden_states:
        each -= each.mean(-1, keepdim=True)
    return logit_lens(model, hidden_states)


def a_head_of_its_own(model, states):
    torch.manual_seed(0)
    return nn.Linear(model.config.width, model.config.vocabulary_size)(
        model.norm(torch.stack(states))
    )


def transposed_if_it_must_be(model, x):
    matrix = model.embedding.weight
    return x @ (matrix if len(matrix) == x.shape[-1] else matrix.T)


def leaves_a_hook(model, hidden_states):
    model.norm.register_forward_hook(lambda module, inputs, output: None)
    return logit_lens(model, hidden_states)


def empties_the_list(model, hidden_states):
    found = []
    while hidden_states:
        found.insert(0, model.logits(model.norm(hidden_states.pop())))
    return torch.stack(found)


def what_each_block_adds(model, hidden_states):
    states = torch.stack(hidden_states)
    return model.logits(model.norm(torch.cat([states[:1], states.diff(dim=0)])))


def plain_norm(model, x):
    return F.layer_norm(x, x.shape[-1:])


def over_all_positions(model, x):
    return F.layer_norm(x, x.shape[1:]) * model.norm.weight + model.norm.bias


test_logit_lens_right = accepts(
    "looking.logit_lens",
    by_matrix_products,
    by_einsum_over_tokens,
    norm_by_hand,
    lens_with(),
)
ONE_TENSOR = "Return one tensor, (layers + 1, length, vocabulary)"
ITS_OWN, SAME_END = "They must be those of the model itself", "Every layer gets the same end"
test_logit_lens_wrong = rejects(
    "looking.logit_lens",
    (nothing, 0, "Not solved yet"),
    (lambda model, states: list(logit_lens(model, states)), 1, "no list and no array"),
    (lambda model, states: logit_lens(model, states[-1:])[0], 1, ONE_TENSOR),
    (lambda model, states: torch.cat([*logit_lens(model, states)]), 1, ONE_TENSOR),
    (lens_with(head=lambda model, x: model.embedding(x)), 1, "raised RuntimeError"),
    (empties_the_list, 1, "Leave the list as it is"),
    (in_its_place, 1, "Argument 1, `hidden_states`, after the call"),
    (lambda m, states: logit_lens(m, [*map(m.norm, states)]), 2, "The norm was applied twice"),
    (lens_with(norm=plain_norm), 2, ITS_OWN),
    (lens_with(norm=over_all_positions), 2, ITS_OWN),
    (lens_with(norm=lambda model, x: model.blocks[-1].feed_forward_norm(x)), 2, ITS_OWN),
    (lens_with(head=lambda model, x: model.logits(x).log_softmax(-1)), 2, ITS_OWN),
    (lens_with(head=lambda model, x: model.logits(F.normalize(x, dim=-1))), 2, ITS_OWN),
    (what_each_block_adds, 2, ITS_OWN),
    (a_head_of_its_own, 2, ITS_OWN),
    (runs_the_rest, 3, SAME_END),
    (norm_of_its_block, 3, SAME_END),
    (norms_the_last_alone, 3, SAME_END),
    (lens_with(head=transposed_if_it_must_be), 4, "multiply by the transposed matrix"),
    (lens_with(head=lambda model, x: x @ model.embedding.weight.T), 5, "Add `model.head_bias`"),
    (lambda model, states: logit_lens(model.eval(), states), 6, "in its mode, too"),
    (leaves_a_hook, 6, "'a hook is left on norm'"),
)


def cut_off(model, layers, ids):
    """(length, vocabulary): the logits of a model whose later blocks write nothing."""
    short = copy.deepcopy(model)
    for block in short.blocks[layers:]:
        for part in (block.attention.output, block.down):
            part.weight.zero_(), part.bias.zero_()
    return short(ids)[0]


@torch.no_grad()
def test_the_lens_is_a_model_that_ends_there():
    model, ids = _common.toy(seed=7, layers=3, head_bias=True), _common.tokens(7)[:1]
    states = torch.cat(model.hidden_states(ids))
    right = torch.stack([cut_off(model, layer, ids) for layer in range(4)])
    torch.testing.assert_close(logit_lens(model, list(states)), right)
    torch.testing.assert_close(by_library(model, states).float(), right)


# ablate


class Muted(nn.Module):
    def __init__(self, output, columns):
        super().__init__()
        keep = torch.ones(output.in_features)
        keep[columns] = 0
        self.output, self.keep = output, keep

    def forward(self, mixed):
        return self.output(mixed * self.keep)


def by_another_module(model, tokens, layer, head):
    attention = model.blocks[layer].attention
    before = attention.output
    attention.output = Muted(before, own(model, head))
    try:
        return model(tokens)
    finally:
        attention.output = before


def by_functional_call(model, tokens, layer, head):
    name = f"blocks.{layer}.attention.output.weight"
    weight = model.get_parameter(name).detach().clone()
    weight.chunk(model.config.heads, dim=1)[head].zero_()
    return torch.func.functional_call(model, {name: weight}, (tokens,))


def by_a_hook_on_values(model, tokens, layer, head):
    def mute(module, inputs, output):
        parts = list(output.chunk(model.config.heads, dim=-1))
        parts[head] = torch.zeros_like(parts[head])
        return torch.cat(parts, dim=-1)

    with contextlib.ExitStack() as stack:
        hook = model.blocks[layer].attention.value.register_forward_hook(mute)
        stack.callback(hook.remove)
        return model(tokens)


@torch.no_grad()
def with_its_weights_put_back(model, tokens, layer, head):
    values, rows = model.blocks[layer].attention.value, own(model, head)[1]
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
            edit(other.blocks[layer].attention, own(model, head)[1])
        return other(tokens)

    return run_without


def hooked(change, on=lambda attention: attention.output):
    """Puts `change(columns)` in their place in what a part of the layer is given."""

    def run_without(model, tokens, layer, head):
        def mute(module, inputs):
            x = inputs[0].clone()
            x[own(model, head)] = change(x[own(model, head)])
            return (x, *inputs[1:])

        hook = on(model.blocks[layer].attention).register_forward_pre_hook(mute)
        found = model(tokens)
        hook.remove()
        return found

    return run_without


def edits(mends):
    """Edits the weights of the model itself, and leaves them so or puts the old ones back."""

    def run_without(model, tokens, layer, head):
        weight = model.blocks[layer].attention.output.weight.data
        before = weight.clone()
        weight[own(model, head)] = 0
        found = model(tokens)
        if mends:
            weight.copy_(before)
        return found

    return run_without


def skips_the_layer(model, tokens, layer, head):
    block = model.blocks[layer]
    forward, block.forward = block.forward, lambda x, *rest: x
    found = model(tokens)
    block.forward = forward
    return found


def in_every_layer(model, tokens, layer, head):
    for block in model.blocks[1:]:
        block.attention.output.weight.data[own(model, head)] = 0
    return run_without(model, tokens, 0, head)


def leaves_the_method(model, tokens, layer, head):
    output = model.blocks[layer].attention.output
    muted = Muted(copy.copy(output), own(model, head))
    output.forward = muted.forward
    return model(tokens)


def removes_all_hooks(model, tokens, layer, head):
    for module in model.modules():
        module._forward_pre_hooks.clear()
    return run_without(model, tokens, layer, head)


def prints_the_error(model, tokens, layer, head):
    try:
        return run_without(model, tokens, layer, head)
    except Exception as error:
        print(error)


test_ablate_right = accepts(
    "looking.ablate",
    by_another_module,
    by_functional_call,
    by_a_hook_on_values,
    with_its_weights_put_back,
    in_a_copy(lambda attention, columns: attention.output.weight[:, columns].zero_()),
)
OTHERS, ZERO = "The other heads and the projection's bias", "has to be zero before the projection"
FROM_ZERO, AS_IT_CAME = "Layers and heads are counted from 0", "Give the model back as it came"
test_ablate_wrong = rejects(
    "looking.ablate",
    (nothing, 0, "Not solved yet"),
    (lambda *given: run_without(*given)[:, -1], 1, "Return the logits of all positions"),
    (lambda *given: run_without(*given).argmax(-1), 1, "Return the logits of all positions"),
    (skips_the_layer, 2, OTHERS),
    (mutes(lambda model, head: ...), 2, OTHERS),
    (mutes(lambda model, head: (..., head)), 2, OTHERS),
    (mutes(lambda model, head: (..., slice(3 * head, 3 * head + 3))), 2, OTHERS),
    (hooked(torch.zeros_like, on=lambda attention: attention), 2, OTHERS),
    (in_a_copy(lambda attention, rows: attention.output.weight[rows].zero_()), 2, OTHERS),
    (in_a_copy(lambda attention, _: [p.zero_() for p in attention.output.parameters()]), 2, OTHERS),
    (hooked(lambda found: found.mean((0, 1))), 3, ZERO),
    (in_a_copy(lambda attention, rows: attention.value.weight[rows].zero_()), 3, ZERO),
    (in_a_copy(lambda attention, r: [p[r].zero_() for p in attention.key.parameters()]), 3, ZERO),
    (in_every_layer, 4, FROM_ZERO),
    (lambda model, ids, layer, head: run_without(model, ids, layer - 1, head), 4, FROM_ZERO),
    (mutes(lambda _, head: (..., slice(4 * head, 4 * head + 4))), 4, "here 6 and not 4"),
    (edits(mends=False), 5, "'blocks.1.attention.output.weight has other numbers'"),
    (removes_all_hooks, 5, "'a hook is gone from blocks.1.attention.output'"),
    (leaves_the_method, 5, "'blocks.1.attention.output is replaced'"),
    (lambda model, *rest: run_without(model.eval(), *rest), 5, AS_IT_CAME),
    (lambda model, *rest: run_without(model.requires_grad_(False), *rest), 5, "other gradients"),
    (mutes(), 6, "Put everything back in a `finally:`"),
    (edits(mends=True), 6, "Put everything back in a `finally:`"),
    (prints_the_error, 6, "use no `except`"),
)


def test_a_head_that_is_gone_leaves_the_others_as_they_are():
    model, ids = _common.toy(seed=9, layers=1), _common.tokens(9)
    seen = []
    output = model.blocks[0].attention.output
    output.register_forward_hook(lambda _, given, found: seen.append(given))
    with torch.no_grad():
        model(ids)
        run_without(model, ids, 0, 1)
    (whole,), (less,) = seen
    assert less[..., 4:8].eq(0).all() and whole[..., 4:8].ne(0).all()
    assert less[..., :4].equal(whole[..., :4]) and less[..., 8:].equal(whole[..., 8:])


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (lambda model: model(_common.tokens()), []),
        (lambda model: model.train(), ["the model is in another mode"]),
        (lambda model: model.set_attention("explicit"), ["the model has another kernel"]),
        (lambda model: model.norm.weight.data.add_(1), ["norm.weight has other numbers"]),
        (lambda model: setattr(model.norm, "weight", nn.Parameter(model.norm.weight.clone())),
         ["norm.weight is another parameter"]),
        (lambda model: setattr(model.norm, "forward", abs), ["norm is replaced"]),
        (lambda model: model.requires_grad_(False),
         ["the model's parameters ask for other gradients"]),
        (lambda model: model.norm.register_forward_hook(print), ["a hook is left on norm"]),
        (lambda model: model.blocks[0].down._forward_hooks.clear(),
         ["a hook is gone from blocks.0.down"]),
    ],
)  # fmt: skip
def test_what_is_different_about_a_model_is_said(work, said):
    model = _common.toy(seed=1)
    model.blocks[0].down.register_forward_hook(lambda *_: None)
    assert _common.changes(model, lambda: work(model)) == said


# induction_score


def by_blocks(attention, length):
    lower_left = attention[..., length:, 1 : length + 1]
    return lower_left.diagonal(dim1=-2, dim2=-1).mean(-1)


def by_a_mask(attention, length):
    i, j = torch.meshgrid(torch.arange(2 * length), torch.arange(2 * length), indexing="ij")
    mask = (j == i - length + 1) & (i >= length)
    return (attention * mask).sum((2, 3)) / length


def adds_cell_by_cell(attention, length):
    scores = torch.zeros(attention.shape[:2])
    for i in range(length):
        scores += attention[:, :, length + i, i + 1]
    return scores / length


def keys_from_a_list(attention, length):
    scores = [attention[:, :, i, i - length + 1] for i in range(length, 2 * length - 1)]
    return torch.stack(scores).mean(0)


def largest_there(attention, length):
    queries = torch.arange(length, 2 * length)
    return (attention[:, :, length:].argmax(-1) == queries - length + 1).float().mean(-1)


def later_queries_instead(attention, length):
    """Shifts the queries where the keys are one too few."""
    queries = torch.arange(length, 2 * length)
    return attention[:, :, (queries + 1) % (2 * length), queries - length].mean(-1)


test_induction_score_right = accepts(
    "looking.induction_score",
    by_blocks,
    by_a_mask,
    adds_cell_by_cell,
    lambda a, length: stripe(a, 1 - length, 1),
)
AFTER = "Take the mean weight on the token *after* the first occurrence"
test_induction_score_wrong = rejects(
    "looking.induction_score",
    (nothing, 0, "Not solved yet"),
    (as_given, 0, "the code as it was given"),
    (lambda a, length: induction_score(a, length).mean(), 1, ONE_SCORE),
    (lambda a, length: induction_score(a, length).mean(1), 1, ONE_SCORE),
    (lambda a, length: a.diagonal(1 - length, -2, -1)[..., 1:], 1, ONE_SCORE),
    (lambda a, length: as_given(a, length), 2, "This is the weight on the same token"),
    (lambda a, length: stripe(a[..., length:, :length], 1), 2, "The last query is left out"),
    (keys_from_a_list, 2, "The last query is left out"),
    (later_queries_instead, 2, "the token *before* the first occurrence"),
    (looks(lambda keys, length: keys.clamp(max=length - 1)), 2, AFTER),
    (lambda a, length: induction_score(a.mT, length), 2, AFTER),
    (lambda a, length: stripe(a, -1, length - 1), 2, AFTER),
    (lambda a, length: stripe(a, 1, length), 2, AFTER),
    (lambda a, length: stripe(a, -a.shape[-1] // 2 - 1), 2, AFTER),
    (lambda a, length: stripe(a.roll(length, -1), 1), 2, AFTER),
    (lambda a, length: induction_score(a, length) * length, 2, AFTER),
    (lambda a, length: induction_score(a, length) / 2, 2, AFTER),
    (lambda a, length: a[:, :, length:, 1 : length + 1].mean((-1, -2)), 2, AFTER),
    (largest_there, 2, AFTER),
)


def test_a_head_that_copies_what_came_next_has_an_induction_score_of_one():
    sequence = torch.tensor([3, 1, 4, 5, 9] * 2)
    keys = [0] * 5 + [sequence.tolist().index(sequence[i]) + 1 for i in range(5, 10)]
    attention = looking_at(keys)
    assert induction_score(attention, 5).item() == 1
    copied = attention[0, 0].argmax(-1)[5:9]
    assert sequence[copied].equal(sequence[6:])


# greedy_pruning


def with_a_list_of_what_is_left(judge, heads, count):
    left, gone, found = list(heads), [], []
    for _ in range(count):
        errors = [judge(frozenset(gone + [head])) for head in left]
        place = int(np.argmin(errors))
        gone.append(left.pop(place))
        found.append((gone[-1], errors[place]))
    return found


def with_a_cache(judge, heads, count):
    known, found = {}, []

    def error(removed):
        if removed not in known:
            known[removed] = judge(removed)
        return known[removed]

    while len(found) < count:
        gone = frozenset(head for head, _ in found)
        best = min((h for h in heads if h not in gone), key=lambda head: error(gone | {head}))
        found.append((best, error(gone | {best})))
    return found


def by_recursion(judge, heads, count, removed=frozenset()):
    if count == 0:
        return []
    error, place = min((judge(removed | {head}), place) for place, head in enumerate(heads))
    rest = heads[:place] + heads[place + 1 :]
    return [[heads[place], error], *by_recursion(judge, rest, count - 1, removed | {heads[place]})]


def by_best_so_far(judge, heads, count):
    left, order = list(heads), []
    while len(order) < count:
        best, least = None, float("inf")
        for head in left:
            error = judge(frozenset([each for each, _ in order] + [head]))
            if best is None or error < least:
                best, least = head, error
        left.remove(best)
        order.append((best, least))
    return order


def asks_again_for_the_best(judge, heads, count):
    gone, found = frozenset(), []
    for _ in range(count):
        left = [head for head in heads if head not in gone]
        gone |= {best := min(left, key=lambda head: judge(gone | {head}))}
        found.append((best, judge(gone)))
    return found


def best_set_of_each_size(judge, heads, count):
    """Not greedy: looks through all sets."""
    found, before = [], frozenset()
    for size in range(1, count + 1):
        sets = map(frozenset, itertools.combinations(heads, size))
        best, error = min(((each, judge(each)) for each in sets), key=lambda pair: pair[1])
        new = sorted(best - before) or sorted(best)
        found.append((new[0], error))
        before = best
    return found


def pops_from_heads(judge, heads, count):
    found = greedy_pruning(judge, heads, count)
    heads[:] = [head for head in heads if head not in dict(found)]
    return found


def asks_for_none(judge, heads, count):
    judge(frozenset())
    return greedy_pruning(judge, heads, count)


def walks_through_heads(judge, heads, count):
    """Goes through the list once, and takes each head that does not raise the error."""
    gone, error, found = set(), math.inf, []
    for head in heads:
        new = judge(frozenset({*gone, head}))
        if new <= error and len(found) < count:
            gone.add(head)
            found.append((head, new))
            error = new
    return found


def ranked_once_and_judged_together(judge, heads, count):
    order = [head for head, _ in ranked_once(judge, heads, count)]
    return [(head, judge(frozenset(order[: n + 1]))) for n, head in enumerate(order)]


def from_the_full_set(judge, heads, count):
    """Puts heads back instead, from a model without any."""
    gone = frozenset(heads)
    while len(gone) > count:
        gone = min((gone - {head} for head in heads if head in gone), key=judge)
    return [(head, judge(frozenset({head}))) for head in heads if head in gone]


def told(change):
    """The right pairs, changed: `change(judge, pairs)`."""
    return lambda judge, *given: change(judge, greedy_pruning(judge, *given))


def errors_before(judge, pairs):
    errors = [judge(frozenset()), *(error for _, error in pairs)]
    return [(head, error) for (head, _), error in zip(pairs, errors, strict=False)]


test_greedy_pruning_right = accepts(
    "looking.greedy_pruning",
    with_a_list_of_what_is_left,
    with_a_cache,
    by_recursion,
    by_best_so_far,
)
PAIRS, SETS = "Return `count` pairs (head, error)", "a frozenset of heads out of `heads`"
ANEW, FIRST, ONCE = "Ask anew in each round", "the first in the order of `heads`", "Ask once for"
test_greedy_pruning_wrong = rejects(
    "looking.greedy_pruning",
    (nothing, 0, "Not solved yet"),
    (rounds(asks=lambda gone, head, heads: {*gone, head}), 1, SETS),
    (rounds(asks=lambda gone, head, heads: frozenset({head, "x"})), 1, SETS),
    (told(lambda judge, pairs: dict(pairs)), 1, "Expected: a list"),
    (told(lambda judge, pairs: [head for head, _ in pairs]), 1, PAIRS),
    (told(lambda judge, pairs: [error for _, error in pairs]), 1, PAIRS),
    (told(lambda judge, pairs: [(error, head) for head, error in pairs]), 1, PAIRS),
    (told(errors_before), 1, PAIRS),
    (pops_from_heads, 1, "Argument 1, `heads`, after the call"),
    (lambda judge, heads, n: greedy_pruning(judge, heads, min(n + 1, len(heads))), 1, PAIRS),
    (lambda judge, heads, n: greedy_pruning(judge, heads, n - 1), 1, PAIRS),
    (walks_through_heads, 1, "Ask `judge` for each head"),
    (ranked_once_and_judged_together, 2, ANEW),
    (from_the_full_set, 2, ANEW),
    (told(lambda judge, pairs: [(h, judge(frozenset({h}))) for h, _ in pairs]), 2, ANEW),
    (told(lambda judge, pairs: sorted(pairs)), 2, ANEW),
    (rounds(choose=lambda errors, key: min(reversed(errors), key=key)), 3, FIRST),
    (rounds(choose=lambda errors, key: min(sorted(errors), key=key)), 3, FIRST),
    (told(lambda judge, pairs: sorted(pairs, key=lambda pair: pair[1])), 4, "order of removal"),
    (asks_for_none, 5, ONCE),
    (asks_again_for_the_best, 5, "Yours: [0, 5, 4, 3]\nExpected: [0, 4, 3, 2]"),
    (best_set_of_each_size, 5, ONCE),
)


def test_greedy_is_not_always_best():
    heads = ["a", "b", "c"]
    errors = {"a": 1, "b": 2, "c": 2, "ab": 9, "ac": 9, "bc": 3, "abc": 9}
    table = {frozenset(each): error for each, error in errors.items()}
    assert greedy_pruning(Judge(table), heads, 2) == [("a", 1), ("b", 9)]
    assert by_all_sets(table, heads, 2) == [("a", 1), ("b", 9)]
    assert min(error for each, error in table.items() if len(each) == 2) == 3

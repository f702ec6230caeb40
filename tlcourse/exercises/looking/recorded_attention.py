"""Lesson 08: the weights of attention, computed from queries and keys."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.expect import CheckFailed
from tlcourse.exercises.looking._common import drawn, randomise, shape_of, tensor, tokens, toy
from tlcourse.exercises.task import Exercise, case
from tlcourse.transformer import Attention, Config, causal_mask, record, rotary_table, rotate

PARTS = "`layer.query`, `layer.key` and `layer.config` alone"


class Parts(nn.Module):
    """The parts of a layer that determine its weights. It cannot be run."""

    def __init__(self, layer: Attention):
        super().__init__()
        self.config, self.query, self.key = layer.config, layer.query, layer.key

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            raise AttributeError(f"the layer's `{name}` is not needed: use {PARTS}") from None

    def forward(self, *_):
        raise CheckFailed(f"The layer itself cannot be called here. Use {PARTS}.")


def weights(candidate, layer, x, mask, table=None):
    """The candidate's weights, (batch, heads, length, length)."""
    return tensor(lambda x, mask: candidate(layer, x, mask, table), x, mask)


task = Exercise(
    __name__,
    number="8.1",
    title="Attention, recorded by hand",
    difficulty=3,
    importance=4,
    minutes=15,
    hints=(
        "Write the shape beside each step: `layer.query(x)` is (batch, length, width), cut into "
        "heads it is (batch, length, heads, head_dim), with the heads in front (batch, heads, "
        "length, head_dim). The scores are (batch, heads, length, length).",
        "Cut with `.view(batch, length, heads, -1)`, then `.transpose(1, 2)`. A single "
        "`.view(batch, heads, length, -1)` has the same shape and mixes up positions and heads.",
        "Between cutting and the scores there are two lines with an `if`: `F.rms_norm(query, "
        "query.shape[-1:])` where `layer.config.qk_norm`, and `rotate(query, table)` where `table` "
        "is not None. Do both for the keys, too.",
        "The last two lines: `scores = query @ key.transpose(-2, -1) / math.sqrt(head_dim)`, and "
        "`scores.masked_fill(~mask, float('-inf')).softmax(dim=-1)`.",
    ),
    imports="import math\nimport numpy as np\nimport torch\n"
    "from torch import nn\nfrom torch.nn import functional as F\n"
    "from tlcourse.transformer import causal_mask, record, rotary_table, rotate",
    measure=weights,
    tolerance=1e-4,
)


@task.reference
def recorded_attention(layer, x, mask, table=None):
    """(batch, length, width) states to weights (batch, heads, queries, keys)."""
    batch, length, width = x.shape
    heads = layer.config.heads
    query = layer.query(x).view(batch, length, heads, -1).transpose(1, 2)
    key = layer.key(x).view(batch, length, heads, -1).transpose(1, 2)
    if layer.config.qk_norm:
        query, key = F.rms_norm(query, query.shape[-1:]), F.rms_norm(key, key.shape[-1:])
    if table is not None:
        query, key = rotate(query, table), rotate(key, table)
    scores = query @ key.transpose(-2, -1) / math.sqrt(width // heads)
    return scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)


@task.truth
def by_mixing_an_identity(layer, x, mask, table=None):
    """In double precision, the output of attention if its values are the rows of an identity."""
    parts = []
    for projection in (layer.query, layer.key):
        part = projection(x).detach().double()
        part = part.unflatten(-1, (layer.config.heads, -1)).transpose(1, 2)
        part = F.rms_norm(part, part.shape[-1:]) if layer.config.qk_norm else part
        parts.append(part if table is None else rotate(part, [half.double() for half in table]))
    values = torch.eye(x.shape[1], dtype=torch.double).expand(*parts[0].shape[:3], -1)
    return F.scaled_dot_product_attention(*parts, values, attn_mask=mask)


def layer_of(width, heads, size=0.35, qk_norm=False, rotary=False):
    """A layer with random weights of this size."""
    config = Config(width=width, heads=heads, qk_norm=qk_norm, rotary=rotary)
    return randomise(Parts(Attention(config)), 3, size)


def weights_of(what, layer, mask=None, table=None, seed=0):
    """A case of x (2, 5, 12), by default without a mask."""
    mask = torch.ones(5, 5, dtype=torch.bool) if mask is None else mask
    return case(f"{EACH} of {what}", layer, drawn(2, 5, 12, seed=seed), mask, table)


EACH = "the weights [batch, head, query, key]"
EVEN = [part[::2] for part in rotary_table(10, 4)]
model = toy(seed=5, causal=True)
with torch.no_grad(), record(model) as seen:
    model(tokens())
    normed = model.blocks[1].attention_norm(seen.hidden_states[1])

task.stage(
    "shape",
    case(
        "the shape of your weights for x (2, 5, 6) and 3 heads",
        *(layer_of(6, 3), drawn(2, 5, 6), causal_mask(5)),
        expected=(2, 3, 5, 5),
    ),
    measure=shape_of(weights),
    hint="Each head has a matrix of its own: (batch, heads, queries, keys). Cut queries and keys "
    "into heads, (batch, length, heads, head_dim), then move the heads to the front: "
    "`transpose(1, 2)`.",
)
task.stage(
    "each head on its own",
    weights_of("3 heads, if each query looks at one key alone", layer_of(12, 3, size=12)),
    hint="Head 0 has the first columns of `layer.query(x)` and `layer.key(x)`, head 1 the next, "
    "and so on: `.view(batch, length, heads, -1)`, because `.view(batch, heads, length, -1)` mixes "
    "positions and heads. The weights of each *query* sum to 1: `softmax(dim=-1)`.",
)
task.stage(
    "the scale",
    weights_of("2 heads, width 12, no mask", layer_of(12, 2)),
    hint="Divide the scores by the square root of head_dim, which is 6 here.",
)
task.stage(
    "the mask",
    weights_of("3 heads with a causal mask", layer_of(12, 3), causal_mask(5), seed=2),
    hint="True means that a query may look there. All other keys get the weight 0, and each row "
    "still sums to 1, because the scores are masked before the softmax.",
)
task.stage(
    "queries and keys are normed",
    weights_of("a layer with `qk_norm`", layer_of(12, 3, qk_norm=True), causal_mask(5), seed=3),
    hint="If `layer.config.qk_norm` is True, queries and keys are normed in each head: divide both "
    "by the root of their mean square, `F.rms_norm(query, query.shape[-1:])`.",
)
task.stage(
    "rotary positions",
    weights_of("rotary positions 0, 2, 4, 6 and 8", layer_of(12, 3, rotary=True), table=EVEN),
    hint="If `table` is given, rotate queries and keys with it, and with no other table: "
    "`rotate(query, table)`.",
)
task.stage(
    "what the model records",
    case(
        f"{EACH} of layer 1 of a small model",
        *(Parts(model.blocks[1].attention), normed, causal_mask(6), rotary_table(6, 4)),
        expected=seen.attention[1],
    ),
    hint="Here norm, rotary positions and mask are combined.",
)


def split(part, heads):
    return part.unflatten(-1, (heads, -1)).transpose(1, 2)


def masked(scores, mask):
    return scores.masked_fill(~mask, -math.inf).softmax(-1)


def weights_by(cut=split, finish=masked):
    """The weights with another cut into heads, or another end."""

    def recorded_attention(layer, x, mask, table=None):
        query, key = (cut(part(x), layer.config.heads) for part in (layer.query, layer.key))
        if layer.config.qk_norm:
            query, key = (F.rms_norm(part, part.shape[-1:]) for part in (query, key))
        if table is not None:
            query, key = rotate(query, table), rotate(key, table)
        return finish(query @ key.mT / (x.shape[-1] // layer.config.heads) ** 0.5, mask)

    return recorded_attention


task.mistakes(
    (
        "`.view(batch, heads, length, -1)` mixes positions and heads: cut the width first, "
        "`.view(batch, length, heads, -1)`, then `.transpose(1, 2)`.",
        weights_by(cut=lambda part, heads: part.reshape(len(part), heads, part.shape[1], -1)),
    ),
    (
        "The softmax goes over the queries, but the weights of each *query* sum to 1 over the "
        "keys: `softmax(dim=-1)`.",
        weights_by(finish=lambda scores, mask: scores.masked_fill(~mask, -math.inf).softmax(-2)),
    ),
    (
        "`mask` is True where a query may look, but this code drops exactly those keys: use "
        "`~mask` in `masked_fill`.",
        weights_by(finish=lambda scores, mask: masked(scores, ~mask)),
    ),
    (
        "The weights are set to 0 after the softmax, so the rows no longer sum to 1: mask the "
        "scores before it.",
        weights_by(finish=lambda scores, mask: scores.softmax(-1) * mask),
    ),
)

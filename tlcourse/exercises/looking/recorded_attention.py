"""Lesson 08: the weights of attention, worked out from queries and keys.

The true weights are counted out, one query after the other; at the end a model records its own.
"""

import math

import torch
from torch.nn import functional as F

from tlcourse.exercises.expect import expect_shape, expect_unchanged
from tlcourse.exercises.looking._common import drawn, tokens, toy
from tlcourse.exercises.looking._weights import Parts, by, counted, layer_of, rms
from tlcourse.exercises.task import Exercise
from tlcourse.transformer import causal_mask, record, rotary_table, rotate

task = Exercise(
    __name__,
    number="8.1",
    title="Attention, recorded by hand",
    difficulty=3,
    minutes=15,
    hints=(
        "write the shape beside each step: `layer.query(x)` is (batch, length, width); cut into "
        "heads (batch, length, heads, head_dim); with the heads in front (batch, heads, length, "
        "head_dim). The scores are (batch, heads, length, length).",
        "cut with `.view(batch, length, heads, -1)`, then `.transpose(1, 2)`. A single "
        "`.view(batch, heads, length, -1)` has the same shape and mixes up positions and heads.",
        "between cutting and the scores stand two lines with an `if`: `F.rms_norm(query, "
        "query.shape[-1:])` where `layer.config.qk_norm`, and `rotate(query, table)` where `table` "
        "is not None. Both for the keys, too.",
        "the last two lines: `scores = query @ key.transpose(-2, -1) / math.sqrt(head_dim)`, and "
        "`scores.masked_fill(~mask, float('-inf')).softmax(dim=-1)`.",
    ),
    imports="import math\nimport numpy as np\nimport torch\n"
    "from torch import nn\nfrom torch.nn import functional as F\n"
    "from tlcourse.transformer import causal_mask, record, rotary_table, rotate",
)


@task.reference
def recorded_attention(layer, x, mask, table=None):
    """(batch, length, width) states to weights (batch, heads, length, length), from and to."""
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


@task.right
def by_einsum(layer, x, mask, table=None):
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


@task.right
def by_mixing_an_identity(layer, x, mask, table=None):
    """What comes out of attention whose values are the rows of an identity is its weights."""
    parts = []
    for projection in (layer.query, layer.key):
        part = torch.stack(projection(x).chunk(layer.config.heads, dim=-1), dim=1)
        part = F.rms_norm(part, part.shape[-1:]) if layer.config.qk_norm else part
        parts.append(part if table is None else rotate(part, table))
    eye = torch.eye(x.shape[1]).expand(*parts[0].shape[:3], -1)
    return F.scaled_dot_product_attention(*parts, eye, attn_mask=mask)


def weights(candidate, layer, x, mask, table=None):
    """What comes out, (batch, heads, length, length); raises CheckFailed for another shape."""
    with torch.no_grad():
        got = expect_unchanged(lambda x, mask: candidate(layer, x, mask, table), x, mask)
    shape = len(x), layer.config.heads, x.shape[1], x.shape[1]
    expect_shape(got, shape, f"x {tuple(x.shape)}, {layer.config.heads} heads", SHAPES)
    return got


def shape_of(candidate, layer, x, mask):
    """The shape of what comes out."""
    with torch.no_grad():
        got = expect_unchanged(lambda x, mask: candidate(layer, x, mask, None), x, mask)
    expect_shape(got, tuple(getattr(got, "shape", (2, 3, 5, 5))), "x (2, 5, 6), 3 heads")
    return tuple(got.shape)


def expect(candidate, *setting, what, likely):
    """Raises CheckFailed unless the weights are those that are counted out."""
    what += ": the weights [batch, head, query, key]"
    task.observe(
        candidate, weights, *setting, gives=counted(*setting), what=what, likely=likely,
        tolerance=1e-4,
    )  # fmt: skip


ALL = torch.ones(5, 5, dtype=torch.bool)


@task.stage("shape")
def shape(candidate):
    task.observe(
        candidate, shape_of, layer_of(6, 3), drawn(2, 5, 6), ALL, gives=(2, 3, 5, 5),
        what="x (2, 5, 6), 3 heads: the shape", likely=SHAPES,
    )  # fmt: skip


@task.stage("each head on its own")
def heads(candidate):
    expect(
        candidate, layer_of(12, 3, size=12), drawn(2, 5, 12), ALL,
        what="3 heads, no mask, scores so far apart that each query looks at one key",
        likely="Head 0 has the first columns of queries and keys, head 1 the next, and so on. Each "
        "row of weights, one for each query, sums to 1.",
    )  # fmt: skip


@task.stage("the scale")
def scale(candidate):
    expect(
        candidate, layer_of(12, 2), drawn(1, 5, 12), ALL, what="width 12, 2 heads, no mask",
        likely="Scores are divided by the root of head_dim, which is 6 here.",
    )  # fmt: skip


@task.stage("the mask")
def masked(candidate):
    layer, x = layer_of(12, 3), drawn(2, 5, 12, seed=2)
    likely = "True means: may look. All other keys get the weight 0, and each row still sums to 1."
    expect(candidate, layer, x, causal_mask(5), what="a causal mask (5, 5)", likely=likely)
    near = causal_mask(5) & ~causal_mask(5).tril(-2)
    expect(
        candidate, layer, x, near, what="a mask (5, 5): itself and the key before", likely=likely
    )


@task.stage("queries and keys are normed")
def normed(candidate):
    expect(
        candidate, layer_of(12, 3, qk_norm=True), drawn(2, 5, 12, seed=3), causal_mask(5),
        what="a layer with `config.qk_norm`", likely=NORM,
    )  # fmt: skip


@task.stage("rotary positions")
def rotary(candidate):
    layer, x = layer_of(12, 3, rotary=True), drawn(2, 5, 12, seed=4)
    for step, what in ((1, "a layer with rotary positions"), (2, "positions 0, 2, 4, 6 and 8")):
        table = tuple(part[::step] for part in rotary_table(5 * step, 4))
        expect(candidate, layer, x, ALL, table, what=what, likely=ROTARY)


@task.stage("what the model records")
def whole(candidate):
    for causal, layers in ((True, (0, 1)), (False, (1,))):
        model, ids = toy(seed=5, causal=causal), tokens()
        with torch.no_grad(), record(model) as seen:
            model(ids)
        mask = causal_mask(6) if causal else torch.ones(6, 6, dtype=torch.bool)
        for number in layers:
            block = model.blocks[number]
            with torch.no_grad():
                x = block.attention_norm(seen.hidden_states[number])
            task.observe(
                candidate, weights, Parts(block.attention), x, mask, rotary_table(6, 4),
                gives=seen.attention[number], tolerance=1e-4,
                what=f"layer {number} of a small model ({'' if causal else 'not '}causal)",
                likely="With norm, rotary positions and mask, all in one.",
            )  # fmt: skip


SHAPES = (
    "Each head has a matrix of its own: (batch, heads, queries, keys). Cut queries and keys into "
    "heads, (batch, length, heads, head_dim), and bring the heads to the front: `transpose(1, 2)`."
)
CUT = (
    "Are the heads cut wrongly? `.view(batch, heads, length, -1)` takes each position apart. Cut "
    "the width first, `.view(batch, length, heads, -1)`, then `.transpose(1, 2)`."
)
EVERY_THIRD = "A head's columns lie side by side: `.view(batch, length, heads, -1)`, heads first."
ROWS = "The weights of each *query* sum to 1 over the keys: `softmax(dim=-1)`."
TURNED = "Rows are queries and columns are keys; here it is the other way round."
BIAS = "The bias is missing: call `layer.query(x)` instead of using its weight."
WEIGHT = "`nn.Linear` keeps its weight as (out, in); call `layer.query(x)`, which knows."
OWN_MASK = "Use the mask that is given; here every query may look everywhere."
ALWAYS = "This layer has no norm for queries and keys: norm only `if layer.config.qk_norm`."
NONE = "The scores are not divided by anything."
BY_WIDTH = "They are divided by the root of the whole width; each head has only head_dim of it."
NO_ROOT = "They are divided by head_dim; it is its square root."
UPSIDE = "The mask is upside down: True means may look, so fill where it is False (`~mask`)."
UNMASKED = "The mask is not used."
ZERO = "0 is a score like any other: fill with -infinity."
AFTER = "Weights set to 0 after the softmax are missing in the sum: mask the scores before it."
NORM = (
    "Where `layer.config.qk_norm`, queries and keys are normed in each head: divided by the root "
    "of the mean of their squares, `F.rms_norm(query, query.shape[-1:])`."
)
UNIT = "They have length 1 now. RMS norm divides by the root of the *mean* square."
WHOLE_WIDTH = "They were normed over the whole width. Cut into heads first: each has its own norm."
MEAN = "LayerNorm subtracts the mean, too. RMS norm does not: `F.rms_norm`."
ONE_OF_TWO = "Only one of the two was treated: queries *and* keys."
ROTARY = "Where `table` is given, queries and keys are turned by it: `rotate(query, table)`."
OWN_TABLE = "Turn by the `table` that is given, and by no other one."


for stage, says, wrong in (
    ("shape", SHAPES, by(lambda part, heads: part)),
    ("shape", SHAPES, by(lambda part, heads: part.unflatten(-1, (heads, -1)))),
    ("shape", SHAPES, lambda *given: by()(*given).mean(dim=1)),
    ("each head on its own", CUT,
     by(lambda part, heads: part.reshape(len(part), heads, part.shape[1], -1))),
    ("each head on its own", EVERY_THIRD,
     by(lambda part, heads: part.unflatten(-1, (-1, heads)).movedim(-1, 1))),
    ("each head on its own", ROWS,
     by(finish=lambda s, mask: s.masked_fill(~mask, -math.inf).softmax(-2))),
    ("each head on its own", ROWS,
     by(finish=lambda s, mask: s.masked_fill(~mask, -math.inf).softmax(1))),
    ("each head on its own", TURNED, lambda *given: by()(*given).mT),
    ("each head on its own", TURNED, by(finish=lambda s, mask: (
        s.mT.masked_fill(~mask, -math.inf).softmax(-1)))),
    ("each head on its own", OWN_MASK, by(finish=lambda s, mask: (
        s.masked_fill(~causal_mask(s.shape[-1]), -math.inf).softmax(-1)))),
    *(("each head on its own", UPSIDE, by(finish=lambda s, mask, low=low: (
        s.masked_fill(mask, low).softmax(-1)))) for low in (-1e9, -math.inf)),
    ("each head on its own", ALWAYS, by(always=True)),
    ("each head on its own", BIAS, by(project=lambda part, x: x @ part.weight.T)),
    ("each head on its own", WEIGHT, by(project=lambda part, x: x @ part.weight + part.bias)),
    ("the scale", NONE, by(divide=lambda size, width: 1)),
    ("the scale", BY_WIDTH, by(divide=lambda size, width: width**0.5)),
    ("the scale", NO_ROOT, by(divide=lambda size, width: size)),
    ("the scale", "root of head_dim, which is 6", by(divide=lambda size, width: size / 2)),
    ("the mask", UNMASKED, by(finish=lambda s, mask: s.softmax(-1))),
    ("the mask", ZERO, by(finish=lambda s, mask: s.masked_fill(~mask, 0).softmax(-1))),
    ("the mask", AFTER, by(finish=lambda s, mask: s.softmax(-1) * mask)),
    ("queries and keys are normed", NORM, by(norm=lambda q, k: (q, k))),
    ("queries and keys are normed", UNIT,
     by(norm=lambda q, k: (F.normalize(q, dim=-1), F.normalize(k, dim=-1)))),
    ("queries and keys are normed", WHOLE_WIDTH, by(joint=True)),
    ("queries and keys are normed", MEAN,
     by(norm=lambda q, k: (F.layer_norm(q, q.shape[-1:]), F.layer_norm(k, k.shape[-1:])))),
    ("queries and keys are normed", ONE_OF_TWO, by(norm=lambda q, k: (rms(q), k))),
    ("rotary positions", ROTARY, by(turn=lambda q, k, table: (q, k))),
    ("rotary positions", OWN_TABLE, by(turn=lambda q, k, table: (
        [rotate(each, rotary_table(each.shape[-2], each.shape[-1])) for each in (q, k)]))),
    ("rotary positions", ONE_OF_TWO, by(turn=lambda q, k, table: (rotate(q, table), k))),
):  # fmt: skip
    task.mistake(stage, says)(wrong)

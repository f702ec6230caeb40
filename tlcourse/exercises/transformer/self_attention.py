"""Lesson 02: self-attention with heads, QK-norm and rotary positions (Vaswani et al., 2017)."""

from dataclasses import replace

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.transformer._common import (
    IMPORTS,
    differing,
    draw,
    otherwise,
    out,
    same_gradients,
    small,
    with_bias,
)
from tlcourse.exercises.transformer.attention import attention
from tlcourse.exercises.transformer.rotate import rotate
from tlcourse.transformer import Attention as AttentionOfThePackage
from tlcourse.transformer import causal_mask, padding_mask, rotary_table

task = Exercise(
    __name__,
    number="2.4",
    title="Self-attention with heads",
    difficulty=3,
    importance=5,
    minutes=25,
    hints=(
        "Write the shape behind every line. Which one has to be (batch, heads, length, head_dim)?",
        "Write `self.query(x).view(batch, length, heads, head_dim).transpose(1, 2)`, and the same "
        "for keys and values. At the end, undo it with `.transpose(1, 2).reshape(batch, length, "
        "width)`, and apply the output layer.",
        "Three steps come in between. If `config.qk_norm`, normalise with `F.rms_norm(query, "
        "query.shape[-1:])`, and the key alike. If `table is not None`, `rotate` both. Then call "
        "your `attention` with the mask.",
    ),
    imports=IMPORTS,
    builds_on=("transformer.attention", "transformer.rotate"),
    measure=out,
    tolerance=1e-3,
)


@task.reference
class Attention(nn.Module):
    """Maps (batch, length, width) to the same shape, with several attention heads."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.query = nn.Linear(config.width, config.width)
        self.key = nn.Linear(config.width, config.width)
        self.value = nn.Linear(config.width, config.width)
        self.output = nn.Linear(config.width, config.width)

    def forward(self, x, mask=None, table=None):
        batch, length, width = x.shape
        heads = batch, length, self.config.heads, width // self.config.heads
        query = self.query(x).view(heads).transpose(1, 2)
        key = self.key(x).view(heads).transpose(1, 2)
        value = self.value(x).view(heads).transpose(1, 2)
        if self.config.qk_norm:
            query, key = F.rms_norm(query, query.shape[-1:]), F.rms_norm(key, key.shape[-1:])
        if table is not None:
            query, key = rotate(query, table), rotate(key, table)
        mixed = attention(query, key, value, mask)
        return self.output(mixed.transpose(1, 2).reshape(batch, length, width))


@task.truth
def by_the_package(config, x, mask=None, table=None):
    return out(AttentionOfThePackage, config, x, mask, table)


LAYERS = ("query", "key", "value", "output")
SHAPES = {name: size for layer in LAYERS for name, size in with_bias(layer, 12, 12).items()}
plain = small(qk_norm=False, rotary=False)
padded = causal_mask(5) & padding_mask(torch.tensor([5, 3]), 5)[:, None, None, :]
x, table = draw(2, 5, 12), rotary_table(5, 4)
together = small(), draw(2, 6, 12, seed=5), causal_mask(6), rotary_table(6, 4)

task.stage(
    "the four layers",
    case("differences from the four layers of width 12", small(), SHAPES, expected=[]),
    measure=differing,
    hint="The layers are called query, key, value and output, each is an `nn.Linear(config.width, "
    "config.width)`, and nothing else has weights.",
)
task.stage(
    "one head",
    case("one head, no mask, no table", replace(plain, heads=1), x),
    tolerance=1e-4,
    hint="Query, key and value are computed from `x`, each by its own layer, and passed to your "
    "`attention`, whose result goes through the output layer.",
)
task.stage(
    "three heads",
    case("three heads of width 4", plain, x),
    tolerance=1e-4,
    hint="Head 0 has features 0 to 3 of every token, head 1 the next four, and at the end "
    "the heads stand side by side in this order.",
)
task.stage(
    "the mask",
    case("a causal mask with padding", plain, x, padded),
    tolerance=1e-4,
    hint="Pass `mask` to your `attention` as it is.",
)
task.stage(
    "QK-norm",
    case("three heads with `qk_norm`, no table", small(rotary=False), x),
    hint="After the split into heads, divide each query and each key by the root of its mean "
    "square: `F.rms_norm(query, query.shape[-1:])`. Leave the values as they are.",
)
task.stage(
    "rotary positions",
    case("a table of angles, no mask", small(qk_norm=False), x, None, table),
    hint="If there is a table, `rotate` queries and keys, and leave the values as they are.",
)
task.stage(
    "all together",
    case("`qk_norm`, a table and a causal mask", *together),
    same_gradients(Attention, *together),
    hint="Each of the three works alone, so does one of them switch another off?",
)


def rms(x):
    return F.rms_norm(x, x.shape[-1:])


def in_steps(
    project=lambda s, x: (s.query(x), s.key(x), s.value(x)),
    cut=lambda x, heads: x.unflatten(-1, (heads, -1)).transpose(1, 2),
    norm=lambda q, k, v, on: (rms(q), rms(k), v) if on else (q, k, v),
    turn=lambda q, k, v, table: (rotate(q, table), rotate(k, table), v),
    keep=lambda mask: mask,
    join=lambda s, mixed: s.output(mixed.transpose(1, 2).flatten(2)),
):
    """Returns the reference, step by step; a wrong answer has a step of its own."""

    def forward(self, x, mask=None, table=None):
        parts = [cut(part, self.config.heads) for part in project(self, x)]
        parts = norm(*parts, self.config.qk_norm)
        parts = parts if table is None else turn(*parts, table)
        return join(self, attention(*parts, keep(mask)))

    return otherwise(Attention, forward=forward)


task.mistakes(
    (
        "This code normalises queries and keys although `config.qk_norm` is False: ask for it "
        "with an `if`.",
        in_steps(norm=lambda q, k, v, on: (rms(q), rms(k), v)),
    ),
    (
        "This code mixes up tokens and heads: view as (batch, length, heads, head_dim) first, and "
        "then transpose dimensions 1 and 2.",
        in_steps(cut=lambda x, heads: x.reshape(len(x), heads, x.shape[1], -1)),
    ),
    (
        "Heads and tokens are mixed up on the way back: call `transpose(1, 2)` before `reshape`.",
        in_steps(join=lambda s, mixed: s.output(mixed.reshape(len(mixed), mixed.shape[2], -1))),
    ),
)

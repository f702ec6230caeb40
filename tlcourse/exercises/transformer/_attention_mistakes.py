"""Help for the exercise on self-attention: steps done otherwise, with the sentences they earn."""

from collections.abc import Callable
from typing import NamedTuple

from torch.nn import functional as F

from tlcourse.exercises.transformer.rotate import rotate


def cut(x, heads):
    """(batch, length, width) to (batch, heads, length, head_dim)."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def rms(x):
    return F.rms_norm(x, x.shape[-1:])


class Steps(NamedTuple):
    """The steps of self-attention from first to last; the right ones, where nothing is said."""

    project: Callable = lambda s, x: (s.query(x), s.key(x), s.value(x))
    before: Callable = lambda q, k, on: (q, k)
    cut: Callable = cut
    norm: Callable = lambda q, k, v, on: (rms(q), rms(k), v) if on else (q, k, v)
    turn: Callable = lambda q, k, v, table: (rotate(q, table), rotate(k, table), v)
    mask_of: Callable = lambda mask: mask
    join: Callable = lambda mixed: mixed.transpose(1, 2).flatten(2)
    end: Callable = lambda layer, x: layer(x)


def if_on(norm):
    """A wrong norm of queries, keys and values, used where the configuration says so."""
    return lambda q, k, v, on: norm(q, k, v) if on else (q, k, v)


MISTAKES = [
    ("one head", "The output layer is not used.", Steps(end=lambda layer, x: x)),
    (
        "one head", "Query and key come from the same layer: each has its own.",
        Steps(project=lambda s, x: (s.query(x), s.query(x), s.value(x))),
    ),
    (
        "one head", "Each of the three reads `x`: here a layer reads what another gave.",
        Steps(project=lambda s, x: (s.query(x), s.key(x), s.value(s.key(x)))),
    ),
    (
        "one head", "Queries and keys are normalised although `config.qk_norm` is False here.",
        Steps(norm=lambda q, k, v, on: (rms(q), rms(k), v)),
    ),
    (
        "three heads",
        "Tokens and heads are mixed: view as (batch, length, heads, head_dim) first, then "
        "transpose.",
        Steps(cut=lambda x, heads: x.reshape(len(x), heads, x.shape[1], -1)),
    ),
    (
        "three heads",
        "Heads and tokens are mixed on the way back: `transpose(1, 2)` before the `reshape`.",
        Steps(join=lambda mixed: mixed.reshape(len(mixed), mixed.shape[2], -1)),
    ),
    (
        "three heads", "There is one head of the full width: cut it into `config.heads`.",
        Steps(cut=lambda x, heads: x[:, None]),
    ),
    (
        "three heads",
        "A head takes every third feature here. Its features stand side by side: (…, heads, "
        "head_dim).",
        Steps(cut=lambda x, heads: x.unflatten(-1, (-1, heads)).permute(0, 3, 1, 2)),
    ),
    ("the mask", "The mask is not used: hand it on.", Steps(mask_of=lambda mask: None)),
    (
        "the mask", "The mask is turned into its opposite on the way.",
        Steps(mask_of=lambda mask: mask if mask is None else ~mask),
    ),
    (
        "QK-norm", "`config.qk_norm` is not looked at.",
        Steps(norm=lambda q, k, v, on: (q, k, v)),
    ),
    (
        "QK-norm", "Values are normalised, too; leave them.",
        Steps(norm=if_on(lambda q, k, v: (rms(q), rms(k), rms(v)))),
    ),
    (
        "QK-norm", "Only the query is normalised; the key, too.",
        Steps(norm=if_on(lambda q, k, v: (rms(q), k, v))),
    ),
    (
        "QK-norm",
        "They are divided by their length; `rms_norm` divides by the root of the mean square.",
        Steps(norm=if_on(lambda q, k, v: (F.normalize(q, dim=-1), F.normalize(k, dim=-1), v))),
    ),
    (
        "QK-norm", "LayerNorm takes the mean off as well; `F.rms_norm` does not.",
        Steps(norm=if_on(lambda q, k, v: (*(F.layer_norm(a, a.shape[-1:]) for a in (q, k)), v))),
    ),
    (
        "QK-norm",
        "The whole width is normalised; cut into heads first, so that each has its own.",
        Steps(
            before=lambda q, k, on: (rms(q), rms(k)) if on else (q, k),
            norm=lambda q, k, v, on: (q, k, v),
        ),
    ),
    (
        "rotary positions", "The table is not used: `rotate` both.",
        Steps(turn=lambda q, k, v, table: (q, k, v)),
    ),
    (
        "rotary positions", "Only the query is rotated.",
        Steps(turn=lambda q, k, v, table: (rotate(q, table), k, v)),
    ),
    (
        "rotary positions", "Only the key is rotated.",
        Steps(turn=lambda q, k, v, table: (q, rotate(k, table), v)),
    ),
    (
        "rotary positions",
        "Values are turned, too: they are what is mixed, not what is compared.",
        Steps(turn=lambda q, k, v, table: tuple(rotate(a, table) for a in (q, k, v))),
    ),
]  # fmt: skip

"""Help for the exercise on attention's weights: layers, the true weights, and faulty solutions."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.expect import CheckFailed
from tlcourse.exercises.looking._common import randomise
from tlcourse.transformer import Attention, Config, rotate


class Parts(nn.Module):
    """What of a layer makes its weights: `query`, `key` and `config`. It cannot be run."""

    def __init__(self, layer: Attention):
        super().__init__()
        self.config, self.query, self.key = layer.config, layer.query, layer.key

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            only = "use `layer.query`, `layer.key` and `layer.config` alone"
            raise AttributeError(f"the layer's `{name}` is not needed: {only}") from None

    def forward(self, *_):
        raise CheckFailed("it ran the layer. Use its parts: `layer.query`, `layer.key`, `layer.config`.")


def layer_of(width, heads, size=0.35, qk_norm=False, rotary=False):
    """A layer with random weights of this size."""
    config = Config(width=width, heads=heads, qk_norm=qk_norm, rotary=rotary)
    return randomise(Parts(Attention(config)), 3, size)


def counted(layer, x, mask, table=None):
    """The true weights, in double precision: every query, one score for each key."""
    size = layer.config.width // layer.config.heads
    allowed = mask.expand(len(x), layer.config.heads, x.shape[1], x.shape[1])
    right = torch.zeros(allowed.shape, dtype=torch.double)
    with torch.no_grad():
        queries, keys = (part(x).double() for part in (layer.query, layer.key))
    for b, h, i in torch.cartesian_prod(*map(torch.arange, allowed.shape[:3])).tolist():
        columns = slice(h * size, (h + 1) * size)
        of_query, of_keys = queries[b, i : i + 1, columns], keys[b, :, columns]
        if layer.config.qk_norm:
            of_query, of_keys = (a / (a**2).mean(-1, True).sqrt() for a in (of_query, of_keys))
        if table is not None:
            of_query, of_keys = turned(of_query, table, i), turned(of_keys, table)
        scores = of_keys @ of_query[0] / size**0.5
        right[b, h, i] = scores.masked_fill(~allowed[b, h, i], -math.inf).softmax(0)
    return right


def turned(vectors, table, first=0):
    """(places, size) vectors turned by the table's angles, row `first` on, as complex numbers."""
    pairs = torch.complex(*vectors.chunk(2, dim=-1))
    cosine, sine = (part.double()[first : first + len(pairs)].chunk(2, dim=-1) for part in table)
    pairs = pairs * torch.complex(cosine[0], sine[1])  # the first sine has a minus
    return torch.cat([pairs.real, pairs.imag], dim=-1)


def split(part, heads):
    return part.unflatten(-1, (heads, -1)).transpose(1, 2)


def rms(part):
    return F.rms_norm(part, part.shape[-1:])


def by(cut=split, project=lambda part, x: part(x), always=False, joint=False,
       norm=lambda q, k: (rms(q), rms(k)),
       turn=lambda q, k, table: (rotate(q, table), rotate(k, table)),
       divide=lambda size, width: size**0.5,
       finish=lambda s, mask: s.masked_fill(~mask, -math.inf).softmax(-1)):  # fmt: skip
    """A solution with some step done otherwise; `joint` norms before the heads are cut."""

    def candidate(layer, x, mask, table=None):
        heads = layer.config.heads
        query, key = project(layer.query, x), project(layer.key, x)
        is_normed = always or layer.config.qk_norm
        if joint and is_normed:
            query, key = norm(query, key)
        query, key = cut(query, heads), cut(key, heads)
        if is_normed and not joint:
            query, key = norm(query, key)
        if table is not None:
            query, key = turn(query, key, table)
        return finish(query @ key.mT / divide(x.shape[-1] // heads, x.shape[-1]), mask)

    return candidate

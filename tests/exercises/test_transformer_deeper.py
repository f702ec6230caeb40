"""Answers to the block of today (2b.3 to 2b.5), written from the exercises' texts alone."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.transformer._common import otherwise
from tlcourse.exercises.transformer.attention import attention
from tlcourse.exercises.transformer.grouped_attention import GroupedAttention
from tlcourse.exercises.transformer.rms_norm import RMSNorm
from tlcourse.exercises.transformer.rotate import rotate
from tlcourse.exercises.transformer.swiglu import GatedFeedForward

# RMSNorm


class ByTheLibrary(nn.RMSNorm):
    def __init__(self, width, epsilon=1e-5):
        super().__init__(width, eps=epsilon)


def norms(mean, gain=lambda s, x: s.weight * x):
    """Divides by the root of `mean(x)`, then `gain(layer, x)`."""
    return otherwise(RMSNorm, forward=lambda s, x: gain(s, x / (mean(x) + s.epsilon).sqrt()))


class NoEpsilon(RMSNorm):
    def __init__(self, width):
        super().__init__(width)


class IgnoresEpsilon(RMSNorm):
    def __init__(self, width, epsilon=1e-5):
        super().__init__(width)


class StartsAtZero(RMSNorm):
    def __init__(self, width, epsilon=1e-5):
        super().__init__(width, epsilon)
        self.weight.data.zero_()


def root_without_gradient(s, x):
    with torch.no_grad():
        root = (x.square().mean(-1, keepdim=True) + s.epsilon).sqrt()
    return s.weight * x / root


def no_return(s, x):
    s.weight * x


test_rms_norm_right = accepts(
    "transformer.rms_norm",
    ByTheLibrary,
    otherwise(RMSNorm, forward=lambda s, x: F.rms_norm(x, (x.shape[-1],), s.weight, s.epsilon)),
    norms(lambda x: torch.einsum("...d,...d->...", x, x)[..., None] / x.shape[-1]),
)
test_rms_norm_wrong = rejects(
    "transformer.rms_norm",
    (NoEpsilon, 3, "takes 2 positional arguments but 3 were given"),
    (IgnoresEpsilon, 3, "keep it, and use it in `forward`"),
    (StartsAtZero, 1, "The gain starts at 1 everywhere"),
    (norms(lambda x: x.square().mean(1, keepdim=True)), 2, "over the last dimension: `dim=-1`"),
    (norms(lambda x: x.square().sum(-1, keepdim=True) / len(x)), 2, "about 0.85 and 1.13"),
    (norms(lambda x: x.square().mean(-1)), 2, "must match"),
    (otherwise(RMSNorm, forward=no_return), 2, "None (is a `return` missing?)"),
    (otherwise(RMSNorm, forward=root_without_gradient), 4, "leave out `no_grad`"),
)

# the gated feed-forward layer


def gates(forward):
    return otherwise(GatedFeedForward, forward=forward)


test_swiglu_right = accepts(
    "transformer.swiglu",
    gates(lambda s, x: s.down(s.gate(x).sigmoid() * s.gate(x) * s.up(x))),
    gates(lambda s, x: s.down(F.silu(x @ s.gate.weight.T) * (x @ s.up.weight.T))),
)
test_swiglu_wrong = rejects(
    "transformer.swiglu",
    (gates(lambda s, x: s.down(F.silu(s.gate(x.detach())) * s.up(x))), 2, "reaches x"),
    (gates(lambda s, x: s.down(F.silu(s.gate(x)) * F.silu(s.up(x)))), 2, "SiLU acts on both"),
    (gates(lambda s, x: s.down(F.relu(s.gate(x)).square() * s.up(x))), 2, "reads SiLU of the gate"),
)

# grouped heads


def heads(mix):
    """Grouped attention where `mix(query, key, value, mask, table)` does what follows the cut."""

    def forward(self, x, mask=None, table=None):
        parts = self.query(x), self.key(x), self.value(x)
        parts = [part.unflatten(-1, (-1, self.size)).transpose(1, 2) for part in parts]
        return self.output(mix(*parts, mask, table).transpose(1, 2).flatten(2))

    return otherwise(GroupedAttention, forward=forward)


def expanded(query, part):
    return part.repeat_interleave(query.shape[1] // part.shape[1], dim=1)


def turned(query, key, table):
    return (query, key) if table is None else (rotate(query, table), rotate(key, table))


def mixes(mask_of):
    def mix(query, key, value, mask, table):
        query, key = turned(query, key, table)
        mask = mask_of(mask, table)
        return attention(query, expanded(query, key), expanded(query, value), mask)

    return heads(mix)


def always_causal(query, key, value, mask, table):
    query, key = turned(query, key, table)
    key, value = expanded(query, key), expanded(query, value)
    return F.scaled_dot_product_attention(query, key, value, is_causal=mask is not None)


def by_the_library(query, key, value, mask, table):
    query, key = turned(query, key, table)
    return F.scaled_dot_product_attention(query, key, value, mask, enable_gqa=True)


def by_expanding(query, key, value, mask, table):
    query, key = turned(query, key, table)
    shape = (*key.shape[:2], query.shape[1] // key.shape[1], *key.shape[2:])
    key, value = (part.unsqueeze(2).expand(shape).flatten(1, 2) for part in (key, value))
    return attention(query, key, value, mask)


HAND_ON = "hand `mask` on to `attention` as it is"
test_grouped_attention_right = accepts(
    "transformer.grouped_attention", heads(by_the_library), heads(by_expanding)
)
test_grouped_attention_wrong = rejects(
    "transformer.grouped_attention",
    (heads(always_causal), 4, HAND_ON),
    (mixes(lambda mask, table: None if mask is None else mask[0]), 4, ""),
    (mixes(lambda mask, table: None if table is not None else mask), 5, "the mask is still used"),
    (mixes(lambda mask, table: None if mask is None else ~mask), 4, HAND_ON),
)

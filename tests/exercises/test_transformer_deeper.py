"""Answers to the block of today (2b.3 to 2b.5)."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.transformer._common import otherwise
from tlcourse.exercises.transformer.attention import attention
from tlcourse.exercises.transformer.feed_forward import FeedForward
from tlcourse.exercises.transformer.grouped_attention import GroupedAttention
from tlcourse.exercises.transformer.rms_norm import RMSNorm
from tlcourse.exercises.transformer.rotate import rotate
from tlcourse.exercises.transformer.swiglu import GatedFeedForward, gates

# RMSNorm


class ByTheLibrary(nn.RMSNorm):
    def __init__(self, width, epsilon=1e-5):
        super().__init__(width, eps=epsilon)


class IgnoresEpsilon(RMSNorm):
    def __init__(self, width, epsilon=1e-5):
        super().__init__(width)


class StartsAtZero(RMSNorm):
    def __init__(self, width, epsilon=1e-5):
        super().__init__(width, epsilon)
        self.weight.data.zero_()


def norms(mean, root=torch.sqrt):
    """Divides by the root of `mean(x)`."""
    return otherwise(RMSNorm, forward=lambda s, x: s.weight * x / root(mean(x) + s.epsilon))


def mean_square(x):
    return torch.einsum("...d,...d->...", x, x)[..., None] / x.shape[-1]


def no_return(s, x):
    s.weight * x


test_rms_norm_right = accepts("transformer.rms_norm", ByTheLibrary, norms(mean_square))
test_rms_norm_wrong = rejects(
    "transformer.rms_norm",
    (StartsAtZero, 1, "The gain starts at 1 everywhere"),
    (norms(lambda x: x.square().mean(1, keepdim=True)), 2, "over the last dimension: `dim=-1`"),
    (norms(mean_square, root=lambda mean: mean**0.25), 2, "about 0.85 and 1.13"),
    (norms(lambda x: x.square().mean(-1)), 2, "must match"),
    (otherwise(RMSNorm, forward=no_return), 2, "None (is a `return` missing?)"),
    (IgnoresEpsilon, 3, "store it, and use it in `forward`"),
    (norms(lambda x: mean_square(x).detach()), 4, "leave out `no_grad`"),
)

# the gated feed-forward layer


test_swiglu_right = accepts(
    "transformer.swiglu",
    gates(lambda s, x: s.down(s.gate(x).sigmoid() * s.gate(x) * s.up(x))),
    gates(lambda s, x: s.down(F.silu(x @ s.gate.weight.T) * (x @ s.up.weight.T))),
)
test_swiglu_wrong = rejects(
    "transformer.swiglu",
    (FeedForward, 1, "positional argument"),
    (gates(lambda s, x: s.down(s.gate(x) * s.up(x))), 2, "the product of SiLU"),
    (gates(lambda s, x: s.down(F.silu(s.gate(x.detach())) * s.up(x))), 2, "Yours: ['x']"),
    (gates(lambda s, x: GatedFeedForward.forward(s, x).detach()), 2, "leave out `no_grad`"),
)

# grouped heads


def heads(mix):
    """Grouped attention where `mix(query, key, value, mask, table)` does what follows the cut."""

    def forward(self, x, mask=None, table=None):
        parts = self.query(x), self.key(x), self.value(x)
        parts = [part.unflatten(-1, (-1, self.size)).transpose(1, 2) for part in parts]
        return self.output(mix(*parts, mask, table).transpose(1, 2).flatten(2))

    return otherwise(GroupedAttention, forward=forward)


def turned(query, key, table):
    return (query, key) if table is None else (rotate(query, table), rotate(key, table))


def by_the_library(query, key, value, mask, table):
    query, key = turned(query, key, table)
    return F.scaled_dot_product_attention(query, key, value, mask, enable_gqa=True)


def by_expanding(query, key, value, mask, table):
    query, key = turned(query, key, table)
    shape = (*key.shape[:2], query.shape[1] // key.shape[1], *key.shape[2:])
    key, value = (part.unsqueeze(2).expand(shape).flatten(1, 2) for part in (key, value))
    return attention(query, key, value, mask)


def always_causal(query, key, value, mask, table):
    query, key = turned(query, key, table)
    sdpa = F.scaled_dot_product_attention
    return sdpa(query, key, value, is_causal=mask is not None, enable_gqa=True)


def the_first_group_only(query, key, value, *rest):
    if key.shape[1] < query.shape[1]:
        key, value = key[:, :1], value[:, :1]
    return by_the_library(query, key, value, *rest)


def turns_the_values(query, key, value, mask, table):
    value = value if table is None else rotate(value, table)
    return by_the_library(query, key, value, mask, table)


class WithABias(GroupedAttention):
    def __init__(self, width, heads, groups):
        super().__init__(width, heads, groups)
        self.query = nn.Linear(width, width)


test_grouped_attention_right = accepts(
    "transformer.grouped_attention", heads(by_the_library), heads(by_expanding)
)
test_grouped_attention_wrong = rejects(
    "transformer.grouped_attention",
    (WithABias, 1, "query.bias: (24,) instead of no such parameter"),
    (heads(lambda q, *rest: by_expanding(q / 2, *rest)), 2, "3 heads in 3 groups"),
    (heads(the_first_group_only), 3, "heads 3, 4 and 5 share head 1"),
    (heads(always_causal), 4, "True means that a query may look at a key"),
    (heads(turns_the_values), 5, "but not the values"),
)

import math
from dataclasses import replace
from functools import reduce

import torch
from torch import nn
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.checking import check
from tlcourse.exercises.task import get
from tlcourse.exercises.transformer._common import otherwise
from tlcourse.exercises.transformer.attention import attention
from tlcourse.exercises.transformer.block import Block
from tlcourse.exercises.transformer.combined_mask import combined_mask
from tlcourse.exercises.transformer.convert_gpt2 import by_replacing, changing, convert_gpt2
from tlcourse.exercises.transformer.feed_forward import FeedForward
from tlcourse.exercises.transformer.model import Model, begun
from tlcourse.exercises.transformer.rotate import rotate
from tlcourse.exercises.transformer.self_attention import Attention, in_steps, rms
from tlcourse.transformer import rotary_table
from tlcourse.transformer import rotate as rotate_of_the_package

# attention


def mixed(scores, value, mask=None):
    """The right result from the scores on."""
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(-1) @ value


def scaled(query, key):
    """The right scores."""
    return query @ key.mT / math.sqrt(query.shape[-1])


def masked_by(wrong):
    """A wrong answer that is right without a mask and `wrong(scores, value, mask)` with one."""
    return lambda query, key, value, mask=None: (mixed if mask is None else wrong)(
        scaled(query, key), value, mask
    )


def by_exponentials(query, key, value, mask=None):
    scores = torch.matmul(query / math.sqrt(query.shape[-1]), key.mT)
    if mask is not None:
        scores = scores + torch.zeros(mask.shape).masked_fill(mask.logical_not(), -math.inf)
    powers = (scores - scores.amax(-1, keepdim=True)).exp()
    return (powers / powers.sum(-1, keepdim=True)) @ value


def returns_nothing(query, key, value, mask=None):
    mixed(scaled(query, key), value, mask)


def overflows(query, key, value, mask=None):
    powers = scaled(query, key).exp() * (1 if mask is None else mask)
    return powers / powers.sum(-1, keepdim=True) @ value


test_attention = accepts("transformer.attention", by_exponentials, F.scaled_dot_product_attention)
test_wrong_attention = rejects(
    "transformer.attention",
    (lambda q, k, v, mask=None: mixed(q @ k, v), 1, "swap the last two dimensions"),
    (lambda q, k, v, mask=None: attention(q, k, v, mask).numpy(), 1, "an ndarray"),
    (lambda q, k, v, mask=None: attention(q.mul_(2), k, v), 1, "Argument 1, `q`"),
    (lambda q, k, v, mask=None: scaled(q, k).softmax(-2) @ v, 2, "over the last dimension"),
    (lambda q, k, v, mask=None: mixed(q @ k.mT / q.shape[-1], v, mask), 3, "Divided by sqrt(4)"),
    (masked_by(lambda scores, value, mask: mixed(scores, value)), 4, "look at key 0 only"),
    (masked_by(lambda scores, value, mask: mixed(scores, value, mask.mT)), 4, "rows of the mask"),
    (overflows, 5, "Does `exp` overflow?"),
    (masked_by(lambda s, v, mask: mixed(s - 1000 * ~mask, v)), 5, "masked keys still get weight"),
    (torch.no_grad()(attention), 5, "Yours: ['query', 'key', 'value']"),
)


def test_what_is_no_tensor_is_not_blamed_on_the_key():
    told = check(get("transformer.attention"), returns_nothing).message
    assert "is a `return` missing?" in told and "last two" not in told


# combined_mask


def by_the_smaller(is_token, causal=True):
    length = is_token.shape[1]
    key = torch.arange(length, device=is_token.device)
    query = key if causal else torch.full_like(key, length)
    last = torch.minimum(query[None, :], is_token.sum(1)[:, None] - 1)
    return (key <= last[:, :, None])[:, None]


def by_positions(is_token, causal=True):
    keys = is_token[:, None, None, :]
    position = torch.arange(is_token.shape[1], device=is_token.device)
    return keys & (position[None, :] <= position[:, None]) if causal else keys


def of_mask(change):
    """`change(mask, is_token, causal)` of the right mask."""
    return lambda is_token, causal=True: change(combined_mask(is_token, causal), is_token, causal)


test_mask = accepts("transformer.combined_mask", by_the_smaller, by_positions)
test_wrong_mask = rejects(
    "transformer.combined_mask",
    (of_mask(lambda mask, *_: mask[:, 0]), 1, "Yours: ((2, 5, 5), 'torch.bool')"),
    (of_mask(lambda mask, *_: mask.float()), 1, "Compare, or call `.bool()`"),
    (of_mask(lambda mask, *_: mask.tril(-1)), 2, "a token may look at itself"),
    (of_mask(lambda mask, is_token, _: mask & is_token[:, None, :, None]), 3, "an empty row"),
    (lambda a, causal=True: combined_mask(a | True, causal), 3, "both conditions must hold"),
    (lambda is_token, causal=True: combined_mask(is_token), 4, "only `if causal`"),
    (lambda is_token, causal=False: combined_mask(is_token, causal), 4, "given, it is True"),
    (
        lambda is_token, causal=True: combined_mask(is_token[:1].expand_as(is_token), causal),
        *(5, "Each sentence has its own pads"),
    ),
    (of_mask(lambda mask, *_: mask & torch.ones(mask.shape).bool()), 6, "would stop on a GPU"),
)


# body


def folded(x, blocks, final_norm):
    halves = [
        half
        for b in blocks
        for half in ((b.attention_norm, b.attention), (b.feed_forward_norm, b.feed_forward))
    ]
    return final_norm(reduce(lambda x, layers: layers[1](layers[0](x)) + x, halves, x))


def by_recursion(x, blocks, final_norm):
    if not blocks:
        return final_norm(x)
    block, *others = blocks
    attended = block.attention(block.attention_norm(x))
    fed = block.feed_forward(block.feed_forward_norm(attended + x))
    return by_recursion(x + attended + fed, others, final_norm)


def through(step):
    """A body in which each block is `step(x, block, final_norm)`."""

    def body(x, blocks, final_norm):
        for block in blocks:
            x = step(x, block, final_norm)
        return final_norm(x)

    return body


def post_norm(x, block, _):
    x = block.attention_norm(x + block.attention(x))
    return block.feed_forward_norm(x + block.feed_forward(x))


def as_it_was(x, block, _):
    x = block.attention_norm(x)
    x = block.feed_forward_norm(x + block.attention(x))
    return x + block.feed_forward(x)


def both_read_the_same(x, block, _):
    attended = block.attention(block.attention_norm(x))
    return x + attended + block.feed_forward(block.feed_forward_norm(x))


test_body = accepts("transformer.body", folded, by_recursion)
test_wrong_body = rejects(
    "transformer.body",
    (lambda x, blocks, norm: folded(x.add_(1), blocks, norm), 1, "Argument 1, `x`, after the call"),
    (through(post_norm), 1, "Pre-norm is norm, attention, norm, feed-forward"),
    (through(as_it_was), 2, "which no norm inside a block may change"),
    (through(both_read_the_same), 3, "and feed-forward 10 × (2 + 1)"),
    (through(lambda x, block, norm: folded(x, [block], norm)), 4, "once, after all of them"),
)


# rotate


def by_complex_numbers(x, table):
    half = x.shape[-1] // 2
    turn = torch.complex(table[0][..., :half], table[1][..., half:])
    turned = torch.complex(x[..., :half].contiguous(), x[..., half:].contiguous()) * turn
    return torch.cat([turned.real, turned.imag], dim=-1)


def neighbours(x, table):
    half = x.shape[-1] // 2
    apart = torch.cat([x[..., ::2], x[..., 1::2]], dim=-1)
    return rotate(apart, table).unflatten(-1, (2, half)).mT.flatten(-2)


test_rotate = accepts("transformer.rotate", by_complex_numbers, rotate_of_the_package)
test_wrong_rotate = rejects(
    "transformer.rotate",
    (lambda x, table: rotate(x, table)[..., :4], 1, "The shape stays the same"),
    (lambda x, table: rotate(x, table) - x * table[0], 2, "Is x multiplied by the cosine"),
    (lambda x, table: x * table[0], 3, "the sine is multiplied by the other half"),
    (lambda x, t: x * t[0] + torch.cat([x[..., 4:], x[..., :4]], -1) * t[1], 3, "in the middle"),
    (neighbours, 4, "Features 0 and 2 are a pair"),
    (lambda x, table: rotate(x.detach(), table), 5, "Yours: ['x']"),
)


# feed_forward


def by_matrices(self, x):
    wide = self.activation(x @ self.up.weight.T + self.up.bias)
    return wide @ self.down.weight.T + self.down.bias


def row_by_row(self, x):
    rows = [self.down(self.activation(self.up(row))) for row in x.flatten(0, 1)]
    return torch.stack(rows).view(x.shape)


def feeds(forward):
    return otherwise(FeedForward, forward=forward)


test_feed_forward = accepts("transformer.feed_forward", feeds(by_matrices), feeds(row_by_row))
test_wrong_feed_forward = rejects(
    "transformer.feed_forward",
    (otherwise(FeedForward, __init__=lambda s, config: nn.Module.__init__(s)), 1, "up.weight"),
    (feeds(lambda s, x: s.down(s.activation(s.up(x)).softmax(1))), 2, "mixes the length dimension"),
    (feeds(lambda s, x: s.down(s.up(x).square())), 3, "0 below 0, and the square above"),
    (feeds(lambda s, x: s.down(F.relu(s.up(x)).square())), 4, "the configuration names"),
)


# self_attention


class NoModule:
    def __init__(self, config):
        self.config = config


class OneHeadAfterTheOther(Attention):
    def forward(self, x, mask=None, table=None):
        mask = mask[:, 0] if mask is not None and mask.dim() == 4 else mask
        layers = self.query, self.key, self.value
        parts = (layer(x).chunk(self.config.heads, dim=-1) for layer in layers)
        heads = []
        for query, key, value in zip(*parts, strict=True):
            if self.config.qk_norm:
                query, key = (a * a.square().mean(-1, True).rsqrt() for a in (query, key))
            if table is not None:
                query, key = rotate(query, table), rotate(key, table)
            heads.append(attention(query, key, value, mask))
        return self.output(torch.cat(heads, dim=-1))


class ByTheLibrary(Attention):
    def forward(self, x, mask=None, table=None):
        parts = self.query(x), self.key(x), self.value(x)
        query, key, value = (a.unflatten(-1, (self.config.heads, -1)).mT for a in parts)
        query, key, value = (a.permute(0, 3, 1, 2) for a in (query, key, value))
        if table is not None:
            query, key = rotate(query, table), rotate(key, table)
        if self.config.qk_norm:  # a rotation changes no length, so it may come first
            query, key = (F.rms_norm(a, a.shape[-1:]) for a in (query, key))
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return self.output(mixed.permute(0, 2, 1, 3).flatten(2))


def normed(norm):
    return in_steps(norm=lambda q, k, v, on: norm(q, k, v) if on else (q, k, v))


test_self_attention = accepts("transformer.self_attention", OneHeadAfterTheOther, ByTheLibrary)
test_wrong_self_attention = rejects(
    "transformer.self_attention",
    (NoModule, 1, "Expected: a module"),
    (Block, 1, "query.weight: missing instead of (12, 12)"),
    (otherwise(Attention, forward=lambda self, x: (self.output(x), None)), 2, "Yours: a tuple"),
    (in_steps(lambda s, x: (s.query(x), s.query(x), s.value(x))), 2, "each by its own layer"),
    (
        in_steps(cut=lambda x, heads: x.unflatten(-1, (-1, heads)).permute(0, 3, 1, 2)),
        3,
        "Head 0 has",
    ),
    (in_steps(keep=lambda mask: None), 4, "Pass `mask`"),
    (normed(lambda q, k, v: (q, k, v)), 5, "by the root of its mean square"),
    (normed(lambda q, k, v: (rms(q), rms(k), rms(v))), 5, "Leave the values as they are"),
    (in_steps(turn=lambda q, k, v, table: (rotate(q, table), k, v)), 6, "queries and keys"),
    (otherwise(Attention, forward=torch.no_grad()(Attention.forward)), 7, "leave out `no_grad`"),
)


# block


class StepByStep(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention, self.feed_forward = Attention(config), FeedForward(config)
        self.attention_norm, self.feed_forward_norm = (nn.LayerNorm(config.width) for _ in range(2))
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if "output" in name or "down" in name:
                    parameter.zero_()

    def forward(self, x, mask=None, table=None):
        written = self.attention(self.attention_norm(x), mask, table)
        stream = x + written
        return stream + self.feed_forward(self.feed_forward_norm(stream))


class ByNames(Block):
    def forward(self, x, mask=None, table=None):
        stream = self.attention(x=self.attention_norm(x), mask=mask, table=table).add(x)
        return self.feed_forward(self.feed_forward_norm(stream)) + stream


class AllZero(Block):
    def __init__(self, config):
        super().__init__(config)
        for part in (self.attention, self.feed_forward):
            for parameter in part.parameters():
                nn.init.zeros_(parameter)


class DrawsTheBiases(Block):
    def __init__(self, config):
        super().__init__(config)
        nn.init.normal_(self.attention.output.bias)


class SwapsTheNorms(Block):
    def forward(self, x, mask=None, table=None):
        x = x + self.attention(self.feed_forward_norm(x), mask, table)
        return x + self.feed_forward(self.attention_norm(x))


test_block = accepts("transformer.block", StepByStep, ByNames)
test_wrong_block = rejects(
    "transformer.block",
    (Attention, 1, "attention_norm.weight: missing instead of (12,)"),
    (otherwise(Block, forward=lambda s, x, *_: s.attention(x)), 2, "each layer adds to it"),
    (otherwise(Block, forward=lambda s, x, *rest: Block.forward(s, x)), 3, "Pass both on"),
    (DrawsTheBiases, 4, "starts with a weight and a bias of 0"),
    (AllZero, 5, "if all weights are 0, no gradient flows"),
    (SwapsTheNorms, 5, "give each layer its own norm"),
    (
        otherwise(Block, forward=lambda s, x, mask, table: Block.forward(s, x, mask, table)),
        5,
        "TypeError",
    ),
)


# model


class WithATableOfItsOwn(Model):
    def __init__(self, config):
        super().__init__(config)
        size = config.width // config.heads
        self.cosine, self.sine = map(nn.Buffer, rotary_table(config.max_length, size))

    def hidden(self, tokens, padding_mask=None):
        length = tokens.shape[1]
        is_token = tokens == tokens if padding_mask is None else padding_mask
        table = (self.cosine[:length], self.sine[:length]) if self.config.rotary else None
        states = self.embedding(tokens)
        for block in self.blocks:
            states = block(states, combined_mask(is_token, self.config.causal), table)
        return self.norm(states)

    def logits(self, hidden):
        return F.linear(hidden, self.embedding.weight)


class DrawnUniformly(Model):
    def __init__(self, config):
        super().__init__(config)
        nn.init.uniform_(self.embedding.weight, -0.03, 0.03)


def as_if(**changes):
    """A wrong answer whose `hidden` takes the configuration to have these changes."""

    def hidden(self, tokens, padding_mask=None):
        config, self.config = self.config, replace(self.config, **changes)
        states = Model.hidden(self, tokens, padding_mask)
        self.config = config
        return states

    return otherwise(Model, hidden=hidden)


def without_a_mask(made):
    """A model whose padding mask is `made(tokens)` where there is none."""

    def hidden(self, tokens, padding_mask=None):
        mask = made(tokens) if padding_mask is None else padding_mask
        return Model.hidden(self, tokens, mask)

    return otherwise(Model, hidden=hidden)


def handing_on(change):
    """A model whose blocks are given `change(x, mask, table)`."""

    def hook(model, config):
        for block in model.blocks:
            block.register_forward_pre_hook(lambda block, given: change(*given))

    return begun(hook)


def draws_everything(model, config):
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.02)


def in_three_dimensions(self, hidden):
    return torch.bmm(hidden, self.embedding.weight.T.expand(len(hidden), -1, -1))


BOOLEAN = "`torch.ones_like(tokens, dtype=torch.bool)`"
ON_THE_CPU = handing_on(
    lambda x, mask, table: (x, mask, table and rotary_table(x.shape[1], x.shape[2] // 3))
)
test_model = accepts("transformer.model", WithATableOfItsOwn, DrawnUniformly)
test_wrong_model = rejects(
    "transformer.model",
    (begun(lambda m, config: setattr(m, "head", nn.Linear(12, 40))), 1, "Nothing else has"),
    (begun(lambda model, config: delattr(model, "config")), 1, "`self.config = config`"),
    (otherwise(Model, hidden=lambda s, ids, mask=None: s.norm(mask.bool())), 2, "None here?"),
    (without_a_mask(lambda tokens: torch.ones(tokens.shape)), 2, BOOLEAN),
    (without_a_mask(torch.ones_like), 2, BOOLEAN),
    (handing_on(lambda x, mask, table: (x, mask.float(), table)), 2, BOOLEAN),
    (otherwise(Model, logits=in_three_dimensions), 2, "RuntimeError"),
    (begun(lambda model, config: nn.init.normal_(model.embedding.weight, std=0.3)), 3, "ln 500"),
    (begun(lambda model, config: nn.init.zeros_(model.embedding.weight)), 3, "std=0.02"),
    (begun(draws_everything), 3, "initialise the embedding only"),
    (as_if(causal=False), 4, "Do you pass the mask"),
    (as_if(causal=True), 4, "Pass `config.causal`"),
    (
        otherwise(Model, hidden=lambda s, ids, _=None: Model.hidden(s, ids)),
        5,
        "No token may look at",
    ),
    (otherwise(Model, logits=lambda s, x: F.linear(x, s.embedding.weight / 3)), 6, "Logits are"),
    (as_if(rotary=True), 6, "Pass None instead of the table"),
    (otherwise(Model, forward=torch.no_grad()(Model.forward)), 6, "leave out `no_grad`"),
    (without_a_mask(lambda tokens: tokens != 0), 6, "even one whose id is 0"),
    (begun(lambda model, config: setattr(model.embedding, "padding_idx", 0)), 6, "`padding_idx`"),
    (ON_THE_CPU, 7, "would stop on a GPU"),
    (without_a_mask(lambda ids: torch.ones(ids.shape).bool()), 7, "would stop on a GPU"),
)


def test_who_returns_hidden_states_in_forward_is_not_told_of_logits_that_are_never_called():
    told = check(get("transformer.model"), otherwise(Model, forward=Model.hidden)).message
    assert "`forward` returns logits" in told and "multiplies" not in told


# convert_gpt2


def by_places(theirs, layers):
    """Cuts `c_attn` by counting columns."""
    mine = {name: each.clone() for name, each in convert_gpt2(theirs, layers).items()}
    for old in [name for name in theirs if "c_attn" in name]:
        joint = theirs[old].T
        width = len(joint) // 3
        for place, name in enumerate(("query", "key", "value")):
            new = old.replace("transformer.h", "blocks").replace("attn.c_attn", f"attention.{name}")
            mine[new] = joint[place * width : (place + 1) * width].contiguous()
    return mine


def empties_theirs(theirs, layers):
    mine = convert_gpt2(theirs, layers)
    theirs.clear()
    return mine


test_conversion = accepts(
    "transformer.convert_gpt2", by_places, lambda theirs, layers: by_replacing(theirs)
)
test_wrong_conversion = rejects(
    "transformer.convert_gpt2",
    (lambda *given: [*convert_gpt2(*given).items()], 1, "a list\nExpected: a dict"),
    (empties_theirs, 1, "Argument 1, `theirs`"),
    (changing(torch.neg, "positions"), 1, "Copy them unchanged"),
    (changing(torch.t, "output"), 2, "those of `nn.Linear` are (out, in)"),
    (changing(lambda e: e.t().reshape(e.shape), "up"), 2, "blocks.0.feed_forward.up.weight"),
    (changing(torch.t, "query"), 3, "blocks of neighbouring columns"),
    (lambda *given: convert_gpt2(*given) | {"lm_head.weight": 0}, 4, "our head is tied"),
)

import math
from dataclasses import replace
from functools import reduce

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects
from tlcourse.exercises.checking import check
from tlcourse.exercises.task import get
from tlcourse.exercises.transformer._common import otherwise
from tlcourse.exercises.transformer.attention import (
    attention,
    divided_by,
    masked_by,
    mixed,
    scaled,
)
from tlcourse.exercises.transformer.block import Block
from tlcourse.exercises.transformer.combined_mask import combined_mask
from tlcourse.exercises.transformer.convert_gpt2 import (
    by_replacing,
    changed,
    convert_gpt2,
    transposed,
)
from tlcourse.exercises.transformer.feed_forward import FeedForward
from tlcourse.exercises.transformer.grouped_attention import GroupedAttention
from tlcourse.exercises.transformer.grouped_attention import in_steps as grouped_in_steps
from tlcourse.exercises.transformer.model import Model, begun, in_steps
from tlcourse.exercises.transformer.rms_norm import RMSNorm
from tlcourse.exercises.transformer.rotate import rotate
from tlcourse.exercises.transformer.self_attention import Attention, rms
from tlcourse.exercises.transformer.self_attention import in_steps as attention_in_steps
from tlcourse.exercises.transformer.swiglu import GatedFeedForward
from tlcourse.transformer import ACTIVATIONS, rotary_table
from tlcourse.transformer import rotate as rotate_of_the_package


def nothing(*arguments): ...  # your code here


# attention


def by_exponentials(query, key, value, mask=None):
    scores = torch.matmul(query / math.sqrt(query.shape[-1]), key.mT)
    if mask is not None:
        scores = scores + torch.zeros(mask.shape).masked_fill(mask.logical_not(), -math.inf)
    powers = (scores - scores.amax(-1, keepdim=True)).exp()
    return (powers / powers.sum(-1, keepdim=True)) @ value


def by_einsum(query, key, value, mask=None):
    root = query.shape[-1] ** 0.25
    scores = torch.einsum("...qd,...kd->...qk", query / root, key / root)
    if mask is not None:
        scores = scores + (1.0 - mask.float()) * -1e9
    return torch.einsum("...qk,...kd->...qd", F.softmax(scores, -1), value)


def returns_nothing(query, key, value, mask=None):
    mixed(scaled(query, key), value, mask)


def turned_after(change):
    """`change(query, key, value, mask)` gives what the right attention then reads."""
    return lambda q, k, v, mask=None: attention(*change(q, k, v, mask))


def overflows(query, key, value, mask=None):
    powers = scaled(query, key).exp() * (1 if mask is None else mask)
    return powers / powers.sum(-1, keepdim=True) @ value


def filled(least):
    return masked_by(lambda scores, value, mask: mixed(scores.masked_fill(~mask, least), value))


every_key = torch.ones(5, 5, dtype=torch.bool)
test_attention = accepts(
    "transformer.attention", by_exponentials, by_einsum, F.scaled_dot_product_attention
)
test_wrong_attention = rejects(
    "transformer.attention",
    (nothing, 0, "Not solved yet"),
    (lambda q, k, v, mask=None: mixed(q @ k.permute(2, 1, 0), v), 1, "`.T` reverses all of them"),
    (lambda q, k, v, mask=None: mixed(q @ k, v), 1, "swap the last two dimensions"),
    (lambda q, k, v, mask=None: mixed(scaled(q, k), v, ~mask), 1, "`mask` may be None"),
    (lambda q, k, v, mask=None: mixed(scaled(q, k), v, mask.bool()), 1, "`mask` may be None"),
    (returns_nothing, 1, "is a `return` missing?"),
    (lambda q, k, v, mask=None: (v, scaled(q, k)), 1, "a tuple\nExpected: a Tensor"),
    (lambda q, k, v, mask=None: attention(q, k, v, mask).numpy(), 1, "a ndarray"),
    (lambda q, k, v, mask=None: attention(q.mul_(2), k, v), 1, "Argument 1, `q`"),
    (lambda q, k, v, mask=None: scaled(q, k).softmax(-2) @ v, 2, "over the last dimension?"),
    (divided_by(lambda q, k, v: q.shape[-1]), 3, "Divided by sqrt(4)"),
    (divided_by(lambda q, k, v: q.shape[-1] ** -0.5), 3, "Yours: 0.987805"),
    (divided_by(lambda q, k, v: v.shape[-1] ** 0.5), 3, "is the last dimension of the query"),
    (turned_after(lambda q, k, v, mask: (q, k[..., :1, :], v[..., :1, :], mask)), 3, "Yours: 1"),
    (masked_by(lambda scores, value, mask: mixed(scores, value)), 4, "look at key 0 only"),
    (masked_by(lambda scores, value, mask: mixed(scores, value, mask.mT)), 4, "rows of the mask"),
    (masked_by(lambda scores, value, mask: mixed(scores + mask, value)), 4, "-infinity"),
    (masked_by(lambda scores, value, mask: mixed(scores - (1 - mask) * 1e9, value)), 4, "`-`"),
    (masked_by(lambda scores, value, mask: mixed(scores, value, every_key.tril())), 5, "padded"),
    (overflows, 5, "Does `exp` overflow?"),
    (filled(-100.0), 5, "Masked keys still get weight: set their scores to -infinity"),
    (masked_by(lambda s, v, mask: mixed(s - 1000 * ~mask, v)), 5, "Masked keys still get weight"),
    (torch.no_grad()(attention), 5, "Yours: ['query', 'key', 'value']"),
    (turned_after(lambda q, k, v, mask: (q, k, v.detach(), mask)), 5, "Yours: ['value']"),
)


def test_what_is_no_tensor_is_not_blamed_on_the_key():
    assert "last two" not in check(get("transformer.attention"), returns_nothing).message


# combined_mask


def by_the_smaller(is_token, causal=True):
    length = is_token.shape[1]
    key = torch.arange(length, device=is_token.device)
    query = key if causal else torch.full_like(key, length)
    last = torch.minimum(query[None, :], is_token.sum(1)[:, None] - 1)
    return (key <= last[:, :, None])[:, None]


def sentence_by_sentence(is_token, causal=True):
    rows = []
    for sentence in is_token:
        square = sentence[None].expand(len(sentence), -1)
        rows.append(square.tril() if causal else square)
    return torch.stack(rows).unsqueeze(1)


def by_positions(is_token, causal=True):
    keys = is_token[:, None, None, :]
    if not causal:
        return keys
    position = torch.arange(is_token.shape[1], device=is_token.device)
    return keys & (position[None, :] <= position[:, None])


def only_pass(is_token, causal=True):
    pass


def of_mask(change):
    """`change(mask, is_token, causal)` of the right mask."""
    return lambda is_token, causal=True: change(combined_mask(is_token, causal), is_token, causal)


test_mask = accepts("transformer.combined_mask", by_the_smaller, sentence_by_sentence, by_positions)
test_wrong_mask = rejects(
    "transformer.combined_mask",
    (only_pass, 0, "Not solved yet"),
    (of_mask(lambda mask, *_: mask[:, 0]), 1, "Yours: (2, 5, 5)\nExpected: (2, 1, 5, 5)"),
    (of_mask(lambda mask, is_token, causal: is_token), 1, "Yours: (2, 5)"),
    (of_mask(lambda mask, *_: mask.numpy()), 1, "a ndarray\nExpected: a Tensor"),
    (of_mask(lambda mask, *_: mask.float()), 1, "Compare, or call `.bool()`"),
    (lambda is_token, causal=True: combined_mask(is_token, False), 2, "Every key is kept"),
    (of_mask(lambda mask, is_token, _: mask & is_token[:, None, :, None]), 3, "An empty row"),
    (lambda a, causal=True: combined_mask(a | True, causal), 3, "both conditions must hold"),
    (of_mask(lambda mask, _, causal: mask if causal else mask.float()), 4, "Compare, or call"),
    (of_mask(lambda mask, _, causal: mask | (not causal)), 4, "before it and after it"),
    (
        lambda is_token, causal=True: combined_mask(is_token[:1].expand_as(is_token), causal),
        *(5, "Each sentence has pads of its own"),
    ),
    (of_mask(lambda mask, *_: mask & torch.ones(mask.shape).bool()), 6, "would stop on a GPU"),
)


# body


def step_by_step(x, blocks, final_norm):
    for block in blocks:
        normalised = block.attention_norm(x)
        written = block.attention(normalised)
        stream = x + written
        x = stream + block.feed_forward(block.feed_forward_norm(stream))
    return final_norm(x)


def folded(x, blocks, final_norm):
    def add(x, layers):
        return layers[1](layers[0](x)) + x

    halves = [
        half
        for b in blocks
        for half in ((b.attention_norm, b.attention), (b.feed_forward_norm, b.feed_forward))
    ]
    return final_norm(reduce(add, halves, x))


def by_recursion(x, blocks, final_norm):
    if not blocks:
        return final_norm(x)
    block, *others = blocks
    attended = block.attention(block.attention_norm(x))
    fed = block.feed_forward(block.feed_forward_norm(attended + x))
    return by_recursion(x + attended + fed, others, final_norm)


def adds_to_what_it_was_given(x, blocks, final_norm):
    for block in blocks:
        x += block.attention(block.attention_norm(x))
        x += block.feed_forward(block.feed_forward_norm(x))
    return final_norm(x)


def through(step):
    """A body in which each block is `step(x, block, final_norm)`."""

    def body(x, blocks, final_norm):
        for block in blocks:
            x = step(x, block, final_norm)
        return final_norm(x)

    return body


def norms_what_was_written(x, block, _):
    x = x + block.attention_norm(block.attention(x))
    return x + block.feed_forward_norm(block.feed_forward(x))


def both_read_the_same(x, block, _):
    attended = block.attention(block.attention_norm(x))
    return x + attended + block.feed_forward(block.feed_forward_norm(x))


def from_the_start_of_the_block(x, block, _):
    attended = x + block.attention(block.attention_norm(x))
    return x + block.feed_forward(block.feed_forward_norm(attended))


test_body = accepts("transformer.body", step_by_step, folded, by_recursion)
test_wrong_body = rejects(
    "transformer.body",
    (nothing, 0, "Not solved yet"),
    (adds_to_what_it_was_given, 1, "Argument 1, `x`, after the call"),
    (through(norms_what_was_written), 1, "Each norm comes after its layer here"),
    (lambda x, blocks, norm: folded(x, blocks[1:], norm), 1, "Only one block was used"),
    (lambda x, blocks, norm: folded(x, blocks, lambda y: y + norm(y)), 2, "as it came"),
    (through(both_read_the_same), 3, "after attention has written: 10 × (2 + 1)"),
    (through(from_the_start_of_the_block), 3, "what attention wrote stays in it"),
    (lambda x, blocks, norm: folded(x, blocks, lambda y: y), 4, "is used once, after all"),
    (through(lambda x, block, norm: folded(x, [block], norm)), 4, "is used once, after all"),
)


# rotate


def by_complex_numbers(x, table):
    half = x.shape[-1] // 2
    turn = torch.complex(table[0][..., :half], table[1][..., half:])
    turned = torch.complex(x[..., :half].contiguous(), x[..., half:].contiguous()) * turn
    return torch.cat([turned.real, turned.imag], dim=-1)


def half_by_half(x, table):
    half = x.shape[-1] // 2
    cosine, sine = table[0][:, :half], table[1][:, half:]
    one, two = x[..., :half], x[..., half:]
    return torch.cat([one * cosine - two * sine, two * cosine + one * sine], dim=-1)


test_rotate = accepts("transformer.rotate", by_complex_numbers, half_by_half, rotate_of_the_package)
test_wrong_rotate = rejects(
    "transformer.rotate",
    (lambda x, table: half_by_half(x, table)[..., :4], 1, "All features come back"),
    (lambda x, table: rotate(x, table) - x * table[0], 2, "Is x times the cosine in the sum?"),
    (lambda x, table: x * table[0], 3, "the sine's share comes from the other half"),
    (lambda x, table: rotate(x.detach(), table), 5, "Yours: ['x']"),
)


# feed_forward


class SquaredByHand(FeedForward):
    def __init__(self, config):
        super().__init__(config)
        self.config = config

    def forward(self, x):
        wide = x @ self.up.weight.T + self.up.bias
        if self.config.activation == "relu2":
            wide = torch.where(wide > 0, wide**2, 0.0)
        else:
            wide = ACTIVATIONS[self.config.activation](wide)
        return wide @ self.down.weight.T + self.down.bias


def row_by_row(self, x):
    rows = [self.down(self.activation(self.up(row))) for row in x.flatten(0, 1)]
    return torch.stack(rows).view(x.shape)


test_feed_forward = accepts(
    "transformer.feed_forward", SquaredByHand, otherwise(FeedForward, forward=row_by_row)
)
test_wrong_feed_forward = rejects(
    "transformer.feed_forward",
    (
        otherwise(FeedForward, forward=lambda s, x: s.down(s.activation(s.up(x)).softmax(1))),
        *(2, "Something mixes the length dimension"),
    ),
    (
        otherwise(FeedForward, forward=lambda s, x: s.down(s.up(x).clamp(max=0).square())),
        *(3, "0 below 0, and the square above it"),
    ),
    (
        otherwise(FeedForward, forward=lambda s, x: s.down(F.relu(s.up(x)).square())),
        *(4, "Take the function that the configuration names"),
    ),
)


# self_attention


class Unwritten(nn.Module):
    def __init__(self, config):
        super().__init__()
        ...  # your code here

    def forward(self, x, mask=None, table=None): ...  # your code here


class NoInit(nn.Module):
    def __init__(self, config):
        self.query = nn.Linear(config.width, config.width)

    def forward(self, x, mask=None, table=None):
        return x


class NoModule:
    def __init__(self, config):
        self.config = config

    def forward(self, x, mask=None, table=None):
        return x


class OneJointLayer(Attention):
    def __init__(self, config):
        super().__init__(config)
        del self.query, self.key, self.value
        self.joint = nn.Linear(config.width, 3 * config.width)


class WithAGain(Attention):
    def __init__(self, config):
        super().__init__(config)
        self.query_norm = nn.RMSNorm(config.width // config.heads)


class OneHeadAfterTheOther(Attention):
    def forward(self, x, mask=None, table=None):
        mask = mask[:, 0] if mask is not None and mask.dim() == 4 else mask
        layers = self.query, self.key, self.value
        parts = (layer(x).chunk(self.config.heads, dim=-1) for layer in layers)
        found = []
        for query, key, value in zip(*parts, strict=True):
            if self.config.qk_norm:
                query, key = (a * a.square().mean(-1, True).rsqrt() for a in (query, key))
            if table is not None:
                query, key = rotate(query, table), rotate(key, table)
            found.append(attention(query, key, value, mask))
        return self.output(torch.cat(found, dim=-1))


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


def reads(change):
    """A class whose `forward` reads `change(x)`, which stays as it is."""
    return otherwise(Attention, forward=lambda self, x, *rest: Attention.forward(self, change(x)))


def normed(norm):
    return attention_in_steps(norm=lambda q, k, v, on: norm(q, k, v) if on else (q, k, v))


def layer_norm(x):
    return F.layer_norm(x, x.shape[-1:])


test_self_attention = accepts("transformer.self_attention", OneHeadAfterTheOther, ByTheLibrary)
test_wrong_self_attention = rejects(
    "transformer.self_attention",
    (Unwritten, 0, "Not solved yet"),
    (NoInit, 1, "Module.__init__() call"),
    (NoModule, 1, "Expected: a module"),
    (OneJointLayer, 1, "query.weight is missing"),
    (WithAGain, 1, "query_norm.weight is not expected"),
    (reads(lambda x: x.add_(1)), 2, "Argument 1, `x`, after the call"),
    (otherwise(Attention, forward=lambda self, x: (self.output(x), None)), 2, "Yours: a tuple"),
    (
        attention_in_steps(lambda s, x: (s.query(x), s.query(x), s.value(x))),
        2,
        "by a layer of their own",
    ),
    (attention_in_steps(lambda s, x: (s.query(x), s.key(x), s.value(s.key(x)))), 2, "One head"),
    (attention_in_steps(cut=lambda x, heads: x[:, None]), 3, "Head 0 has features 0 to 3"),
    (
        attention_in_steps(cut=lambda x, heads: x.unflatten(-1, (-1, heads)).permute(0, 3, 1, 2)),
        *(3, "Head 0 has features 0 to 3"),
    ),
    (attention_in_steps(keep=lambda mask: None), 4, "Hand `mask` on"),
    (attention_in_steps(keep=lambda mask: mask if mask is None else ~mask), 4, "Hand `mask` on"),
    (normed(lambda q, k, v: (q, k, v)), 5, "is divided by the root of its mean square"),
    (normed(lambda q, k, v: (rms(q), rms(k), rms(v))), 5, "Values are not"),
    (normed(lambda q, k, v: (rms(q), k, v)), 5, "each query and each key"),
    (normed(lambda q, k, v: (F.normalize(q, dim=-1), F.normalize(k, dim=-1), v)), 5, "mean square"),
    (normed(lambda q, k, v: (layer_norm(q), layer_norm(k), v)), 5, "F.rms_norm"),
    (attention_in_steps(turn=lambda q, k, v, table: (q, k, v)), 6, "queries and keys"),
    (
        attention_in_steps(turn=lambda q, k, v, table: (q, rotate(k, table), v)),
        6,
        "queries and keys",
    ),
    (
        attention_in_steps(turn=lambda *parts: tuple(rotate(a, parts[3]) for a in parts[:3])),
        *(6, "values stay as they are"),
    ),
    (otherwise(Attention, forward=torch.no_grad()(Attention.forward)), 7, "leave out `no_grad`"),
)


# block


class StepByStep(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention, self.feed_forward = Attention(config), FeedForward(config)
        self.attention_norm, self.feed_forward_norm = (
            nn.LayerNorm(config.width, eps=config.norm_epsilon) for _ in range(2)
        )
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


def one_residual(s, x, *rest):
    x = x + s.attention(s.attention_norm(x), *rest)
    return s.feed_forward(s.feed_forward_norm(x))


def attention_lost(s, x, *rest):
    attended = x + s.attention(s.attention_norm(x), *rest)
    return x + s.feed_forward(s.feed_forward_norm(attended))


def starting(zeroed):
    """A block in which those parameters start at zero whose names `zeroed` takes, and no others."""

    class Faulty(Block):
        def __init__(self, config):
            super().__init__(config)
            for layer in (self.attention.output, self.feed_forward.down):
                layer.reset_parameters()
            for name, parameter in self.named_parameters():
                if zeroed(name):
                    nn.init.zeros_(parameter)

    return Faulty


test_block = accepts("transformer.block", StepByStep, ByNames)
test_wrong_block = rejects(
    "transformer.block",
    (otherwise(Block, forward=one_residual), 2, "each layer adds to it: 2 + 1 + 1"),
    (otherwise(Block, forward=attention_lost), 2, "each layer adds to it: 2 + 1 + 1"),
    (
        otherwise(Block, forward=lambda s, x, mask, table: Block.forward(s, x, mask)),
        *(3, "['the mask', None]"),
    ),
    (otherwise(Block, forward=lambda s, x, *rest: Block.forward(s, x)), 3, "hands both on"),
    (starting(lambda name: False), 4, "starts with a weight and a bias of 0"),
    (starting(lambda name: "output" in name), 4, "starts with a weight and a bias of 0"),
    (starting(lambda name: "down" in name), 4, "starts with a weight and a bias of 0"),
    (starting(lambda name: "norm" not in name), 5, "where everything is zero, no gradient flows"),
)


# model


class WithATableOfItsOwn(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config, size = config, config.width // config.heads
        self.embedding = nn.Embedding(config.vocabulary_size, config.width)
        self.embedding.weight.data.mul_(0.02)
        self.blocks = nn.ModuleList()
        for _ in range(config.layers):
            self.blocks.append(Block(config))
        self.norm = nn.LayerNorm(config.width)
        self.cosine, self.sine = map(nn.Buffer, rotary_table(config.max_length, size))

    def hidden(self, tokens, padding_mask=None):
        length = tokens.shape[1]
        keep = combined_mask(
            tokens == tokens if padding_mask is None else padding_mask, self.config.causal
        )
        table = (self.cosine[:length], self.sine[:length]) if self.config.rotary else None
        states = self.embedding(tokens)
        for block in self.blocks:
            states = block(states, keep, table)
        return self.norm(states)

    def logits(self, hidden):
        return F.linear(hidden, self.embedding.weight)

    def forward(self, tokens, padding_mask=None):
        return self.logits(self.hidden(tokens, padding_mask))


class FromNumbers(Model):
    def __init__(self, config):
        super().__init__(config)
        nn.init.uniform_(self.embedding.weight, -0.03, 0.03)

    def hidden(self, tokens, padding_mask=None):
        batch, length = tokens.shape
        keep = torch.ones(batch, 1, length, length, dtype=torch.bool, device=tokens.device)
        keep = keep.tril() if self.config.causal else keep
        if padding_mask is not None:
            keep = keep & padding_mask[:, None, None]
        head_dim = self.config.width // self.config.heads
        table = rotary_table(length, head_dim, tokens.device) if self.config.rotary else None
        x = self.embedding(tokens)
        for number in range(self.config.layers):
            x = self.blocks[number](x, keep, table)
        return self.norm(x)


def without_a_mask(made):
    """A model whose padding mask is `made(tokens)` where there is none."""

    def hidden(self, tokens, padding_mask=None):
        mask = made(tokens) if padding_mask is None else padding_mask
        return Model.hidden(self, tokens, mask)

    return otherwise(Model, hidden=hidden)


def with_logits(change):
    return otherwise(Model, logits=lambda self, hidden: change(Model.logits(self, hidden)))


def a_table_always(self, tokens, padding_mask=None):
    config, self.config = self.config, replace(self.config, rotary=True)
    try:
        return Model.hidden(self, tokens, padding_mask)
    finally:
        self.config = config


def floats_joined_by_products(self, tokens, padding_mask=None):
    length = tokens.shape[1]
    mask = torch.ones(tokens.shape)[:, None, None] * torch.ones(length, length).tril()
    return self.norm(self.blocks[0](self.embedding(tokens), mask))


ZERO = "every position is a token, even one whose id is 0"
test_model = accepts("transformer.model", WithATableOfItsOwn, FromNumbers)
test_wrong_model = rejects(
    "transformer.model",
    (begun(lambda model, config: model.blocks.pop(-1)), 1, "There is one block only"),
    (begun(lambda model, config: delattr(model, "config")), 1, "`self.config = config`"),
    (otherwise(Model, hidden=lambda s, ids, mask=None: s.norm(mask.bool())), 2, "None here?"),
    (otherwise(Model, logits=lambda self, hidden: hidden), 2, "`logits` multiplies hidden states"),
    (begun(lambda model, config: nn.init.normal_(model.embedding.weight, std=0.3)), 3, "ln 500"),
    (in_steps(mask=lambda is_token, causal: combined_mask(is_token, False)), 4, "Is the mask"),
    (in_steps(mask=lambda is_token, causal: combined_mask(is_token)), 4, "`config.causal` on"),
    (in_steps(mask=lambda a, causal: combined_mask(a | True, causal)), 5, "No token looks at"),
    (in_steps(start=lambda x: F.layer_norm(x, x.shape[-1:])), 6, "once through the last norm"),
    (in_steps(order=lambda blocks: blocks[::-1]), 6, "all blocks in their order"),
    (in_steps(order=lambda blocks: blocks[1:]), 6, "all blocks in their order"),
    (otherwise(Model, hidden=a_table_always), 6, "The blocks get None in place of the table"),
    (with_logits(lambda logits: logits / 12**0.5), 6, "Logits are the products"),
    (with_logits(lambda logits: logits.softmax(-1)), 6, "Logits are the products"),
    (
        otherwise(Model, forward=lambda s, *given: s.logits(s.norm(s.hidden(*given)))),
        *(6, "Logits are the products"),
    ),
    (otherwise(Model, forward=torch.no_grad()(Model.forward)), 6, "leave out `no_grad`"),
    (in_steps(table=lambda length, size, _: rotary_table(length, size)), 7, "would stop on a GPU"),
)


def test_a_token_whose_id_is_0_is_no_pad_and_nothing_is_said_of_the_table():
    told = check(get("transformer.model"), without_a_mask(lambda tokens: tokens != 0))
    assert told.stage == 6 and ZERO in told.message and "table" not in told.message


def test_who_returns_hidden_states_in_forward_is_not_told_of_logits_that_are_never_called():
    told = check(get("transformer.model"), otherwise(Model, forward=Model.hidden)).message
    assert "`forward` returns logits" in told and "multiplies" not in told


@pytest.mark.parametrize(
    "wrong",
    [
        without_a_mask(lambda tokens: torch.ones(tokens.shape)),
        without_a_mask(torch.ones_like),
        otherwise(Model, hidden=floats_joined_by_products),
    ],
)
def test_a_padding_mask_of_numbers_is_named_and_not_the_line_that_stumbled_over_it(wrong):
    told = check(get("transformer.model"), wrong)
    assert told.stage == 2 and "`torch.ones_like(tokens, dtype=torch.bool)`" in told.message
    assert "in line" not in told.message


# convert_gpt2


def by_places(theirs, layers):
    """Counts columns, and leaves theirs alone."""
    found = {name: each.clone() for name, each in convert_gpt2(theirs, layers).items()}
    for layer in range(layers):
        for part in ("weight", "bias"):
            joint = theirs[f"transformer.h.{layer}.attn.c_attn.{part}"].T
            width = len(joint) // 3
            for place, name in enumerate(("query", "key", "value")):
                rows = joint[place * width : (place + 1) * width]
                found[f"blocks.{layer}.attention.{name}.{part}"] = rows.contiguous()
    return found


def heads_interleaved(theirs, layers):
    """Takes every third column for the query, and so on."""
    right = convert_gpt2(theirs, layers)
    for layer in range(layers):
        joint = theirs[f"transformer.h.{layer}.attn.c_attn.weight"]
        for place, name in enumerate(("query", "key", "value")):
            right[f"blocks.{layer}.attention.{name}.weight"] = joint[:, place::3].t()
    return right


def empties_theirs(theirs, layers):
    right = convert_gpt2(theirs, layers)
    theirs.clear()
    return right


def read_as_out_in(mine):
    """Right shapes, wrong numbers."""
    plain = ("up.weight", "down.weight", "output.weight")
    return {n: e.t().reshape(e.shape) if n.endswith(plain) else e for n, e in mine.items()}


test_conversion = accepts(
    "transformer.convert_gpt2", by_places, lambda theirs, layers: by_replacing(theirs)
)
test_wrong_conversion = rejects(
    "transformer.convert_gpt2",
    (changed(lambda mine: list(mine.items())), 1, "a list\nExpected: a dict"),
    (empties_theirs, 1, "Argument 1, `theirs`"),
    (transposed(lambda name: "embedding" not in name), 2, "so they need a `.t()`"),
    (changed(read_as_out_in), 2, "attention.output.weight has other numbers"),
    (heads_interleaved, 3, "into three blocks of neighbouring columns"),
    (changed(lambda mine: mine | {"embedding.bias": torch.zeros(4)}), 4, "embedding.bias is not"),
    (changed(lambda mine: mine | {"lm_head.weight": torch.zeros(7, 4)}), 4, "our head is tied"),
)


# rms_norm


def by_the_length(self, x):
    length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return x / torch.sqrt(length**2 / x.shape[-1] + self.epsilon) * self.weight


def norm_of(forward):
    return otherwise(RMSNorm, forward=forward)


test_rms_norm = accepts(
    "transformer.rms_norm",
    norm_of(by_the_length),
    norm_of(lambda s, x: F.rms_norm(x, x.shape[-1:], s.weight, s.epsilon)),
)
test_wrong_rms_norm = rejects(
    "transformer.rms_norm",
    (
        norm_of(lambda s, x: s.weight * x / (x.square().mean(-1, True).sqrt() + s.epsilon)),
        *(3, "before the root is taken"),
    ),
    (norm_of(lambda s, x: F.rms_norm(x, x.shape[-1:], eps=s.epsilon)), 4, "its own number"),
    (norm_of(lambda s, x: by_the_length(s, x).detach()), 4, "Yours: ['weight']"),
)


# swiglu


def by_sigmoid(self, x):
    opened = x @ self.gate.weight.T
    return (opened * opened.sigmoid() * (x @ self.up.weight.T)) @ self.down.weight.T


class WithAnActivation(GatedFeedForward):
    def __init__(self, width, inner):
        super().__init__(width, inner)
        self.activation = nn.SiLU()

    def forward(self, x):
        return self.down(self.up(x).mul(self.activation(self.gate(x))))


def gated(forward):
    return otherwise(GatedFeedForward, forward=forward)


test_swiglu = accepts("transformer.swiglu", gated(by_sigmoid), WithAnActivation)
test_wrong_swiglu = rejects(
    "transformer.swiglu",
    (FeedForward, 1, "positional argument"),
    (gated(lambda s, x: s.down(F.silu(s.gate(x)) + s.up(x))), 2, "times what `up` gives"),
    (gated(lambda s, x: s.down(F.silu(s.gate(x)))), 2, "times what `up` gives"),
    (gated(lambda s, x: x + GatedFeedForward.forward(s, x)), 2, "times what `up` gives"),
    (gated(lambda s, x: GatedFeedForward.forward(s, x).detach()), 2, "leave out `no_grad`"),
)


# grouped_attention


class WithADimensionForTheGroups(GroupedAttention):
    def forward(self, x, mask=None, table=None):
        parts = self.query(x), self.key(x), self.value(x)
        query, key, value = (p.unflatten(-1, (-1, self.size)).transpose(1, 2) for p in parts)
        if table is not None:
            query, key = rotate(query, table), rotate(key, table)
        query = query.unflatten(1, (key.shape[1], -1))  # (batch, groups, in a group, length, size)
        mask = mask[:, :, None] if mask is not None and mask.dim() == 4 else mask
        mixed = attention(query, key[:, :, None], value[:, :, None], mask)
        return self.output(mixed.flatten(1, 2).transpose(1, 2).flatten(2))


class HeadByHead(GroupedAttention):
    def forward(self, x, mask=None, table=None):
        mask = mask[:, 0] if mask is not None and mask.dim() == 4 else mask
        queries, keys, values = (
            layer(x).split(self.size, dim=-1) for layer in (self.query, self.key, self.value)
        )
        found = []
        for head, query in enumerate(queries):
            group = head * len(keys) // len(queries)
            key = keys[group]
            if table is not None:
                query, key = rotate(query, table), rotate(key, table)
            found.append(attention(query, key, values[group], mask))
        return self.output(torch.cat(found, dim=-1))


def with_layer(name, outputs, bias):
    """A class whose layer of this name leads from width to `outputs(width)`."""

    class Faulty(GroupedAttention):
        def __init__(self, width, heads, groups):
            super().__init__(width, heads, groups)
            setattr(self, name, nn.Linear(width, outputs(width), bias=bias))

    return Faulty


def views_without_transposing(self, x, mask=None, table=None):
    parts = [layer(x) for layer in (self.query, self.key, self.value)]
    query, key, value = (part.view(len(x), -1, x.shape[1], self.size) for part in parts)
    times = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(times, 1), value.repeat_interleave(times, 1)
    return self.output(attention(query, key, value, mask).reshape(x.shape))


class ScalesByTheWidth(GroupedAttention):
    def forward(self, x, mask=None, table=None):
        query = self.query.weight.data.clone()
        self.query.weight.data.mul_((self.size / x.shape[-1]) ** 0.5)
        try:
            return super().forward(x, mask, table)
        finally:
            self.query.weight.data = query


test_grouped = accepts("transformer.grouped_attention", WithADimensionForTheGroups, HeadByHead)
test_wrong_groups = rejects(
    "transformer.grouped_attention",
    (with_layer("query", lambda width: width, True), 1, "query.bias is not expected"),
    (with_layer("key", lambda width: width, False), 1, "key.weight has the shape (24, 24)"),
    (otherwise(GroupedAttention, forward=views_without_transposing), 2, "3 heads in 3 groups"),
    (ScalesByTheWidth, 2, "3 heads in 3 groups"),
    (grouped_in_steps(lambda part, times: part.repeat_interleave(times, 2)), 3, "must match"),
    (grouped_in_steps(keep=lambda mask: None), 4, "hand `mask` on to `attention` as it is"),
    (grouped_in_steps(turn=lambda q, k, v, table: (q, k, v)), 5, "queries and keys"),
)

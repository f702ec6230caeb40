import math
from functools import reduce

import torch
from torch.nn import functional as F

from tests.exercises.standard import accepts, rejects


def by_einsum(query, key, value, mask=None):
    scores = torch.einsum("...qd,...kd->...qk", query, key) * query.size(-1) ** -0.5
    if mask is not None:
        scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    return torch.einsum("...qk,...kd->...qd", F.softmax(scores, -1), value)


def by_exponentials(query, key, value, mask=None):
    scores = torch.matmul(query / math.sqrt(query.shape[-1]), key.mT)
    if mask is not None:
        scores = scores + torch.zeros(mask.shape).masked_fill(mask.logical_not(), -math.inf)
    powers = (scores - scores.amax(-1, keepdim=True)).exp()
    return (powers / powers.sum(-1, keepdim=True)) @ value


def nothing(query, key, value, mask=None): ...


def transposes_all(query, key, value, mask=None):
    return (query @ key.permute(2, 1, 0) / math.sqrt(query.shape[-1])).softmax(-1) @ value


def with_dot_t(query, key, value, mask=None):
    return (query @ key.T / math.sqrt(query.shape[-1])).softmax(-1) @ value


def needs_a_mask(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return scores.masked_fill(~mask, -math.inf).softmax(-1) @ value


def forgets_the_values(query, key, value, mask=None):
    return (query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])).softmax(-1)


def softmax_over_queries(query, key, value, mask=None):
    return (query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])).softmax(-2) @ value


def unscaled(query, key, value, mask=None):
    return (query @ key.transpose(-2, -1)).softmax(-1) @ value


def divided_by_width(query, key, value, mask=None):
    return (query @ key.transpose(-2, -1) / query.shape[-1]).softmax(-1) @ value


def scaled_after_the_softmax(query, key, value, mask=None):
    weights = (query @ key.transpose(-2, -1)).softmax(-1) / math.sqrt(query.shape[-1])
    return weights @ value


def _masked(drop, fill=-math.inf):
    def function(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(drop(mask), fill)
        return scores.softmax(-1) @ value

    return function


inverted, filled_with_zero = _masked(lambda mask: mask), _masked(lambda mask: ~mask, 0.0)
ignores_the_mask = _masked(torch.zeros_like)


def masked_after_the_softmax(query, key, value, mask=None):
    weights = (query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])).softmax(-1)
    return (weights if mask is None else weights * mask) @ value


def overflows(query, key, value, mask=None):
    powers = (query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])).exp()
    if mask is not None:
        powers = powers * mask
    return powers / powers.sum(-1, keepdim=True) @ value


def changes_the_query(query, key, value, mask=None):
    query /= math.sqrt(query.shape[-1])
    return (query @ key.transpose(-2, -1)).softmax(-1) @ value


def the_mask_made_here(query, key, value, mask=None):
    keep = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool)
    return F.scaled_dot_product_attention(
        query, key, value, attn_mask=keep if mask is None else keep.tril()
    )


test_attention = accepts("transformer.attention", by_einsum, by_exponentials)
test_wrong_attention = rejects(
    "transformer.attention",
    (nothing, 0, "Not solved yet"),
    (transposes_all, 1, "`return (query @ key.permute"),
    (with_dot_t, 1, "`.T` reverses all dimensions"),
    (needs_a_mask, 1, "`mask` may be None"),
    (forgets_the_values, 1, "gave a tensor of shape (2, 3, 5); expected (2, 3, 6)"),
    (changes_the_query, 1, "changed argument 1"),
    (softmax_over_queries, 2, "is the softmax over the last dimension?"),
    (scaled_after_the_softmax, 2, "all the attention"),
    (unscaled, 3, "Are the scores divided by anything?"),
    (divided_by_width, 3, "it should be its square root"),
    (inverted, 4, "True means keep"),
    (filled_with_zero, 4, "0 is a score like any other"),
    (masked_after_the_softmax, 4, "missing in the sum"),
    (ignores_the_mask, 4, "the same came out: is it used?"),
    (overflows, 5, "Does `exp` overflow?"),
    (the_mask_made_here, 5, "two padded sentences"),
)


def by_tril(lengths, length):
    causal = torch.ones(length, length, dtype=torch.bool).tril()
    tokens = torch.arange(length)[None] < lengths[:, None]
    return causal[None, None] & tokens[:, None, None]


def by_loop(lengths, length):
    mask = torch.zeros(len(lengths), 1, length, length)
    for sentence, tokens in enumerate(lengths.tolist()):
        for query in range(length):
            mask[sentence, 0, query, : min(query + 1, tokens)] = 1
    return mask.bool()


def no_mask(lengths, length):
    pass


def without_heads(lengths, length):
    return by_tril(lengths, length)[:, 0]


def numbers(lengths, length):
    return by_tril(lengths, length).float()


def drops(lengths, length):
    return ~by_tril(lengths, length)


def looks_ahead(lengths, length):
    return by_tril(lengths, length).transpose(-2, -1)


def without_the_diagonal(lengths, length):
    return by_tril(lengths, length) & ~torch.eye(length, dtype=torch.bool)


def causal_only(lengths, length):
    return by_tril(torch.full_like(lengths, length), length)


def either(lengths, length):
    tokens = torch.arange(length) < lengths[:, None]
    return torch.ones(length, length, dtype=torch.bool).tril() | tokens[:, None, None, :]


def drops_queries(lengths, length):
    tokens = torch.arange(length) < lengths[:, None]
    return torch.ones(length, length, dtype=torch.bool).tril() & tokens[:, None, :, None]


def counts_pads(lengths, length):
    tokens = torch.arange(length) >= lengths[:, None]
    return torch.ones(length, length, dtype=torch.bool).tril() & tokens[:, None, None, :]


def first_length_for_all(lengths, length):
    return by_tril(lengths[:1].expand(len(lengths)), length)


test_mask = accepts("transformer.combined_mask", by_tril, by_loop)
test_wrong_mask = rejects(
    "transformer.combined_mask",
    (no_mask, 0, "Not solved yet"),
    (without_heads, 1, "the 1 stands for all heads"),
    (numbers, 1, "boolean mask"),
    (drops, 2, "exact opposite"),
    (looks_ahead, 2, "looks at the future"),
    (without_the_diagonal, 2, "may look at itself"),
    (counts_pads, 2, "one sentence without padding"),
    (either, 2, "one sentence without padding"),
    (drops_queries, 3, "Padding drops keys (columns)"),
    (causal_only, 3, "both conditions must hold"),
    (first_length_for_all, 4, "4 sentences"),
)


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


def as_it_was(x, blocks, final_norm):
    for block in blocks:
        x = block.attention_norm(x)
        x = x + block.attention(x)
        x = block.feed_forward_norm(x)
        x = x + block.feed_forward(x)
    return x


def half_mended(x, blocks, final_norm):
    for block in blocks:
        x = x + block.attention(block.attention_norm(x))
        x = block.feed_forward_norm(x)
        x = x + block.feed_forward(x)
    return final_norm(x)


def post_norm(x, blocks, final_norm):
    for block in blocks:
        x = block.attention_norm(x + block.attention(x))
        x = block.feed_forward_norm(x + block.feed_forward(x))
    return x


def no_last_norm(x, blocks, final_norm):
    for block in blocks:
        x = x + block.attention(block.attention_norm(x))
        x = x + block.feed_forward(block.feed_forward_norm(x))
    return x


def norm_in_every_block(x, blocks, final_norm):
    for block in blocks:
        x = x + block.attention(block.attention_norm(x))
        x = final_norm(x + block.feed_forward(block.feed_forward_norm(x)))
    return x


def side_by_side(x, blocks, final_norm):
    for block in blocks:
        attended = block.attention(block.attention_norm(x))
        x = x + attended + block.feed_forward(block.feed_forward_norm(x))
    return final_norm(x)


def not_written(x, blocks, final_norm): ...


test_body = accepts("transformer.body", step_by_step, folded)
test_wrong_body = rejects(
    "transformer.body",
    (not_written, 0, "Not solved yet"),
    (post_norm, 1, "Pre-norm: norm, attention, norm, feed-forward"),
    (as_it_was, 2, "what runs on past the layer must not have gone through a norm"),
    (half_mended, 2, "must hand the stream on as it came"),
    (side_by_side, 3, "after attention has written"),
    (no_last_norm, 4, "gave 0; expected 1"),
    (norm_in_every_block, 4, "gave 3; expected 1"),
)


# Written by someone who saw only the text of the exercises.


def scaled_on_both_sides(query, key, value, mask=None):
    root = query.shape[-1] ** 0.25
    scores = (query / root) @ (key / root).mT
    if mask is not None:
        scores = scores + (1.0 - mask.float()) * -1e9
    return (scores - scores.logsumexp(-1, keepdim=True)).exp() @ value


def scaled_by_the_values(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(value.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(-1) @ value


def transposes_1_and_2(query, key, value, mask=None):
    scores = query @ key.transpose(1, 2) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(-1) @ value


def always_causal(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is None:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    return scores.masked_fill(~mask, -math.inf).softmax(-1) @ value


def adds_the_booleans(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores + mask
    return scores.softmax(-1) @ value


def by_the_library(query, key, value, mask=None):
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


test_outside_attention_right = accepts(
    "transformer.attention", scaled_on_both_sides, by_the_library
)
test_outside_attention_wrong = rejects(
    "transformer.attention",
    (scaled_by_the_values, 3, "the root of another size"),
    (transposes_1_and_2, 1, "Count dimensions from the end"),
    (always_causal, 3, "without a mask every query looks at every key"),
    (adds_the_booleans, 4, "0 is a score like any other"),
)


def by_the_smaller(lengths, length):
    query = torch.arange(1, length + 1)
    seen = torch.minimum(query[None, :], lengths[:, None])
    return torch.arange(length) < seen[:, None, :, None]


def sentence_by_sentence(lengths, length):
    rows = []
    for tokens in lengths:
        row = torch.tril(torch.ones(length, length)).bool()
        row[:, tokens:] = False
        rows.append(row)
    return torch.stack(rows).unsqueeze(1)


def drops_queries_and_keys(lengths, length):
    tokens = torch.arange(length) < lengths[:, None]
    return by_tril(lengths, length) & tokens[:, None, :, None]


def one_pad_too_many(lengths, length):
    tokens = torch.arange(length) <= lengths[:, None]
    return torch.ones(length, length, dtype=torch.bool).tril() & tokens[:, None, None, :]


def padding_only(lengths, length):
    tokens = torch.arange(length) < lengths[:, None]
    return tokens[:, None, None, :].expand(-1, 1, length, length)


test_outside_mask_right = accepts("transformer.combined_mask", by_the_smaller, sentence_by_sentence)
test_outside_mask_wrong = rejects(
    "transformer.combined_mask",
    (drops_queries_and_keys, 3, "a row of the mask is empty"),
    (one_pad_too_many, 3, "gave [True, True, True, False]"),
    (padding_only, 2, "Every key is kept"),
)


def by_recursion(x, blocks, final_norm):
    if not blocks:
        return final_norm(x)
    block, *others = blocks
    attended = block.attention(block.attention_norm(x))
    fed = block.feed_forward(block.feed_forward_norm(attended + x))
    return by_recursion(x + attended + fed, others, final_norm)


def adds_to_a_copy(x, blocks, final_norm):
    stream = x.clone()
    for block in blocks:
        stream += block.attention(block.attention_norm(stream))
        stream += block.feed_forward(block.feed_forward_norm(stream))
    return final_norm(stream)


def from_the_start_of_the_block(x, blocks, final_norm):
    for block in blocks:
        attended = x + block.attention(block.attention_norm(x))
        x = x + block.feed_forward(block.feed_forward_norm(attended))
    return final_norm(x)


def a_last_norm_of_its_own(x, blocks, final_norm):
    return F.layer_norm(no_last_norm(x, blocks, final_norm), x.shape[-1:])


def adds_the_last_norm(x, blocks, final_norm):
    x = no_last_norm(x, blocks, final_norm)
    return x + final_norm(x)


test_outside_body_right = accepts("transformer.body", by_recursion, adds_to_a_copy)
test_outside_body_wrong = rejects(
    "transformer.body",
    (from_the_start_of_the_block, 3, "what attention wrote stays in it"),
    (a_last_norm_of_its_own, 2, "`final_norm`, which was handed in, was never used"),
    (adds_the_last_norm, 2, "add nothing to it"),
)

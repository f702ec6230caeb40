"""The exercises of lesson 02: attention, its two masks in one, and the bugs of 2019."""

import math

import torch
from torch import Tensor

from tlcourse.exercises import transformer_body_checks as body_checks
from tlcourse.exercises import transformer_checks as checks
from tlcourse.exercises.machinery import Exercise, Stage


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    """(..., queries, head_dim), (..., keys, head_dim), (..., keys, dim) to (..., queries, dim)."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return scores.softmax(dim=-1) @ value


def combined_mask(lengths: Tensor, length: int) -> Tensor:
    """(batch,) numbers of tokens to (batch, 1, length, length), True = keep."""
    position = torch.arange(length)
    causal = position[None, :] <= position[:, None]  # key no later than query
    is_token = position < lengths[:, None]  # (batch, key)
    return causal & is_token[:, None, None, :]


def body(x: Tensor, blocks, final_norm) -> Tensor:
    """(batch, length, width) to the same: pre-norm blocks, then the last norm."""
    for block in blocks:
        x = x + block.attention(block.attention_norm(x))
        x = x + block.feed_forward(block.feed_forward_norm(x))
    return final_norm(x)


EXERCISES = (
    Exercise(
        id="transformer.attention",
        title="Scaled dot-product attention with a mask",
        difficulty=2,
        minutes=15,
        hints=(
            "write the shape beside each step before you write the step.",
            "three lines: scores, softmax, mixture. Scores are `query @ key.transpose(-2, -1)`, "
            "divided by the root of `query.shape[-1]`; where there is a mask, "
            "`masked_fill(~mask, float('-inf'))` drops keys.",
            "the softmax runs over the keys, `dim=-1`; then `weights @ value`.",
        ),
        reference=attention,
        stages=(
            Stage("shape", checks.attention_shape),
            Stage("the weights sum to one", checks.attention_values),
            Stage("the scale", checks.attention_scale),
            Stage("the mask, seen by query 0", checks.attention_mask),
            Stage("the library's numbers", checks.attention_whole),
        ),
    ),
    Exercise(
        id="transformer.combined_mask",
        title="Two masks in one",
        difficulty=2,
        minutes=10,
        hints=(
            "draw the mask of a sentence of 2 tokens in 4 positions on paper first.",
            "make the two masks apart, each True where it keeps; then both must hold. "
            "`torch.arange(length)` is the position; comparing a row of it with a column of it "
            "gives the causal mask, comparing it with `lengths[:, None]` the padding mask.",
            "padding speaks of keys, the last dimension: `is_token[:, None, None, :]` is "
            "(batch, 1, 1, key) and broadcasts with (query, key).",
        ),
        reference=combined_mask,
        stages=(
            Stage("shape and type", checks.mask_shape),
            Stage("causal alone", checks.mask_causal),
            Stage("padding drops keys", checks.mask_padding),
            Stage("four sentences", checks.mask_whole),
        ),
    ),
    Exercise(
        id="transformer.body",
        title="Find the bugs of 2019",
        difficulty=2,
        minutes=10,
        hints=(
            "follow `x` with a pencil through `body_2019`, and through the formula of pre-norm.",
            "where attention and feed-forward return zeros, `x` must run through untouched. A "
            "norm's result should go into the layer and nowhere else: `x + layer(norm(x))` leaves "
            "`x` itself in the sum.",
            "there is a second bug: `final_norm` is handed in and never used.",
        ),
        reference=body,
        stages=(
            Stage("each layer in its turn", body_checks.body_order),
            Stage("layers that write nothing", body_checks.body_stream),
            Stage("what the layers read", body_checks.body_reads),
            Stage("the last norm", body_checks.body_last_norm),
            Stage("a real model", body_checks.body_whole),
        ),
    ),
)

"""Lesson 02: the causal mask and the padding mask, combined."""

import random

import torch

from tlcourse.exercises.expect import expect_equal, expect_type, expect_unchanged
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.transformer._common import IMPORTS, device
from tlcourse.exercises.variants import varying

task = Exercise(
    __name__,
    number="2.2",
    title="Two masks in one",
    difficulty=2,
    importance=4,
    minutes=8,
    hints=(
        "First draw the mask of a sentence of 2 tokens in 4 positions on paper.",
        "Padding excludes keys, the last dimension: `is_token[:, None, None, :]` is "
        "(batch, 1, 1, key). `torch.ones(length, length, dtype=torch.bool).tril()` is the lower "
        "triangle, (query, key).",
        "Both conditions must hold, so combine them with `&`, which broadcasts missing dimensions. "
        "Create the triangle on the device of the tokens: `device=is_token.device`.",
    ),
    imports=IMPORTS,
)


@task.reference
def combined_mask(is_token, causal=True):
    """Maps (batch, length), True for tokens, to (batch, 1, length, length), True for keep."""
    length = is_token.shape[1]
    allowed = torch.ones(length, length, dtype=torch.bool, device=is_token.device)
    if causal:
        allowed = allowed.tril()  # key no later than query
    return allowed & is_token[:, None, None, :]


def form(candidate, is_token):
    """Returns the shape and the type of the mask."""
    mask = expect_unchanged(candidate, is_token)
    expect_type(mask, torch.Tensor, "the mask")
    return tuple(mask.shape), str(mask.dtype)


def kept(candidate, lengths, length, causal=True, sentence=0):
    """Returns a text for each query of a sentence, with an x for each key that it keeps."""
    mask = expect_unchanged(candidate, sentences(lengths, length), causal)
    expect_equal(mask.dtype, torch.bool, "the type of the mask", "Compare, or call `.bool()`.")
    rows = mask.expand(len(lengths), 1, length, length)[sentence, 0].tolist()
    return ["".join("x" if keep else "." for keep in row) for row in rows]


@task.truth
def by_loop(lengths, length, causal=True, sentence=0):
    def keeps(query, key):
        return key < lengths[sentence] and (key <= query or not causal)

    return ["".join(".x"[keeps(q, k)] for k in range(length)) for q in range(length)]


def sentences(lengths, length):
    """Returns (batch, length), True for the tokens of each sentence, False for its pads."""
    return torch.arange(length) < torch.tensor(lengths)[:, None]


X = "a row per query, an x per key that it keeps"
drawn = [random.Random(varying(n)).randrange(1, 9) for n in range(5)]

task.stage(
    "shape and type",
    case(
        "shape and type for 2 sentences of 5 positions",
        sentences([3, 4], 5),
        expected=((2, 1, 5, 5), "torch.bool"),
    ),
    measure=form,
    hint="The mask is (batch, 1, query, key), where the 1 stands for all heads, and it is boolean. "
    "Compare, or call `.bool()`.",
)
task.stage(
    "causal alone",
    case(f"one sentence of 4 tokens without padding: {X}", [4], 4),
    measure=kept,
    hint="Query q, a row, keeps the keys 0 to q, because a token may look at itself.",
)
task.stage(
    "padding drops keys",
    case(f"2 tokens in 4 positions: {X}", [2, 4], 4),
    measure=kept,
    hint="Padding drops the keys (columns) after the tokens: both conditions must hold (`&`). It "
    "drops no queries (rows), because an empty row gives NaN in many libraries.",
)
task.stage(
    "not causal",
    case(f"`causal=False`, 2 tokens in 4 positions: {X}", [2, 4], 4, False),
    case(
        f"one sentence of 4 tokens, without `causal`: {X}",
        *([4], 4),
        measure=lambda answer, *given: kept(lambda is_token, _: answer(is_token), *given),
        hint="If `causal` is not given, it is True.",
    ),
    measure=kept,
    hint="Every query keeps every token, before and after it, and no pad: use the triangle only "
    "`if causal`.",
)
task.stage(
    "four sentences",
    case(f"sentence 2 of 4, of 1, 6, 3 and 4 tokens: {X}", [1, 6, 3, 4], 6, True, 2),
    case(f"sentence 0 of 5, of {drawn} tokens: {X}", drawn, 8),
    measure=kept,
    hint="Each sentence has its own pads.",
)
task.stage(
    "on the device of the tokens",
    case("the device of the mask of tokens on `meta`", sentences([2, 3], 4), expected="meta"),
    measure=lambda candidate, is_token: device(lambda: candidate(is_token.to("meta"))),
    hint="The mask is right, but it is always created on the CPU, so it would stop on a GPU. "
    "Create new tensors with `device=is_token.device`.",
)
task.mistakes(
    (
        "This mask is the exact opposite: True means that a query may look at a key.",
        lambda is_token, causal=True: ~combined_mask(is_token, causal),
    ),
    (
        "This mask looks at the future, because its rows are keys: rows are queries, and `tril()` "
        "gives the lower triangle.",
        lambda is_token, causal=True: combined_mask(is_token, causal).mT,
    ),
    (
        "Every key is kept here, so the triangle is missing or joined with `|`: both conditions "
        "must hold, so use `&`.",
        lambda is_token, causal=True: combined_mask(is_token, False),
    ),
    (
        "No key is kept here, because this code keeps the pads: `is_token` is True for tokens, so "
        "do not negate it.",
        lambda is_token, causal=True: combined_mask(~is_token, causal),
    ),
)

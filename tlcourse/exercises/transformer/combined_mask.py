"""Lesson 02: the causal mask and the padding mask in one."""

import torch
from torch.nn import functional as F

from tlcourse.exercises.expect import CheckFailed, expect_equal, expect_shape, expect_unchanged
from tlcourse.exercises.task import Exercise
from tlcourse.exercises.transformer._parts import IMPORTS

task = Exercise(
    __name__,
    number="2.2",
    title="Two masks in one",
    difficulty=2,
    minutes=8,
    hints=(
        "draw the mask of a sentence of 2 tokens in 4 positions on paper first.",
        "padding speaks of keys, the last dimension: `is_token[:, None, None, :]` is "
        "(batch, 1, 1, key). `torch.ones(length, length, dtype=torch.bool).tril()` is the lower "
        "triangle, (query, key).",
        "where both must hold, join them by `&`; a missing dimension is filled in by itself. The "
        "triangle belongs on the device of the tokens: `device=is_token.device`.",
    ),
    imports=IMPORTS,
)


@task.reference
def combined_mask(is_token, causal=True):
    """(batch, length), True = token, to (batch, 1, length, length), True = keep."""
    length = is_token.shape[1]
    allowed = torch.ones(length, length, dtype=torch.bool, device=is_token.device)
    if causal:
        allowed = allowed.tril()  # key no later than query
    return allowed & is_token[:, None, None, :]


@task.right
def by_positions(is_token, causal=True):
    keys = is_token[:, None, None, :]
    if not causal:
        return keys
    position = torch.arange(is_token.shape[1], device=is_token.device)
    return keys & (position[None, :] <= position[:, None])


@task.right
def by_loop(is_token, causal=True):
    batch, length = is_token.shape
    mask = torch.zeros(batch, 1, length, length, dtype=torch.bool, device=is_token.device)
    for query in range(length):
        end = query + 1 if causal else length
        mask[:, 0, query, :end] = is_token[:, :end]
    return mask


def sentences(lengths, length):
    """(batch, length), True for the first tokens of each sentence, False for its pads."""
    return torch.arange(length) < torch.tensor(lengths)[:, None]


@task.stage("shape and type")
def shape_and_type(candidate):
    mask = expect_unchanged(candidate, sentences([3, 4], 5))
    likely = "(batch, 1, query, key): the 1 stands for all heads."
    expect_shape(mask, (2, 1, 5, 5), "2 sentences of 5 positions", likely)
    expect_boolean(mask)


def expect_boolean(mask):
    """Raises CheckFailed for a mask of numbers."""
    if mask.dtype != torch.bool:
        raise CheckFailed(
            f"expected a boolean mask, True = keep, got {mask.dtype}. Compare, or `.bool()`"
        )


def rows(candidate, lengths, length, causal=True):
    """The mask of the first sentence, a list of rows."""
    mask = expect_unchanged(candidate, sentences(lengths, length), causal)
    expect_boolean(mask)
    return mask.expand(len(lengths), 1, length, length)[0, 0].tolist()


@task.stage("causal alone")
def causal_alone(candidate):
    task.observe(
        candidate, rows, [4], 4, gives=[[key <= query for key in range(4)] for query in range(4)],
        what="one sentence without padding", likely="Query q keeps the keys 0 to q.",
    )  # fmt: skip


def empty_rows(candidate, lengths, length):
    """The queries of the first sentence that may look nowhere."""
    return [query for query, row in enumerate(rows(candidate, lengths, length)) if not any(row)]


def last_row(candidate, lengths, length):
    """What the last query of the first sentence may look at."""
    return rows(candidate, lengths, length)[-1]


@task.stage("padding drops keys")
def padding(candidate):
    task.observe(
        candidate, empty_rows, [2, 4], 4, gives=[],
        what="2 tokens in 4 positions: the queries that may look nowhere",
        likely="So a row of the mask is empty, and gives NaN in many libraries. Padding drops keys "
        "(columns) behind the tokens, and leaves each query at least one.",
    )  # fmt: skip
    task.observe(
        candidate, last_row, [2, 4], 4, gives=[True, True, False, False],
        what="the last query of a sentence of 2 tokens in 4 positions",
        likely="It may look at the 2 tokens and at no pad: both conditions must hold (`&`).",
    )  # fmt: skip


@task.stage("not causal")
def both_sides(candidate):
    task.observe(
        candidate, rows, [2, 4], 4, False, gives=[[True, True, False, False]] * 4,
        what="causal=False, 2 tokens in 4 positions",
        likely="Every query keeps every token, before and behind it, and no pad.",
    )  # fmt: skip


@task.stage("four sentences")
def four(candidate):
    lengths = [1, 6, 3, 4]
    right = [[[[k <= q and k < n for k in range(6)] for q in range(6)]] for n in lengths]
    what = "4 sentences of 1, 6, 3 and 4 tokens"
    mask = task.probe(candidate, sentences(lengths, 6), gives=torch.tensor(right), what=what)
    ones = torch.ones(4, 2, 6, 8)
    finite = F.scaled_dot_product_attention(ones, ones, ones, attn_mask=mask).isfinite()
    expect_equal(bool(finite.all()), True, "attention with your mask is finite")


@task.stage("on the device of the tokens")
def device(candidate):
    try:
        there = candidate(sentences([2, 3], 4).to("meta"))
        place = getattr(there, "device", None)
    except (RuntimeError, NotImplementedError):
        place = None
    if getattr(place, "type", "") != "meta":
        raise CheckFailed(
            "the mask is right, but it is made on the CPU wherever the tokens are, and would stop "
            "on a GPU. Make new tensors with `device=is_token.device`."
        )


def kept_keys(is_token):
    """(batch, 1, 1, length), True = no pad."""
    return is_token[:, None, None]


def triangle(is_token):
    """(length, length), True = no later than the query."""
    return torch.ones(is_token.shape[1], is_token.shape[1], dtype=torch.bool).tril()


def with_padding(is_token, causal=True):
    """The right mask, written once more, on the CPU."""
    keep = triangle(is_token) if causal else torch.ones_like(triangle(is_token))
    return keep & kept_keys(is_token)


@task.mistake("shape and type", "the 1 stands for all heads")
def without_heads(is_token, causal=True):
    return with_padding(is_token, causal)[:, 0]


@task.mistake("shape and type", "expected a boolean mask, True = keep")
def numbers(is_token, causal=True):
    return with_padding(is_token, causal).float()


@task.mistake("not causal", "expected a boolean mask, True = keep")
def numbers_if_not_causal(is_token, causal=True):
    mask = with_padding(is_token, causal)
    return mask if causal else mask.float()


@task.mistake("causal alone", "This is the exact opposite: True means keep here, as in SDPA.")
def drops(is_token, causal=True):
    return ~with_padding(is_token, causal)


@task.mistake("causal alone", "The diagonal is missing: a token may look at itself.")
def without_the_diagonal(is_token, causal=True):
    return with_padding(is_token, causal) & ~torch.eye(is_token.shape[1], dtype=torch.bool)


@task.mistake("causal alone", "This looks at the future: rows are queries, columns are keys.")
def looks_ahead(is_token, causal=True):
    return with_padding(is_token, causal).mT


@task.mistake("causal alone", "Every key is kept: the causal part is missing, or joined by `|`.")
def either(is_token, causal=True):
    return triangle(is_token) | kept_keys(is_token)


@task.mistake(
    "causal alone", "No key is kept: do you keep the pads? `is_token` is True where a token stands."
)
def keeps_pads(is_token, causal=True):
    return triangle(is_token) & ~kept_keys(is_token)


@task.mistake(
    "padding drops keys",
    "So a row of the mask is empty, and gives NaN in many libraries. Padding drops keys (columns); "
    "queries at pads (rows) may look at the tokens before them, nobody reads what they give.",
)
def drops_queries(is_token, causal=True):
    return triangle(is_token) & kept_keys(is_token).mT


@task.mistake(
    "padding drops keys", "The pads are kept, too: both conditions must hold (`&`), not one alone."
)
def causal_only(is_token, causal=True):
    return triangle(is_token).expand(len(is_token), 1, -1, -1)


@task.mistake("not causal", "The future is still dropped: use the triangle only `if causal`.")
def always_causal(is_token, causal=True):
    return with_padding(is_token)


@task.mistake("not causal", "Without the triangle the pads must still be dropped.")
def everything_if_not_causal(is_token, causal=True):
    return with_padding(is_token) if causal else torch.ones_like(with_padding(is_token))


@task.mistake("four sentences", "Each sentence has pads of its own; is only the first used?")
def first_for_all(is_token, causal=True):
    return with_padding(is_token[:1].expand_as(is_token), causal)


@task.mistake("on the device of the tokens", "made on the CPU wherever the tokens are")
def on_the_cpu(is_token, causal=True):
    return with_padding(is_token, causal)

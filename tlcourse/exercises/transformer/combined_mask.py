"""Lesson 02: the causal mask and the padding mask in one."""

import torch
from torch.nn import functional as F

from tlcourse.exercises.expect import Wrong, expect_equal, expect_shape, expect_unchanged
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="2.2",
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
    imports="import functools\nimport math\nimport random\nimport torch\nfrom torch import nn\n"
    "from torch.nn import functional as F",
)


@task.reference
def combined_mask(lengths, length):
    """(batch,) numbers of tokens to (batch, 1, length, length), True = keep."""
    position = torch.arange(length)
    causal = position[None, :] <= position[:, None]  # key no later than query
    is_token = position < lengths[:, None]  # (batch, key)
    return causal & is_token[:, None, None, :]


@task.right
def by_tril(lengths, length):
    tokens = torch.arange(length)[None] < lengths[:, None]
    return torch.ones(length, length, dtype=torch.bool).tril() & tokens[:, None, None]


@task.right
def by_loop(lengths, length):
    mask = torch.zeros(len(lengths), 1, length, length)
    for sentence, tokens in enumerate(lengths.tolist()):
        for query in range(length):
            mask[sentence, 0, query, : min(query + 1, tokens)] = 1
    return mask.bool()


@task.stage("shape and type")
def shape_and_type(candidate):
    mask = expect_unchanged(candidate, torch.tensor([3, 4]), 5)
    likely = "(batch, 1, query, key): the 1 stands for all heads."
    if tuple(getattr(mask, "shape", ())) == (2, 1, 4, 4):
        likely = "`length` says how many positions there are; here no sentence is as long."
    expect_shape(mask, (2, 1, 5, 5), "2 sentences of 5 positions", likely)
    if mask.dtype != torch.bool:
        raise Wrong(
            f"expected a boolean mask, True = keep, got {mask.dtype}. Compare, or `.bool()`"
        )


def first(candidate, lengths, length):
    """The mask of the first sentence, a list of rows."""
    return expect_unchanged(candidate, lengths, length)[0, 0].tolist()


@task.stage("causal alone")
def causal_alone(candidate):
    task.observe(
        candidate, first, torch.tensor([4]), 4,
        gives=[[key <= query for key in range(4)] for query in range(4)],
        what="one sentence without padding", likely="Query q keeps the keys 0 to q.",
    )  # fmt: skip


def empty_rows(candidate, lengths, length):
    """The queries of the first sentence that may look nowhere."""
    rows = first(candidate, lengths, length)
    return [query for query, row in enumerate(rows) if not any(row)]


def last_row(candidate, lengths, length):
    """What the last query of the first sentence may look at."""
    return first(candidate, lengths, length)[-1]


@task.stage("padding drops keys")
def padding(candidate):
    lengths = torch.tensor([2, 4])
    task.observe(
        candidate, empty_rows, lengths, 4, gives=[],
        what="2 tokens in 4 positions: the queries that may look nowhere",
        likely="So a row of the mask is empty, and gives NaN in many libraries. Padding drops keys "
        "(columns) behind the tokens, and leaves each query at least one.",
    )  # fmt: skip
    task.observe(
        candidate, last_row, lengths, 4, gives=[True, True, False, False],
        what="the last query of a sentence of 2 tokens in 4 positions",
        likely="It may look at the 2 tokens and at no pad: both conditions must hold (`&`).",
    )  # fmt: skip


@task.stage("four sentences")
def four(candidate):
    lengths = torch.tensor([1, 6, 3, 4])
    right = [[[[k <= q and k < n for k in range(6)] for q in range(6)]] for n in lengths.tolist()]
    what = "4 sentences of 1, 6, 3 and 4 tokens"
    mask = task.probe(candidate, lengths, 6, gives=torch.tensor(right), what=what)
    ones = torch.ones(4, 2, 6, 8)
    finite = F.scaled_dot_product_attention(ones, ones, ones, attn_mask=mask).isfinite()
    expect_equal(bool(finite.all()), True, "attention with your mask is finite")


def kept_keys(lengths, length):
    """(batch, 1, 1, length), True = no pad."""
    return (torch.arange(length) < lengths[:, None])[:, None, None]


def causal_mask(length):
    """(length, length), True = no later than the query."""
    return torch.ones(length, length, dtype=torch.bool).tril()


@task.mistake("shape and type", "the 1 stands for all heads")
def without_heads(lengths, length):
    return by_tril(lengths, length)[:, 0]


@task.mistake("shape and type", "expected a boolean mask, True = keep")
def numbers(lengths, length):
    return by_tril(lengths, length).float()


@task.mistake("causal alone", "This is the exact opposite: True means keep here, as in SDPA.")
def drops(lengths, length):
    return ~by_tril(lengths, length)


@task.mistake("causal alone", "The diagonal is missing: a token may look at itself.")
def without_the_diagonal(lengths, length):
    return by_tril(lengths, length) & ~torch.eye(length, dtype=torch.bool)


@task.mistake("causal alone", "This looks at the future: rows are queries, columns are keys.")
def looks_ahead(lengths, length):
    return by_tril(lengths, length).mT


@task.mistake("causal alone", "Every key is kept: the causal part is missing, or joined by `|`.")
def either(lengths, length):
    return causal_mask(length) | kept_keys(lengths, length)


@task.mistake(
    "causal alone",
    "No key is kept: do you keep the pads? `lengths` counts the tokens, which stand first.",
)
def keeps_pads(lengths, length):
    return causal_mask(length) & ~kept_keys(lengths, length)


@task.mistake(
    "padding drops keys",
    "So a row of the mask is empty, and gives NaN in many libraries. Padding drops keys (columns); "
    "queries at pads (rows) may look at the tokens before them, nobody reads what they give.",
)
def drops_queries(lengths, length):
    return causal_mask(length) & kept_keys(lengths, length).mT


@task.mistake(
    "padding drops keys", "The tokens stand first and the pads after them, not the other way round."
)
def tokens_last(lengths, length):
    return causal_mask(length) & kept_keys(lengths, length).flip(-1)


@task.mistake(
    "padding drops keys",
    "The pads are kept and the tokens dropped: `lengths` counts the tokens, from the first one; it "
    "is not how far back a query looks.",
)
def so_many_back(lengths, length):
    position = torch.arange(length)
    return causal_mask(length) & (position[:, None] - position < lengths[:, None, None])[:, None]


@task.mistake(
    "padding drops keys",
    "The first pad is kept: positions count from 0, so that of 2 tokens are 0 and 1.",
)
def one_pad_too_many(lengths, length):
    return causal_mask(length) & kept_keys(lengths + 1, length)


@task.mistake(
    "padding drops keys", "The pads are kept, too: both conditions must hold (`&`), not one alone."
)
def causal_only(lengths, length):
    return causal_mask(length).expand(len(lengths), 1, length, length)


@task.mistake("four sentences", "Each sentence has a length of its own; is only the first used?")
def first_length_for_all(lengths, length):
    return by_tril(lengths[:1].expand(len(lengths)), length)

"""Lesson 02: the causal mask and the padding mask in one."""

import torch

from tlcourse.exercises.expect import CheckFailed, expect_type, expect_unchanged
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.transformer._common import IMPORTS, device

task = Exercise(
    __name__,
    number="2.2",
    title="Two masks in one",
    difficulty=2,
    importance=4,
    minutes=8,
    hints=(
        "Draw the mask of a sentence of 2 tokens in 4 positions on paper first.",
        "Padding speaks of keys, the last dimension: `is_token[:, None, None, :]` is "
        "(batch, 1, 1, key). `torch.ones(length, length, dtype=torch.bool).tril()` is the lower "
        "triangle, (query, key).",
        "Where both must hold, join them by `&`; a missing dimension is filled in by itself. The "
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


def mask_of(candidate, is_token, *causal):
    """The candidate's mask; raises CheckFailed if that is no tensor of booleans."""
    mask = expect_unchanged(candidate, is_token, *causal)
    expect_type(mask, torch.Tensor, "the mask")
    if mask.dtype != torch.bool:
        raise CheckFailed(
            check="the type of the mask",
            yours=str(mask.dtype),
            expected="torch.bool",
            why="True means keep. Compare, or call `.bool()`.",
        )
    return mask


def kept(candidate, lengths, length, causal=True, sentence=0):
    """A text for each query of a sentence, with an x for each key that it keeps."""
    mask = mask_of(candidate, sentences(lengths, length), causal)
    rows = mask.expand(len(lengths), 1, length, length)[sentence, 0].tolist()
    return ["".join("x" if keep else "." for keep in row) for row in rows]


@task.truth
def by_loop(lengths, length, causal=True, sentence=0):
    def keeps(query, key):
        return key < lengths[sentence] and (key <= query or not causal)

    return ["".join(".x"[keeps(q, k)] for k in range(length)) for q in range(length)]


def sentences(lengths, length):
    """(batch, length), True for the first tokens of each sentence, False for its pads."""
    return torch.arange(length) < torch.tensor(lengths)[:, None]


X = "a row per query, an x per key that it keeps"

task.stage(
    "shape and type",
    case(
        "the shape for 2 sentences of 5 positions",
        sentences([3, 4], 5),
        measure=lambda *given: tuple(mask_of(*given).shape),
        expected=(2, 1, 5, 5),
    ),
    hint="The mask is (batch, 1, query, key), where the 1 stands for all heads.",
)
task.stage(
    "causal alone",
    case(f"one sentence of 4 tokens without padding: {X}", [4], 4),
    measure=kept,
    hint="Query q keeps the keys 0 to q, because a token may look at itself.",
)
task.stage(
    "padding drops keys",
    case(f"2 tokens in 4 positions: {X}", [2, 4], 4),
    measure=kept,
    hint="Padding drops keys (columns) behind the tokens: both conditions must hold (`&`). It "
    "drops no queries (rows), because an empty row gives NaN in many libraries.",
)
task.stage(
    "not causal",
    case(f"`causal=False`, 2 tokens in 4 positions: {X}", [2, 4], 4, False),
    measure=kept,
    hint="Every query keeps every token, before it and after it, and no pad: use the triangle only "
    "`if causal`.",
)
task.stage(
    "four sentences",
    *(
        case(f"sentence {n} of 4, which have 1, 6, 3 and 4 tokens: {X}", [1, 6, 3, 4], 6, True, n)
        for n in range(4)
    ),
    measure=kept,
    hint="Each sentence has pads of its own.",
)
task.stage(
    "on the device of the tokens",
    case("the device of the mask of tokens on `meta`", sentences([2, 3], 4), expected="meta"),
    measure=lambda candidate, is_token: device(lambda: candidate(is_token.to("meta"))),
    hint="The mask is right, but it is made on the CPU wherever the tokens are, and would stop on "
    "a GPU. Make new tensors with `device=is_token.device`.",
)


def triangle(is_token):
    """(length, length), True = no later than the query."""
    return torch.ones(is_token.shape[1], is_token.shape[1], dtype=torch.bool).tril()


task.mistakes(
    (
        "This is the exact opposite. True means keep here, as it does in PyTorch's SDPA.",
        lambda is_token, causal=True: ~combined_mask(is_token, causal),
    ),
    (
        "This looks at the future: rows are queries, columns are keys.",
        lambda is_token, causal=True: combined_mask(is_token, causal).mT,
    ),
    (
        "Every key is kept: the causal part is missing, or it is joined by `|`.",
        lambda is_token, causal=True: triangle(is_token) | is_token[:, None, None],
    ),
    (
        "No key is kept. Do you keep the pads? `is_token` is True where a token stands.",
        lambda is_token, causal=True: triangle(is_token) & ~is_token[:, None, None],
    ),
)

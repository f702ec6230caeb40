"""The stages of lesson 02's attention and masks; what each checks is its name."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from tlcourse.exercises.expect import Wrong, expect_close, expect_equal, expect_shape
from tlcourse.exercises.expect import expect_unchanged as call
from tlcourse.transformer import padding_mask


def draw(*shape: int, seed: int = 0) -> Tensor:
    """Standard normal numbers, the same for the same seed."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def near(got: Tensor, expected: Tensor) -> bool:
    """Whether shapes are equal and values too, up to rounding."""
    return got.shape == expected.shape and torch.allclose(got, expected, atol=1e-4)


def _first_call(candidate) -> Tensor:
    """What 2 sentences give, without a mask; the two most likely exceptions are explained."""
    parts = draw(2, 3, 4), draw(2, 5, 4), draw(2, 5, 6)
    try:
        return call(candidate, *parts)
    except (TypeError, AttributeError) as error:
        if "None" not in str(error):
            raise
        raise Wrong(
            f"without a mask your code raised {type(error).__name__}: {error}. `mask` may be "
            "None: use it only `if mask is not None`."
        ) from error
    except RuntimeError as error:
        try:
            call(candidate, *(part[0] for part in parts))
        except Exception:
            raise error from None
        raise Wrong(
            "that was right for (queries, head_dim), but with a batch of 2 in front your code "
            f"raised {type(error).__name__}: {error}. `.T` reverses all dimensions; "
            "`key.transpose(-2, -1)` swaps the last two alone."
        ) from error


def attention_shape(candidate) -> None:
    mixed = _first_call(candidate)
    expect_shape(
        mixed,
        (2, 3, 6),
        "a batch of 2 with 3 queries, 5 keys of width 4 and values of width 6",
        "Scores are (batch, queries, keys): is the key's last pair of dimensions swapped, and "
        "those alone (`key.transpose(-2, -1)`; `.T` reverses all)?",
    )
    try:
        mixed = call(candidate, draw(2, 7, 3, 4), draw(2, 7, 5, 4), draw(2, 7, 5, 6))
    except RuntimeError as error:
        raise Wrong(
            "that was right for (batch, queries, head_dim), but with 7 heads behind the batch your "
            f"code raised {type(error).__name__}: {error}. Count dimensions from the end, -1 and "
            "-2, not from the front."
        ) from error
    expect_shape(mixed, (2, 7, 3, 6), "the same with 7 heads")


def attention_values(candidate) -> None:
    value = draw(2, 1, 6)
    mixed = call(candidate, draw(2, 1, 4), draw(2, 1, 4, seed=1), value)
    likely = "A single key gets all the attention, whatever its score, so its value must come back."
    expect_close(mixed, value, "one query and one key", likely)
    ones = torch.ones(2, 5, 6)
    mixed = call(candidate, draw(2, 3, 4), draw(2, 5, 4, seed=1), ones)
    likely = (
        "The weights of a query sum to 1 over the keys: is the softmax over the last dimension?"
    )
    expect_close(mixed, torch.ones(2, 3, 6), "values that are all 1", likely)


def attention_scale(candidate) -> None:
    query = torch.full((1, 5, 4), math.log(3) / 2)
    key = torch.stack([torch.ones(4), torch.zeros(4)])[None]  # scores 2 ln 3 and 0
    value = torch.tensor([[1.0] * 3, [0.0] * 3])[None]
    first = call(candidate, query, key, value)[0, 0, 0].item()
    likely = "Divided by sqrt(4) they are ln 3 and 0; the softmax is 3 to 1."
    other = "They are divided by the root of another size; head_dim is the query's last dimension."
    for divisor, text in (
        (1, "Are the scores divided by anything? sqrt(head_dim) is 2 here."),
        (4, "They are divided by head_dim; it should be its square root."),
        (0.5, "They are multiplied by sqrt(head_dim); divide."),
        (1e-9, "The second key was not seen: without a mask every query looks at every key."),
        *((size**0.5, other) for size in (2, 3, 5)),  # keys, the value's width, queries
    ):
        if abs(first - 1 / (1 + 9 ** (-1 / divisor))) < 1e-4:
            likely = text
    expect_close(first, 0.75, "scores 2·ln 3 and 0 at width 4: the first weight", likely)


def attention_mask(candidate) -> None:
    query, key, value = draw(2, 4, 8), draw(2, 4, 8, seed=1), draw(2, 4, 8, seed=2)
    keep = torch.ones(4, 4, dtype=torch.bool).tril()
    mixed = call(candidate, query, key, value, keep)
    if near(mixed[:, 2], value[:, 3]):
        raise Wrong(
            "under a causal mask, query 2 saw only what comes after it. In this course True means "
            "keep; fill the scores where the mask is False (`~mask`)."
        )
    likely = (
        "It may look at key 0 only, so value 0 must come back whole. Scores are dropped by "
        "-infinity before the softmax; 0 is a score like any other, and weights that are removed "
        "after the softmax are missing in the sum."
    )
    if near(mixed, call(candidate, query, key, value)):
        likely = "With and without the mask the same came out: is it used?"
    expect_close(mixed[:, 0], value[:, 0], "query 0 under a causal mask", likely)


def attention_whole(candidate) -> None:
    query, key, value = (draw(2, 3, 5, 8, seed=seed) for seed in range(3))
    mask = padding_mask(torch.tensor([5, 2]), 5)[:, None, None, :]
    usual = "Compared with `F.scaled_dot_product_attention`."
    large = "Does `exp` overflow? `softmax` first takes each row's largest score off."
    for what, scale, keep, likely in (
        ("two padded sentences, 3 heads", 1.0, mask, usual),
        ("3 heads without a mask", 1.0, None, usual),
        ("scores in the hundreds", 30.0, mask, large),
    ):
        right = F.scaled_dot_product_attention(scale * query, scale * key, value, attn_mask=keep)
        got = call(candidate, scale * query, scale * key, value, keep)
        expect_close(got, right, what, likely, tolerance=1e-4)


def mask_shape(candidate) -> None:
    mask = call(candidate, torch.tensor([3, 5]), 5)
    likely = "(batch, 1, query, key): the 1 stands for all heads."
    expect_shape(mask, (2, 1, 5, 5), "2 sentences of 5 positions", likely)
    if mask.dtype != torch.bool:
        raise Wrong(
            f"expected a boolean mask, True = keep, got {mask.dtype}. Compare, or `.bool()`"
        )


def mask_causal(candidate) -> None:
    mask = call(candidate, torch.tensor([4]), 4)[0, 0]
    right = [[key <= query for key in range(4)] for query in range(4)]
    likely = "Query q keeps the keys 0 to q."
    if mask.tolist() == [[not keep for keep in row] for row in right]:
        likely = "This is the exact opposite: True means keep here, as in SDPA."
    elif mask.tolist() == [[key < query for key in range(4)] for query in range(4)]:
        likely = "The diagonal is missing: a token may look at itself."
    elif mask.tolist() == [[key >= query for key in range(4)] for query in range(4)]:
        likely = "This looks at the future: rows are queries, columns are keys."
    elif mask.all():
        likely = "Every key is kept. Query q keeps the keys 0 to q: is it `&` and not `|`?"
    expect_equal(mask.tolist(), right, "one sentence without padding", likely)


def mask_padding(candidate) -> None:
    mask = call(candidate, torch.tensor([2, 4]), 4)
    if not mask[0, 0].any(dim=-1).all():
        raise Wrong(
            "a row of the mask is empty: a query that may look nowhere gives NaN in many "
            "libraries. Padding drops keys (columns); queries at pads may look at the tokens "
            "before them, nobody reads what they give."
        )
    last = mask[0, 0, -1].tolist()
    if last == [False, False, True, True]:
        raise Wrong("the pads are kept and the tokens dropped: `lengths` counts the tokens.")
    what = "the last query of a sentence of 2 tokens in 4 positions"
    likely = "It may look at the 2 tokens and at no pad: both conditions must hold (`&`)."
    expect_equal(last, [True, True, False, False], what, likely)


def mask_whole(candidate) -> None:
    lengths = torch.tensor([1, 6, 3, 4])
    mask = call(candidate, lengths, 6)
    right = [[[[k <= q and k < n for k in range(6)] for q in range(6)]] for n in lengths.tolist()]
    expect_equal(mask, torch.tensor(right), "4 sentences of 1, 6, 3 and 4 tokens")
    query, key, value = (draw(4, 2, 6, 8, seed=seed) for seed in range(3))
    mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    expect_equal(bool(mixed.isfinite().all()), True, "attention with your mask is finite")

"""The stages of lesson 02's exercises; what each checks is its name."""

import math
from types import SimpleNamespace

import torch
from torch import Tensor
from torch.nn import functional as F

from tlcourse.exercises.expect import Wrong, expect_close, expect_equal, expect_shape
from tlcourse.exercises.expect import expect_unchanged as call
from tlcourse.transformer import Config, Transformer, padding_mask


def _draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _near(got: Tensor, expected: Tensor) -> bool:
    return got.shape == expected.shape and torch.allclose(got, expected, atol=1e-4)


def attention_shape(candidate) -> None:
    mixed = call(candidate, _draw(2, 3, 4), _draw(2, 5, 4), _draw(2, 5, 6))
    expect_shape(
        mixed,
        (2, 3, 6),
        "a batch of 2 with 3 queries, 5 keys of width 4 and values of width 6",
        "Scores are (batch, queries, keys): is the key's last pair of dimensions swapped, and "
        "those alone (`key.transpose(-2, -1)`; `.T` swaps all)?",
    )


def attention_values(candidate) -> None:
    value = _draw(2, 1, 6)
    mixed = call(candidate, _draw(2, 1, 4), _draw(2, 1, 4, seed=1), value)
    expect_close(
        mixed,
        value,
        "one query and one key",
        "A single key gets all the attention, whatever its score, so its value must come back.",
    )
    ones = torch.ones(2, 5, 6)
    mixed = call(candidate, _draw(2, 3, 4), _draw(2, 5, 4, seed=1), ones)
    expect_close(
        mixed,
        torch.ones(2, 3, 6),
        "values that are all 1",
        "The weights of each query sum to 1 over the keys: is the softmax over the last dimension?",
    )


def attention_scale(candidate) -> None:
    query = torch.full((1, 1, 4), math.log(3) / 2)
    key = torch.stack([torch.ones(4), torch.zeros(4)])[None]  # scores 2 ln 3 and 0
    first = call(candidate, query, key, torch.tensor([[[1.0], [0.0]]])).item()
    likely = {
        0.9: "Are the scores divided by anything? sqrt(head_dim) is 2 here.",
        3**0.5 / (3**0.5 + 1): "They are divided by head_dim; it should be its square root.",
        81 / 82: "They are multiplied by sqrt(head_dim); divide.",
    }
    hit = [text for weight, text in likely.items() if abs(first - weight) < 1e-4]
    expect_close(
        first,
        0.75,
        "scores 2·ln 3 and 0 at width 4: the first weight",
        hit[0] if hit else "Divided by sqrt(4) they are ln 3 and 0; the softmax is 3 to 1.",
    )


def attention_mask(candidate) -> None:
    query, key, value = _draw(2, 4, 8), _draw(2, 4, 8, seed=1), _draw(2, 4, 8, seed=2)
    keep = torch.ones(4, 4, dtype=torch.bool).tril()
    mixed = call(candidate, query, key, value, keep)
    if _near(mixed[:, 2], value[:, 3]):
        raise Wrong(
            "under a causal mask, query 2 saw only what comes after it. In this course True means "
            "keep; fill the scores where the mask is False (`~mask`)."
        )
    expect_close(
        mixed[:, 0],
        value[:, 0],
        "query 0 under a causal mask",
        "It may look at key 0 only, so value 0 must come back whole. Scores are dropped by "
        "-infinity before the softmax; 0 is a score like any other, and weights that are removed "
        "after the softmax are missing in the sum.",
    )


def attention_whole(candidate) -> None:
    query, key, value = (_draw(2, 3, 5, 8, seed=seed) for seed in range(3))
    mask = padding_mask(torch.tensor([5, 2]), 5)[:, None, None, :]
    for what, scale, keep in (
        ("two padded sentences, 3 heads", 1.0, mask),
        ("3 heads without a mask", 1.0, None),
        ("scores in the hundreds", 30.0, mask),
    ):
        right = F.scaled_dot_product_attention(scale * query, scale * key, value, attn_mask=keep)
        expect_close(
            call(candidate, scale * query, scale * key, value, keep),
            right,
            what,
            "Compared with `F.scaled_dot_product_attention`.",
            tolerance=1e-4,
        )


def mask_shape(candidate) -> None:
    mask = call(candidate, torch.tensor([3, 5]), 5)
    expect_shape(
        mask,
        (2, 1, 5, 5),
        "2 sentences of 5 positions",
        "(batch, 1, query, key): the 1 stands for all heads.",
    )
    if mask.dtype != torch.bool:
        raise Wrong(
            f"expected a boolean mask (True = keep), got {mask.dtype}. Compare, or `.bool()`"
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
    expect_equal(
        last,
        [True, True, False, False],
        "the last query of a sentence of 2 tokens in 4 positions",
        "It may look at the 2 tokens and at no pad: both conditions must hold (`&`).",
    )


def mask_whole(candidate) -> None:
    lengths = torch.tensor([1, 6, 3, 4])
    mask = call(candidate, lengths, 6)
    right = [[[[k <= q and k < n for k in range(6)] for q in range(6)]] for n in lengths.tolist()]
    expect_equal(mask, torch.tensor(right), "4 sentences of 1, 6, 3 and 4 tokens")
    query, key, value = (_draw(4, 2, 6, 8, seed=seed) for seed in range(3))
    mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    expect_equal(bool(mixed.isfinite().all()), True, "attention with your mask is finite")


def _part(function) -> SimpleNamespace:
    """A block of which every layer is `function(name)`."""
    names = ("attention_norm", "attention", "feed_forward_norm", "feed_forward")
    return SimpleNamespace(**{name: function(name) for name in names})


def body_order(candidate) -> None:
    said: list[str] = []

    def layer(name):
        return lambda x: said.append(name) or torch.ones_like(x)

    out = candidate(_draw(2, 3, 4), [_part(layer), _part(layer)], layer("final_norm"))
    expect_shape(out, (2, 3, 4), "two blocks")
    once = ["attention_norm", "attention", "feed_forward_norm", "feed_forward"]
    expect_equal(
        [name for name in said if name != "final_norm"],
        2 * once,
        "the order in which two blocks used their layers",
        "Pre-norm: norm, attention, norm, feed-forward, each once.",
    )


def body_stream(candidate) -> None:
    def layer(name):
        return (lambda x: 10 * x) if "norm" in name else torch.zeros_like

    x = _draw(2, 3, 4)
    out = candidate(x, [_part(layer), _part(layer)], lambda x: x)
    expect_close(
        out,
        x,
        "two blocks whose attention and feed-forward write nothing (zeros)",
        "Then nothing may happen to the stream: what a layer writes is added to the stream "
        "itself, and what runs on past the layer must not have gone through a norm.",
    )


def body_reads(candidate) -> None:
    read = {}

    def layer(name):
        if "norm" in name:
            return lambda x: 10 * x
        return lambda x: read.__setitem__(name, x) or torch.ones_like(x)

    x = torch.full((1, 1, 1), 2.0)
    out = candidate(x, [_part(layer)], lambda x: x)
    expect_close(
        read["attention"], [[[20.0]]], "stream 2, a norm that takes it times 10: attention"
    )
    expect_close(
        read["feed_forward"],
        [[[30.0]]],
        "attention writes 1 into the stream of 2, the norm takes it times 10: feed-forward read",
        "It reads the normalised stream after attention has written: 10 × (2 + 1).",
    )
    expect_close(out, [[[4.0]]], "a stream of 2 to which two layers add 1 each")


def body_last_norm(candidate) -> None:
    def layer(name):
        return (lambda x: x) if "norm" in name else torch.zeros_like

    out = candidate(torch.ones(1, 1, 1), [_part(layer)] * 3, lambda x: 7 * x)
    times = round(math.log(out.item(), 7)) if out.item() > 0 else out.item()
    expect_equal(
        times,
        1,
        "three blocks: how often the last norm was used",
        "The stream grows from block to block; the last norm stands once, after all of them.",
    )


def body_whole(candidate) -> None:
    torch.manual_seed(0)
    model = Transformer(Config(60, 16, 4, 2, 32, 12, rotary=False, qk_norm=False)).eval()
    for parameter in model.parameters():
        parameter.data.add_(0.2 * torch.randn_like(parameter))
    tokens = torch.randint(60, (2, 7))
    keep = torch.ones(7, 7, dtype=torch.bool).tril()
    blocks = [
        SimpleNamespace(
            attention_norm=block.attention_norm,
            attention=lambda x, block=block: block.attention(x, keep, None),
            feed_forward_norm=block.feed_forward_norm,
            feed_forward=block.feed_forward,
        )
        for block in model.blocks
    ]
    with torch.no_grad():
        got = candidate(model.embed(tokens), blocks, model.norm)
        expect_close(got, model.hidden(tokens), "four blocks with random weights", tolerance=1e-4)

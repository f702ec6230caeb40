"""The stages of lesson 02's body of blocks; what each checks is its name."""

import math
from types import SimpleNamespace

import torch

from tlcourse.exercises.expect import Wrong, expect_close, expect_equal, expect_shape
from tlcourse.exercises.transformer_checks import draw, near
from tlcourse.transformer import Config, Transformer


def _part(function) -> SimpleNamespace:
    """A block of which every layer is `function(name)`."""
    names = ("attention_norm", "attention", "feed_forward_norm", "feed_forward")
    return SimpleNamespace(**{name: function(name) for name in names})


def body_order(candidate) -> None:
    said: list[str] = []

    def layer(name):
        return lambda x: said.append(name) or torch.ones_like(x)

    out = candidate(draw(2, 3, 4), [_part(layer), _part(layer)], layer("final_norm"))
    expect_shape(out, (2, 3, 4), "two blocks")
    once = ["attention_norm", "attention", "feed_forward_norm", "feed_forward"]
    said = [name for name in said if name != "final_norm"]
    likely = "Pre-norm: norm, attention, norm, feed-forward, each once."
    expect_equal(said, 2 * once, "the order in which two blocks used their layers", likely)


def body_stream(candidate) -> None:
    def layer(name):
        return (lambda x: 10 * x) if "norm" in name else torch.zeros_like

    x, used = draw(2, 3, 4), []
    out = candidate(x, [_part(layer), _part(layer)], lambda x: used.append(1) or x)
    likely = (
        "What a layer writes is added to the stream itself, and what runs on past the layer must "
        "not have gone through a norm."
    )
    if near(out, 2 * x):
        likely = "It came out twice: the last norm's result is all there is, add nothing to it."
    likely += "" if used else " (And `final_norm`, which was handed in, was never used.)"
    if not near(out, x):
        raise Wrong(
            "two blocks whose attention and feed-forward write nothing (zeros) must hand the "
            f"stream on as it came, and yours came out changed. {likely}"
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
    what = "attention writes 1 into the stream of 2, the norm takes it times 10: feed-forward read"
    likely = "It reads the normalised stream after attention has written: 10 × (2 + 1)."
    expect_close(read["feed_forward"], [[[30.0]]], what, likely)
    likely = "Both add to one stream: what attention wrote stays in it."
    expect_close(out, [[[4.0]]], "a stream of 2 to which two layers add 1 each", likely)


def body_last_norm(candidate) -> None:
    def layer(name):
        return (lambda x: x) if "norm" in name else torch.zeros_like

    out = candidate(torch.ones(1, 1, 1), [_part(layer)] * 3, lambda x: 7 * x)
    times = round(math.log(out.item(), 7)) if out.item() > 0 else out.item()
    likely = "The stream grows from block to block; the last norm stands once, after all of them."
    expect_equal(times, 1, "three blocks: how often the last norm was used", likely)


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

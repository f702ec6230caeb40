"""Lesson 02b: a body of pre-norm blocks, from code of 2019 that was not pre-norm."""

import math
from functools import partial
from types import SimpleNamespace

import torch

from tlcourse.exercises.expect import CheckFailed, expect_shape
from tlcourse.exercises.task import Exercise
from tlcourse.transformer import Config, Transformer

task = Exercise(
    __name__,
    number="2b.1",
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
    imports="import functools\nimport math\nimport random\nimport torch\nfrom torch import nn\n"
    "from torch.nn import functional as F",
)


@task.reference
def body(x, blocks, final_norm):
    """(batch, length, width) to the same: pre-norm blocks, then the last norm."""
    for block in blocks:
        x = x + block.attention(block.attention_norm(x))
        x = x + block.feed_forward(block.feed_forward_norm(x))
    return final_norm(x)


@task.right
def adds_to_a_copy(x, blocks, final_norm):
    stream = x.clone()
    for block in blocks:
        stream += block.attention(block.attention_norm(stream))
        stream += block.feed_forward(block.feed_forward_norm(stream))
    return final_norm(stream)


@task.right
def by_recursion(x, blocks, final_norm):
    if not blocks:
        return final_norm(x)
    block, *others = blocks
    attended = block.attention(block.attention_norm(x))
    fed = block.feed_forward(block.feed_forward_norm(attended + x))
    return by_recursion(x + attended + fed, others, final_norm)


LAYERS = ["attention_norm", "attention", "feed_forward_norm", "feed_forward"]


def block_of(layer):
    """A block of which every layer is `layer(name)`."""
    return SimpleNamespace(**{name: layer(name) for name in LAYERS})


def order(candidate, x):
    """The names of the layers of two blocks as they are used on ones; each gives ones."""
    said = []

    def layer(name):
        return lambda x: said.append(name) or torch.ones_like(x)

    out = candidate(x, [block_of(layer), block_of(layer)], layer("final_norm"))
    if not x.equal(torch.ones_like(x)):
        raise CheckFailed(
            "your function changed `x`, which it was given: `x = x + …`, not `x += …`."
        )
    expect_shape(out, x.shape, "two blocks")
    return [name for name in said if name != "final_norm"]


@task.stage("each layer in its turn")
def in_turn(candidate):
    task.observe(
        candidate, order, torch.ones(2, 3, 4), gives=2 * LAYERS,
        what="the order in which two blocks used their layers",
        likely="Pre-norm: norm, attention, norm, feed-forward, each once.",
    )  # fmt: skip


def silent(times):
    """A block whose attention and feed-forward write zeros; its norms take `times`."""
    return block_of(lambda name: (lambda x: times * x) if "norm" in name else torch.zeros_like)


def through_zeros(candidate, x, last=lambda x: x):
    """What comes out of two blocks that write nothing."""
    return candidate(x, [silent(10), silent(10)], last)


@task.stage("layers that write nothing")
def stream(candidate):
    x, used = torch.linspace(-2, 1, 24).view(2, 3, 4), []
    through_zeros(candidate, x.clone(), lambda x: used.append(1) or x)
    unused = "" if used else " (`final_norm`, which was handed in, was never used)"
    task.observe(
        candidate, through_zeros, x, gives=x, tolerance=1e-4,
        what=f"two blocks whose attention and feed-forward write nothing (zeros){unused}",
        likely="They must hand the stream on as it came: what a layer writes is added to the "
        "stream itself, and what runs on past the layer must not have gone through a norm.",
    )  # fmt: skip


def reads(candidate, x, name):
    """What the layer of this name reads, or what comes out, of a block whose layers write 1."""
    read = {}

    def layer(name):
        if "norm" in name:
            return lambda x: 10 * x
        return lambda x: read.__setitem__(name, x) or torch.ones_like(x)

    read["out"] = candidate(x, [block_of(layer)], lambda x: x)
    return read[name]


@task.stage("what the layers read")
def what_is_read(candidate):
    x, ten = torch.full((1, 1, 1), 2.0), "the norm takes it times 10"
    for name, right, what, likely in (
        ("attention", 20.0, f"the stream is 2, {ten}: what attention reads", "It reads the norm."),
        (
            "feed_forward", 30.0, f"attention writes 1 into the stream of 2, {ten}: what "
            "feed-forward reads",
            "It reads the normalised stream after attention has written: 10 × (2 + 1).",
        ),
        (
            "out", 4.0, "a stream of 2 to which two layers add 1 each",
            "Both add to one stream: what attention wrote stays in it.",
        ),
    ):  # fmt: skip
        told = {"what": what, "likely": likely}
        task.observe(candidate, reads, x, name, gives=[[[right]]], tolerance=1e-5, **told)


def last_norms(candidate):
    """How often three blocks that write nothing use the last norm."""
    out = candidate(torch.ones(1, 1, 1), [silent(1)] * 3, lambda x: 7 * x).item()
    return round(math.log(out, 7)) if out > 0 else out


@task.stage("the last norm")
def last_norm(candidate):
    task.observe(
        candidate, last_norms, gives=1, what="three blocks: how often the last norm was used",
        likely="The stream grows from block to block; the last norm stands once, after all.",
    )  # fmt: skip


def hidden(candidate, model, tokens):
    """What the candidate makes of a real model's blocks."""
    keep = torch.ones(7, 7, dtype=torch.bool).tril()

    def layer(block, name):
        part = getattr(block, name)
        return (lambda x: part(x, keep, None)) if name == "attention" else part

    blocks = [block_of(partial(layer, block)) for block in model.blocks]
    with torch.no_grad():
        return candidate(model.embed(tokens), blocks, model.norm)


@task.stage("a real model")
def whole(candidate):
    torch.manual_seed(0)
    model = Transformer(Config(60, 16, 4, 2, 32, 12, rotary=False, qk_norm=False)).eval()
    for parameter in model.parameters():
        parameter.data.add_(0.2 * torch.randn_like(parameter))
    tokens, what = torch.randint(60, (2, 7)), "four blocks with random weights"
    with torch.no_grad():
        right = model.hidden(tokens)
    task.observe(candidate, hidden, model, tokens, gives=right, what=what, tolerance=1e-4)


@task.mistake(
    "each layer in its turn",
    "Each norm comes after its layer here. Pre-norm: norm, attention, norm, feed-forward.",
)
def post_norm(x, blocks, final_norm):
    for block in blocks:
        x = block.attention_norm(x + block.attention(x))
        x = block.feed_forward_norm(x + block.feed_forward(x))
    return x


ONE_BLOCK = "Only one block was used: is the `return` in the loop, or one left out?"
task.mistake("each layer in its turn", ONE_BLOCK)(lambda x, blocks, last: body(x, blocks[:1], last))
BACKWARDS = "The last block came first: take them in their order."
task.mistake("a real model", BACKWARDS)(lambda x, blocks, last: body(x, blocks[::-1], last))


@task.mistake(
    "layers that write nothing",
    "They must hand the stream on as it came: what a layer writes is added to the stream itself, "
    "and what runs on past the layer must not have gone through a norm; here it has, at both.",
)
def as_it_was(x, blocks, final_norm):
    for block in blocks:
        x = block.attention_norm(x)
        x = x + block.attention(x)
        x = block.feed_forward_norm(x)
        x = x + block.feed_forward(x)
    return x


@task.mistake(
    "layers that write nothing",
    "They must hand the stream on as it came, and one of the two layers does: what runs on past "
    "the other must not have gone through a norm, either.",
)
def half_mended(x, blocks, final_norm):
    for block in blocks:
        x = x + block.attention(block.attention_norm(x))
        x = block.feed_forward_norm(x)
        x = x + block.feed_forward(x)
    return final_norm(x)


TWICE = "It came out twice: the last norm's result is all there is, add nothing to it."
task.mistake("layers that write nothing", TWICE)(lambda x, b, f: body(x, b, lambda y: y + f(y)))


@task.mistake(
    "what the layers read",
    "Feed-forward reads after attention has written, 10 × (2 + 1); here both read the same stream.",
)
def side_by_side(x, blocks, final_norm):
    for block in blocks:
        attended = block.attention(block.attention_norm(x))
        x = x + attended + block.feed_forward(block.feed_forward_norm(x))
    return final_norm(x)


@task.mistake("what the layers read", "Both add to one stream: what attention wrote stays in it.")
def from_the_start_of_the_block(x, blocks, final_norm):
    for block in blocks:
        attended = x + block.attention(block.attention_norm(x))
        x = x + block.feed_forward(block.feed_forward_norm(attended))
    return final_norm(x)


@task.mistake("the last norm", "`final_norm` is handed in to be used: once, after all blocks.")
def no_last_norm(x, blocks, final_norm):
    return body(x, blocks, lambda x: x)


@task.mistake("the last norm", "The stream grows from one to the next; norm it once, after all.")
def norm_in_every_block(x, blocks, final_norm):
    for block in blocks:
        x = body(x, [block], final_norm)
    return x

"""Lesson 02b: a body of pre-norm blocks, corrected from code of 2019 that was not pre-norm."""

from functools import partial
from types import SimpleNamespace

import torch
from torch import nn

from tlcourse.exercises.expect import expect_shape, expect_unchanged
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.transformer._common import built, read_by, the_stream
from tlcourse.exercises.variants import varying
from tlcourse.transformer import Config, Transformer

task = Exercise(
    __name__,
    number="2b.1",
    title="Find the bugs of 2019",
    difficulty=2,
    importance=3,
    minutes=10,
    hints=(
        "Follow `x` with a pencil through `body_2019`, and through the formula of pre-norm.",
        "If attention and feed-forward return zeros, `x` must pass through unchanged. Only the "
        "layer should read the norm's result: `x + layer(norm(x))` adds it to `x` itself.",
        "There is a second bug: `final_norm` is an argument that is never used.",
    ),
    imports="import functools\nimport math\nimport random\nimport torch\nfrom torch import nn\n"
    "from torch.nn import functional as F",
    tolerance=1e-4,
)


@task.reference
def body(x, blocks, final_norm):
    """Maps (batch, length, width) to the same shape: pre-norm blocks, then the last norm."""
    for block in blocks:
        x = x + block.attention(block.attention_norm(x))
        x = x + block.feed_forward(block.feed_forward_norm(x))
    return final_norm(x)


LAYERS = ["attention_norm", "attention", "feed_forward_norm", "feed_forward"]


def block_of(layer):
    """Returns a block each of whose layers is `layer(name)`."""
    return SimpleNamespace(**{name: layer(name) for name in LAYERS})


def order(candidate, x):
    """Returns the names of the layers of two blocks in the order in which they are used."""
    used = []

    def layer(name):
        return lambda x: used.append(name) or torch.ones_like(x)

    blocks = [block_of(layer), block_of(layer)]
    out = expect_unchanged(lambda x: candidate(x, blocks, torch.ones_like), x)
    expect_shape(out, x.shape, "two blocks")
    return used


def through_zeros(candidate, x):
    """Returns the output of two blocks whose layers return zeros and whose norms multiply by 10."""
    silent = block_of(lambda name: (lambda x: 10 * x) if "norm" in name else torch.zeros_like)
    return candidate(x, [silent, silent], lambda x: x)


def reads(candidate):
    """Returns the inputs of the layers and the output, as in `the_stream`."""
    block = SimpleNamespace()
    return read_by(block, lambda x: candidate(x, [block], nn.Identity()))


def last_norms(candidate):
    """Returns how often the last norm is used with three blocks whose layers return zeros."""
    silent, calls = block_of(lambda name: nn.Identity() if "norm" in name else torch.zeros_like), []
    candidate(torch.ones(1, 1, 1), [silent] * 3, lambda x: calls.append(x) or x)
    return len(calls)


def hidden(candidate, model, tokens):
    """Returns the candidate's output with the blocks of a real model."""
    keep = torch.ones(7, 7, dtype=torch.bool).tril()

    def layer(block, name):
        part = getattr(block, name)
        return (lambda x: part(x, keep, None)) if name == "attention" else part

    blocks = [block_of(partial(layer, block)) for block in model.blocks]
    with torch.no_grad():
        return candidate(model.embed(tokens), blocks, model.norm)


x = torch.linspace(-2, 1, 24).view(2, 3, 4)
model = built(Transformer, Config(60, 16, 4, 2, 32, 12, rotary=False, qk_norm=False)).eval()
tokens = torch.randint(60, (2, 7), generator=torch.Generator().manual_seed(varying(0)))

task.stage(
    "each layer in its turn",
    case("the order in which two blocks use their layers", x, expected=2 * LAYERS),
    measure=order,
    hint="Pre-norm is norm, attention, norm, feed-forward, each once in every block.",
)
task.stage(
    "layers that write nothing",
    case("two blocks whose attention and feed-forward return zeros", x, expected=x),
    measure=through_zeros,
    hint="These blocks must return the stream unchanged: add each layer's output to the stream "
    "itself, which no norm inside a block may change.",
)
task.stage("what the layers read", the_stream, measure=reads)
task.stage(
    "the last norm",
    case("how often the last norm is used with three blocks", expected=1),
    measure=last_norms,
    hint="The stream grows from block to block, so use `final_norm` once, after all of them.",
)
task.stage(
    "a real model",
    case("four blocks with random weights", model, tokens, expected=model.hidden(tokens).detach()),
    measure=hidden,
    hint="The expected numbers are those of the package's model.",
)


def half_corrected(x, blocks, final_norm):
    for block in blocks:
        x = x + block.attention(block.attention_norm(x))
        x = block.feed_forward_norm(x)
        x = x + block.feed_forward(x)
    return final_norm(x)


task.mistakes(
    (
        "Only the first block is used: is the `return` inside the loop?",
        lambda x, blocks, final_norm: body(x, blocks[:1], final_norm),
    ),
    (
        "Attention is right now, but the stream is still replaced with its norm before the "
        "feed-forward layer: correct that layer in the same way.",
        half_corrected,
    ),
    (
        "`final_norm` is an argument that this code never uses: return `final_norm(x)`.",
        lambda x, blocks, final_norm: body(x, blocks, lambda x: x),
    ),
)

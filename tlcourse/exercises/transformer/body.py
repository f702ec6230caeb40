"""Lesson 02b: a body of pre-norm blocks, from code of 2019 that was not pre-norm."""

from functools import partial
from types import SimpleNamespace

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.expect import expect_shape, expect_unchanged
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.transformer._common import built, read_by, the_stream
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
        "Where attention and feed-forward return zeros, `x` must run through untouched. A "
        "norm's result should go into the layer and nowhere else: `x + layer(norm(x))` leaves "
        "`x` itself in the sum.",
        "There is a second bug: `final_norm` is handed in and never used.",
    ),
    imports="import functools\nimport math\nimport random\nimport torch\nfrom torch import nn\n"
    "from torch.nn import functional as F",
    tolerance=1e-4,
)


@task.reference
def body(x, blocks, final_norm):
    """(batch, length, width) to the same: pre-norm blocks, then the last norm."""
    for block in blocks:
        x = x + block.attention(block.attention_norm(x))
        x = x + block.feed_forward(block.feed_forward_norm(x))
    return final_norm(x)


LAYERS = ["attention_norm", "attention", "feed_forward_norm", "feed_forward"]


def block_of(layer):
    """A block of which every layer is `layer(name)`."""
    return SimpleNamespace(**{name: layer(name) for name in LAYERS})


def order(candidate, x):
    """The names of the layers of two blocks as they are used on ones; each gives ones."""
    said = []

    def layer(name):
        return lambda x: said.append(name) or torch.ones_like(x)

    blocks, last = [block_of(layer), block_of(layer)], layer("final_norm")
    out = expect_unchanged(lambda x: candidate(x, blocks, last), x)
    expect_shape(out, x.shape, "two blocks")
    return [name for name in said if name != "final_norm"]


def through_zeros(candidate, x):
    """What comes out of two blocks that write nothing, whose norms multiply by 10."""
    silent = block_of(lambda name: (lambda x: 10 * x) if "norm" in name else torch.zeros_like)
    return candidate(x, [silent, silent], lambda x: x)


def reads(candidate):
    """What the layers read and what comes out, as `the_stream` says."""
    block = SimpleNamespace()
    return read_by(block, lambda x: candidate(x, [block], nn.Identity()))


def last_norms(candidate):
    """How often three blocks that write nothing use the last norm."""
    silent, calls = block_of(lambda name: nn.Identity() if "norm" in name else torch.zeros_like), []
    candidate(torch.ones(1, 1, 1), [silent] * 3, lambda x: calls.append(x) or x)
    return len(calls)


def hidden(candidate, model, tokens):
    """What the candidate makes of a real model's blocks."""
    keep = torch.ones(7, 7, dtype=torch.bool).tril()

    def layer(block, name):
        part = getattr(block, name)
        return (lambda x: part(x, keep, None)) if name == "attention" else part

    blocks = [block_of(partial(layer, block)) for block in model.blocks]
    with torch.no_grad():
        return candidate(model.embed(tokens), blocks, model.norm)


x = torch.linspace(-2, 1, 24).view(2, 3, 4)
model = built(Transformer, Config(60, 16, 4, 2, 32, 12, rotary=False, qk_norm=False)).eval()
tokens = torch.randint(60, (2, 7), generator=torch.Generator().manual_seed(0))

task.stage(
    "each layer in its turn",
    case(
        "the order in which two blocks used their layers",
        torch.ones(2, 3, 4),
        expected=2 * LAYERS,
    ),
    measure=order,
    hint="Pre-norm is norm, attention, norm, feed-forward, each once.",
)
task.stage(
    "layers that write nothing",
    case("two blocks whose attention and feed-forward write nothing (zeros)", x, expected=x),
    measure=through_zeros,
    hint="They must hand the stream on as it came: what a layer writes is added to the stream "
    "itself, and what runs on past the layer must not have gone through a norm.",
)
task.stage("what the layers read", the_stream, measure=reads)
task.stage(
    "the last norm",
    case("how often three blocks used the last norm", expected=1),
    measure=last_norms,
    hint="The stream grows from block to block; `final_norm` is used once, after all of them.",
)
task.stage(
    "a real model",
    case("four blocks with random weights", model, tokens, expected=model.hidden(tokens).detach()),
    measure=hidden,
    hint="This is compared with the package's model.",
)


def half_mended(x, blocks, final_norm):
    for block in blocks:
        x = x + block.attention(block.attention_norm(x))
        x = block.feed_forward_norm(x)
        x = x + block.feed_forward(x)
    return final_norm(x)


task.mistakes(
    (
        "Only one block was used: is the `return` in the loop, or is a block left out?",
        lambda x, blocks, last: body(x, blocks[:1], last),
    ),
    (
        "One of the two layers is mended. What runs on past the other has still gone through a "
        "norm.",
        half_mended,
    ),
    (
        "A norm of your own stands at the end; `final_norm`, which was handed in, is not used.",
        lambda x, blocks, last: F.layer_norm(body(x, blocks, lambda x: x), x.shape[-1:]),
    ),
)

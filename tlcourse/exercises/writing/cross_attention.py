"""Lesson 09b: attention from the target to the source (Bahdanau et al., 2015; Vaswani et al.)."""

import torch
from torch.nn import functional as F

from tlcourse.exercises.expect import CheckFailed, expect_unchanged, short
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.transformer._common import built, draw, small
from tlcourse.transformer import Attention, padding_mask

task = Exercise(
    __name__,
    number="9b.2",
    title="Cross-attention",
    difficulty=3,
    importance=5,
    minutes=15,
    hints=(
        "It is the attention of lesson 02 with one change: where do the keys and values come from?",
        "Queries are `layer.query(states)`; keys and values are `layer.key(source)` and "
        "`layer.value(source)`. Split each into heads with "
        "`.unflatten(-1, (layer.config.heads, -1)).transpose(1, 2)`, and norm queries and keys.",
        "The scores are (batch, heads, target, source). `scores.masked_fill(~mask[:, None, None], "
        "float('-inf'))` excludes the pads. Mix the values, then `.transpose(1, 2).flatten(2)` "
        "undoes the split, and `layer.output` is the last step.",
    ),
    imports="import math\nimport torch\nfrom torch import nn\nfrom torch.nn import functional as F",
    tolerance=1e-4,
)


def normed_heads(x, layer):
    """(batch, length, width) to (batch, heads, length, head_dim), with unit mean square."""
    x = x.unflatten(-1, (layer.config.heads, -1)).transpose(1, 2)
    return F.rms_norm(x, x.shape[-1:])


@task.reference
def cross_attention(states, source, mask, layer):
    """States of the target attend to those of the source: the output, and the weights."""

    def split(x):
        return x.unflatten(-1, (layer.config.heads, -1)).transpose(1, 2)

    query, key, value = (
        split(part) for part in (layer.query(states), layer.key(source), layer.value(source))
    )
    query, key = F.rms_norm(query, query.shape[-1:]), F.rms_norm(key, key.shape[-1:])
    scores = query @ key.mT / query.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask[:, None, None], float("-inf")).softmax(dim=-1)
    return layer.output((weights @ value).transpose(1, 2).flatten(2)), weights


OUTPUT, WEIGHTS = 0, 1


@task.truth
def by_the_package(place, states, source, mask, heads):
    layer = layer_of(heads).double()
    layer.kernel = "record"
    output = layer(states.double(), mask[:, None, None], None, source=source.double())
    return (output.detach(), layer.weights)[place]


def layer_of(heads):
    """A layer of width 12 with drawn weights."""
    return built(Attention, small(heads=heads, rotary=False))


def both(candidate, states, source, mask, heads):
    """The output and the weights; raises CheckFailed if there are not two tensors."""
    layer = layer_of(heads)

    def attention(states, source, mask):
        return candidate(states, source, mask, layer)

    with torch.no_grad():
        got = expect_unchanged(attention, states, source, mask)
    if isinstance(got, list | tuple) and len(got) == 2 and all(map(torch.is_tensor, got)):
        return tuple(got)
    raise CheckFailed(
        check="what your function returns",
        yours=short(got),
        expected="two tensors, the output and the weights",
        why="End with `return output, weights`.",
    )


def shapes(candidate, *arguments):
    return [tuple(part.shape) for part in both(candidate, *arguments)]


def part(candidate, place, *arguments):
    """The output or the weights."""
    return both(candidate, *arguments)[place]


def sums(candidate, *arguments):
    """The sum of each query's weights."""
    return part(candidate, WEIGHTS, *arguments).sum(dim=-1)


ALL = torch.ones(2, 5, dtype=torch.bool)
PADDED = padding_mask(torch.tensor([5, 2]), 5)
LEFT = torch.stack([PADDED[1].flip(0), torch.tensor([True, False, True, True, False])])
two = draw(2, 3, 12), draw(2, 5, 12, seed=1)
longer = draw(2, 6, 12, seed=2), draw(2, 5, 12, seed=3)
alike = draw(2, 5, 12, seed=4), draw(2, 5, 12, seed=5)  # as many tokens on both sides
one = draw(2, 4, 12, seed=6), draw(2, 1, 12, seed=7)

task.stage(
    "shapes",
    case(
        "the shapes of output and weights for 3 target tokens, 5 source tokens, 4 heads",
        *(*two, ALL, 4),
        expected=[(2, 3, 12), (2, 4, 3, 5)],
    ),
    case(
        "the shapes for one text of 3 tokens, 5 source tokens, 3 heads",
        *(two[0][:1], two[1][:1], ALL[:1], 3),
        expected=[(1, 3, 12), (1, 3, 3, 5)],
    ),
    measure=shapes,
    hint="The output has a row for each target token. The weights are (batch, heads, target, "
    "source): one number for each pair of tokens. The numbers of texts and heads may differ from "
    "call to call.",
)
task.stage(
    "the weights of a query sum to one",
    case(
        "the sums over the source for 3 target and 5 source tokens",
        *two,
        ALL,
        3,
        expected=torch.ones(2, 3, 3),
    ),
    measure=sums,
    hint="A query's weights are a softmax over the source tokens, the last dimension, and are "
    "returned as they come out of it.",
)
task.stage(
    "the weights",
    case("three heads, 6 target tokens and 5 source tokens", WEIGHTS, *longer, ALL, 3),
    case("one head, 3 target tokens and 5 source tokens", WEIGHTS, *two, ALL, 1),
    case("three heads, texts of equal length", WEIGHTS, *alike, ALL, 3),
    measure=part,
    hint="Queries come from `states` and keys from `source`, each through its own layer. Split "
    "both into heads, norm each head with `F.rms_norm(x, x.shape[-1:])`, and divide the scores by "
    "the root of the head's width. Every target token may attend to the whole source.",
)
task.stage(
    "pads",
    case("the weights for sources of 5 and 2 tokens, padded to 5", WEIGHTS, *two, PADDED, 3),
    case(
        "the weights for sources with pads before and between the tokens",
        *(WEIGHTS, *two, LEFT, 3),
        hint="Pads may stand anywhere: go by the places of True in `mask`, not by their number.",
    ),
    measure=part,
    hint="`mask` is (batch, source), True where there is a token. `mask[:, None, None]` fits the "
    "scores; where it is False, set them to -infinity before the softmax.",
)
task.stage(
    "the output",
    case(
        "the output for a source of one token, which gets all the weight",
        OUTPUT,
        *one,
        ALL[:, :1],
        3,
    ),
    case("the output for three heads and padded sources", OUTPUT, *longer, PADDED, 3),
    case("the output for texts of equal length", OUTPUT, *alike, ALL, 4),
    measure=part,
    hint="Mix the values, which come from `source` and are not normed; put the heads side by side "
    "again, and apply `layer.output`.",
)


def with_changes(
    keys=lambda states, source: source,
    values=lambda states, source: source,
    keep=lambda mask: mask[:, None, None],
    scale=lambda width: width**0.5,
    last=lambda layer, mixed: layer.output(mixed.transpose(1, 2).flatten(2)),
):
    """The reference, with a step of its own."""

    def changed(states, source, mask, layer):
        query = normed_heads(layer.query(states), layer)
        key = normed_heads(layer.key(keys(states, source)), layer)
        value = layer.value(values(states, source))
        value = value.unflatten(-1, (layer.config.heads, -1)).transpose(1, 2)
        scores = query @ key.mT / scale(query.shape[-1])
        scores = scores.masked_fill(~keep(mask), -torch.inf)
        weights = scores.softmax(-1)
        return last(layer, weights @ value), weights

    return changed


def causal(states, source, mask, layer):
    keep = torch.ones(states.shape[1], source.shape[1], dtype=torch.bool).tril()
    return with_changes(keep=lambda mask: mask[:, None, None] & keep)(states, source, mask, layer)


task.mistakes(
    (
        "This is self-attention: the keys and values have to come from `source`.",
        lambda states, source, mask, layer: cross_attention(
            states, states, torch.ones(states.shape[:2], dtype=torch.bool), layer
        ),
    ),
    (
        "The two texts have changed places: queries come from `states`, the target.",
        lambda states, source, mask, layer: cross_attention(
            source, states, torch.ones(states.shape[:2], dtype=torch.bool), layer
        ),
    ),
    (
        "There is a causal mask here. The source is known from the start, so every target token "
        "may attend to all of it.",
        causal,
    ),
    (
        "The scores are not scaled: divide them by the root of the head's width, as in lesson 02.",
        with_changes(scale=lambda width: 1.0),
    ),
    (
        "The pads of the source get weight here: use `mask`.",
        with_changes(keep=lambda mask: torch.ones_like(mask)[:, None, None]),
    ),
    (
        "The mask is inverted here. It is True where there is a token, and the *other* places get "
        "-infinity.",
        with_changes(keep=lambda mask: ~mask[:, None, None]),
    ),
    (
        "The output layer is missing: end with `layer.output`.",
        with_changes(last=lambda layer, mixed: mixed.transpose(1, 2).flatten(2)),
    ),
)

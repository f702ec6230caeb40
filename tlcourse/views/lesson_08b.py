"""Figures of lesson 08b: where a noun's number travels, which part writes it, where heads rest.

A title states a finding only where the data bear it out; otherwise it says what is drawn.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from tlcourse.views.bars import horizontal_bars
from tlcourse.views.heat_maps import Head, difference_map, heat_map, importance, score_grid
from tlcourse.views.hover import Hover, hover
from tlcourse.views.style import Picture, Texts, shaped

_HALF = 0.5  # of the change that replacing the whole sentence brings
_FIFTH = 0.2


def number_travels(
    shares: Any, tokens: Sequence[str], noun: int, **texts: Unpack[Texts]
) -> Picture:
    """Share of a change that one patched state brings, (states, tokens), embeddings first.

    The title says that the number stays at the `noun` and jumps to the last token if all states
    but the last depend on the noun alone. Raises ValueError for a shape that does not fit.
    """
    shares = shaped(shares, ("states", len(tokens)), "shares").astype(float)
    rest = np.delete(shares[:-1], noun, axis=1)
    title = "Share of the change that one patched state brings"
    if (shares[:-1, noun] > _HALF).all() and (rest < _FIFTH).all() and shares[-1, -1] > _HALF:
        title = "The number stays at the noun until the last block"
    told = "; ".join(
        f"state {layer}: noun {row[noun]:.2f}, last token {row[-1]:.2f}"
        for layer, row in enumerate(shares)
    )
    alt = f"Share of the change by patched state and token. {told}."
    rows = [f"state {layer}" for layer in range(len(shares) - 1, 0, -1)] + ["embeddings"]
    return importance(
        shares[::-1],
        rows,
        tokens,
        x_label="token whose state is replaced",
        label="0: still singular, 1: as plural",
        **{"title": title, "alt": alt} | texts,
    )


def who_writes(parts: Mapping[str, float], shown: int = 8, **texts: Unpack[Texts]) -> Picture:
    """Bars of what the parts of a model add to a logit, the largest ones first.

    The title names the largest part if it outweighs all others together.
    """
    largest = dict(sorted(parts.items(), key=lambda part: -abs(part[1]))[:shown])
    first = next(iter(largest))
    title = 'What each part adds to the logit of " are" over " is"'
    if abs(largest[first]) > sum(abs(value) for name, value in parts.items() if name != first):
        title = f"{first[:1].upper()}{first[1:]} writes more than all other parts together"
    alt = "; ".join(f"{name} {value:+.2f}" for name, value in largest.items())
    labels = {"x_label": 'nats toward " are"', "number": "{:+.2f}"}
    return horizontal_bars(largest, **labels, **{"title": title, "alt": alt} | texts)


def rollout_map(
    mixed: Any, even: Any, tokens: Sequence[str], *, first: str = "<eos>", **texts: Unpack[Texts]
) -> Picture:
    """Rollout over tokens, with the share of the `first` token in its last row below.

    `even` is the rollout of heads that attend evenly. The title says that the first token has the
    largest share if that holds in every row of both.
    """
    mixed, even = (np.asarray(each, float) for each in (mixed, even))
    title = "Rollout over all layers"
    if not mixed.argmax(axis=1).any() and not even.argmax(axis=1).any():
        title = "The first token has the largest share, as under even attention"
    alt = "Rollout: rows are tokens of the last layer, columns the tokens they come from."
    note = (
        f"Last row, {first}: {mixed[-1, 0]:.2f}; with evenly spread attention: {even[-1, 0]:.2f}."
    )
    return heat_map(
        mixed, tokens, label="share", **{"title": title, "alt": alt, "note": note} | texts
    )


def loss_without(costs: Mapping[str, float], **texts: Unpack[Texts]) -> Picture:
    """Bars of what skipping each part of a model adds to its loss.

    The title names the part with the largest cost if that is over four times the next one.
    """
    first, second = sorted(costs, key=lambda name: -costs[name])[:2]
    title = "What skipping one part adds to the loss"
    if costs[first] > 4 * max(costs[second], 0):
        title = f"Only without {first} does the loss jump"
    alt = "; ".join(f"without {name} {value:+.2f}" for name, value in costs.items())
    labels = {"x_label": "nats per token added by skipping it", "number": "{:+.2f}"}
    return horizontal_bars(costs, **labels, **{"title": title, "alt": alt} | texts)


def attention_change(
    after: Any, before: Any, tokens: Sequence[str], *, head: Head = (0, 0), **texts: Unpack[Texts]
) -> Picture:
    """The attention of one head after an adaptation minus before it."""
    name = f"Head {head[0]}.{head[1]}"
    texts = {
        "title": f"{name}: attention after fine-tuning minus before",
        "alt": f"{name}: difference of its attention after and before fine-tuning.",
    } | texts
    return difference_map(after, before, tokens, names=("after", "before"), **texts)


def where_heads_rest(
    scores: Mapping[str, Any],
    random: Mapping[str, Any],
    special: Collection[str],
    **texts: Unpack[Texts],
) -> Picture:
    """Share of attention on some tokens, a grid a kind, with random weights below.

    The title names the `special` tokens on which the heads of some block spend more than a fifth of
    their attention, or says that no head spends half on any of them.
    """
    found = {name: np.asarray(each, float) for name, each in scores.items()}
    many = [name for name in special if found[name].mean(axis=1).max() > _FIFTH]
    title = "Share of attention"
    if many:
        title = f"In some blocks, much of the attention goes to {' and '.join(many)}"
    elif max(found[name].max() for name in special) < _HALF:
        title = f"No head spends half of its attention on {' or '.join(special)}"
    highest = {name: f"{name}\nat most {each.max():.2f}" for name, each in found.items()}
    alt = "Share of attention per head, beside random weights: " + "; ".join(
        f"{name} at most {each.max():.2f}, random {np.max(random[name]):.2f}"
        for name, each in found.items()
    )
    return score_grid(
        {highest[name]: each for name, each in found.items()},
        {highest[name]: random[name] for name in found},
        **{"title": title, "alt": alt} | texts,
    )


def two_sentences(
    weights: Any, tokens: Sequence[str], second: int, *, head: Head = (0, 0), **texts: Unpack[Texts]
) -> Picture:
    """The attention of one head over two sentences; a line stands where the second one begins."""
    texts = {
        "title": f"Head {head[0]}.{head[1]} over two sentences",
        "alt": "Attention of one head over two sentences; a line marks where the second begins.",
    } | texts
    return heat_map(weights, tokens, breaks=[second], **texts)


def attention_page(
    weights: Any, tokens: Sequence[str], model: str, **texts: Unpack[Texts]
) -> Hover:
    """The attention of all heads over one sentence, as a page that works without a network."""
    texts = {
        "title": f"Attention of {model}, all heads",
        "alt": "Attention of all heads over one sentence; point at a token to see its lines.",
    } | texts
    return hover(weights, tokens, **texts)

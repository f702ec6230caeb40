"""Scores of what each head attends to, over a corpus, and attention rollout through all layers.

Sources: Clark et al. (2019, "What Does BERT Look At?") and Vig & Belinkov (2019) for the shares of
attention; Abnar & Zuidema (2020) for rollout.
"""

from collections.abc import Iterable, Mapping

import numpy as np
import torch
from torch import Tensor

from tlcourse.device import Compute
from tlcourse.looking.texts import Texts, as_array, read
from tlcourse.transformer import Transformer, record


def rollout(attention: Tensor | np.ndarray) -> np.ndarray:
    """The share of each token in each position's state after all layers: (length, length).

    `attention` of one text is (layers, heads, queries, keys) or (layers, queries, keys). The heads
    of a layer are averaged, the residual counts as half of a block's output, 0.5 A + 0.5 I, rows
    are normalised, and the layers are multiplied, the first one rightmost (Abnar & Zuidema, 2020).
    Values and feed-forward layers are ignored. Raises ValueError for another shape.
    """
    weights = as_array(attention)
    if weights.ndim not in (3, 4) or weights.shape[-1] != weights.shape[-2]:
        raise ValueError(
            "expected attention of one text, (layers, heads, length, length) or (layers, length, "
            f"length), got {weights.shape}; take one row of a batch"
        )
    if weights.ndim == 4:
        weights = weights.mean(axis=1)
    mixed = np.eye(weights.shape[-1])
    for layer in weights:
        step = 0.5 * layer + 0.5 * np.eye(len(layer))
        mixed = step / step.sum(axis=-1, keepdims=True) @ mixed
    return mixed


def head_scores(
    model: Transformer,
    texts: Texts,
    *,
    delimiters: Iterable[int] = (),
    compute: Compute | None = None,
) -> dict[str, np.ndarray]:
    """The mean scores of each head over the texts, which all have the same weight.

    Returns a dictionary from names to arrays (layers, heads): the shares of attention, from 0 to 1,
    on the "previous token", the "first token", the "same token" (earlier tokens with the same id),
    "itself" and, if ids of `delimiters` are given, on "delimiters"; on the "next token" in a model
    that sees it; then the "entropy" in nats and the mean "distance" in tokens.

    See `scores_by_text` for the queries that count. NaN where no query of any text counts.
    """
    by_text = scores_by_text(model, texts, delimiters=delimiters, compute=compute)
    return {name: _mean_over_texts(values) for name, values in by_text.items()}


def scores_by_text(
    model: Transformer,
    texts: Texts,
    *,
    delimiters: Iterable[int] = (),
    compute: Compute | None = None,
) -> dict[str, np.ndarray]:
    """The scores of `head_scores` for each text: name to (texts, layers, heads).

    A text is the ids of one window or sentence; padding never counts. Each score is the mean over
    the queries for which such a key exists: for "same token" those whose id occurred before, for
    "delimiters" those that may attend to one. The first query of a text never counts, because in a
    causal model it can attend only to itself. NaN where no query counts. Attention to a learned
    prefix is part of no share.
    """
    ids = torch.tensor(sorted(set(delimiters)), dtype=torch.long)
    by_name: dict[str, list] = {}
    order: list[int] = []
    with record(model) as seen:
        for numbers, tokens, mask in read(model, texts, compute):
            order += numbers
            keys, queries = _keys(tokens, mask, model.config.causal, ids.to(tokens.device))
            layers = [_scores(weights, keys, queries) for weights in seen.attention]
            for name in layers[0]:
                values = torch.stack([layer[name] for layer in layers], dim=1)
                by_name.setdefault(name, []).append(as_array(values))
    original = np.argsort(order)
    return {name: np.concatenate(batches)[original] for name, batches in by_name.items()}


def _mean_over_texts(values: np.ndarray) -> np.ndarray:
    """The mean over the first axis without NaN; NaN where there is no other value."""
    counts = (~np.isnan(values)).sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.nansum(values, axis=0) / counts


def _keys(
    tokens: Tensor, mask: Tensor, causal: bool, delimiters: Tensor
) -> tuple[dict[str, Tensor], Tensor]:
    """The keys of each share, name to a mask (batch, queries, keys), and the queries that count.

    Only keys that a query may attend to; none for the first query and for padding.
    """
    position = torch.arange(tokens.shape[1], device=tokens.device)
    distance = position[:, None] - position  # (queries, keys): positions from the key to the query
    queries = mask & (position > 0)
    allowed = queries[:, :, None] & mask[:, None, :]
    if causal:
        allowed = allowed & (distance >= 0)
    by_name = {
        "previous token": distance == 1,
        "first token": (position == 0).expand_as(distance),
        "same token": (tokens[:, :, None] == tokens[:, None, :]) & (distance > 0),
        "itself": distance == 0,
    }
    if not causal:
        by_name["next token"] = distance == -1
    if len(delimiters):
        by_name["delimiters"] = torch.isin(tokens, delimiters)[:, None, :]
    return {name: keys & allowed for name, keys in by_name.items()}, queries


def _scores(weights: Tensor, by_name: Mapping[str, Tensor], queries: Tensor) -> dict[str, Tensor]:
    """The scores of one layer's attention (batch, heads, queries, keys): name to (batch, heads)."""
    length = weights.shape[-2]
    weights = weights[..., -length:].float()  # without a prefix, whose keys come first
    position = torch.arange(length, device=weights.device)
    distance = (position[:, None] - position).abs()
    scores = {
        name: _mean((weights * keys[:, None]).sum(-1), keys.any(-1))
        for name, keys in by_name.items()
    }
    scores["entropy"] = _mean(-torch.special.xlogy(weights, weights).sum(-1), queries)
    scores["distance"] = _mean((weights * distance).sum(-1), queries)
    return scores


def _mean(values: Tensor, counts: Tensor) -> Tensor:
    """Means (batch, heads) of values (batch, heads, queries) over the queries that count."""
    total = (values * counts[:, None]).sum(-1)
    return total / counts.sum(-1, keepdim=True)  # 0 / 0 is NaN

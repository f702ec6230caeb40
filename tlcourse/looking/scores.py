"""What each head looks at: over a corpus, and through all layers.

Sources: Clark et al. (2019, "What Does BERT Look At?"), Vig & Belinkov (2019), whose shares these
are; Abnar & Zuidema (2020, attention rollout).
"""

from collections.abc import Iterable, Mapping

import numpy as np
import torch
from torch import Tensor

from tlcourse.device import Compute
from tlcourse.looking.texts import Texts, as_array, read
from tlcourse.metrics import Interval, mean_interval
from tlcourse.transformer import Transformer, record


def rollout(attention: Tensor | np.ndarray) -> np.ndarray:
    """How much of each position, after all layers, comes from each token: (length, length).

    `attention` of one text is (layers, heads, queries, keys) or (layers, queries, keys). The heads
    of a layer are averaged; half of a block's output is taken to be the residual, 0.5 A + 0.5 I;
    rows are normalised, and layers multiplied, the first one rightmost (Abnar & Zuidema, 2020).
    Values and feed-forwards play no part in it. Raises ValueError for another shape.
    """
    weights = as_array(attention)
    if weights.ndim not in (3, 4) or weights.shape[-1] != weights.shape[-2]:
        raise ValueError(
            "expected attention of one text, (layers, heads, length, length) or (layers, length, "
            f"length), got {weights.shape}; of a batch take one row"
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
    """What each head looks at, on average over texts, each of which counts the same.

    A dictionary, name to (layers, heads), with shares of attention from 0 to 1 on the "previous
    token", the "first token", the "same token" (earlier ones with the same id, not itself),
    "itself", and, if ids of `delimiters` are given, on "delimiters"; "next token" in a model that
    sees it; then "entropy" in nats and the mean "distance" in tokens.

    See `scores_by_text` for what counts. NaN where no query of any text counts.
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

    A text is the ids of one window or sentence; padding never counts. The mean is over the queries
    that have something to look at: for "same token" those whose id occurred before, for
    "delimiters" those that may see one. The first query of a text never counts: in a causal model
    it can look at nothing but itself. NaN where no query counts. What a head gives to a learned
    prefix is on no token.
    """
    ids = torch.tensor(sorted(set(delimiters)), dtype=torch.long)
    found: dict[str, list] = {}
    order: list[int] = []
    with record(model) as seen:
        for numbers, tokens, mask in read(model, texts, compute):
            order += numbers
            wanted, queries = _wanted(tokens, mask, model.config.causal, ids.to(tokens.device))
            layers = [_scores(each, wanted, queries) for each in seen.attention]
            for name in layers[0]:
                values = torch.stack([layer[name] for layer in layers], dim=1)
                found.setdefault(name, []).append(as_array(values))
    back = np.argsort(order)
    return {name: np.concatenate(parts)[back] for name, parts in found.items()}


def score_intervals(by_text: Mapping[str, np.ndarray]) -> dict[str, Interval]:
    """Mean and 95 % interval over texts of `scores_by_text`: name to arrays (layers, heads).

    It holds for other texts of the kind, by Student's t. Texts in which nothing counts are left
    out; NaN where fewer than two are left.
    """
    found = {}
    for name, values in by_text.items():
        rows = values.reshape(len(values), -1).T
        kept = [row[~np.isnan(row)] for row in rows]
        each = [mean_interval(row) if len(row) > 1 else Interval(*[np.nan] * 3) for row in kept]
        parts = np.array(each).T.reshape(3, *values.shape[1:])
        found[name] = Interval(*parts)
    return found


def _mean_over_texts(values: np.ndarray) -> np.ndarray:
    """The mean over the first axis of what is not NaN; NaN where nothing is left."""
    counts = (~np.isnan(values)).sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.nansum(values, axis=0) / counts


def _wanted(
    tokens: Tensor, mask: Tensor, causal: bool, delimiters: Tensor
) -> tuple[dict[str, Tensor], Tensor]:
    """By name the keys that a score asks for, (batch, queries, keys); and the queries that count.

    Only keys that a query may look at, and no key of the first query or of a pad.
    """
    place = torch.arange(tokens.shape[1], device=tokens.device)
    behind = place[:, None] - place  # (queries, keys): by how much a key stands before its query
    queries = mask & (place > 0)
    allowed = queries[:, :, None] & mask[:, None, :]
    if causal:
        allowed = allowed & (behind >= 0)
    wanted = {
        "previous token": behind == 1,
        "first token": (place == 0).expand_as(behind),
        "same token": (tokens[:, :, None] == tokens[:, None, :]) & (behind > 0),
        "itself": behind == 0,
    }
    if not causal:
        wanted["next token"] = behind == -1
    if len(delimiters):
        wanted["delimiters"] = torch.isin(tokens, delimiters)[:, None, :]
    return {name: keys & allowed for name, keys in wanted.items()}, queries


def _scores(weights: Tensor, wanted: Mapping[str, Tensor], queries: Tensor) -> dict[str, Tensor]:
    """Attention of one layer, (batch, heads, queries, keys): name to (batch, heads)."""
    length = weights.shape[-2]
    weights = weights[..., -length:].float()  # a prefix stands in front
    place = torch.arange(length, device=weights.device)
    distance = (place[:, None] - place).abs()
    found = {
        name: _mean((weights * keys[:, None]).sum(-1), keys.any(-1))
        for name, keys in wanted.items()
    }
    found["entropy"] = _mean(-torch.special.xlogy(weights, weights).sum(-1), queries)
    found["distance"] = _mean((weights * distance).sum(-1), queries)
    return found


def _mean(values: Tensor, counts: Tensor) -> Tensor:
    """(batch, heads, queries) to (batch, heads), over the queries (batch, queries) that count."""
    total = (values * counts[:, None]).sum(-1)
    return total / counts.sum(-1, keepdim=True)  # 0 / 0 is NaN

"""Induction heads: A B … A → B. How to find them, and how to see one come into being.

Source: Olsson et al. (2022), "In-context Learning and Induction Heads".
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from tlcourse.batching import generator_for
from tlcourse.bpe import SPECIALS
from tlcourse.device import Compute
from tlcourse.looking.texts import as_array, read
from tlcourse.transformer import Transformer, record


def induction_of(attention: Tensor | np.ndarray, length: int) -> np.ndarray:
    """How much attention goes to the token after an earlier occurrence: (...,), from 0 to 1.

    `attention` is (..., queries, keys), of a text that says `length` different tokens twice. The
    mean over the second half of the weight from place q to place q - length + 1: not on the same
    token, which is `length` back, but on the one after it. Raises ValueError for another shape.
    """
    weights = as_array(attention)
    if weights.ndim < 2 or weights.shape[-2:] != (2 * length, 2 * length):
        raise ValueError(
            f"expected attention over {length} tokens said twice, (..., {2 * length}, "
            f"{2 * length}), got {weights.shape}"
        )
    queries = np.arange(length, 2 * length)
    return weights[..., queries, queries - length + 1].mean(axis=-1)


def induction_score(
    model: Transformer,
    *,
    ids: Sequence[int] | None = None,
    length: int = 32,
    count: int = 16,
    seed: int = 0,
    compute: Compute | None = None,
) -> np.ndarray:
    """`induction_of` on random tokens said twice: (layers, heads), the mean over `count` texts.

    Random tokens, so that nothing but the repetition tells what comes next. They are drawn without
    repetition from `ids`, all but the specials unless given. Raises ValueError when there are
    fewer than `length`.
    """
    texts = said_twice(model.config.vocabulary_size, ids=ids, length=length, count=count, seed=seed)
    total = 0.0
    with record(model) as seen:
        for _ in read(model, texts, compute):
            layers = [each[..., -2 * length :].float() for each in seen.attention]
            scores = [induction_of(each, length).sum(axis=0) for each in layers]
            total = total + np.stack(scores)
    return total / count


def said_twice(
    vocabulary_size: int,
    *,
    ids: Sequence[int] | None = None,
    length: int = 32,
    count: int = 16,
    seed: int = 0,
) -> Tensor:
    """(count, 2 * length) ids: different random tokens, and the same ones again.

    See `induction_score` for the arguments.
    """
    chosen = torch.as_tensor(range(len(SPECIALS), vocabulary_size) if ids is None else list(ids))
    if len(set(chosen.tolist())) < max(length, 1) or len(set(chosen.tolist())) < len(chosen):
        raise ValueError(
            f"expected at least {length} different ids to draw from, got {len(chosen)}; "
            "draw shorter texts"
        )
    generator = generator_for(seed, 1)
    rows = [torch.randperm(len(chosen), generator=generator)[:length] for _ in range(count)]
    return chosen[torch.stack(rows)].repeat(1, 2)

"""Texts that are longer than a model reads at once, in windows whose features are averaged.

Pooling over the windows of a long text, as Pappagari et al. (2019) do with BERT; here the average,
so that all windows are trained together.
"""

import torch
from torch import Tensor

from tlcourse.batching import pad
from tlcourse.bpe import CLS, PAD

WINDOWS = 4  # of a text at most; what is behind them is not read


def room(longest: int) -> int:
    """How many ids of a text are read, `<cls>` at its end included, by `longest` at a time."""
    return WINDOWS * (longest - 1) + 1


def split(tokens: Tensor, mask: Tensor, longest: int) -> tuple[Tensor, Tensor, Tensor]:
    """(batch, any) tokens and mask to windows of at most `longest`: tokens, mask, and owner.

    The windows of a text are about equally long, and each ends with `<cls>`. Owner (windows,) is
    the row that each was cut from.
    """
    windows, owner = [], []
    for row, (ids, count) in enumerate(zip(tokens.tolist(), mask.sum(1).tolist(), strict=True)):
        words = ids[: count - 1]
        parts = -(-len(words) // (longest - 1))
        size = -(-len(words) // parts)
        for start in range(0, len(words), size):
            windows.append([*words[start : start + size], CLS])
            owner.append(row)
    found = (*pad(windows, PAD), torch.tensor(owner))
    return tuple(each.to(tokens.device) for each in found)


def averaged(features: Tensor, owner: Tensor) -> Tensor:
    """(windows, ...) features to the mean of those of each row, (batch, ...)."""
    rows = int(owner[-1]) + 1
    total = features.new_zeros(rows, *features.shape[1:]).index_add(0, owner, features)
    counts = torch.bincount(owner, minlength=rows).view(-1, *[1] * (features.ndim - 1))
    return total / counts

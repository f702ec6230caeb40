"""Texts that are longer than a model reads at once, in windows whose features are averaged.

Pooling over the windows of a long text, as Pappagari et al. (2019) do with BERT; here the average,
so that all windows are trained together.
"""

import torch
from torch import Tensor

from tlcourse.batching import pad
from tlcourse.bpe import Frame

WINDOWS = 4  # of a text at most; what is behind them is not read


def room(longest: int, frame: Frame) -> int:
    """How many ids of a text are read, its frame included, by `longest` at a time."""
    return WINDOWS * (longest - frame.size) + frame.size


def split(
    tokens: Tensor, mask: Tensor, longest: int, *, frame: Frame, pad_id: int = 0
) -> tuple[Tensor, Tensor, Tensor]:
    """(batch, any) tokens and mask to windows of at most `longest`: tokens, mask, and owner.

    The windows of a text are about equally long, and each stands in the frame. Owner (windows,) is
    the row that each was cut from.
    """
    windows, owner = [], []
    for row, (ids, count) in enumerate(zip(tokens.tolist(), mask.sum(1).tolist(), strict=True)):
        words = ids[len(frame.before) : count - len(frame.behind)]
        parts = -(-len(words) // (longest - frame.size))
        size = -(-len(words) // parts)
        for start in range(0, len(words), size):
            windows.append(frame.around(words[start : start + size]))
            owner.append(row)
    cut, cut_mask = pad(windows, pad_id)
    device = tokens.device
    return cut.to(device), cut_mask.to(device), torch.tensor(owner, device=device)


def averaged(features: Tensor, owner: Tensor) -> Tensor:
    """(windows, ...) features to the mean of those of each row, (batch, ...)."""
    rows = int(owner[-1]) + 1
    total = features.new_zeros(rows, *features.shape[1:]).index_add(0, owner, features)
    counts = torch.bincount(owner, minlength=rows).view(-1, *[1] * (features.ndim - 1))
    return total / counts

"""Texts that are longer than a model's maximum, read in windows whose features are averaged.

Pappagari et al. (2019) pool over the windows of a long text with BERT; here the pooling is the
mean, and all windows are trained together.
"""

import torch
from torch import Tensor

from tlcourse.batching import pad
from tlcourse.bpe import Frame

WINDOWS = 4  # the most windows of a text; the rest of it is not read


def room(longest: int, frame: Frame) -> int:
    """Returns the most ids of a text that are read, frame included, in windows of `longest`."""
    return WINDOWS * (longest - frame.size) + frame.size


def split(
    tokens: Tensor, mask: Tensor, longest: int, *, frame: Frame, pad_id: int = 0
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns windows of at most `longest` ids: tokens and mask (windows, length), and owner.

    `tokens` and `mask` are (batch, any length). The windows of a text are about equally long, each
    in the frame. Owner (windows,) is the row that each window was cut from.
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
    """Returns (batch, ...): the mean of the (windows, ...) features of each row."""
    rows = int(owner[-1]) + 1
    total = features.new_zeros(rows, *features.shape[1:]).index_add(0, owner, features)
    counts = torch.bincount(owner, minlength=rows).view(-1, *[1] * (features.ndim - 1))
    return total / counts

"""The last block at one position of each row: all that a classifier reads of it.

That position looks at all others, so each of them needs a key and a value there; its query, its
feed-forward and the rest nobody would read. `at` is (batch,), or None for every position.
"""

import torch
from torch import Tensor


def chosen(x: Tensor, at: Tensor | None) -> Tensor:
    """(batch, length, ...) to (batch, 1, ...)."""
    return x if at is None else x[torch.arange(len(x), device=x.device), at][:, None]


def mask_of(mask: Tensor | None, at: Tensor | None) -> Tensor | None:
    """An attention mask, (any, any, 1 or length, length), to (any, any, 1, length)."""
    if mask is None or at is None or mask.shape[-2] == 1:
        return mask
    return chosen(mask.expand(len(at), 1, -1, -1).transpose(1, 2), at).transpose(1, 2)


def angles_of(table: tuple[Tensor, Tensor], at: Tensor | None) -> tuple[Tensor, Tensor]:
    """A rotary table, (length, head_dim) each, to (batch, 1, 1, head_dim)."""
    if at is None:
        return table
    cosine, signed_sine = (part[at][:, None, None] for part in table)
    return cosine, signed_sine

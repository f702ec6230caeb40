"""Selecting one position per row, for classifiers that read only one state of the last block.

That position attends to all others, so these need keys and values in the last block; their queries
and feed-forward outputs would be unused. `at` is (batch,), or None for every position.
"""

import torch
from torch import Tensor


def chosen(x: Tensor, at: Tensor | None) -> Tensor:
    """The positions `at`: (batch, length, ...) to (batch, 1, ...)."""
    return x if at is None else x[torch.arange(len(x), device=x.device), at][:, None]


def mask_of(mask: Tensor | None, at: Tensor | None) -> Tensor | None:
    """The rows `at` of an attention mask (any, any, 1 or length, length): (any, any, 1, length)."""
    if mask is None or at is None or mask.shape[-2] == 1:
        return mask
    return chosen(mask.expand(len(at), 1, -1, -1).transpose(1, 2), at).transpose(1, 2)


def angles_of(table: tuple[Tensor, Tensor], at: Tensor | None) -> tuple[Tensor, Tensor]:
    """The entries `at` of a rotary table (length, head_dim): (batch, 1, 1, head_dim) each."""
    if at is None:
        return table
    cosine, signed_sine = (part[at][:, None, None] for part in table)
    return cosine, signed_sine

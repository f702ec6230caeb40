"""At which positions a block is run: at all of them, or at the one of each row that is read.

A classifier reads its last block at one position. That position looks at all others, so each of
them needs a key and a value there; its query, its feed-forward and the rest nobody would read.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

Table = tuple[Tensor, Tensor] | None


class Everywhere:
    """All positions: everything stays as it is."""

    def of(self, x: Tensor) -> Tensor:
        """(batch, length, width) to the positions that are wanted."""
        return x

    def mask(self, mask: Tensor | None) -> Tensor | None:
        """The rows of an attention mask that belong to them."""
        return mask

    def angles(self, table: Table) -> Table:
        """The rows of a rotary table that belong to them."""
        return table

    def dropout(self, dropout: nn.Dropout, x: Tensor) -> Tensor:
        """Dropout of what `of` gave."""
        return dropout(x)


@dataclass(frozen=True)
class OnlyAt(Everywhere):
    """One position in each row of a batch: a length of 1 is left."""

    places: Tensor  # (batch,)
    length: int  # of the whole

    def of(self, x: Tensor) -> Tensor:
        """(batch, length, ...) to (batch, 1, ...)."""
        return x[torch.arange(len(x), device=x.device), self.places][:, None]

    def mask(self, mask: Tensor | None) -> Tensor | None:
        """(any, any, 1 or length, length) to (any, any, 1, length)."""
        if mask is None or mask.shape[-2] == 1:
            return mask
        return self.of(mask.expand(len(self.places), 1, -1, -1).transpose(1, 2)).transpose(1, 2)

    def angles(self, table: Table) -> Table:
        """(length, head_dim) each to (batch, 1, 1, head_dim)."""
        return table and tuple(part[self.places][:, None, None] for part in table)

    def dropout(self, dropout: nn.Dropout, x: Tensor) -> Tensor:
        """With the random draws that the whole length takes, so that a seed gives the same."""
        if not (dropout.training and dropout.p):
            return x
        return x * self.of(dropout(x.new_ones(len(x), self.length, x.shape[-1])))


EVERYWHERE = Everywhere()

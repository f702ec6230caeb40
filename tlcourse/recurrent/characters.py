"""Words encoded from their characters by convolutions (Kim et al., 2016; Peters et al., 2018)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

PAD, BEGIN, END = 0, 257, 258  # the bytes of a word are 1 to 256
VOCABULARY = 259  # ids


def byte_ids(text: str) -> list[int]:
    """The ids of a text's UTF-8 bytes, from 1 to 256."""
    return [byte + 1 for byte in text.encode()]


def character_ids(words: Sequence[str], *, longest: int | None = None) -> Tensor:
    """The ids (words, characters) of words: their UTF-8 bytes between BEGIN and END, then PAD.

    Of a word with more than `longest` bytes, the first ones are read.
    """
    rows = [torch.tensor([BEGIN, *byte_ids(word)[:longest], END]) for word in words]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)


class Highway(nn.Module):
    """g · relu(W x + b) + (1 − g) · x, where the gate g = σ(V x + c) (Srivastava et al., 2015).

    c starts at −1, so that at first most of x is carried over.
    """

    def __init__(self, width: int):
        super().__init__()
        self.transform, self.gate = nn.Linear(width, width), nn.Linear(width, width)
        nn.init.constant_(self.gate.bias, -1.0)

    def forward(self, x: Tensor) -> Tensor:
        """(..., width) to the same."""
        gate = self.gate(x).sigmoid()
        return gate * self.transform(x).relu() + (1 - gate) * x


class CharacterEncoder(nn.Module):
    """Characters (words, characters) to vectors of words (words, width).

    `filters` maps the width of each convolution to its number of filters. Each filter is compared
    with the characters from every position on, and its largest value, after ReLU, says how well it
    fits anywhere in the word. A highway layer and a projection follow. The rows may have any
    padding (PAD), which does not change a vector.
    """

    def __init__(
        self,
        width: int,
        *,
        filters: dict[int, int] | None = None,
        character_width: int = 16,
        vocabulary_size: int = VOCABULARY,
    ):
        super().__init__()
        filters = {1: 32, 2: 32, 3: 64, 4: 128} if filters is None else filters
        self.embedding = nn.Embedding(vocabulary_size, character_width, padding_idx=PAD)
        self.convolutions: Sequence[nn.Conv1d] = nn.ModuleList(  # type: ignore[assignment]
            nn.Conv1d(character_width, count, size) for size, count in filters.items()
        )
        self.highway = Highway(sum(filters.values()))
        self.projection = nn.Linear(sum(filters.values()), width)

    def forward(self, characters: Tensor) -> Tensor:
        """(words, characters) ids to (words, width); raises ValueError for a word without any."""
        pads = characters == PAD
        if pads.all(dim=1).any():
            raise ValueError("expected at least one character in every word, got a row of PAD")
        x = self.embedding(characters).transpose(1, 2)  # (words, character width, characters)
        found = []
        for convolution in self.convolutions:
            beyond = convolution.kernel_size[0] - 1  # a filter may begin at the last character
            fits = convolution(F.pad(x, (0, beyond))).masked_fill(pads[:, None], -torch.inf)
            found.append(fits.amax(dim=2).relu())
        return self.projection(self.highway(torch.cat(found, dim=1)))

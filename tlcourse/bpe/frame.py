"""The special tokens around the texts that a model reads."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Frame:
    """The ids before a text, between the two texts of a pair, and at the end.

    BERT (Devlin et al., 2019) reads `[CLS] a [SEP]` and `[CLS] a [SEP] b [SEP]`. The course's
    classifiers read `a <cls>` and `a <sep> b <cls>`, because in a causal model only the last token
    has seen everything. `typed` is True if the second text of a pair has token type 1, as in BERT.
    """

    before: tuple[int, ...] = ()
    between: tuple[int, ...] = ()
    behind: tuple[int, ...] = ()
    typed: bool = False

    @property
    def size(self) -> int:
        """The number of ids around a single text."""
        return len(self.before) + len(self.behind)

    def around(self, first: Sequence[int], second: Sequence[int] | None = None) -> list[int]:
        """The ids of one text, or of a pair, with the special tokens added."""
        ids = [*first] if second is None else [*first, *self.between, *second]
        return [*self.before, *ids, *self.behind]

"""The tokenizer of a released model, read from a file of the `tokenizers` library.

from tlcourse.bpe import LibraryTokenizer

tokenizer = LibraryTokenizer.load("bert-base-uncased/tokenizer.json")
tokenizer.frame.around(tokenizer.read("It rains."))    # [CLS] it rains . [SEP], as ids
"""

import json
from collections.abc import Sequence
from pathlib import Path

import tokenizers

from tlcourse.bpe.frame import Frame
from tlcourse.bpe.text import SPECIALS
from tlcourse.bpe.tokenizer import Tokenizer

# The names of special tokens in released vocabularies, by role.
ROLES = {
    "pad": ("[PAD]", "<pad>"),
    "mask": ("[MASK]", "<mask>"),
    "end": ("[SEP]", "</s>", "<|endoftext|>"),
}
CONTINUES = "##"  # the prefix of a WordPiece inside a word


class LibraryTokenizer:
    """The WordPiece or BPE tokenizer of a released model, with the methods of `Tokenizer`.

    `frame` and `reading` have the special tokens that the file's template puts around a text and
    a pair. A file without a template (GPT-2's) has a token that ends a document: classifiers put it
    after each text, everything else puts it before. A special token spelled out in a text, such as
    "[SEP]", is read as ordinary characters, even if the model learnt it as a special token. Raises
    ValueError if the file defines no such frame.
    """

    def __init__(self, library: tokenizers.Tokenizer):
        library.no_truncation()
        library.no_padding()
        library.encode_special_tokens = True
        self.library = library
        self.strings = [
            library.id_to_token(number) or ""
            for number in range(max(library.get_vocab().values(), default=-1) + 1)
        ]
        pad, self.mask, end = (self._special(names) for names in ROLES.values())
        ending = () if end is None else (end,)
        single, pair = (library.encode(*texts) for texts in (("a",), ("a", "a")))
        template = _frame(single, pair)
        self.frame = template or Frame((), ending, ending)
        self.reading = template or Frame(ending, (), ())
        if not (self.frame.between and self.frame.behind):
            raise ValueError(
                "expected a vocabulary with a token that ends a text and one between two, such as "
                f"{', '.join(ROLES['end'])}, got {self.frame} of {len(self.strings):,} entries"
            )
        self.pad = self.frame.behind[-1] if pad is None else pad

    def _special(self, names: Sequence[str]) -> int | None:
        numbers = (self.library.token_to_id(name) for name in names)
        return next((number for number in numbers if number is not None), None)

    @property
    def vocabulary_size(self) -> int:
        """The number of ids."""
        return len(self.strings)

    def read(self, text: str) -> list[int]:
        """The ids of a text, without special tokens."""
        return self.library.encode(text, add_special_tokens=False).ids

    def pieces(self, text: str) -> list[tuple[int, int, int]]:
        """The ids that `read` returns, each with the start and end of its characters in `text`."""
        encoding = self.library.encode(text, add_special_tokens=False)
        places = zip(encoding.ids, encoding.offsets, strict=True)
        return [(number, *place) for number, place in places]

    def encode(self, text: str) -> list[int]:
        """The same as `read`, because the file has its own normaliser."""
        return self.read(text)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`, special tokens included."""
        return self.library.decode(list(ids), skip_special_tokens=False)

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """The text of each id, for display; a WordPiece that begins a word starts with a space."""
        if not isinstance(self.library.model, tokenizers.models.WordPiece):
            return [self.decode([number]) for number in ids]
        special = {*self.frame.around([], []), self.pad, self.mask}
        return [
            self.strings[number]
            if number in special
            else self.strings[number].removeprefix(CONTINUES)
            if self.strings[number].startswith(CONTINUES)
            else f" {self.strings[number]}"
            for number in ids
        ]

    def to_library(self) -> tokenizers.Tokenizer:
        """The underlying `tokenizers.Tokenizer`."""
        return self.library

    def save(self, path: str | Path) -> None:
        """Writes a `tokenizer.json` for `load`."""
        self.library.save(str(path))

    @classmethod
    def load(cls, path: str | Path) -> "LibraryTokenizer":
        """Reads a `tokenizer.json`; raises ValueError for a file that the library cannot read."""
        try:
            library = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises bare exceptions
            raise ValueError(
                f"expected a file of the tokenizers library in {path}, but {error}; fetch it again"
            ) from error
        return cls(library)


def _frame(single: tokenizers.Encoding, pair: tokenizers.Encoding) -> Frame | None:
    """The special tokens that the template adds to a text and a pair; None if it adds none."""
    ordinary = [not special for special in single.special_tokens_mask]
    if all(ordinary) or not any(ordinary):
        return None
    first, end = ordinary.index(True), len(ordinary) - ordinary[::-1].index(True)
    before, behind = tuple(single.ids[:first]), tuple(single.ids[end:])
    count = len(pair.ids) - len(before) - len(behind) - 2 * (end - first)
    begin = len(before) + (end - first)
    between = tuple(pair.ids[begin : begin + count])
    return Frame(before, between, behind, typed=max(pair.type_ids) > 0)


def load_tokenizer(path: str | Path) -> Tokenizer | LibraryTokenizer:
    """Reads a `tokenizer.json` of this course or of a released model.

    Raises ValueError for a file that does not contain a tokenizer.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        added = {token["content"] for token in content["added_tokens"]}
        released = "model" in content and not added.issuperset(SPECIALS)
    except (ValueError, TypeError, LookupError, RecursionError):
        released = False  # `Tokenizer.load` raises the error
    return (LibraryTokenizer if released else Tokenizer).load(path)

"""A vocabulary that others trained, read from a file of the `tokenizers` library.

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

# What the special tokens are called, by their role.
ROLES = {
    "pad": ("[PAD]", "<pad>"),
    "mask": ("[MASK]", "<mask>"),
    "end": ("[SEP]", "</s>", "<|endoftext|>"),
}
CONTINUES = "##"  # the beginning of a WordPiece that does not begin a word


class LibraryTokenizer:
    """WordPiece or byte-level BPE of a released model, with the methods that `Tokenizer` has.

    `frame` and `reading` are what the file's own template puts around one text and around a pair.
    A file without one (GPT-2's) has a token that ends a document: classifiers put it behind each
    text, and whatever else reads one puts it before. A special token that is spelled out in a text,
    such as "[SEP]", is read as ordinary characters, so markers that a model learned as special
    tokens are, too. Raises ValueError where no such frame can be had.
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
        found = (self.library.token_to_id(name) for name in names)
        return next((number for number in found if number is not None), None)

    @property
    def vocabulary_size(self) -> int:
        """How many ids there are."""
        return len(self.strings)

    def read(self, text: str) -> list[int]:
        """Returns the ids of a text that a person typed, without special tokens."""
        return self.library.encode(text, add_special_tokens=False).ids

    def encode(self, text: str) -> list[int]:
        """Returns the same as `read`: the file brings its own normaliser."""
        return self.read(text)

    def decode(self, ids: Sequence[int]) -> str:
        """Returns the text of `ids`, special tokens included."""
        return self.library.decode(list(ids), skip_special_tokens=False)

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """Returns each id's own text, for showing; a WordPiece that begins a word has a space."""
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
        """Returns the `tokenizers.Tokenizer` behind it."""
        return self.library

    def save(self, path: str | Path) -> None:
        """Writes the file from which `load` makes the same tokenizer."""
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
    """What the template puts around a text and between two; None where it puts nothing."""
    own = [not special for special in single.special_tokens_mask]
    if all(own) or not any(own):
        return None
    first, end = own.index(True), len(own) - own[::-1].index(True)
    before, behind = tuple(single.ids[:first]), tuple(single.ids[end:])
    middle = len(pair.ids) - len(before) - len(behind) - 2 * (end - first)
    begin = len(before) + (end - first)
    between = tuple(pair.ids[begin : begin + middle])
    return Frame(before, between, behind, typed=max(pair.type_ids) > 0)


def load_tokenizer(path: str | Path) -> Tokenizer | LibraryTokenizer:
    """Reads a `tokenizer.json`, of the course or of others.

    Raises ValueError for a file that holds no tokenizer.
    """
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        added = {each["content"] for each in found["added_tokens"]}
        others = "model" in found and not added.issuperset(SPECIALS)
    except (ValueError, TypeError, LookupError, RecursionError):
        others = False  # `Tokenizer.load` says what is wrong with it
    return (LibraryTokenizer if others else Tokenizer).load(path)

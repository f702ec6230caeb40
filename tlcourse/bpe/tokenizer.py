"""The BPE tokenizer: text to ids and back, in the file format of the `tokenizers` library."""

import contextlib
import itertools
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import regex
import tokenizers

from tlcourse.bpe.frame import Frame
from tlcourse.bpe.text import (
    CLS,
    EOS,
    MASK,
    PAD,
    SEP,
    SPECIALS,
    base_symbols,
    byte_symbols,
    normalise,
    placed,
    pre_tokenise,
    to_ids,
)
from tlcourse.bpe.trainers import Merge, count_words, merge_pair, train


class Tokenizer:
    """Byte-level BPE: any string can be encoded, and decoding returns it unchanged.

    `merges` are in the order in which they were learnt; encoding applies the earliest first. The
    ids of `more_specials` follow all others; raises ValueError if one of them exists already.
    Classifiers put `frame` around a text. Everything else puts `reading` around it, because
    documents follow `<eos>` in the training text.
    """

    frame, reading = Frame((), (SEP,), (CLS,)), Frame((EOS,), (), ())
    pad, mask = PAD, MASK

    def __init__(self, merges: Iterable[Merge], more_specials: Iterable[str] = ()):
        self.merges, self.more_specials = list(merges), tuple(more_specials)
        self.strings = base_symbols()
        for (left, right), merged in self.merges:
            if merged == len(self.strings):
                self.strings.append(self.strings[left] + self.strings[right])
        self.special_ids = {special: number for number, special in enumerate(SPECIALS)}
        for special in self.more_specials:
            if not special or special in self.special_ids:
                raise ValueError(f"expected new special tokens, got {special!r}; leave it out")
            self.special_ids[special] = len(self.strings)
            self.strings.append(special)
        self._special = regex.compile(f"({'|'.join(map(regex.escape, self.special_ids))})")
        self._special_numbers = set(self.special_ids.values())
        self._ranks = {pair: (rank, new) for rank, (pair, new) in enumerate(self.merges)}
        self._bytes_of = {symbol: byte for byte, symbol in byte_symbols().items()}
        self._cache: dict[str, list[int]] = {}

    @classmethod
    def train(cls, texts: Iterable[str], vocabulary_size: int) -> "Tokenizer":
        """Learns a vocabulary of at most `vocabulary_size` entries, specials and bytes included.

        Raises TypeError for a single string, and ValueError for fewer than 262 entries.
        """
        return cls(train(count_words(texts), vocabulary_size))

    def with_specials(self, *names: str) -> "Tokenizer":
        """The same tokenizer with more special tokens; raises ValueError for one that it has."""
        return Tokenizer(self.merges, (*self.more_specials, *names))

    @property
    def vocabulary_size(self) -> int:
        """The number of ids."""
        return len(self.strings)

    def read(self, text: str) -> list[int]:
        """The ids of a text typed by a person, which is normalised first."""
        return self.encode(normalise(text))

    def pieces(self, text: str) -> list[tuple[int, int, int]]:
        """The ids that `read` returns, each with the start and end of its characters in `text`.

        A space in front of a word does not count, and a character that is cut counts whole.
        """
        normal, places = placed(text)
        of_bytes = [place for c, place in zip(normal, places, strict=True) for _ in c.encode()]
        found, used = [], 0
        for number in self.encode(normal):
            covered = of_bytes[used : used + len(self.strings[number])]  # a symbol for each byte
            used += len(covered)
            found.append((number, covered[0][0], covered[-1][1]))
        return found

    def encode(self, text: str, allow_special: bool = False) -> list[int]:
        """The ids of `text` without normalisation (see `read`).

        A special token spelled out in the text is read as ordinary characters unless
        `allow_special` is True, so that a user who types `<eos>` cannot end a document. Raises
        UnicodeEncodeError (a ValueError) for half a surrogate pair, which is not valid text.
        """
        if not allow_special:
            return [
                token
                for pre_token in pre_tokenise(text)
                for token in self._encode_pre_token(pre_token)
            ]
        ids: list[int] = []
        for part in self._special.split(text):
            ids += [self.special_ids[part]] if part in self.special_ids else self.encode(part)
        return ids

    def _encode_pre_token(self, pre_token: str) -> list[int]:
        if pre_token not in self._cache:
            tokens = to_ids(pre_token)
            while True:
                candidates = [pair for pair in itertools.pairwise(tokens) if pair in self._ranks]
                if not candidates:
                    break
                pair = min(candidates, key=self._ranks.__getitem__)
                tokens = merge_pair(tokens, pair, self._ranks[pair][1])
            self._cache[pre_token] = tokens
        return self._cache[pre_token]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`; invalid UTF-8 becomes U+FFFD. Raises ValueError for unknown ids."""
        data = bytearray()
        for number in ids:
            if not 0 <= number < self.vocabulary_size:
                raise ValueError(f"expected ids from 0 to {self.vocabulary_size - 1}, got {number}")
            string = self.strings[number]
            if number in self._special_numbers:
                data += string.encode("utf-8")
            else:
                data += bytes(self._bytes_of[symbol] for symbol in string)
        return data.decode("utf-8", errors="replace")

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """The text of each id, for display; a lone byte of a longer character becomes U+FFFD."""
        return [self.decode([number]) for number in ids]

    def to_library(self) -> tokenizers.Tokenizer:
        """The same vocabulary as a `tokenizers.Tokenizer`, which is fast.

        It reads a special token spelled out in a text as ordinary characters. This setting
        (`encode_special_tokens = True`) is not saved in the file; set it again after loading.
        """
        ordinary = self.strings[: len(self.strings) - len(self.more_specials)]
        vocabulary = {string: number for number, string in enumerate(ordinary)}
        pairs = [(self.strings[left], self.strings[right]) for (left, right), _ in self.merges]
        library = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, pairs))
        library.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        library.decoder = tokenizers.decoders.ByteLevel()
        library.add_special_tokens([*SPECIALS, *self.more_specials])
        library.encode_special_tokens = True
        return library

    def save(self, path: str | Path) -> None:
        """Writes a `tokenizer.json`, which the `tokenizers` library can load."""
        self.to_library().save(str(path))

    @classmethod
    def load(cls, path: str | Path) -> "Tokenizer":
        """Reads a `tokenizer.json` written by `save`.

        Raises ValueError if the file contains another kind of tokenizer, or none.
        """
        kind, tokenizer = "no tokenizer", None
        with contextlib.suppress(LookupError, TypeError, ValueError, RecursionError):
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            model, added = content["model"], content["added_tokens"]
            kind, ids = model["type"], dict(model["vocab"])
            more = {token["content"]: token["id"] for token in added if token["id"] >= len(ids)}
            merges = (((ids[a], ids[b]), ids[a + b]) for a, b in model["merges"])
            tokenizer = cls(merges, sorted(more, key=more.__getitem__))
            ids |= more
        if tokenizer is None or ids != {s: number for number, s in enumerate(tokenizer.strings)}:
            raise ValueError(
                f"expected a byte-level BPE tokenizer with the specials {SPECIALS} in {path}, "
                f"got {kind}; only files written by Tokenizer.save can be read"
            )
        return tokenizer

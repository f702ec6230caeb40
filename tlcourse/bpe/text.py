"""Text before any merge: the normaliser of user text, WikiText's spacing, pre-tokens and bytes."""

import unicodedata
from functools import cache

import regex

SPECIALS = ("<pad>", "<unk>", "<cls>", "<sep>", "<mask>", "<eos>")
PAD, UNK, CLS, SEP, MASK, EOS = range(len(SPECIALS))  # their ids in every vocabulary

# The pattern of GPT-2 (Radford et al., 2019): a contraction, or an optional space and a run of
# letters, digits or other signs, or white space that leaves the last space to the next word.
_PRE_TOKEN = regex.compile(
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
)
_TYPOGRAPHY = str.maketrans(
    {"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "…": "..."}
)


def normalise(text: str) -> str:
    """A text typed by a person, in the form the shipped models read.

    Canonical composition (NFC), typewriter quotes and dashes, white space collapsed, and one space
    in front, so that the first word looks like a word inside a sentence. Digits, superscripts and
    letters of any script stay as they are.
    """
    words = unicodedata.normalize("NFC", text).translate(_TYPOGRAPHY).split()
    return " " + " ".join(words) if words else ""


def detokenise(line: str) -> str:
    """A line in WikiText's spacing (`Paris , in 1 @,@ 900`) as people write it (`Paris, in 1,900`).

    The leading space and the line's end stay. Quotes open and close in turn.
    """
    first, *rest = regex.split(r' "(?= |$)', line)
    for number, part in enumerate(rest):
        first += ' "' + part.removeprefix(" ") if number % 2 == 0 else '"' + part
    line = regex.sub(r" @([-,.])@ ", r"\1", first)
    line = regex.sub(r" ([,.;:!?%)\]])(?=\W|$)", r"\1", line)
    line = regex.sub(r"(?<=\W)([(\[£$]) (?=\S)", r"\1", line)
    return regex.sub(r" ('(?:s|t|re|ve|m|ll|d)|n't)(?=\W|$)", r"\1", line)


def pre_tokenise(text: str) -> list[str]:
    """Cuts `text` into the pre-tokens inside which merges happen; joined, they give `text` back."""
    return _PRE_TOKEN.findall(text)


def byte_symbols() -> dict[int, str]:
    """The printable character that stands for each byte in a vocabulary file (GPT-2's table).

    Printable Latin-1 bytes stand for themselves; the other 68 get the characters from U+0100 on.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {b: chr(b) for b in printable} | {b: chr(256 + i) for i, b in enumerate(others)}


@cache
def byte_ids() -> dict[int, int]:
    """The id of each byte: `tokenizers` sorts its byte alphabet by symbol, after the specials."""
    symbols = byte_symbols()
    order = sorted(range(256), key=lambda byte: symbols[byte])
    return {byte: len(SPECIALS) + rank for rank, byte in enumerate(order)}


def to_ids(pre_token: str) -> list[int]:
    """The byte ids of a pre-token, before any merge."""
    ids = byte_ids()
    return [ids[byte] for byte in pre_token.encode("utf-8")]


def base_symbols() -> list[str]:
    """The strings of the ids that need no training: the specials and the 256 bytes."""
    return [*SPECIALS, *sorted(byte_symbols().values())]

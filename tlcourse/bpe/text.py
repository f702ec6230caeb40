"""Text before BPE: the normaliser, WikiText's spacing, pre-tokens and bytes."""

import re
import unicodedata
from functools import cache

import regex

SPECIALS = ("<pad>", "<unk>", "<cls>", "<sep>", "<mask>", "<eos>")
PAD, UNK, CLS, SEP, MASK, EOS = range(len(SPECIALS))  # their ids in every vocabulary

# The pattern of GPT-2 (Radford et al., 2019): a contraction, or an optional space and a run of
# letters, digits or other characters, or white space except a space that begins the next word.
_PRE_TOKEN = regex.compile(
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
)
_TYPOGRAPHY = str.maketrans(
    {"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "…": "..."}
)


def normalise(text: str) -> str:
    """A text typed by a person in the form that the shipped models read.

    Applies canonical composition (NFC), replaces typographic quotes and dashes, collapses white
    space and adds a space in front, so that the first word looks like one inside a sentence.
    Digits, superscripts and letters of any script are unchanged.
    """
    words = unicodedata.normalize("NFC", text).translate(_TYPOGRAPHY).split()
    return " " + " ".join(words) if words else ""


def placed(text: str) -> tuple[str, list[tuple[int, int]]]:
    """`normalise(text)`, and where each of its characters is in `text`: (start, end).

    A space is an empty place before the word that follows it. If normalising changes the length of
    a word, all its characters are at the place of the word.
    """
    normal, places = "", []
    for match in re.finditer(r"\S+", text):
        word, (start, end) = normalise(match[0]), match.span()
        whole = len(word) - 1 != end - start
        normal += word
        places.append((start, start))
        places += [
            (start, end) if whole else (start + i, start + i + 1) for i in range(len(word) - 1)
        ]
    return normal, places


def detokenise(line: str) -> str:
    """A line in WikiText's spacing (`Paris , in 1 @,@ 900`) in normal spacing (`Paris, in 1,900`).

    The leading space and the line end are kept. Quotation marks open and close alternately.
    """
    first, *rest = regex.split(r' "(?= |$)', line)
    for number, part in enumerate(rest):
        first += ' "' + part.removeprefix(" ") if number % 2 == 0 else '"' + part
    line = regex.sub(r" @([-,.])@ ", r"\1", first)
    line = regex.sub(r" ([,.;:!?%)\]])(?=\W|$)", r"\1", line)
    line = regex.sub(r"(?<=\W)([(\[£$]) (?=\S)", r"\1", line)
    return regex.sub(r" ('(?:s|t|re|ve|m|ll|d)|n't)(?=\W|$)", r"\1", line)


def pre_tokenise(text: str) -> list[str]:
    """The pre-tokens of `text`, inside which merges happen; joined, they are `text` again."""
    return _PRE_TOKEN.findall(text)


@cache
def byte_symbols() -> dict[int, str]:
    """The printable character that represents each byte in a vocabulary file (GPT-2's table).

    Printable Latin-1 bytes represent themselves; the other 68 get the characters from U+0100 on.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {b: chr(b) for b in printable} | {b: chr(256 + i) for i, b in enumerate(others)}


@cache
def byte_ids() -> dict[int, int]:
    """The id of each byte: after the specials, sorted by symbol as in `tokenizers`."""
    symbols = byte_symbols()
    order = sorted(range(256), key=lambda byte: symbols[byte])
    return {byte: len(SPECIALS) + rank for rank, byte in enumerate(order)}


def to_ids(pre_token: str) -> list[int]:
    """The ids of a pre-token's bytes, before any merge."""
    ids = byte_ids()
    return [ids[byte] for byte in pre_token.encode("utf-8")]


def base_symbols() -> list[str]:
    """The strings of the ids that exist without training: the specials and the 256 bytes."""
    return [*SPECIALS, *sorted(byte_symbols().values())]

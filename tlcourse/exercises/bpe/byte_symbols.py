"""Lesson 01: a character that can be seen for each byte."""

from collections.abc import Mapping
from functools import cache

from tokenizers import pre_tokenizers

from tlcourse import bpe
from tlcourse.exercises.expect import CheckFailed, expect_type, short
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="1.4",
    title="A symbol for each byte",
    difficulty=2,
    minutes=8,
    hints=(
        "`chr(65)` is 'A', and `range(33, 127)` ends at 126.",
        "put the three ranges into one list first: `[*range(33, 127), *range(161, 173), ...]`.",
        "`enumerate` the bytes that are not in that list: the first gets `chr(256)`, the second "
        "`chr(257)`, and so on. Two dictionaries are joined by `|`.",
    ),
)
task.right(bpe.byte_symbols)
PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]


@task.reference
def byte_symbols():
    """The character that stands for each byte, so that merges can be read (GPT-2's table)."""
    symbols, free = {}, 256
    for byte in range(256):
        if 33 <= byte <= 126 or 161 <= byte <= 172 or byte >= 174:
            symbols[byte] = chr(byte)
        else:
            symbols[byte] = chr(free)
            free += 1
    return symbols


@task.right
def by_an_iterator():
    free = iter(range(256, 1000))
    seen = "".join(map(chr, PRINTABLE))
    return {b: chr(b) if chr(b) in seen else chr(next(free)) for b in range(256)}


@cache
def of_the_library():
    """Byte → symbol for all bytes that occur in UTF-8, by the `tokenizers` library."""
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    found = {}
    for point in [*range(0x900), 0xFFFD, *range(0x1000, 0x110000, 0x1000)]:
        if not 0xD800 <= point < 0xE000:
            [(symbols, _)] = byte_level.pre_tokenize_str(chr(point))
            found |= zip(chr(point).encode("utf-8"), symbols, strict=True)
    return found


def table(candidate):
    """The candidate's table, of the right kind: 256 numbers to 256 different characters."""
    got = candidate()
    if not isinstance(got, Mapping):
        expect_type(got, dict, "your function", "From each byte, a number, to its character.")
    if set(got) != set(range(256)):
        raise CheckFailed(f"the keys are {short(list(got))}; expected the numbers from 0 to 255.")
    odd = [each for each in got.values() if not (isinstance(each, str) and len(each) == 1)]
    if odd:
        raise CheckFailed(f"one of the values is {short(odd[0])}; expected single characters.")
    return dict(got)


def some(candidate, wanted):
    """The symbols of some bytes."""
    symbols = table(candidate)
    return {byte: symbols[byte] for byte in wanted}


@task.stage("a dictionary of 256 characters")
def of_256(candidate):
    kind = {byte: type(symbol) for byte, symbol in table(candidate).items()}
    if set(kind.values()) != {str}:
        raise CheckFailed(f"the values are {short(kind)}; expected characters.")


@task.stage("bytes that can be seen")
def seen(candidate):
    for byte in (65, 33, 126, 161, 172, 174, 255):
        task.observe(
            candidate, some, [byte], gives={byte: chr(byte)}, what=f"the byte {byte}",
            likely="It can be seen, so it stands for itself.",
        )  # fmt: skip


@task.stage("the 68 others")
def others(candidate):
    for byte, symbol, likely in (
        (0, "Ā", "The first of the others gets chr(256)."),
        (32, "Ġ", "The space cannot be seen; it is the 33rd of the others, so it gets chr(288)."),
        (10, "Ċ", "The line end is the 11th of the others."),
        (127, "ġ", "Behind the space comes 127: it gets the next free character."),
        (173, "Ń", "The soft hyphen is the last of the others, the 68th."),
    ):
        task.observe(
            candidate, some, [byte], gives={byte: symbol}, what=f"the byte {byte}", likely=likely
        )


@task.stage("all bytes, against the library")
def against_the_library(candidate):
    right, mine = of_the_library(), table(candidate)
    for byte, symbol in sorted(right.items()):
        if mine[byte] != symbol:
            raise CheckFailed(f"the byte {byte} gave {mine[byte]!r}; the library has {symbol!r}.")
    if len(set(mine.values())) < 256:
        raise CheckFailed("two bytes have the same symbol; then no text could be read back.")
    if set(mine.values()) != set(pre_tokenizers.ByteLevel.alphabet()):
        raise CheckFailed("some of the characters are none that the library uses.")


@task.mistake("bytes that can be seen", "It can be seen, so it stands for itself.")
def ascii_only():
    free = iter(range(256, 1000))
    return {b: chr(b) if 33 <= b <= 126 else chr(next(free)) for b in range(256)}


@task.mistake("the 68 others", "The first of the others gets chr(256).")
def all_themselves():
    return {byte: chr(byte) for byte in range(256)}


@task.mistake(
    "the 68 others",
    "For Python the space is printable, but nobody sees it: go by the three ranges, not by "
    "`isprintable`.",
)
def python_says_printable():
    free = iter(range(256, 1000))
    return {b: chr(b) if chr(b).isprintable() else chr(next(free)) for b in range(256)}


@task.mistake(
    "the 68 others", "Count only the others: the first gets chr(256), the next one chr(257)."
)
def each_256_higher():
    return {b: chr(b) if b in PRINTABLE else chr(256 + b) for b in range(256)}


@task.mistake("a dictionary of 256 characters", "expected the numbers from 0 to 255")
def turned_round():
    return {symbol: byte for byte, symbol in bpe.byte_symbols().items()}


@task.mistake("a dictionary of 256 characters", "expected the numbers from 0 to 255")
def only_the_printable():
    return {byte: chr(byte) for byte in PRINTABLE}


@task.mistake("bytes that can be seen", "`range(33, 126)` ends at 125: the last byte is missing.")
def ends_too_early():
    seen = [*range(33, 126), *range(161, 172), *range(174, 255)]
    free = iter(range(256, 1000))
    return {b: chr(b) if b in seen else chr(next(free)) for b in range(256)}

"""Lesson 01: a character that can be seen for each byte."""

from collections.abc import Mapping
from functools import cache

from tokenizers import pre_tokenizers

from tlcourse.exercises.expect import CheckFailed, expect_type, short
from tlcourse.exercises.task import Exercise, case

task = Exercise(
    __name__,
    number="1.4",
    title="A symbol for each byte",
    difficulty=2,
    importance=2,
    minutes=8,
    hints=(
        "`chr(65)` is 'A', and `range(33, 127)` ends at 126.",
        "Put the three ranges into one list first: `[*range(33, 127), *range(161, 173), ...]`.",
        "`enumerate` the bytes that are not in that list: the first gets `chr(256)`, the second "
        "`chr(257)`, and so on. Two dictionaries are joined by `|`.",
    ),
)
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


@cache
def of_the_library():
    """Byte → symbol for all bytes that occur in UTF-8, by the `tokenizers` library."""
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    found = {}
    for point in [*range(0x900), 0xFFFD, *range(0x1000, 0x110000, 0x1000)]:
        if not 0xD800 <= point < 0xE000:
            [(symbols, _)] = byte_level.pre_tokenize_str(chr(point))
            found |= zip(chr(point).encode("utf-8"), symbols, strict=True)
    return dict(sorted(found.items()))


def table(candidate):
    """The candidate's table; raises CheckFailed unless it leads from bytes to characters."""
    got = candidate()
    if not isinstance(got, Mapping):
        expect_type(got, dict, "your function", "From each byte, a number, to its character.")
    if set(got) != set(range(256)):
        due = "the numbers from 0 to 255"
        raise CheckFailed(check="the keys", yours=short(list(got)), expected=due)
    odd = [each for each in got.values() if not (isinstance(each, str) and len(each) == 1)]
    if odd:
        raise CheckFailed(check="a value", yours=short(odd[0]), expected="a single character")
    return dict(got)


def symbol(candidate, byte):
    return table(candidate)[byte]


def by_library(candidate):
    return {byte: symbol for byte, symbol in table(candidate).items() if byte in of_the_library()}


def symbols_in_order(candidate):
    return "".join(sorted(table(candidate).values()))


OTHERS = (
    (0, "Ā", "The first of the others gets chr(256)."),
    (32, "Ġ", "The space cannot be seen; it is the 33rd of the others, so it gets chr(288)."),
    (10, "Ċ", "The line end is the 11th of the others."),
    (127, "ġ", "Behind the space comes 127: it gets the next free character."),
    (173, "Ń", "The soft hyphen is the last of the others, the 68th."),
)
task.stage(
    "a dictionary of 256 characters",
    case("the number of bytes", expected=256, measure=lambda candidate: len(table(candidate))),
)
task.stage(
    "bytes that can be seen",
    *(
        case(f"the byte {byte}", byte, expected=chr(byte))
        for byte in (65, 33, 126, 161, 172, 174, 255)
    ),
    measure=symbol,
    hint="It can be seen, so it stands for itself.",
)
task.stage(
    "the 68 others",
    *(case(f"the byte {byte}", byte, expected=due, hint=hint) for byte, due, hint in OTHERS),
    measure=symbol,
)
task.stage(
    "all bytes, against the library",
    case("all bytes that occur in UTF-8", expected=of_the_library(), measure=by_library),
    case(
        "all symbols",
        expected="".join(sorted(pre_tokenizers.ByteLevel.alphabet())),
        measure=symbols_in_order,
    ),
    hint="Two bytes must not have the same symbol, or no text could be read back.",
)


def numbering(seen):
    """A table where the bytes of `seen` stand for themselves, the others from chr(256) on."""

    def byte_symbols():
        free = iter(range(256, 1000))
        return {b: chr(b) if seen(b) else chr(next(free)) for b in range(256)}

    return byte_symbols


task.mistakes(
    (
        "For Python the space is printable, but nobody sees it: go by the three ranges, not by "
        "`isprintable`.",
        numbering(lambda b: chr(b).isprintable()),
    ),
    (
        "Count only the others: the first gets chr(256), the next one chr(257).",
        lambda: {b: chr(b) if b in PRINTABLE else chr(256 + b) for b in range(256)},
    ),
    (
        "`range(33, 126)` ends at 125: the last byte is missing.",
        numbering(lambda b: 33 <= b < 126 or 161 <= b < 172 or 174 <= b < 255),
    ),
)

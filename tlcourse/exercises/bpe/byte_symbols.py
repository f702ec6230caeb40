"""Lesson 01: a character that can be seen for each byte."""

from tokenizers import pre_tokenizers

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


@task.truth
def by_the_library():
    """The library's alphabet in order: first the bytes that can be seen, then all others."""
    others = [byte for byte in range(256) if byte not in PRINTABLE]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    return dict(zip([*PRINTABLE, *others], alphabet, strict=True))


def symbol(candidate, byte):
    return candidate()[byte]


task.stage(
    "a dictionary of 256 characters",
    case(
        "the keys in order", expected=[*range(256)], measure=lambda candidate: sorted(candidate())
    ),
    hint="Return a dictionary from each byte, a number from 0 to 255, to its character.",
)
task.stage(
    "bytes that can be seen",
    *(case(f"the byte {byte}", byte, expected=chr(byte)) for byte in (65, 126, 161, 172, 255)),
    measure=symbol,
    hint="It can be seen, so it stands for itself.",
)
SPACE = "The space cannot be seen; it is the 33rd of the others, so it gets chr(288)."
task.stage(
    "the 68 others",
    case("the byte 0", 0, expected="Ā", hint="The first of the others gets chr(256)."),
    case("the byte 32", 32, expected="Ġ", hint=SPACE),
    case("the byte 173", 173, expected="Ń", hint="The soft hyphen is the last of the 68 others."),
    measure=symbol,
)
task.stage(
    "all bytes, against the library",
    case(""),
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

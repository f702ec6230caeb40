"""Lesson 01: a visible character for each byte."""

from tokenizers import pre_tokenizers

from tlcourse.exercises.task import Exercise, case

task = Exercise(
    __name__,
    number="1.4",
    title="Byte symbols",
    difficulty=2,
    importance=2,
    minutes=8,
    hints=(
        "`chr(65)` is 'A', and `range(33, 127)` ends at 126.",
        "Put the three ranges into one list first: `[*range(33, 127), *range(161, 173), ...]`.",
        "`enumerate` the bytes that are not in that list: the first gets `chr(256)`, the second "
        "`chr(257)`, and so on. The operator `|` merges two dictionaries.",
    ),
)
PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]


@task.reference
def byte_symbols():
    """Returns a visible character for each byte, so that merges can be read (GPT-2's table)."""
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
    """Returns the library's alphabet: its characters in order are the visible bytes, then all
    others."""
    others = [byte for byte in range(256) if byte not in PRINTABLE]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    return dict(zip([*PRINTABLE, *others], alphabet, strict=True))


def symbol(candidate, byte):
    return candidate()[byte]


task.stage(
    "a dictionary of 256 characters",
    case("the sorted keys", expected=[*range(256)], measure=lambda candidate: sorted(candidate())),
    hint="Return a dictionary from each byte, a number from 0 to 255, to its character.",
)
task.stage(
    "bytes that can be seen",
    *(case(f"the byte {byte}", byte, expected=chr(byte)) for byte in (65, 126, 172, 255)),
    measure=symbol,
    hint="This byte is a visible character, so it stands for itself.",
)
task.stage(
    "the 68 others",
    case("the byte 0", 0, expected="Ā", hint="The first of the other bytes gets chr(256)."),
    case(
        "the byte 32",
        32,
        expected="Ġ",
        hint="The space is invisible. It is the 33rd of the other bytes, so it gets chr(288).",
    ),
    case(
        "the byte 173",
        173,
        expected="Ń",
        hint="The soft hyphen is the last of the 68 other bytes, so it gets chr(323).",
    ),
    measure=symbol,
)
task.stage(
    "all bytes, against the library",
    case(""),
    hint="If two bytes had the same symbol, no text could be decoded.",
)


def numbering(seen):
    """Returns a table where the bytes of `seen` stand for themselves, the others from 256 on."""

    def byte_symbols():
        free = iter(range(256, 1000))
        return {byte: chr(byte if seen(byte) else next(free)) for byte in range(256)}

    return byte_symbols


task.mistakes(
    (
        "`range(33, 126)` ends at 125, so the last byte of the range is missing: add 1 to its end.",
        numbering(lambda byte: 33 <= byte < 126 or 161 <= byte < 172 or 174 <= byte < 255),
    ),
    (
        "`isprintable` is True for the space, although nobody can see it: use the three ranges.",
        numbering(lambda byte: chr(byte).isprintable()),
    ),
    (
        "This code adds 256 to the byte itself. Count only the bytes that are not visible: the "
        "first gets chr(256), the next one chr(257).",
        lambda: {byte: chr(byte + 256 * (byte not in PRINTABLE)) for byte in range(256)},
    ),
)

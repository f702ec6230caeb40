"""WSC273 (Levesque et al., 2012): Winograd schemas, each a pronoun and the two things it may mean.

Columns: text (with [MASK] in the pronoun's place), candidate1, candidate2, label (1, 2). The file
names the right candidate first, always; here the two are in alphabetical order. It does not hold
the pronoun. The set is not read from the Hub, whose copies leave the pronoun in the text.
"""

import reprlib
from collections.abc import Iterator
from pathlib import Path

from tlcourse.corpora.checks import Counted, DataError, Facts, lines_of
from tlcourse.corpora.corpus import Corpus
from tlcourse.corpora.labelled import canonical

COLUMNS = ("text", "candidate1", "candidate2", "label")
MASK = "[MASK]"


def row(values: tuple, where: str) -> dict[str, str]:
    """A row from the values of COLUMNS; raises DataError that names `where`."""
    clean = [canonical(value) if isinstance(value, str) else "" for value in values]
    text, *candidates, label = clean if len(clean) == 4 else [""] * 4
    if text.count(MASK) != 1 or len({"", *candidates}) != 3 or label not in ("1", "2"):
        raise DataError(
            f"{where}: expected a text with one {MASK}, two different candidates and the number "
            f"of one, got {reprlib.repr(values)}; replace the data by the published ones"
        )
    return dict(zip(COLUMNS, clean, strict=True))


def parse(path: Path, source: str) -> Iterator[dict[str, str]]:
    """Rows of a file with five lines a schema: text, [MASK], two candidates, the right one, blank.

    The candidates are put in alphabetical order, because in the file the right one is the first.
    """
    lines = [canonical(line) for line in lines_of(path, source)]
    for start in range(0, len(lines), 5):
        schema, where = lines[start : start + 5], f"{path.name}, line {start + 1}"
        candidates = sorted(map(str.strip, "".join(schema[2:3]).split(",")), key=str.casefold)
        complete = len(schema) >= 4 and schema[1] == MASK and not any(schema[4:])
        if not complete or schema[3] not in candidates:
            raise DataError(
                f"{where}: expected five lines (a text, {MASK}, two candidates with a comma "
                f"between them, the right one, a blank line), got {reprlib.repr(schema)}; replace "
                "the data by the published ones"
            )
        yield row((schema[0], *candidates, str(candidates.index(schema[3]) + 1)), where)


def count(text: str, candidate1: str, candidate2: str, label: str) -> Counted:
    """The words of a row, the text to digest, and the number of the right candidate."""
    texts = (text, candidate1, candidate2)
    return Counted(sum(len(each.split()) for each in texts), "\t".join([label, *texts]), (label,))


FACTS = {
    "test": Facts(
        rows=273,
        words=5_365,
        labels={"1": 136, "2": 137},
        digest="a4e9ca21e6a5a58e360cd80485c1ba0d5e4abe28c554b9c3ba85462065430ca5",
    )
}

CORPUS = Corpus(
    "wsc273",
    {"test": "wsc273.txt"},
    FACTS,
    {name: name for name in COLUMNS},
    parse,
    count,
    row,
    ids=("label",),
    labels=("1", "2"),
    sample="data/samples/wsc273",
    lesson=9,
)

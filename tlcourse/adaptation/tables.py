"""Texts and labels from a CSV or TSV file; what is wrong with it becomes a line that says where.

UTF-8, with or without a byte order mark; the first row names the columns; a field with the
separator, a quote or a line break in it stands in double quotes. `.tsv` means tabs.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from torch import Tensor

from tlcourse.adaptation.examples import Text, one_line
from tlcourse.wording import twin

LINE_END = re.compile(r"\r\n?|\n")
LONGEST = 2**31 - 1  # characters of a field; Python's own limit is 131,072


@dataclass(frozen=True)
class Table:
    """The rows of a file, unchanged, and the line of the file on which each begins."""

    path: Path
    columns: list[str]
    rows: list[list[str]]
    lines: list[int]

    def column(self, name: str) -> list[str]:
        """Returns the fields of one column; raises ValueError that lists the columns."""
        if name not in self.columns:
            raise ValueError(
                f"expected a column {name!r} in {self.path}, got {', '.join(self.columns)}"
                f"{twin(name, self.columns)}; its first line has to name the columns"
            )
        place = self.columns.index(name)
        return [row[place] for row in self.rows]

    def filled(self, name: str) -> list[str]:
        """Returns the fields of one column; raises ValueError that names an empty one's line."""
        fields = self.column(name)
        for line, field in zip(self.lines, fields, strict=True):
            if not field.strip():
                raise ValueError(
                    f"expected something in column {name!r} of {self.path}, line {line}, "
                    f"got {field!r}; fill or remove that row"
                )
        return fields


@dataclass(frozen=True)
class Columns:
    """The names of the columns; `pair` is that of a pair's second text, None for single texts."""

    text: str = "text"
    pair: str | None = None
    label: str = "label"


def columns_for(pairs: bool, known: dict | None = None) -> dict[str, str | None]:
    """Returns the columns of a classifier of pairs of texts, or of single ones, by their role.

    `known` are the columns that it was made with; they are returned if they fit, else the defaults.
    """
    if known is not None and (known.get("pair") is not None) == pairs:
        return known
    return asdict(Columns(pair="pair" if pairs else None))


def separator(path: Path) -> str:
    """Returns the separator between the fields of a file of this name."""
    return "\t" if path.suffix.lower() == ".tsv" else ","


def read(path: str | Path) -> Table:
    """Returns the rows of a file, without empty lines.

    Raises ValueError for a file that does not exist, is not UTF-8, has no rows, uses another
    separator, names a column twice, or has a row with more or fewer fields than the first, a quote
    that is not closed, or one that swallows rows.
    """
    path = Path(path)
    rows, lines, end = [], [], 0
    content = io.StringIO(content_of(path), newline="")
    csv.field_size_limit(LONGEST)
    reader = csv.reader(content, delimiter=separator(path), strict=True)
    try:
        for row in reader:
            if row:
                rows.append(row)
                lines.append(end + 1)
            end = reader.line_num
    except csv.Error as error:
        raise ValueError(
            f"expected fields with closed quotes in {path}, but from line {end + 1} on: {error}; "
            'write a quote inside quotes as ""'
        ) from None
    if len(rows) < 2:
        raise ValueError(
            f"expected a line of column names and rows below it in {path}, got "
            f"{'no rows' if rows else 'nothing'}"
        )
    columns = [name.strip() for name in rows[0]]
    used = next((sign for sign in ",;\t|" if len(columns) == 1 and sign in columns[0]), None)
    if used:
        raise ValueError(
            f"expected columns with {separator(path)!r} between them in {path}, but its first "
            f"line uses {used!r}; save it with {separator(path)!r}, or as .tsv with tabs"
        )
    twice = [name for name, times in Counter(columns).items() if times > 1]
    if twice:
        raise ValueError(
            f"expected different column names in {path}, got {twice[0]!r} twice; rename one"
        )
    for line, row in zip(lines, rows, strict=True):
        if len(row) != len(columns):
            raise ValueError(
                f"expected {len(columns)} fields in {path}, line {line}, as in its first line, got "
                f"{len(row)}; a text with {separator(path)!r} or a line break in it needs quotes, "
                "and no space before the first"
            )
    table = Table(path, columns, rows[1:], lines[1:])
    _refuse_swallowed(table)
    return table


def _refuse_swallowed(table: Table) -> None:
    """Raises ValueError for a field in quotes whose lines look like rows of their own."""
    sign = separator(table.path)
    widths = [
        max(len(part) for field in column for part in LINE_END.split(field))
        for column in zip(*table.rows, strict=True)
    ]
    for line, row in zip(table.lines, table.rows, strict=True):
        for place, field in enumerate(row):
            first, *more = [part.split(sign) for part in LINE_END.split(field)]
            if more and _are_rows(first, more[-1], place, row, widths):
                raise ValueError(
                    f"expected one row a line in {table.path}, but a quotation mark in line {line} "
                    f"opens a field that only ends in line {line + len(more)}, so everything in "
                    "between would become one text; remove the mark, or double it and put the "
                    "field in quotation marks; if it is meant as one text, replace its line breaks "
                    "by spaces"
                )
            line += len(more)


def _are_rows(
    first: list[str], last: list[str], place: int, row: list[str], widths: list[int]
) -> bool:
    """True if the first and the last line of a row's field `place` look like rows of their own.

    `first` and `last` are these lines, split at the separators. They can only be rows if, together
    with the fields before and after, they have as many fields as the row. A text that contains line
    breaks and commas seldom looks like rows: white space or nothing follows its commas, or one of
    its parts is far longer than the longest line in the column where it would stand (`widths`).
    """
    if len(row) == 1 or len(first) != len(row) - place or len(last) != place + 1:
        return False
    spaced = place + 1 < len(row) and row[place + 1][:1].isspace()
    inner = [*last[:-1], *first[1:]]
    return (
        any(inner)
        and all(part[:1].isspace() == spaced for part in [*first[1:], *last[1:]])
        and all(
            len(part) <= 2 * width
            for part, width in zip(inner, widths[:place] + widths[place + 1 :], strict=True)
        )
    )


def content_of(path: Path) -> str:
    """Returns the text of a file without its byte order mark; raises ValueError unless UTF-8."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ValueError(f"expected a table in {path}: {error.strerror}") from None
    try:
        return content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"expected UTF-8 text in {path}, but byte {error.start + 1}, in line {line}, is "
            f"{content[error.start]:#04x}; save it as UTF-8 (in a spreadsheet: CSV UTF-8)"
        ) from None


def texts(table: Table, columns: Columns) -> list[Text]:
    """Returns a table's texts or pairs; raises ValueError for a missing column or text."""
    first = table.filled(columns.text)
    if columns.pair is None:
        return [*first]
    return list(zip(first, table.filled(columns.pair), strict=True))


@dataclass(frozen=True)
class Examples:
    """Texts (or pairs) and labels of a file, and the line of the file on which each begins."""

    path: Path
    texts: list[Text]
    labels: list[str]
    lines: list[int]

    @property
    def counts(self) -> dict[str, int]:
        """The number of texts with each label, in the order of the labels' names."""
        return dict(sorted(Counter(self.labels).items()))


def examples(
    table: Table | str | Path, columns: Columns = Columns(), known: Sequence[str] | None = None
) -> Examples:
    """Returns the examples of a table, or of the file that holds it.

    White space around a label is removed, inside it becomes one space.

    Raises ValueError, see `read` and `texts`; also for a missing label, for a label that is not in
    `known`, and, without `known`, for a file with a single label.
    """
    table = table if isinstance(table, Table) else read(table)
    rows = texts(table, columns)
    labels = [" ".join(label.split()) for label in table.filled(columns.label)]
    if known is None and len(set(labels)) == 1:
        raise ValueError(
            f"expected at least two labels in column {columns.label!r} of {table.path}, got only "
            f"{labels[0]!r}; with one there is nothing to tell apart"
        )
    for line, label in zip(table.lines, labels, strict=True):
        if known is not None and label not in known:
            raise ValueError(
                f"expected a label out of {', '.join(known)} in {table.path}, line {line}, got "
                f"{label!r}, which no training row has{twin(label, known)}"
            )
        if not one_line(label):
            raise ValueError(
                f"expected labels without control characters in {table.path}, line {line}, got "
                f"{label!r}; write it without"
            )
    return Examples(table.path, rows, labels, table.lines)


def with_predictions(table: Table, labels: Sequence[str], probabilities: Tensor) -> list[list[str]]:
    """Returns the rows of a table, names first, with columns for label and probabilities added.

    `probabilities` is (rows, labels). Raises ValueError if the table already has such a column.
    """
    new = ["predicted", *(f"probability of {label}" for label in labels)]
    taken = sorted(set(new) & set(table.columns))
    if taken:
        raise ValueError(
            f"expected no column {taken[0]!r} in {table.path}, since the predictions get that "
            "name; rename it"
        )
    rows = [[*table.columns, *new]]
    for fields, row in zip(table.rows, probabilities, strict=True):
        label = labels[int(row.argmax())]
        rows.append([*fields, label, *(f"{probability:.6f}" for probability in row.tolist())])
    return rows


def lines(rows: Iterable[Sequence[str]], path: Path) -> str:
    """Returns rows as the content of a file of this name; see `separator`."""
    text = io.StringIO()
    csv.writer(text, delimiter=separator(path), lineterminator="\n").writerows(rows)
    return text.getvalue()

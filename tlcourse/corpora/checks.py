"""Verifies data against known sizes, labels, word counts and digests."""

import contextlib
import hashlib
import lzma
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

LOCAL, HUB, SAMPLE = "local mirror", "Hugging Face Hub", "bundled sample"
RELEASE = "release on GitHub"


class DataError(ValueError):
    """Missing or unexpected data; the message says what was expected, what came, what to do."""


class Absent(DataError):
    """The source does not have the data set at all, but the next source may."""


@dataclass(frozen=True)
class Facts:
    """The known facts of one split.

    `words` counts words at white space, for WikiText plus one `<eos>` a line (Merity et al., 2016).
    `labels` is the histogram of labels, and `fine_labels` the number of finer ones, such as TREC's
    fifty or the paradigms of BLiMP's phenomena. `digest` is that of the canonical rows of the
    published files, or None if we have never had these files.
    """

    rows: int
    words: int
    labels: dict[str, int] | None = None
    fine_labels: int | None = None
    digest: str | None = None


class Counted(NamedTuple):
    """What is counted of one row: its words, the text to digest, its labels."""

    words: int
    text: str
    labels: tuple[str, ...] = ()
    fine_label: str | None = None


class Measure:
    """Running counts of rows, words and labels, and a digest; the order of rows is irrelevant."""

    def __init__(self) -> None:
        self.rows = self.words = self.total = 0
        self.labels: Counter[str] = Counter()
        self.fine_labels: set[str] = set()

    def add(self, row: Counted) -> None:
        """Adds the counts of one row."""
        self.rows += 1
        self.words += row.words
        self.labels.update(row.labels)
        if row.fine_label is not None:
            self.fine_labels.add(row.fine_label)
        digest = hashlib.sha256(row.text.encode("utf-8")).digest()
        self.total += int.from_bytes(digest, "big")

    @property
    def digest(self) -> str:
        """The sum of the rows' sha256 modulo 2^256, which does not depend on their order."""
        return f"{self.total % 2**256:064x}"


def verify(measured: Measure, facts: Facts, *, what: str, source: str) -> None:
    """Compares a split with its facts; `what` and `source` name the split in an error.

    Raises DataError if a count, the label set or the histogram differs, and in a local mirror or a
    release if the digest does. For the Hub, whose digests we have not verified, a different digest
    is only printed.
    """
    checks = [("rows", facts.rows, measured.rows), ("words", facts.words, measured.words)]
    if facts.labels is not None:
        histograms = (dict(sorted(counts.items())) for counts in (facts.labels, measured.labels))
        checks.append(("labels", *histograms))
    if facts.fine_labels is not None:
        checks.append(("fine labels", facts.fine_labels, len(measured.fine_labels)))
    if source in (LOCAL, RELEASE) and facts.digest is not None:
        checks.append(("sha256", facts.digest, measured.digest))
    for unit, expected, actual in checks:
        if expected != actual:
            raise DataError(
                f"{what} ({source}): expected {_show(expected)} {unit}, got {_show(actual)}; "
                + WHAT_TO_DO[source]
            )
    if measured.digest != facts.digest:
        print(f"[data] {what} ({source}): counts as published, sha256 unknown: {measured.digest}")


WHAT_TO_DO = {
    LOCAL: "replace the file below TLCOURSE_DATA, or unset TLCOURSE_DATA",
    HUB: "clear that data set from the Hub's cache and try again, or use source='sample'",
    RELEASE: "delete it from the folder assets of the Hugging Face cache and try again, or use "
    "source='sample'",
    SAMPLE: "install tlcourse again, or restore data/samples with git",
}


DAMAGED = (lzma.LZMAError, zipfile.BadZipFile, zlib.error)


def _show(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


@contextlib.contextmanager
def readable(path: Path, source: str) -> Iterator[None]:
    """Turns the errors of reading a damaged file into a DataError that names the file."""
    try:
        yield
    except (EOFError, OSError, UnicodeDecodeError, *DAMAGED) as error:
        raise DataError(
            f"expected to read {path} to its end, but it is damaged or not readable "
            f"({type(error).__name__}: {error}); {WHAT_TO_DO[source]}"
        ) from error


def lines_of(path: Path, source: str, *, encoding: str = "utf-8") -> Iterable[str]:
    """The lines of a file, packed (.xz) or not; raises DataError if it is damaged."""
    unpack = lzma.open if path.suffix == ".xz" else open
    with readable(path, source), unpack(path, "rt", encoding=encoding) as lines:
        yield from lines


def fields(line: str, names: Sequence[str], decode: Callable[[str], dict], *, where: str) -> tuple:
    """The values of the fields `names` in a line that `decode` turns into a dict.

    Raises DataError, naming `where`, if the line cannot be decoded or lacks a field.
    """
    try:
        values = decode(line)
        return tuple(values[name] for name in names)
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{where}: expected a line with the fields {', '.join(names)}, got "
            f"{type(error).__name__}: {error}; replace the data by the published ones"
        ) from error

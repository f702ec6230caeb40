"""What the data must look like: sizes, labels, word counts and digests, and the error if not."""

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
    """Data that are missing or not as expected: what was expected, what came, what to do."""


class Absent(DataError):
    """A source does not have the data set at all; the next one may."""


@dataclass(frozen=True)
class Facts:
    """What is known of one split.

    `words` are white-space words, for WikiText plus one `<eos>` a line (Merity et al., 2016).
    `labels` is the histogram of labels; of fine ones, such as TREC's fifty, or the paradigms of
    BLiMP's phenomena, there is the number. `digest` is that of the canonical rows of the published
    files, where we have had them in hand; None where we have not.
    """

    rows: int
    words: int
    labels: dict[str, int] | None = None
    fine_labels: int | None = None
    digest: str | None = None


class Counted(NamedTuple):
    """What one row counts for: its words, the text that its digest is taken of, its labels."""

    words: int
    text: str
    labels: tuple[str, ...] = ()
    fine_label: str | None = None


class Measure:
    """Counts rows, words and labels, and keeps a digest, as rows go by in any order."""

    def __init__(self) -> None:
        self.rows = self.words = self.total = 0
        self.labels: Counter[str] = Counter()
        self.fine_labels: set[str] = set()

    def add(self, row: Counted) -> None:
        """A row, by what it counts for."""
        self.rows += 1
        self.words += row.words
        self.labels.update(row.labels)
        if row.fine_label is not None:
            self.fine_labels.add(row.fine_label)
        digest = hashlib.sha256(row.text.encode("utf-8")).digest()
        self.total += int.from_bytes(digest, "big")

    @property
    def digest(self) -> str:
        """The sum of the rows' sha256, modulo 2^256: the same for every order of the rows."""
        return f"{self.total % 2**256:064x}"


def verify(came: Measure, facts: Facts, *, what: str, source: str) -> None:
    """Compares a split with its facts; `what` and `source` name it in an error.

    Raises DataError on another count, label set or histogram, and in a local mirror or a
    release on another digest. From the Hub, that is a printed line: there we have verified none.
    """
    pairs = [("rows", facts.rows, came.rows), ("words", facts.words, came.words)]
    if facts.labels is not None:
        pairs.append(
            ("labels", dict(sorted(facts.labels.items())), dict(sorted(came.labels.items())))
        )
    if facts.fine_labels is not None:
        pairs.append(("fine labels", facts.fine_labels, len(came.fine_labels)))
    if source in (LOCAL, RELEASE) and facts.digest is not None:
        pairs.append(("sha256", facts.digest, came.digest))
    for unit, expected, found in pairs:
        if expected != found:
            raise DataError(
                f"{what} ({source}): expected {_show(expected)} {unit}, got {_show(found)}; "
                + WHAT_TO_DO[source]
            )
    if came.digest != facts.digest:
        print(f"[data] {what} ({source}): counts as published, sha256 unknown: {came.digest}")


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
    """Turns what a damaged file raises into a DataError that names the file."""
    try:
        yield
    except (EOFError, OSError, UnicodeDecodeError, *DAMAGED) as error:
        raise DataError(
            f"expected to read {path} to its end, but it is damaged or not readable "
            f"({type(error).__name__}: {error}); {WHAT_TO_DO[source]}"
        ) from error


def lines_of(path: Path, source: str, *, encoding: str = "utf-8") -> Iterable[str]:
    """The lines of a file, packed (.xz) or not; raises DataError on a damaged one."""
    unpack = lzma.open if path.suffix == ".xz" else open
    with readable(path, source), unpack(path, "rt", encoding=encoding) as lines:
        yield from lines


def fields(line: str, names: Sequence[str], decode: Callable[[str], dict], *, where: str) -> tuple:
    """The values that a line has under `names`, once it is decoded.

    Raises DataError, saying `where`, if it cannot be or lacks one.
    """
    try:
        found = decode(line)
        return tuple(found[name] for name in names)
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{where}: expected a line with the fields {', '.join(names)}, got "
            f"{type(error).__name__}: {error}; replace the data by the published ones"
        ) from error

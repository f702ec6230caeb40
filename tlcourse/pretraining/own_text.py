"""Text files of one's own as a corpus."""

import hashlib
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from tlcourse.bpe import SPECIALS, normalise
from tlcourse.corpora import DataError

SPECIAL = re.compile(f"<({'|'.join(name.strip('<>') for name in SPECIALS)})>")


def text_files(path: Path) -> list[Path]:
    """The file `path`, or all `*.txt` below the folder `path`, in order of their names.

    Raises DataError when there is none.
    """
    found = [path] if path.is_file() else sorted(path.rglob("*.txt"))
    if not found:
        raise DataError(f"expected a text file or a folder with *.txt files, got {path}")
    return found


def documents(path: Path) -> Iterator[str]:
    """The documents of a UTF-8 text file, or of each `*.txt` below a folder, line by line.

    A document ends with its file or at two empty lines in a row. Every line passes
    `tlcourse.bpe.normalise`, as all text that people write does; what looks like a special token
    (`<mask>`) gets spaces, `< mask >`, and is text. Raises DataError for a file that cannot be
    read, is not UTF-8 text, or has no words.
    """
    for file in text_files(path):
        empty = True
        for document in _split(_lines(file)):
            empty = False
            yield document
        if empty:
            raise DataError(f"expected words in {file}, found none; fill it or leave it out")


def _split(lines: Iterator[str]) -> Iterator[str]:
    document: list[str] = []
    for line in itertools.chain(lines, ["\n", "\n", ""]):  # the end of a file, too, is a border
        if document[-2:] == ["\n", "\n"] and line != "\n":
            yield "".join(document).rstrip("\n") + "\n"
            document = []
        if document or line != "\n":
            document.append(line)


def _lines(file: Path) -> Iterator[str]:
    number = 0
    try:
        with open(file, encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                if "\0" in line:
                    raise DataError(f"expected text in {file}, line {number} has a zero byte")
                yield SPECIAL.sub(r"< \1 >", normalise(line)) + "\n"
    except UnicodeDecodeError as error:
        raise DataError(
            f"expected UTF-8 text in {file}, but after line {number} comes a byte "
            f"{error.object[error.start]:#04x} ({error.reason}); save the file as UTF-8"
        ) from error
    except OSError as error:
        raise DataError(f"expected a readable text file, but {error}") from error


def digest(path: Path) -> str:
    """The start of the sha256 of the files' contents: whether a corpus has changed since."""
    total = hashlib.sha256()
    for file in text_files(path):
        with open(file, "rb") as content:
            total.update(hashlib.file_digest(content, "sha256").digest())
    return total.hexdigest()[:16]

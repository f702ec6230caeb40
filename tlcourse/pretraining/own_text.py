"""The user's text files as a corpus; their end is held out, to evaluate the model on."""

import codecs
import hashlib
import itertools
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tlcourse import files
from tlcourse.bpe import SPECIALS, normalise
from tlcourse.corpora import DataError

# The number of words held out: a share, at least SOME, at most ENOUGH and the share LARGEST;
# none if that is fewer than FEWEST, because a loss on so few words means nothing.
SHARE, SOME, ENOUGH, LARGEST, FEWEST = 0.05, 200, 50_000, 0.2, 100
HELD_OUT = "held_out.txt"  # the file with the end of the user's text that a run holds out
SPECIAL = re.compile(f"<({'|'.join(name.strip('<>') for name in SPECIALS)})>")


@dataclass(frozen=True)
class TextFiles:
    """The text files of a path, and the `*.txt` in it that are not read, by reason.

    `digests` holds the sha256 of each file, in the order in which the files are read.
    """

    path: Path
    digests: Mapping[Path, bytes]
    left_out: Mapping[str, Sequence[Path]]

    @classmethod
    def of(cls, path: Path, places: Iterable[Path] = ()) -> "TextFiles":
        """The file `path`, or all `*.txt` below the folder `path`, in order of their names.

        Files of a folder that are left out: those in one of `places` below it, the text that a run
        held out (`held_out.txt`), hidden and irregular files. Raises DataError for a path that is
        neither a regular file nor a folder, and for a file that cannot be read.
        """
        if path.is_file():
            return cls(path, {path: _digest(path)}, {})
        if not path.is_dir():
            raise DataError(
                f"expected a text file or a folder with *.txt files, got {path}, which is a pipe, "
                "a socket or a device; write its text to a file first"
            )
        top, digests, left_out = path.resolve(), {}, defaultdict(list)
        inside = [folder for folder in map(Path.resolve, places) if top in folder.parents]
        for file in sorted(path.rglob("*.txt")):
            if reason := _reason_to_omit(file, file.relative_to(path), top, inside):
                left_out[reason].append(file)
            elif not file.is_dir():
                digests[file] = _digest(file)
        return cls(path, digests, left_out)

    @property
    def label(self) -> str:
        """The name of the file or folder with the digest of its text."""
        total = hashlib.sha256(b"".join(self.digests.values()))
        return f"{self.path.resolve().name} {total.hexdigest()[:16]}"

    def omissions(self) -> Iterator[str]:
        """The files left out, such as "runs/a/held_out.txt and 1 more (held out by a run)"."""
        for reason, (first, *others) in self.left_out.items():
            more = f" and {len(others):,} more" if others else ""
            yield f"{first}{more} ({reason})"


def _reason_to_omit(file: Path, relative: Path, top: Path, inside: Sequence[Path]) -> str:
    """The reason why a file below the folder `top` is left out; "" for one that is read."""
    if any(part.startswith(".") for part in relative.parts):
        return "hidden"
    if any(folder in (top / relative).parents for folder in inside):
        return "in the folder of this run"
    if file.name == HELD_OUT:
        return "held out by a run"
    return "" if file.is_file() or file.is_dir() else "not a regular file"


def _digest(file: Path) -> bytes:
    try:
        with open(file, "rb") as content:
            return hashlib.file_digest(content, "sha256").digest()
    except OSError as error:
        raise DataError(f"expected a readable text file, but {error}") from error


def _digest_of_words(file: Path) -> bytes:
    """The sha256 of the words of a file, separated by single spaces."""
    total = hashlib.sha256()
    with open(file, "rb") as lines:
        for line in lines:
            for word in line.removeprefix(codecs.BOM_UTF8).split():
                total.update(word + b" ")
    return total.digest()


def refuse_duplicates(corpus: Iterable[TextFiles]) -> None:
    """Raises DataError if two files hold the same words, which would be trained on and held out.

    They may be one file by two names, or differ in line ends and spacing.
    """
    by_digest: dict[bytes, Path] = {}
    files = [file for text_files in corpus for file in text_files.digests]
    for file in files if len(files) > 1 else []:
        if (first := by_digest.setdefault(_digest_of_words(file), file)) is not file:
            twice = f"got {file} twice" if first == file else f"but {first} and {file} are the same"
            raise DataError(f"expected each text once, {twice}; leave one of them out")


def documents(files: Iterable[Path]) -> Iterator[str]:
    """The documents of UTF-8 text files, line by line.

    A document ends with its file or at two empty lines in a row. Every line is normalised by
    `tlcourse.bpe.normalise`; a string that looks like a special token (`<mask>`) gets spaces,
    `< mask >`, and is ordinary text. Raises DataError for a file that cannot be read, is not UTF-8
    text, or has no words.
    """
    for file in files:
        empty = True
        for document in _split(_lines(file)):
            empty = False
            yield document
        if empty:
            raise DataError(f"expected words in {file}, found none; fill it or leave it out")


def _split(lines: Iterator[str]) -> Iterator[str]:
    document: list[str] = []
    for line in itertools.chain(lines, ["\n", "\n", ""]):  # the end of a file ends a document, too
        if document[-2:] == ["\n", "\n"] and line != "\n":
            yield "".join(document).rstrip("\n") + "\n"
            document = []
        if document or line != "\n":
            document.append(line)


def without_specials(line: str) -> str:
    """A line of ordinary text, normalised, in which no token is a special one."""
    return SPECIAL.sub(r"< \1 >", normalise(line))


def _lines(file: Path) -> Iterator[str]:
    try:
        with open(file, encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                if "\0" in line:
                    raise DataError(f"expected text in {file}, line {number} has a zero byte")
                yield without_specials(line) + "\n"
    except UnicodeDecodeError as error:
        raise DataError(
            f"expected UTF-8 text in {file}, but in line {_undecodable(file)} stands a byte "
            f"{error.object[error.start]:#04x} ({error.reason}); save the file as UTF-8"
        ) from error
    except OSError as error:
        raise DataError(f"expected a readable text file, but {error}") from error


def _undecodable(file: Path) -> int:
    """The number of the first line that is not UTF-8; the error only knows a block of the file."""
    with open(file, "rb") as lines:
        return next(
            number
            for number, line in enumerate(lines, start=1)
            if line.decode("utf-8", "ignore").encode("utf-8") != line
        )


@dataclass(frozen=True)
class OwnText:
    """A text file, or a folder of them: its size, and its end, which is held out."""

    files: TextFiles
    texts: int
    words: int
    held_out: tuple[str, ...]  # documents; the first may lack its beginning
    border: int  # the number of words before them

    @classmethod
    def read(cls, files: TextFiles) -> "OwnText":
        """Reads everything once; raises DataError as `documents` does, and for an empty folder."""
        if not files.digests:
            left_out = "".join(f"; left out: {omission}" for omission in files.omissions())
            raise DataError(
                f"expected a text file or a folder with *.txt files, got {files.path}{left_out}"
            )
        texts, words, kept = 0, 0, 0
        tail: deque[tuple[str, int]] = deque()  # from which the held-out part is cut
        for document in documents(files.digests):
            count = len(document.split())
            texts, words, kept = texts + 1, words + count, kept + count
            tail.append((document, count))
            while kept - tail[0][1] > ENOUGH:
                kept -= tail.popleft()[1]
        wanted = int(min(max(SHARE * words, SOME), LARGEST * words, ENOUGH))
        if wanted < FEWEST:
            return cls(files, texts, words, (), words)
        last = _parts((document for document, _ in tail), kept - wanted, kept)
        held_out = tuple(part for part, out in last if out)
        return cls(files, texts, words, held_out, words - wanted)

    @property
    def words_held_out(self) -> int:
        """Their number, about the one wanted: lines are kept whole."""
        return sum(len(part.split()) for part in self.held_out)

    def training(self) -> Iterator[str]:
        """The documents without the held-out end."""
        for part, out in _parts(documents(self.files.digests), self.border, self.words):
            if out:
                return
            yield part

    def __str__(self) -> str:
        """A line such as "my.txt: 1 text, 5,812 words; the last 287 are held out, …"."""
        read = f"{self.files.path}: {size_in_words(self.texts, self.words)}; "
        if not self.held_out:
            return read + "too few to hold any out, so nothing will say how well they are learnt"
        return read + f"the last {self.words_held_out:,} are held out, to measure the model on"


def size_in_words(texts: int, words: int) -> str:
    """A phrase such as "1 text, 5,812 words"."""
    return f"{texts:,} text{'s' * (texts != 1)}, {words:,} words"


def _parts(documents: Iterable[str], border: int, words: int) -> Iterator[tuple[str, bool]]:
    """Pairs of a document, and True if it comes after the first `border` of all `words`.

    A document with the border inside is cut at the end of that line, or in the line if otherwise
    less than half of the words after the border would be left.
    """
    done = 0
    for document in documents:
        begin, done = done, done + len(document.split())
        if begin >= border or done <= border:
            yield document, begin >= border
            continue
        halves = _cut(document, border - begin, words - begin)
        for part, out in zip(halves, (False, True), strict=True):
            if part.strip():
                yield part.strip("\n") + "\n", out


def _cut(document: str, border: int, words: int) -> tuple[str, str]:
    """The two parts of a document that is cut after its first `border` words.

    `words` counts from the beginning of the document to the end of the corpus.
    """
    lines = document.splitlines(keepends=True)
    counts = [len(line.split()) for line in lines]
    ends = itertools.accumulate(counts)
    place, end = next((place, end) for place, end in enumerate(ends) if end >= border)
    before, after, here = lines[: place + 1], lines[place + 1 :], lines[place].split()
    if words - end < (words - border) / 2:
        keep = len(here) - (end - border)
        before[-1] = f" {' '.join(here[:keep])}\n"
        after = [f" {' '.join(here[keep:])}\n", *after]
    return "".join(before), "".join(after)


def write_documents(path: Path, texts: Iterable[str]) -> None:
    """Writes documents as a text file that `documents` can read."""
    files.write_text(path, "\n\n".join(texts))

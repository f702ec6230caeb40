"""Text files of one's own as a corpus, whose end is held out: it measures what was learnt."""

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

# Words that are held out: a share, in a short text some more, in a long one no more than enough,
# never the larger part; of fewer none, since they would say nothing.
SHARE, SOME, ENOUGH, LARGEST, FEWEST = 0.05, 200, 50_000, 0.2, 100
HELD_OUT = "held_out.txt"  # the file of what a run holds out of one's own text
SPECIAL = re.compile(f"<({'|'.join(name.strip('<>') for name in SPECIALS)})>")


@dataclass(frozen=True)
class TextFiles:
    """The text files behind a path, and the `*.txt` beside them that are not read, by the reason.

    `digests` holds, in the order in which the files are read, the sha256 of what is in each.
    """

    path: Path
    digests: Mapping[Path, bytes]
    left_out: Mapping[str, Sequence[Path]]

    @classmethod
    def of(cls, path: Path, places: Iterable[Path] = ()) -> "TextFiles":
        """The file `path`, or all `*.txt` below the folder `path`, in order of their names.

        Of a folder are left out: what lies in one of `places` below it, what a run held out
        (`held_out.txt`), what is hidden, and what is not a regular file. Raises DataError for a
        path that is neither a regular file nor a folder, and for a file that cannot be read.
        """
        if path.is_file():
            return cls(path, {path: _digest(path)}, {})
        if not path.is_dir():
            raise DataError(
                f"expected a text file or a folder with *.txt files, got {path}, which is a pipe, "
                "a socket or a device; write its text to a file first"
            )
        top, digests, left_out = path.resolve(), {}, defaultdict(list)
        inside = [each for place in places if top in (each := place.resolve()).parents]
        for file in sorted(path.rglob("*.txt")):
            if why := _not_read(file, file.relative_to(path), top, inside):
                left_out[why].append(file)
            elif not file.is_dir():
                digests[file] = _digest(file)
        return cls(path, digests, left_out)

    @property
    def label(self) -> str:
        """The name of the file or folder with the digest of what is read of it."""
        total = hashlib.sha256(b"".join(self.digests.values()))
        return f"{self.path.resolve().name} {total.hexdigest()[:16]}"

    def said(self) -> Iterator[str]:
        """What is left out, such as "runs/a/held_out.txt and 1 more (held out by a run)"."""
        for why, (first, *others) in self.left_out.items():
            more = f" and {len(others):,} more" if others else ""
            yield f"{first}{more} ({why})"


def _not_read(file: Path, relative: Path, top: Path, inside: Sequence[Path]) -> str:
    """Why a file below the folder `top` is left out; "" for one that is read."""
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
    """The sha256 of the words of a file, with one blank between them."""
    total = hashlib.sha256()
    with open(file, "rb") as lines:
        for line in lines:
            for word in line.removeprefix(codecs.BOM_UTF8).split():
                total.update(word + b" ")
    return total.digest()


def refuse_twice(corpus: Iterable[TextFiles]) -> None:
    """Raises DataError where two files hold the same words: their end would be held out and learnt.

    They may be one file by two names, or differ in line ends and spacing.
    """
    known: dict[bytes, Path] = {}
    files = [file for each in corpus for file in each.digests]
    for file in files if len(files) > 1 else []:
        if (first := known.setdefault(_digest_of_words(file), file)) is not file:
            twice = f"got {file} twice" if first == file else f"but {first} and {file} are the same"
            raise DataError(f"expected each text once, {twice}; leave one of them out")


def documents(files: Iterable[Path]) -> Iterator[str]:
    """The documents of UTF-8 text files, line by line.

    A document ends with its file or at two empty lines in a row. Every line passes
    `tlcourse.bpe.normalise`, as all text that people write does; what looks like a special token
    (`<mask>`) gets spaces, `< mask >`, and is text. Raises DataError for a file that cannot be
    read, is not UTF-8 text, or has no words.
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
    for line in itertools.chain(lines, ["\n", "\n", ""]):  # the end of a file, too, is a border
        if document[-2:] == ["\n", "\n"] and line != "\n":
            yield "".join(document).rstrip("\n") + "\n"
            document = []
        if document or line != "\n":
            document.append(line)


def written(line: str) -> str:
    """A line that people wrote, as it is trained on: no token in it is a special one."""
    return SPECIAL.sub(r"< \1 >", normalise(line))


def _lines(file: Path) -> Iterator[str]:
    try:
        with open(file, encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                if "\0" in line:
                    raise DataError(f"expected text in {file}, line {number} has a zero byte")
                yield written(line) + "\n"
    except UnicodeDecodeError as error:
        raise DataError(
            f"expected UTF-8 text in {file}, but in line {_undecodable(file)} stands a byte "
            f"{error.object[error.start]:#04x} ({error.reason}); save the file as UTF-8"
        ) from error
    except OSError as error:
        raise DataError(f"expected a readable text file, but {error}") from error


def _undecodable(file: Path) -> int:
    """The first line that is not UTF-8; files are decoded in blocks, which know no lines."""
    with open(file, "rb") as lines:
        return next(
            number
            for number, line in enumerate(lines, start=1)
            if line.decode("utf-8", "ignore").encode("utf-8") != line
        )


@dataclass(frozen=True)
class OwnText:
    """A text file, or a folder of them: how much there is, and its end, which is held out."""

    files: TextFiles
    texts: int
    words: int
    held_out: tuple[str, ...]  # documents, the first perhaps without its beginning
    border: int  # words before them

    @classmethod
    def read(cls, files: TextFiles) -> "OwnText":
        """Reads everything once; raises what `documents` raises, DataError for a folder of none."""
        if not files.digests:
            said = "".join(f"; left out: {told}" for told in files.said())
            raise DataError(
                f"expected a text file or a folder with *.txt files, got {files.path}{said}"
            )
        texts, words, kept = 0, 0, 0
        tail: deque[tuple[str, int]] = deque()  # what the held-out part can be cut from
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
        """How many they are: about what is wanted, since lines are kept whole."""
        return sum(len(part.split()) for part in self.held_out)

    def training(self) -> Iterator[str]:
        """The documents without what is held out."""
        for part, out in _parts(documents(self.files.digests), self.border, self.words):
            if out:
                return
            yield part

    def __str__(self) -> str:
        """Such as "my.txt: 1 text, 5,812 words; the last 287 are held out, …"."""
        read = f"{self.files.path}: {counted(self.texts, self.words)}; "
        if not self.held_out:
            return read + "too few to hold any out, so nothing will say how well they are learnt"
        return read + f"the last {self.words_held_out:,} are held out, to measure the model on"


def counted(texts: int, words: int) -> str:
    """Such as "1 text, 5,812 words"."""
    return f"{texts:,} text{'s' * (texts != 1)}, {words:,} words"


def _parts(documents: Iterable[str], border: int, words: int) -> Iterator[tuple[str, bool]]:
    """Documents of so many `words`, and whether each comes after the first `border` of them.

    The one that has the border inside is cut at the end of that line; inside the line where it is
    so long that less than half of the words behind the border would be left.
    """
    done = 0
    for document in documents:
        begin, done = done, done + len(document.split())
        if begin >= border or done <= border:
            yield document, begin >= border
            continue
        both = _cut(document, border - begin, words - begin)
        for part, out in zip(both, (False, True), strict=True):
            if part.strip():
                yield part.strip("\n") + "\n", out


def _cut(document: str, border: int, words: int) -> tuple[str, str]:
    """Two parts of a document, which has a border after so many of its words.

    `words` stand between its beginning and the end of everything.
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
    """Writes documents as a text file that `documents` reads again."""
    files.write_text(path, "\n\n".join(texts))

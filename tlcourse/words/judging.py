"""How well vectors agree with what people say of words: scores of pairs, and analogies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import Any, NamedTuple, Protocol

import numpy as np

from tlcourse.words.vectors import unit

SYNTACTIC = "gram"  # what the names of syntactic sections begin with
BATCH = 128  # questions whose products with all words are in memory at once


class Lookup(Protocol):
    """What has a vector (width,) for some words, or for all."""

    def __contains__(self, word: object) -> bool: ...

    def __getitem__(self, word: str) -> np.ndarray: ...


class Rows(Protocol):
    """What has a row of length 1 for each of its words, as `Vectors` has."""

    @property
    def words(self) -> Sequence[str]: ...

    @property
    def directions(self) -> np.ndarray: ...


class Table(Protocol):
    """What has named columns: a split of a data set, or a dict of lists."""

    def __getitem__(self, column: str, /) -> Any: ...


class Correlation(NamedTuple):
    """Spearman's rank correlation over the covered pairs, and its 95 % interval."""

    spearman: float  # NaN if fewer than two pairs are covered, or their scores or cosines are equal
    low: float
    high: float
    covered: int  # pairs of which both words have a vector
    pairs: int


class Answers(NamedTuple):
    """How many questions were answered correctly, of how many whose words all have a vector."""

    right: int
    covered: int
    questions: int

    @property
    def accuracy(self) -> float:
        """The fraction of covered questions answered correctly; NaN if none is covered."""
        return self.right / self.covered if self.covered else nan


@dataclass(frozen=True)
class Analogies:
    """The answers in each section of a set of analogies."""

    sections: dict[str, Answers]

    @property
    def all(self) -> Answers:
        """The answers in all sections together."""
        return _together(self.sections.values())

    @property
    def semantic(self) -> Answers:
        """The answers in the sections about meaning, such as capitals of countries."""
        return _together(v for name, v in self.sections.items() if not name.startswith(SYNTACTIC))

    @property
    def syntactic(self) -> Answers:
        """The answers in the sections about grammatical forms, whose names begin with gram."""
        return _together(v for name, v in self.sections.items() if name.startswith(SYNTACTIC))


def correlation(
    vectors: Lookup,
    pairs: Table,
    *,
    columns: tuple[str, str] = ("word1", "word2"),
    draws: int = 1000,
    seed: int = 0,
) -> Correlation:
    """The rank correlation between the cosines of pairs of words and people's scores of them.

    `pairs` has two `columns` of words and one of scores, named score, such as
    `corpora.load("men")["test"]`. With `columns=("sentence1", "sentence2")`, and a dict of the
    vectors of sentences, it takes STS-B. Pairs with a word that has no vector are left out, so look
    at `covered` too: who leaves out the rare words has an easier test. Equal values share the mean
    of their ranks (Spearman, 1904). The interval covers further pairs of the same kind: percentiles
    over `draws` bootstrap samples of the covered pairs. Raises ValueError if a column is missing.
    """
    rows = [*zip(*_columns(pairs, *columns, "score"), strict=True)]
    known = [row for row in rows if row[0] in vectors and row[1] in vectors]
    if len(known) < 2:
        return Correlation(nan, nan, nan, len(known), len(rows))
    first, second = (unit(np.array([vectors[row[side]] for row in known])) for side in (0, 1))
    cosines, scores = (first * second).sum(1), np.array([row[2] for row in known])
    found = float(_spearman(cosines, scores, np.ones((1, len(known))))[0])
    if isnan(found):
        return Correlation(nan, nan, nan, len(known), len(rows))
    sample = np.random.default_rng(seed).integers(len(known), size=(draws, len(known)))
    counts = np.stack([np.bincount(each, minlength=len(known)) for each in sample])
    low, high = np.nanquantile(_spearman(cosines, scores, counts), [0.025, 0.975])
    return Correlation(found, float(low), float(high), len(known), len(rows))


def _spearman(first: np.ndarray, second: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The rank correlation (draws,) of n pairs of values, each taken `counts` (draws, n) times.

    NaN where all values of a draw are equal.
    """
    mean = (counts.sum(1, keepdims=True) + 1) / 2
    x, y = (_ranks(values, counts) - mean for values in (first, second))
    with np.errstate(invalid="ignore"):
        return (counts * x * y).sum(1) / np.sqrt((counts * x * x).sum(1) * (counts * y * y).sum(1))


def _ranks(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The ranks (draws, n) from 1 of values; equal ones share the mean of their ranks.

    One sort serves all draws, which is much faster than ranking each.
    """
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    in_order = counts[:, np.argsort(values)]
    together = np.add.reduceat(in_order, sizes.cumsum() - sizes, axis=1)  # (draws, groups)
    ranks = together.cumsum(1) - (together - 1) / 2
    return ranks[:, group]


def analogies(vectors: Rows, questions: Table, *, exclude: bool = True) -> Analogies:
    """How many questions "a is to b as c is to …" have d as the word nearest to b - a + c.

    `questions` has the columns section, a, b, c and d, such as `google-analogies`. The vectors of
    the words have length 1, and all words are possible answers (3CosAdd; Mikolov et al., 2013);
    `exclude` leaves out a, b and c. Questions with a word that has no vector are left out. Raises
    ValueError if a column is missing.
    """
    rows = {word: number for number, word in enumerate(vectors.words)}
    sections, *words = _columns(questions, "section", "a", "b", "c", "d")
    ids = np.array([[rows.get(word, -1) for word in column] for column in words], int).T
    known = np.all(ids >= 0, axis=1)
    covered, right = np.flatnonzero(known), np.zeros(len(ids), bool)
    for start in range(0, len(covered), BATCH):
        batch = covered[start : start + BATCH]
        a, b, c, d = ids[batch].T
        target = vectors.directions[b] - vectors.directions[a] + vectors.directions[c]
        cosines = target @ vectors.directions.T
        if exclude:
            np.put_along_axis(cosines, ids[batch, :3], -np.inf, 1)
        right[batch] = cosines.argmax(1) == d
    found = {}
    for section in dict.fromkeys(sections):
        here = np.array(sections) == section
        found[section] = Answers(int(right[here].sum()), int(known[here].sum()), int(here.sum()))
    return Analogies(found)


def _together(answers: Iterable[Answers]) -> Answers:
    right, covered, questions = np.array([*answers, (0, 0, 0)]).sum(0).tolist()
    return Answers(right, covered, questions)


def _columns(table: Table, *names: str) -> list[Sequence]:
    """The values of columns; raises ValueError if one is missing."""
    try:
        return [table[name][:] for name in names]
    except (KeyError, ValueError) as error:
        raise ValueError(
            f"expected the columns {', '.join(names)}, got others ({error}); give one split of a "
            "data set, or a dict of lists"
        ) from None

"""Marvin & Linzen (2018): minimal pairs from templates, one sentence grammatical and one not.

Columns as BLiMP's: good, bad, paradigm, phenomenon, pair (a number that counts from 0 in each
paradigm, in pseudo-random order, so that the first pairs are a fair sample); and case, the template
within the paradigm, such as sing_MS_MV_plur_ES (a singular subject, then a plural noun).
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tlcourse.corpora.checks import Counted, DataError, Facts, fields, lines_of
from tlcourse.corpora.corpus import Corpus

PHENOMENA = {
    "subject_verb_agreement": "simple_agrmt sent_comp vp_coord long_vp_coord prep_anim prep_inanim "
    "subj_rel obj_rel_across_anim obj_rel_across_inanim obj_rel_no_comp_across_anim "
    "obj_rel_no_comp_across_inanim obj_rel_within_anim obj_rel_within_inanim "
    "obj_rel_no_comp_within_anim obj_rel_no_comp_within_inanim",
    "reflexive_anaphora": "simple_reflexives reflexive_sent_comp reflexives_across",
    "npi_licensing": "simple_npi_anim simple_npi_inanim npi_across_anim npi_across_inanim "
    "simple_npi_anim_the simple_npi_inanim_the npi_across_anim_intrusive "
    "npi_across_inanim_intrusive",
}
PARADIGMS = {name: term for term, names in PHENOMENA.items() for name in names.split()}
# The tests with two bad sentences, and the paradigm of the first of them.
FIRST_BAD = {
    "simple_npi_anim": "simple_npi_anim_the",
    "simple_npi_inanim": "simple_npi_inanim_the",
    "npi_across_anim": "npi_across_anim_intrusive",
    "npi_across_inanim": "npi_across_inanim_intrusive",
}
TESTS = [name for name in PARADIGMS if name not in FIRST_BAD.values()]
COLUMNS = ("good", "bad", "paradigm", "phenomenon", "pair", "case")


def parse(path: Path, source: str) -> Iterator[dict[str, str | int]]:
    """Rows of a file with a JSON object a line: `test`, `case`, `sents`.

    `sents` holds a good sentence and a bad one, or two bad ones in the tests of polarity items;
    every bad sentence makes a pair with the good one.
    """
    paradigms = defaultdict(list)
    for number, line in enumerate(lines_of(path, source), start=1):
        where = f"{path.name}, line {number}"
        test, case, sentences = fields(line, ("test", "case", "sents"), json.loads, where=where)
        expected = 3 if test in list(FIRST_BAD) else 2
        if test not in TESTS or not _are_texts(sentences, expected):
            raise DataError(
                f"{where}: expected one of the 22 tests, such as subj_rel, and its sentences (2, "
                f"or 3 for polarity items), got {test!r} and {sentences!r}; replace the data by "
                "the published ones"
            )
        good, *bad = sentences
        for name, text in zip((FIRST_BAD.get(test), test)[-len(bad) :], bad, strict=True):
            paradigms[name].append((good, text, case))
    for name in sorted(paradigms):
        for pair, (good, bad, case) in enumerate(sorted(paradigms[name], key=_shuffled)):
            values = (good, bad, name, PARADIGMS[name], pair, case)
            yield dict(zip(COLUMNS, values, strict=True))


def _are_texts(sentences: object, number: int) -> bool:
    listed = isinstance(sentences, list) and len(sentences) == number
    return listed and all(isinstance(text, str) and text.strip() for text in sentences)


def _shuffled(texts: tuple[str, ...]) -> bytes:
    """A sort key: the order looks random and is always the same."""
    return hashlib.sha256("\t".join(texts).encode("utf-8")).digest()


def count(good: str, bad: str, paradigm: str, phenomenon: str, pair: int, case: str) -> Counted:
    """The words, the text to digest and the labels of a row."""
    words = len(good.split()) + len(bad.split())
    return Counted(words, f"{paradigm}\t{pair}\t{case}\t{good}\t{bad}", (phenomenon,), paradigm)


FACTS = {
    "test": Facts(
        rows=173_948,
        words=2_799_704,
        labels={
            "subject_verb_agreement": 126_260,
            "reflexive_anaphora": 26_040,
            "npi_licensing": 21_648,
        },
        fine_labels=26,
        digest="0d0c13f370d17d2b3a6b03799c6be0f7dec108769e2ea2eed1075dce23496684",
    )
}

CORPUS = Corpus(
    "marvin-linzen",
    {"test": "marvin_linzen.jsonl"},
    FACTS,
    {name: name for name in COLUMNS},
    parse,
    count,
    labels=tuple(PHENOMENA),
    sample="data/samples/marvin-linzen",
    lesson=7,
)

"""WNUT-17 (Derczynski et al., 2017): named entities that are new or rare, in noisy text.

Columns: tokens and tags, two lists of equal length; a row is a message or a sentence of one. A tag
is O, or B- (an entity begins) or I- (it continues) with one of six types.
"""

from tlcourse.corpora.checks import Facts
from tlcourse.corpora.corpus import converted
from tlcourse.corpora.tagged import Tagged, tagged

FORM = Tagged(("corporation", "creative-work", "group", "location", "person", "product"))

FACTS = {
    "train": Facts(
        rows=3_394,
        words=62_730,
        labels=FORM.histogram(59_570, 221, 46, 140, 206, 264, 150, 548, 245, 660, 335, 142, 203),
        digest="dfc02ad884dfbc5d7cbc8a6d447efc1661a424f2699b03c45486e50505f5ca50",
    ),
    "validation": Facts(
        rows=1_009,
        words=15_733,
        labels=FORM.histogram(14_483, 34, 12, 105, 133, 39, 25, 74, 33, 470, 117, 114, 94),
        digest="4eace5016bd20f99408127218bc180fa1e22560b0eb8e25c4f88ce62cb06e627",
    ),
    "test": Facts(
        rows=1_287,
        words=23_394,
        labels=FORM.histogram(21_654, 66, 22, 142, 218, 165, 70, 150, 94, 429, 131, 127, 126),
        digest="c626cf6742f4af1d1faf185e09e73a2664d674bde220bd872bab549cc424a230",
    ),
}
FILES = {
    "train": "wnut17train.conll",
    "validation": "emerging.dev.conll",
    "test": "emerging.test.annotated",
}

CORPUS = tagged(
    "wnut17",
    FORM,
    FILES,
    FACTS,
    places=(converted("leondz/wnut_17", "wnut_17", *FILES),),
    sample="data/samples/wnut17",
    lesson=7,
)

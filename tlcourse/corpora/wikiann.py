"""WikiANN, English (Pan et al., 2017; splits of Rahimi et al., 2019): entities of Wikipedia.

Columns: tokens and tags, two lists of equal length. A tag is O, or B- (an entity begins) or I- (it
continues) with PER, ORG or LOC; the tags come from links and are not checked by hand.
"""

from tlcourse.corpora.checks import Facts
from tlcourse.corpora.corpus import parquet
from tlcourse.corpora.tagged import Tagged, tagged

FORM = Tagged(("PER", "ORG", "LOC"), before="en:")
FACTS = {
    "train": Facts(
        rows=20_000,
        words=160_394,
        labels=FORM.histogram(81_362, 9_164, 14_698, 9_422, 23_226, 9_345, 13_177),
        digest="c0e76d56c9dc48b9c27981cf57277f47efe19bf98e248fabdcd792e004a9e085",
    ),
    "validation": Facts(
        rows=10_000,
        words=80_536,
        labels=FORM.histogram(40_875, 4_635, 7_520, 4_677, 11_638, 4_834, 6_357),
        digest="77c37c090063320495e1bc1e1c1e14601093f70442c796ccb6c9a7b166046d2c",
    ),
    "test": Facts(
        rows=10_000,
        words=80_326,
        labels=FORM.histogram(40_834, 4_556, 7_480, 4_745, 11_607, 4_657, 6_447),
        digest="e82e3814c13f3407d021188fa4695031352a536ddaa1f441436117e6270a790b",
    ),
}
FILES = {"train": "en.train", "validation": "en.dev", "test": "en.test"}

CORPUS = tagged(
    "wikiann",
    FORM,
    FILES,
    FACTS,
    places=(parquet("unimelb-nlp/wikiann", "en", *FILES),),
    sample="data/samples/wikiann",
    lesson=9,
)

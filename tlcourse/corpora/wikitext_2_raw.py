"""The test split of WikiText-2 (Merity et al., 2016) without `<unk>`.

Column: text, one line a row.
"""

from tlcourse.corpora.checks import Facts
from tlcourse.corpora.corpus import parquet
from tlcourse.corpora.wikitext import wikitext

FACTS = {
    "test": Facts(
        rows=4_358,
        words=245_569,
        digest="25d43ccd46c70a78b0aae8f20474b4e698cc2943af98a1a93e93659f49a541e3",
    )
}

CORPUS = wikitext(
    "wikitext-2-raw",
    {"test": "wiki.test.raw"},
    FACTS,
    places=(parquet("Salesforce/wikitext", "wikitext-2-raw-v1", "test"),),
    lesson=1,
)

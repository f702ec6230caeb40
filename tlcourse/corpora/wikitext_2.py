"""WikiText-2 (Merity et al., 2016): articles of English Wikipedia, tokenised.

Column: text, one line a row.
"""

from tlcourse.corpora.checks import Facts
from tlcourse.corpora.corpus import parquet
from tlcourse.corpora.wikitext import TOKENS, wikitext

FACTS = {
    "train": Facts(
        rows=36_718,
        words=2_088_628,
        digest="56c2e6149c1997b5d3a2d7ac27f5df3b6d21c32118a2066cae7551bcc93c063a",
    ),
    "validation": Facts(
        rows=3_760,
        words=217_646,
        digest="30f571af8ed92e677971ff18003f4cb07a579949ec1a115a4ca91ee3f0178771",
    ),
    "test": Facts(
        rows=4_358,
        words=245_569,
        digest="2e72da95085f82949b5e8e0f1f61840f7224d514d827ef500a1a116b86ab4b3a",
    ),
}

CORPUS = wikitext(
    "wikitext-2",
    TOKENS,
    FACTS,
    places=(parquet("Salesforce/wikitext", "wikitext-2-v1", *TOKENS),),
    sample="data/samples/wikitext",
    lesson=1,
)

"""WikiText-103 (Merity et al., 2016): like WikiText-2, but fifty times as large.

Column: text, one line a row.
"""

from tlcourse.corpora.checks import Facts
from tlcourse.corpora.corpus import parquet
from tlcourse.corpora.wikitext import TOKENS, wikitext

FACTS = {
    "train": Facts(rows=1_801_350, words=103_227_021, digest=None),
    "validation": Facts(
        rows=3_760,
        words=217_646,
        digest="70178a5ddffc1e79c5a616b60def1bcf16769e2f5014c3fb89106288e597f13f",
    ),
    "test": Facts(
        rows=4_358,
        words=245_569,
        digest="22b7b97dfaa7d00ff19f8fd5cbf4c20e6f277e6f5c13987f8bc6af96841e55db",
    ),
}

CORPUS = wikitext(
    "wikitext-103",
    TOKENS,
    FACTS,
    places=(parquet("Salesforce/wikitext", "wikitext-103-v1", *TOKENS, train_files=2),),
    sample="data/samples/wikitext",
    lesson=3,
)

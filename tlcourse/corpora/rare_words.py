"""Stanford's rare words (Luong et al., 2013): how similar are a rare word and another, 0 to 10?

Columns: word1 (the rare one, often with prefixes or suffixes), word2, score.
"""

from tlcourse.corpora.checks import Facts
from tlcourse.corpora.word_pairs import word_pairs

FACTS = {
    "test": Facts(
        rows=2_034,
        words=4_068,
        digest="08d141b3168968058d3054511b3311df628a0518ac19264cb7c4ed141585f210",
    )
}

CORPUS = word_pairs("rare-words", {"test": "EN-RW-STANFORD.txt"}, FACTS, highest=10)

"""MEN (Bruni et al., 2014): how related are two words, from 0 to 50?

Columns: word1, word2, score: how often, of 50 times, people found the pair more related than
another one.
"""

from tlcourse.corpora.checks import Facts
from tlcourse.corpora.word_pairs import word_pairs

FACTS = {
    "test": Facts(
        rows=3_000,
        words=6_000,
        digest="8c7a23ea3391947f71bda348396b3e50a88e549a9532efc08a1f8c088402ae96",
    )
}

CORPUS = word_pairs("men", {"test": "EN-MEN-TR-3k.txt"}, FACTS, highest=50)

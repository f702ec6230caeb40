"""SimLex-999 (Hill et al., 2015): how similar in meaning are two words, from 0 to 10?

Columns: word1, word2, score. People were told to give words that are merely related, such as a
coat and a closet, a low score.
"""

from tlcourse.corpora.checks import Facts
from tlcourse.corpora.word_pairs import word_pairs

FACTS = {
    "test": Facts(
        rows=999,
        words=1_998,
        digest="bc2cf8fbbfef1b43c8030269b5060f437de6c47618d91f82f3c9ec3c722e71cc",
    )
}

CORPUS = word_pairs("simlex-999", {"test": "EN-SIMLEX-999.txt"}, FACTS, highest=10)

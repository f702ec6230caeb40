"""WordSim-353 (Finkelstein et al., 2001): how related are two words, from 0 to 10?

Columns: word1, word2, score, the mean of at least 13 people's scores. Besides all pairs (test),
there are two overlapping selections (Agirre et al., 2009): pairs of words with similar meanings and
unrelated ones (similarity), and pairs of words that occur together and the same unrelated ones
(relatedness).
"""

from tlcourse.corpora.checks import Facts
from tlcourse.corpora.word_pairs import word_pairs

FACTS = {
    "test": Facts(
        rows=353,
        words=706,
        digest="d88aab9892c42ac2f1c9a160703c5f22b6e99a2ddf582586df7f5263f525bcde",
    ),
    "similarity": Facts(
        rows=203,
        words=406,
        digest="cef6b18379a9509d64015d45e48c66833fc9f92e4e336b73920fc33f649897e8",
    ),
    "relatedness": Facts(
        rows=252,
        words=504,
        digest="27c56a9b1b958845d2e4c9b5b41489a258b02ea2120f442848954a7ae06b0175",
    ),
}
FILES = {
    "test": "EN-WS-353-ALL.txt",
    "similarity": "EN-WS-353-SIM.txt",
    "relatedness": "EN-WS-353-REL.txt",
}

# Copies on the Hub, such as enus5three/WordSim353, have other people's scores.
CORPUS = word_pairs("wordsim-353", FILES, FACTS, highest=10)

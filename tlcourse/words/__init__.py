"""Word vectors: one vector for each word, learnt from the words around it.

    from tlcourse import corpora, words

    lines = (line for article in corpora.articles("wikitext-2") for line in article.split("\\n"))
    text = words.read(lines, min_count=5)                # the ids of its words, and its vocabulary
    text.vocabulary.words[:3]                            # ('the', 'of', 'and')

`Vectors` holds one row for each word, whatever learnt them. `correlation` compares them with the
scores that people gave to pairs of words, such as those of `corpora.load("men")`, and `analogies`
counts how often they find the missing word.
"""

from tlcourse.words.judging import Analogies, Answers, Correlation, analogies, correlation
from tlcourse.words.text import Text, Vocabulary, read, split
from tlcourse.words.vectors import Vectors

__all__ = [
    "Analogies",
    "Answers",
    "Correlation",
    "Text",
    "Vectors",
    "Vocabulary",
    "analogies",
    "correlation",
    "read",
    "split",
]

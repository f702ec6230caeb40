"""Word vectors: one vector for each word, learnt from the words around it.

    from tlcourse import corpora, words

    lines = (line for article in corpora.articles("wikitext-2") for line in article.split("\\n"))
    text = words.read(lines, min_count=5)                # the ids of its words, and its vocabulary
    text.vocabulary.words[:3]                            # ('the', 'of', 'and')

`Vectors` holds one row for each word, whatever learnt them.
"""

from tlcourse.words.text import Text, Vocabulary, read, split
from tlcourse.words.vectors import Vectors

__all__ = ["Text", "Vectors", "Vocabulary", "read", "split"]

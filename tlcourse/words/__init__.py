"""Word vectors: one vector for each word, learnt from the words around it.

    from tlcourse import corpora, words

    lines = (line for article in corpora.articles("wikitext-2") for line in article.split("\\n"))
    text = words.read(lines, min_count=5)                # the ids of its words, and its vocabulary
    text.vocabulary.words[:3]                            # ('the', 'of', 'and')

    counts = words.cooccurrences(text, window=5)         # (words, words), sparse and symmetric
    matrix = words.svd(words.ppmi(counts), width=100)    # (words, 100); words.glove(counts) as well
    words.Vectors(text.vocabulary.words, matrix).nearest("water")
    words.brown(text, clusters=50)                       # {path of bits: words, …}

    vectors = words.skipgram(text, width=100)            # word2vec; words.cbow(text) as well
    vectors.nearest("water")
    words.fasttext(text)["watery"]                       # a vector for every word

    words.averages(["A dull movie."], vectors)           # (1, 100): the mean of the words' vectors
    words.paragraph_vectors(text).infer(["A dull movie."])              # a line is a document

`Vectors` holds one row for each word, whatever learnt them. `correlation` compares them with the
scores that people gave to pairs of words, such as those of `corpora.load("men")`, and `analogies`
counts how often they find the missing word.
"""

from tlcourse.words.clusters import brown
from tlcourse.words.counts import bigrams, cooccurrences, ppmi, svd
from tlcourse.words.global_vectors import glove
from tlcourse.words.judging import Analogies, Answers, Correlation, analogies, correlation
from tlcourse.words.sentences import (
    ParagraphVectors,
    WordAverage,
    averages,
    common_component,
    margin_loss,
    paragraph_vectors,
    tokens,
    without_component,
)
from tlcourse.words.skipgram import cbow, keep_probabilities, noise_distribution, skipgram
from tlcourse.words.subwords import SubwordVectors, fasttext, ngram_buckets, ngrams
from tlcourse.words.text import Text, Vocabulary, read, split
from tlcourse.words.vectors import Vectors, unit

__all__ = [
    "Analogies",
    "Answers",
    "Correlation",
    "ParagraphVectors",
    "SubwordVectors",
    "Text",
    "Vectors",
    "Vocabulary",
    "WordAverage",
    "analogies",
    "averages",
    "bigrams",
    "brown",
    "cbow",
    "common_component",
    "cooccurrences",
    "correlation",
    "fasttext",
    "glove",
    "keep_probabilities",
    "margin_loss",
    "ngram_buckets",
    "ngrams",
    "noise_distribution",
    "paragraph_vectors",
    "ppmi",
    "read",
    "skipgram",
    "split",
    "svd",
    "tokens",
    "unit",
    "without_component",
]

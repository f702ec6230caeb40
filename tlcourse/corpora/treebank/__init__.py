"""A treebank of the course's own: sentences from a small grammar, with their annotation.

    from tlcourse.corpora import treebank

    data = treebank.splits(300, 75, 75, seed=0)         # the columns of UD English EWT
    sentence = treebank.generate(10, seed=0)[3]         # a conllu.Sentence
    treebank.roles(sentence)                            # who does what to whom
    treebank.antecedents(sentence)                      # the noun that each pronoun refers to
    treebank.phrases(sentence)                          # each word's phrase, and the enclosing one
    treebank.chunks(sentence)                           # runs of words in one phrase: B-NP, I-NP, O
    pair = treebank.agreement_pairs(20, attractors=2)[0]
    pair.good.text, pair.bad.text                       # differ in one verb
    treebank.without_sense(sentence).text               # the same tree, other words

Everything is a function of the seed. The rules are in `grammar`, the words in `lexicon`.
"""

from tlcourse.corpora.treebank.generation import AgreementPair, agreement_pairs, generate, splits
from tlcourse.corpora.treebank.nonsense import without_sense
from tlcourse.corpora.treebank.sentences import (
    Agreement,
    Role,
    agreements,
    antecedents,
    chunks,
    phrases,
    roles,
    tree_of,
)

__all__ = [
    "Agreement",
    "AgreementPair",
    "Role",
    "agreement_pairs",
    "agreements",
    "antecedents",
    "chunks",
    "generate",
    "phrases",
    "roles",
    "splits",
    "tree_of",
    "without_sense",
]

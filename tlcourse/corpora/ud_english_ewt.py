"""UD English EWT (Silveira et al., 2014): the English Web Treebank in Universal Dependencies.

Columns: text, then lists with an entry for each word: forms, lemmas, upos, xpos, feats, heads (from
1; 0 is the root), deprels, misc; then multiwords (such as "don't" for two words), comments and
empty_nodes (the number left out). `conllu.Sentence.of(row)` is the sentence of a row.
"""

from tlcourse.corpora import conllu
from tlcourse.corpora.checks import Facts
from tlcourse.corpora.corpus import Corpus, Release


def _histogram(*counts: int) -> dict[str, int]:
    """The histogram of the universal tags, from counts in the order of their names."""
    return dict(zip(conllu.UPOS, counts, strict=True))


FACTS = {
    "train": Facts(
        rows=12_544,
        words=204_577,
        labels=_histogram(
            *(13_137, 17_742, 10_167, 12_815, 6_687, 16_299, 695, 34_751, 4_126),
            *(5_748, 18_677, 12_620, 23_596, 3_819, 722, 22_576, 400),
        ),
        digest="9093bf011096e3137b2b99ee79fe6eb979e1f0b7bb23a01d6bc89d2ad9e3b699",
    ),
    "validation": Facts(
        rows=2_001,
        words=25_147,
        labels=_histogram(
            *(1_865, 2_039, 1_231, 1_567, 779, 1_900, 115, 4_210, 383),
            *(647, 2_225, 1_867, 3_075, 397, 81, 2_707, 59),
        ),
        digest="8d4a26f3887a95d6fb952eaee5cc02c2fe0570208e89041448dd00b10c6bc773",
    ),
    "test": Facts(
        rows=2_077,
        words=25_094,
        labels=_histogram(
            *(1_788, 2_029, 1_191, 1_543, 736, 1_897, 121, 4_123, 542),
            *(649, 2_164, 2_075, 3_096, 384, 109, 2_605, 42),
        ),
        digest="03dbec31bc378ab62ffce34e835e25dc322518ebca624474bd0d0517403df3ff",
    ),
}
FILES = {
    "train": "en_ewt-ud-train.conllu",
    "validation": "en_ewt-ud-dev.conllu",
    "test": "en_ewt-ud-test.conllu",
}

CORPUS = Corpus(
    "ud-english-ewt",
    FILES,
    FACTS,
    {name: name for name in conllu.COLUMNS},
    conllu.parse,
    conllu.count,
    labels=conllu.UPOS,
    release=Release("UniversalDependencies/UD_English-EWT", "r2.16", FILES),
    sample="data/samples/ud-english-ewt",
    lesson=7,
)

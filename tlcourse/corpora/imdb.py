"""IMDB (Maas et al., 2011): film reviews, negative or positive.

Columns: text, label.
"""

from tlcourse.corpora.checks import Facts
from tlcourse.corpora.corpus import parquet
from tlcourse.corpora.labelled import labelled

FACTS = {
    "train": Facts(
        rows=25_000,
        words=5_786_867,
        labels={"negative": 12_500, "positive": 12_500},
        digest="439b475829963c0a931c0d595781439132fbf9af295f3be6d4ab61a16faaaee6",
    ),
    "test": Facts(
        rows=25_000,
        words=5_655_563,
        labels={"negative": 12_500, "positive": 12_500},
        digest="0488dafe2b1fad86162743fb61baddea6e11ac6effaa5c04857a30743e2d5e6a",
    ),
}

CORPUS = labelled(
    "imdb",
    texts={"text": "text"},
    labels={"neg": "negative", "pos": "positive"},
    files={"train": "train.jsonl", "test": "test.jsonl"},
    facts=FACTS,
    places=(parquet("stanfordnlp/imdb", "plain_text", "train", "test"),),
    sample="data/samples/imdb",
    lesson=6,
)

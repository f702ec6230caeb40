"""SST-2 (Socher et al., 2013): phrases from film reviews, negative or positive.

Columns: text, label.
"""

from tlcourse.corpora.checks import Facts
from tlcourse.corpora.corpus import parquet
from tlcourse.corpora.labelled import labelled

FACTS = {
    "train": Facts(
        rows=67_349,
        words=633_724,
        labels={"negative": 29_780, "positive": 37_569},
        digest="6f0d17890db004c0e7d84e57e88f1306a3c7544f48975ad7a2c66e8652a83d19",
    ),
    "validation": Facts(
        rows=872,
        words=17_046,
        labels={"negative": 428, "positive": 444},
        digest="c8d998eeb04429345ceae67310e27603607120b6ce42ac9a464d103dfa4d89cf",
    ),
    "test": Facts(
        rows=1_821,
        words=35_025,
        labels={"negative": 917, "positive": 904},
        digest="a3b277271dd3ab8b9a156e2ce729bd0269ecf2f45fb8990793a3533e66112523",
    ),
}

CORPUS = labelled(
    "sst-2",
    texts={"text": "sentence"},
    labels={"0": "negative", "1": "positive"},
    files={"train": "train.tsv", "validation": "dev.tsv", "test": "test-labeled.tsv"},
    facts=FACTS,
    # No test split: in the Hub's files every label of it is -1.
    places=(
        parquet("stanfordnlp/sst2", "data", "train", "validation"),
        parquet("nyu-mll/glue", "sst2", "train", "validation"),
    ),
    sample="data/samples/sst-2",
    lesson=6,
)

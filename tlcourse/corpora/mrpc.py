"""MRPC (Dolan & Brockett, 2005): do two sentences from the news have the same meaning?

Columns: sentence1, sentence2, label. It is not read from the Hub: GLUE's copy there is tokenised,
which changes the words, and splits train in two.
"""

from tlcourse.corpora.checks import Facts
from tlcourse.corpora.labelled import labelled

FACTS = {
    "train": Facts(
        rows=4_076,
        words=154_571,
        labels={"not_equivalent": 1_323, "equivalent": 2_753},
        digest="07885d3247d3290c76945cd3f1d51a4155365f53f21f6c53faf9f6341d1003f4",
    ),
    "test": Facts(
        rows=1_725,
        words=64_921,
        labels={"not_equivalent": 578, "equivalent": 1_147},
        digest="1e652fea67794d59a9813bbe362735e925b822deed93c0c668458d83041b8e71",
    ),
}

CORPUS = labelled(
    "mrpc",
    texts={"sentence1": "#1 String", "sentence2": "#2 String"},
    label="Quality",
    labels={"0": "not_equivalent", "1": "equivalent"},
    files={"train": "msr_paraphrase_train.txt", "test": "msr_paraphrase_test.txt"},
    facts=FACTS,
    sample="data/samples/mrpc",
    lesson=6,
)

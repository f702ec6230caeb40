"""RTE (Dagan et al., 2005, and others; in GLUE): does the hypothesis follow from the premise?

Columns: premise, hypothesis, label.
"""

from tlcourse.corpora.checks import Facts
from tlcourse.corpora.corpus import parquet
from tlcourse.corpora.labelled import labelled

FACTS = {
    "train": Facts(
        rows=2_490,
        words=130_366,
        labels={"entailment": 1_249, "not_entailment": 1_241},
        digest="01679f8473bdc410fc6838a0a34c378471259628d278974ed246227e77388e1b",
    ),
    "validation": Facts(
        rows=277,
        words=14_067,
        labels={"entailment": 146, "not_entailment": 131},
        digest="3c5f134bd2916fa0723f542035169936714a4c237d1fc79696d8f0c8acab8370",
    ),
}

CORPUS = labelled(
    "rte",
    texts={"premise": "sentence1", "hypothesis": "sentence2"},
    labels={name: name for name in ("entailment", "not_entailment")},
    files={"train": "train.tsv", "validation": "dev.tsv"},
    facts=FACTS,
    places=(parquet("nyu-mll/glue", "rte", "train", "validation"),),
    sample="data/samples/rte",
    lesson=6,
)

"""SNLI (Bowman et al., 2015): does the hypothesis follow from a caption, contradict it, or neither?

Columns: premise, hypothesis, label. Only the validation split is read, and not from the Hub, whose
copy keeps the pairs without a gold label; these are left out here.
"""

from tlcourse.corpora.checks import Facts
from tlcourse.corpora.labelled import labelled

TEXTS = {name: name for name in ("premise", "hypothesis")}
LABELS = {name: name for name in ("entailment", "neutral", "contradiction")}
FACTS = {
    "validation": Facts(
        rows=9_842,
        words=211_101,
        labels={"entailment": 3_329, "neutral": 3_235, "contradiction": 3_278},
        digest="1d305a03d66080da9ec75ca4d313426ae1af57acb8193fc6f36ea668e16f8781",
    )
}

CORPUS = labelled(
    "snli",
    texts=TEXTS,
    labels=LABELS,
    files={"validation": "dev.jsonl"},
    facts=FACTS,
    sample="data/samples/snli",
    lesson=9,
)

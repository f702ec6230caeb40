"""MultiNLI, matched (Williams et al., 2018): SNLI's three labels, on five genres.

Columns: premise, hypothesis, label. The split validation is MultiNLI's matched development set,
whose genres (fiction, government, magazine articles, telephone talks, travel) are those of train.
"""

from tlcourse.corpora.checks import Facts
from tlcourse.corpora.corpus import Place
from tlcourse.corpora.labelled import labelled
from tlcourse.corpora.snli import LABELS, TEXTS

FACTS = {
    "validation": Facts(
        rows=9_815,
        words=286_426,
        labels={"entailment": 3_479, "neutral": 3_123, "contradiction": 3_213},
        digest="2e18925fb04ebd16577c1040ee88e6f78bd1c4244b6df884d0e3843e1224126c",
    )
}
# The Hub calls the split validation_matched.
PLACE = Place("nyu-mll/glue", {"validation": ("mnli/validation_matched-00000-of-00001.parquet",)})

CORPUS = labelled(
    "mnli",
    texts=TEXTS,
    labels=LABELS,
    files={"validation": "dev.jsonl"},
    facts=FACTS,
    places=(PLACE,),
    lesson=9,
)

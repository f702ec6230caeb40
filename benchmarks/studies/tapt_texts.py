"""What TAPT feeds on: the task's own texts, or any short sentences?

With 500 labels, on the first ten draws of `tapt`: full fine-tuning after reading TREC's own
questions, after as many tokens of questions out of film reviews, and after as many of statements
out of them that are as long as TREC's questions. All train as full fine-tuning was chosen to by
`few_labels`. Each run reads the test set once. Finished runs are kept in `runs/adaptation/`, the
bodies that have read in `runs/readings/`; a stopped study goes on where it was.
"""

from benchmarks import runner
from benchmarks.studies import transfer
from benchmarks.studies.board import DATA, apart, table, tests
from benchmarks.studies.composites import ELSEWHERE, TAPT, TAPT_TOKENS
from benchmarks.studies.trials import MODEL
from tlcourse.adaptation import FULL

LABELS = 500
DRAWS = {LABELS: 10}  # each with its own seed
OWN, STATEMENTS, QUESTIONS = TAPT
COMPARED = (  # the first was named beforehand; the others are Holm-corrected together
    (OWN, STATEMENTS),
    (OWN, QUESTIONS),
    (QUESTIONS, STATEMENTS),
    (QUESTIONS, FULL.name),
    (STATEMENTS, FULL.name),
)


def measure() -> dict:
    """One row a text, and what was held against what. No "seconds": runs are of several machines.

    Raises FileNotFoundError where it is not stored how full fine-tuning trains.
    """
    few = {FULL.name: runner.stored("few_labels")["choices"][FULL.name]}
    pairs = [(name, LABELS) for name in (FULL.name, *TAPT)]
    asked = sorted(tests(pairs, DRAWS, {}, few), key=lambda job: job.seed)  # draw by draw
    found = runner.run_all(asked)
    rows = table(found, pairs, DRAWS, {})["rows"]
    for row in rows:
        row["seconds"] = None
    return {
        "job": "tapt_texts",
        **runner.provenance(f"{DATA}; {ELSEWHERE}'s reviews", runs=found, note=runner.pooled()),
        "model": MODEL,
        "tokens": TAPT_TOKENS,
        "rows": rows,
        "comparisons": compare(rows, len(transfer.questions("all", 0, "test")[1])),
        "primary": list(COMPARED[0]),
    }


def compare(rows: list[dict], questions: int) -> list[dict]:
    """The pairs of COMPARED, `apart` from each other on the same draws."""
    by = {row["scheme"]: row for row in rows}
    entries = [
        {"scheme": a, "labels": LABELS, "against": b} | apart(by[a], by[b], questions)
        for a, b in COMPARED
    ]
    first, *others = entries
    first["p_holm"] = first["p"]
    runner.correct(others)
    return entries

"""Pretraining on the task's own texts first (TAPT), by the number of labels.

Full fine-tuning with it and without, on the same draws of TREC-6's labels. Both train as full
fine-tuning was chosen to: with few labels by `few_labels`, with all by `schemes`. Each run reads
the test set once. Finished runs are kept in `runs/adaptation/`, the bodies that have read the
questions in `runs/readings/`; a stopped study goes on where it was.
"""

from benchmarks import runner
from benchmarks.studies.board import DATA, table, tests
from benchmarks.studies.composites import READINGS, TAPT_TOKENS
from benchmarks.studies.trials import MODEL
from tlcourse.adaptation import FULL

NAMES = (FULL.name, "TAPT")
DRAWS = {100: 20, 200: 20, 500: 20, "all": 5}  # of so many labels, each with its own seed


def measure() -> dict:
    """One row a way and number of labels, TAPT beside full fine-tuning.

    No "seconds" in rows: runs may have been kept from several machines.
    Raises FileNotFoundError where it is not stored how full fine-tuning trains.
    """
    few, every = (
        {FULL.name: runner.stored(study)["choices"][FULL.name]}
        for study in ("few_labels", "schemes")
    )
    pairs = [(name, labels) for name in NAMES for labels in DRAWS]
    asked = sorted(tests(pairs, DRAWS, every, few), key=lambda job: job.seed)  # draw by draw
    found = runner.run_all(asked)
    made = table(found, pairs, DRAWS, every)
    for row in made["rows"]:
        row["seconds"] = None
    return {
        "job": "tapt",
        **runner.provenance(DATA, runs=found, note=runner.pooled()),
        "model": MODEL,
        "tokens": TAPT_TOKENS,
        "readings": READINGS,
        **made,
    }

"""Pretraining on the task's own texts first (TAPT), by the number of labels.

Full fine-tuning with it and without, on the same draws of TREC-6's labels. Both train as full
fine-tuning was chosen to: with few labels by `few_labels`, with all by `schemes`. Each run reads
the test set once. Finished runs are kept in `runs/adaptation/`, the bodies that have read the
questions in `runs/readings/`; a stopped study goes on where it was.
"""

from collections.abc import Sequence
from dataclasses import replace

from benchmarks import few_search, jobs
from benchmarks.adaptation import CLOCK, DATA, table, tests
from benchmarks.composites import READINGS, TAPT_TOKENS
from benchmarks.trials import MODEL
from tlcourse.adaptation import FULL

NAMES = (FULL.name, "TAPT")
DRAWS = {100: 20, 200: 20, 500: 20, "all": 5}  # of so many labels, each with its own seed
TIMED = 100  # labels; one draw of so many, which no test has, is timed on one machine


def measure() -> dict:
    """One row a way and number of labels, TAPT beside full fine-tuning.

    Raises FileNotFoundError where it is not stored how full fine-tuning trains.
    """
    few, every = (
        {FULL.name: jobs.stored(study)["choices"][FULL.name]} for study in ("few_labels", "schemes")
    )
    pairs = [(name, labels) for name in NAMES for labels in DRAWS]
    found = jobs.run_all(tests(pairs, DRAWS, every, few))
    made = table(found, pairs, DRAWS, every)
    clock = time_a_draw(made["rows"], NAMES, few)
    return {
        "job": "tapt",
        **jobs.provenance(DATA, runs=found, note=f"{jobs.pooled()}; {clock}"),
        "model": MODEL,
        "tokens": TAPT_TOKENS,
        "readings": READINGS,
        **made,
    }


def time_a_draw(rows: list[dict], names: Sequence[str], few: dict[str, dict]) -> str:
    """Makes "seconds" of rows those of one draw of TIMED labels, else None; says what they are.

    `few` says how schemes train with so few.
    """
    asked = tests([(name, TIMED) for name in names], {TIMED: 1}, {}, few)
    runs = jobs.run_all([replace(job, seed=few_search.SEEDS[0], split="dev") for job in asked])
    found = {run["scheme"]: run["seconds"] for run in runs}
    for row in rows:
        row["seconds"] = found[row["scheme"]] if row["labels"] == TIMED else None
    return f"{CLOCK}, of one draw of {TIMED} labels on {jobs.machines(runs)}"

"""What is worth more than full fine-tuning: other features, text, labels, losses and models.

Each beside full fine-tuning on the same draws of TREC-6's labels. All train as full fine-tuning was
chosen to (with few labels by `few_labels`, with all by `schemes`), but for the LM loss, which is
searched in the same way. Each run reads the test set once. Finished runs are kept in
`runs/adaptation/`; a stopped study goes on where it was.
"""

from dataclasses import replace

from benchmarks import few_search, jobs, screen
from benchmarks.adaptation import CLOCK, DATA, table, tests
from benchmarks.composites import COMPOSITES
from benchmarks.trials import MODEL, Job
from tlcourse.adaptation import FULL

LM = "with the LM loss"
DRAWS = {100: 10, 200: 20, 500: 20, "all": 5}  # of so many labels, each with its own seed
NAMES = {
    100: (FULL.name, LM, *COMPOSITES),
    200: (FULL.name, "TAPT"),
    500: (FULL.name, "TAPT"),
    "all": (FULL.name, LM, "pooled concatenation", "TAPT"),
}
LAST = "distilled ensemble"  # the longest
TIMED = 100  # labels; one draw of so many, which no test has, is timed on one machine


def measure() -> dict:
    """One row a way and number of labels, each beside full fine-tuning.

    Raises FileNotFoundError where it is not stored how full fine-tuning trains.
    """
    tried = few_search.all_of([LM])[LM]
    few = {LM: screen.best(tried), FULL.name: jobs.stored("few_labels")["choices"][FULL.name]}
    chosen = {name: jobs.stored("schemes")["choices"][name] for name in (FULL.name, LM)}
    pairs = [(name, labels) for labels, names in NAMES.items() for name in names]
    asked = sorted(tests(pairs, DRAWS, chosen, few), key=_turn)
    found = jobs.run_all(asked)
    made = table(found, pairs, DRAWS, chosen)
    clock = _time(made["rows"], few)
    return {
        "job": "more_signal",
        **jobs.provenance(DATA, runs=found, note=f"{jobs.pooled()}; {clock}"),
        "model": MODEL,
        "tried": tried,
        "choices": few,
        **made,
    }


def _time(rows: list[dict], few: dict[str, dict]) -> str:
    """Makes "seconds" of rows those of one draw of TIMED labels, else None; says what they are."""
    asked = tests([(name, TIMED) for name in NAMES[TIMED]], {TIMED: 1}, {}, few)
    runs = jobs.run_all([replace(job, seed=few_search.SEEDS[0], split="dev") for job in asked])
    found = {run["scheme"]: run["seconds"] for run in runs}
    for row in rows:
        row["seconds"] = found[row["scheme"]] if row["labels"] == TIMED else None
    return f"{CLOCK}, of one draw of {TIMED} labels on {jobs.machines(runs)}"


def _turn(job: Job) -> tuple[bool, bool, int, int]:
    """TAPT first, whose readings are on this machine alone; few labels first, draw by draw."""
    return job.scheme == LAST, job.scheme != "TAPT", list(NAMES).index(job.labels), job.seed

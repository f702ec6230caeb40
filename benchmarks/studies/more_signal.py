"""What is worth more than full fine-tuning: other features, labels, losses and models.

Each beside full fine-tuning on the same draws of TREC-6's labels; TAPT has a study of its own
(`tapt`). All train as full fine-tuning was chosen to (with few labels by `few_labels`, with all by
`schemes`), but for the LM loss, which is searched in the same way. Each run reads the test set
once. Finished runs are kept in `runs/adaptation/`; a stopped study goes on where it was.
"""

from dataclasses import replace

from benchmarks import runner
from benchmarks.studies import few_search, screen
from benchmarks.studies.board import CLOCK, DATA, table, tests
from benchmarks.studies.composites import COMPOSITES, TAPT
from benchmarks.studies.trials import MODEL, Job
from tlcourse.adaptation import FULL

LM = "with the LM loss"
DRAWS = {100: 10, "all": 5}  # of so many labels, each with its own seed
NAMES = {
    100: (FULL.name, LM, *(name for name in COMPOSITES if name not in TAPT)),
    "all": (FULL.name, LM, "pooled concatenation"),
}
LAST = "distilled ensemble"  # the longest
TIMED = 100  # labels; one draw of so many, which no test has, is timed on one machine


def measure() -> dict:
    """One row a way and number of labels, each beside full fine-tuning; "seconds" by way.

    Raises FileNotFoundError where it is not stored how full fine-tuning trains.
    """
    tried = few_search.all_of([LM])[LM]
    few = {LM: screen.best(tried), FULL.name: runner.stored("few_labels")["choices"][FULL.name]}
    chosen = {name: runner.stored("schemes")["choices"][name] for name in (FULL.name, LM)}
    pairs = [(name, labels) for labels, names in NAMES.items() for name in names]
    found = runner.run_all(sorted(tests(pairs, DRAWS, chosen, few), key=_turn))
    seconds, clock = _time([*NAMES[TIMED], "TAPT"], few)
    made = table(found, pairs, DRAWS, chosen)
    for row in made["rows"]:
        row["seconds"] = None  # of several machines
    return {
        "job": "more_signal",
        **runner.provenance(DATA, runs=found, note=f"{runner.pooled()}; {clock}"),
        "model": MODEL,
        "tried": tried,
        "choices": few,
        "seconds": seconds,
        **made,
    }


def _time(names: list[str], few: dict[str, dict]) -> tuple[dict[str, float], str]:
    """The seconds of one draw of TIMED labels by each way, and what they are.

    `few` says how schemes train with so few.
    """
    asked = tests([(name, TIMED) for name in names], {TIMED: 1}, {}, few)
    runs = runner.run_all([replace(job, seed=few_search.SEEDS[0], split="dev") for job in asked])
    found = {run["scheme"]: run["seconds"] for run in runs}
    return found, f"{CLOCK}, of one draw of {TIMED} labels on {runner.machines(runs)}"


def _turn(job: Job) -> tuple[bool, bool, int]:
    """Few labels first, draw by draw."""
    return job.scheme == LAST, job.labels == "all", job.seed

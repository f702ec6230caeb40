"""Lesson 05's main schemes with all of TREC-6's labels: searched alike, frozen, tested.

Every scheme's grid is that of `screen`; the best two points are confirmed on dev (see `search`) and
the better one is chosen. Then each scheme is fitted on all labels with five seeds, and each run
reads the test set once. Finished runs are kept in `runs/adaptation/`; a stopped study goes on where
it was.
"""

from benchmarks import jobs
from benchmarks.adaptation import CLOCK, DATA, DRAWS, table
from benchmarks.screen import NAMES, all_of
from benchmarks.search import EPOCHS, choices, confirm
from benchmarks.trials import MODEL, Job


def measure() -> dict:
    """One row a scheme; what was confirmed, what was chosen, and each beside full fine-tuning."""
    screened = all_of(NAMES)
    confirmed = confirm(screened, NAMES)
    chosen = choices(screened, confirmed)
    found = jobs.run_all(
        Job(name, "all", seed, "test", jobs.recipe_of(chosen[name]), size=chosen[name]["size"])
        for name in NAMES
        for seed in range(DRAWS["all"])
    )
    return {
        "job": "schemes",
        **jobs.provenance(DATA, note=f"{jobs.pooled()}; {CLOCK}"),
        "model": MODEL,
        "epochs": EPOCHS,
        "confirmed": confirmed,
        "choices": chosen,
        **table(found, [(name, "all") for name in NAMES], chosen),
    }

"""The other schemes with all of TREC-6's labels: searched as the main ones, frozen, tested.

What `schemes` is for the main schemes, without the confirmation: each is trained by the best point
of its grid (see `screen`), for as many epochs as those there. Its dev error is the lowest of single
runs, so lower than a confirmed one. Full fine-tuning stands beside them as it was tested there.
From scratch has no pretraining to begin with, and takes its own multiple of the epochs. Finished
runs are kept in `runs/adaptation/`; a stopped study goes on where it was.
"""

from benchmarks import runner
from benchmarks.studies.board import DATA, table
from benchmarks.studies.schemes import SEEDS, tests, time_an_epoch
from benchmarks.studies.screen import EPOCHS as SCREENED
from benchmarks.studies.screen import all_of
from benchmarks.studies.search import EPOCHS, choices
from benchmarks.studies.space import MAIN, SPACE
from benchmarks.studies.trials import MODEL
from tlcourse.adaptation import FULL

NAMES = tuple(name for name in SPACE if name not in MAIN)


def measure() -> dict:
    """One row a scheme, each beside full fine-tuning; and what was chosen.

    "seconds" of a row are those of one epoch, as in `schemes`.
    Raises FileNotFoundError where it is not stored how full fine-tuning trains.
    """
    chosen = choices(all_of(NAMES), {}) | {
        FULL.name: runner.stored("schemes")["choices"][FULL.name]
    }
    pairs = [(name, "all") for name in chosen]
    found = runner.run_all(tests(chosen))
    made = table(found, pairs, {"all": len(SEEDS)}, chosen)
    clock = time_an_epoch(made["rows"], chosen)
    return {
        "job": "other_schemes",
        **runner.provenance(DATA, runs=found, note=f"{runner.pooled()}; {clock}"),
        "model": MODEL,
        "epochs": {"screen": SCREENED, "test": EPOCHS},
        "choices": chosen,
        **made,
    }

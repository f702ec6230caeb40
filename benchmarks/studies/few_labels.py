"""Ways to adapt with few of TREC-6's labels, beside counting words.

How each scheme trains was chosen with 200 labels on a dev split (see `few_search`), before the test
set was read. Every scheme is fitted on the same draws of labels, and each run reads the test set
once. Finished runs are kept in `runs/adaptation/`; a stopped study goes on where it was.
"""

from benchmarks import runner
from benchmarks.studies import few_search, screen
from benchmarks.studies.board import CLOCK, DATA, FEW, table, tests
from benchmarks.studies.space import SPACE
from benchmarks.studies.trials import MODEL

NAMES = tuple(name for name in FEW if name in SPACE)  # none that trains more than once
DRAWS = dict.fromkeys((100, 200, 500), 20)  # of so many labels, each with its own seed


def measure() -> dict:
    """One row a scheme and number of labels, beside full fine-tuning and beside TF-IDF."""
    tried = few_search.all_of(NAMES)
    chosen = {name: screen.best(rows) for name, rows in tried.items()}
    pairs = [(name, labels) for labels in DRAWS for name in NAMES]
    asked = sorted(tests(pairs, DRAWS, {}, chosen), key=lambda job: job.seed)  # draw by draw
    found = runner.run_all(asked)
    return {
        "job": "few_labels",
        **runner.provenance(DATA, runs=found, note=f"{runner.pooled()}; {CLOCK}"),
        "model": MODEL,
        "tried": [row for rows in tried.values() for row in rows],
        "choices": chosen,
        **table(found, pairs, DRAWS, {}),
    }

"""The main schemes with all of TREC-6's labels: searched alike, frozen, tested.

Every scheme's grid is that of `screen`; the best two points are confirmed on dev (see `search`) and
the better one is chosen. Then each scheme is fitted on all labels with each of SEEDS, and each run
reads the test set once. Finished runs are kept in `runs/adaptation/`; a stopped study goes on where
it was.
"""

from dataclasses import replace

from benchmarks import runner
from benchmarks.studies import transfer
from benchmarks.studies.board import CLOCK, DATA, PRIMARY, asked_what, table
from benchmarks.studies.screen import all_of
from benchmarks.studies.search import EPOCHS, RUNS, choices, confirm, job_of
from benchmarks.studies.space import MAIN
from benchmarks.studies.trials import MODEL, Job
from tlcourse.adaptation import leaderboard

SEEDS = tuple(range(5))
TIMED = 2000  # labels, of an epoch that is timed for all schemes on one machine


def measure() -> dict:
    """One row a scheme; what was confirmed, what was chosen, and each beside full fine-tuning.

    "dev_apart" of a row are its errors on dev in percent, on the questions that begin with "What
    is" or "What are" and on the others; "seconds" are those of one epoch of TIMED questions.
    """
    screened = all_of(MAIN)
    confirmed = confirm(screened, MAIN)
    chosen = choices(screened, confirmed)
    found = runner.run_all(tests(chosen))
    made = table(found, [(name, "all") for name in MAIN], {"all": len(SEEDS)}, chosen)
    clock = time_an_epoch(made["rows"], chosen)
    for row in made["rows"]:
        row["dev_apart"] = _dev_apart(row["scheme"], confirmed[row["scheme"]][0])
    return {
        "job": "schemes",
        **runner.provenance(DATA, runs=found, note=f"{runner.pooled()}; {clock}"),
        "model": MODEL,
        "epochs": EPOCHS,
        "confirmed": confirmed,
        "choices": chosen,
        **made,
        "primary": [PRIMARY[0], transfer.ALL],
    }


def tests(chosen: dict[str, dict]) -> list[Job]:
    """The runs that read the test set, as each scheme was chosen: a seed of all, then the next."""
    return [
        Job(name, "all", seed, "test", runner.recipe_of(choice), size=choice["size"])
        for seed in SEEDS
        for name, choice in chosen.items()
    ]


def time_an_epoch(rows: list[dict], chosen: dict[str, dict]) -> str:
    """Makes "seconds" of each row those of one epoch of TIMED questions; says what they are."""
    asked = [
        Job(name, TIMED, 0, "dev", replace(runner.recipe_of(choice), epochs=1), size=choice["size"])
        for name, choice in chosen.items()
    ]
    runs = runner.run_all(asked)
    found = dict(zip(chosen, runs, strict=True))
    for row in rows:
        row["seconds"] = found[row["scheme"]]["seconds"]
    return f"{CLOCK}, of one epoch of {TIMED:,} questions on {runner.machines(runs)}"


def _dev_apart(name: str, point: dict) -> list[float]:
    """Means over the runs that confirmed the point."""
    apart = []
    for seed, fold in RUNS:
        dev = transfer.questions("all", seed, "dev", fold=fold)[1]
        missed = job_of(name, point, seed, fold).run()["wrong"]
        both = leaderboard.split_errors([missed], asked_what(dev["text"]), len(dev))
        apart.append([errors[0] for errors in both])
    return [sum(column) / len(RUNS) for column in zip(*apart, strict=True)]

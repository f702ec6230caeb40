"""How each scheme trains with few labels: learning rates, judged on TREC-6's dev split.

Six learning rates at the middle size of each scheme (see `space`), and further ones while the best
is the first or the last; 200 labels, three draws that no test has. The dev split has more labels
than the training: it makes the comparison fair, and nobody with 200 labels has it. Finished runs
are kept in `runs/adaptation/`; a stopped search goes on where it was.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial

from benchmarks import runner
from benchmarks.studies import screen
from benchmarks.studies.search import EPOCHS
from benchmarks.studies.space import RATES, SPACE
from benchmarks.studies.trials import Job
from tlcourse.adaptation.presets import MIN_STEPS

LABELS, SEEDS = 200, (100, 101, 102)


def trial(name: str, rate: float) -> dict:
    """A scheme at its middle size with a learning rate: error and forgetting, means over draws."""
    entry = SPACE[name]
    size = entry.sizes[len(entry.sizes) // 2]
    recipe = replace(entry.recipe(size, rate, EPOCHS), min_steps=MIN_STEPS)
    found = [Job(name, LABELS, seed, "dev", recipe, size=size).run() for seed in SEEDS]
    errors = [runner.error_of(result) for result in found]
    known = {"scheme": name, "size": size, "rate": rate, "recipe": asdict(recipe)}
    lost = None if None in (each := [r["forgetting"] for r in found]) else sum(each) / len(each)
    return known | {"errors": errors, "error": sum(errors) / len(errors), "forgetting": lost}


def rates(name: str) -> list[dict]:
    """All learning rates of a scheme that were tried."""
    lowest = SPACE[name].lowest
    return screen.row(partial(trial, name), [lowest * 2**step for step in range(RATES)])


def all_of(names: Sequence[str]) -> dict[str, list[dict]]:
    """What was tried of several schemes, several schemes at a time."""
    return dict(zip(names, runner.in_parallel(rates, names), strict=True))

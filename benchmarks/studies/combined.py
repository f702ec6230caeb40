"""Gradual unfreezing with more beside it: other pooling, the LM loss, more epochs; judged on dev.

It had the lowest dev error of `python -m benchmarks schemes`. Here it keeps what was chosen there,
and the LM loss keeps its weight; poolings and epochs were set by hand, nothing is searched anew.
Each way has two runs on two dev splits, as the points that were confirmed there; the lowest mean is
chosen. The test set is not read: `python -m benchmarks distilled` does that with the chosen one.
Finished runs are kept in `runs/adaptation/`.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any

from benchmarks import runner
from benchmarks.studies.grid_search import CONFIRMED, EPOCHS
from benchmarks.studies.search_space import COMBINED
from benchmarks.studies.trials import MODEL, POOLING, Job
from benchmarks.table import line, signed, source, wilson_cell
from tlcourse import results
from tlcourse.adaptation import Recipe

BASE, (BOTH,) = "gradual unfreezing", tuple(COMBINED)


@dataclass(frozen=True)
class Way:
    """What differs from gradual unfreezing alone."""

    scheme: str = BASE
    pooling: str = POOLING
    epochs: int = EPOCHS


WAYS = {
    "gradual unfreezing": Way(),
    "twice the epochs": Way(epochs=2 * EPOCHS),
    "with the LM loss": Way(BOTH),
    "pooled concatenation": Way(pooling="concatenation"),
    "pooled concatenation, with the LM loss": Way(BOTH, "concatenation"),
}


def measure() -> dict:
    """One row a way, and which one was chosen with all that it takes to train it.

    Raises FileNotFoundError where the choices of `schemes` are not stored.
    """
    alone = results.stored("schemes")["choices"][BASE]
    known = {name: _settings(way, alone) for name, way in WAYS.items()}
    runs = runner.run_all(
        Job(way.scheme, "all", seed, "dev", recipe, pooling=way.pooling, size=size, fold=fold)
        for (size, recipe), way in zip(known.values(), WAYS.values(), strict=True)
        for seed, fold in CONFIRMED
    )
    rows = []
    for name, mine in zip(WAYS, runner.groups(runs, len(CONFIRMED)), strict=True):
        errors = [runner.error_of(each) for each in mine]
        row = {"what": name, "errors": errors, "mean": sum(errors) / len(errors)}
        forgot = sum(each["forgetting"] for each in mine) / len(mine)
        rows.append(row | {"of": mine[0]["of"], "forgetting": forgot})
    best = min(rows, key=lambda row: row["mean"])["what"]
    size, recipe = known[best]
    way = {"scheme": WAYS[best].scheme, "pooling": WAYS[best].pooling}
    return {
        "job": "combined",
        **runner.provenance("TREC-6, dev splits out of train", runs=runs, note=runner.pooled()),
        "model": MODEL,
        "rows": rows,
        "chosen": {"what": best, **way, "size": size, "recipe": asdict(recipe)},
    }


def _settings(way: Way, alone: dict) -> tuple[Any, Recipe]:
    """The scheme's own number, and how it trains."""
    recipe = replace(runner.recipe_of(alone), epochs=way.epochs)
    return COMBINED[BOTH].sizes[0] if way.scheme == BOTH else alone["size"], recipe


def section(study: dict[str, Any]) -> str:
    """For RESULTS.md: a row a way, fewest errors first."""
    runs = len(study["rows"][0]["errors"])
    lines = [
        "## Put together",
        "",
        "Gradual unfreezing had the lowest dev error. Here it has something beside it: it keeps "
        "its chosen settings, the LM loss its chosen weight; pooling and epochs were set by hand. "
        f"Error on dev in percent, mean of {runs} runs on two dev splits, one of them the "
        "search's, with 95 % interval over their questions. That "
        "pooling and the LM loss would help was known from earlier studies, which had read the "
        f"test set. {source(study, 'lesson 06')}",
        "",
        "| gradual unfreezing, and | dev error | forgets |",
        "|---|---:|---:|",
    ]
    for row in sorted(study["rows"], key=lambda row: row["mean"]):
        name = "nothing" if row["what"] == BASE else row["what"]
        error = wilson_cell(row["mean"], row["of"] * runs)
        lines.append(line(name, error, signed(row["forgetting"])))
    return "\n".join(lines)

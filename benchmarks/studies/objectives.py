"""Causal, masked and hybrid pretraining at equal compute, and how transfer grows with tokens.

The shipped shape from random weights, the same windows, steps and recipe; checkpoints saved along
the way (not decayed, but for the last) are judged by fine-tuning on TREC's dev split, as are the
shipped models and random weights. The hybrid model is judged both ways of reading.
"""

from dataclasses import replace

from benchmarks.studies import pretraining_runs, transfer
from tlcourse import checkpoints, sizes
from tlcourse.pretraining import OBJECTIVES, PretrainingRecipe
from tlcourse.transformer import Config

KEPT = {
    "tiny": (1024, 2048),
    "small": (250_000, 500_000, 1_000_000, 2_000_000, 4_000_000),
    "full": (1_000_000, 4_000_000, 16_000_000, 64_000_000, 256_000_000),
}
SHAPES = {"tiny": Config(8192, 32, 1, 2, 64, 64)}
RECIPES = {"tiny": PretrainingRecipe(batch_size=4, length=32)}
LABELS, SEEDS = {"tiny": (24,)}, {"tiny": (0,)}
SHIPPED = {"causal-small": "causal", "masked-small": "masked"}


def measure() -> dict:
    """One row a checkpoint, way of reading and number of labels; the loss curves beside them."""
    size = sizes.current().name
    kept, shape = KEPT[size], SHAPES.get(size, Config())
    recipe = RECIPES.get(size, PretrainingRecipe())
    runs = [
        pretraining_runs.Run(
            f"{objective}, {size}", replace(recipe, objective=objective), kept, "", shape
        )
        for objective in OBJECTIVES
    ]
    curves, rivals = {}, {}
    for run in runs:
        objective = run.recipe.objective
        curves[objective] = pretraining_runs.curve(run.run()["history"], run.recipe)
        for tokens in kept:
            place = run.checkpoint(tokens)
            rivals[place] = (objective, objective, tokens)
            if objective == "hybrid":
                turned = pretraining_runs.other_way(place, causal=False)
                rivals[turned] = (objective, "hybrid, two-sided", tokens)
    rivals[pretraining_runs.Path(transfer.SCRATCH)] = ("none", transfer.SCRATCH, 0)
    for name, objective in SHIPPED.items():
        tokens = sum(leg["tokens"] for leg in checkpoints.log_of(name)["legs"])
        rivals[pretraining_runs.Path(name)] = (objective, name, tokens)
    judged = pretraining_runs.judge(
        rivals, LABELS.get(size, (500,)), SEEDS.get(size, (0, 1, 2, 3, 4))
    )
    rows = []
    for row in judged:
        objective, read, tokens = rivals[pretraining_runs.Path(row.pop("model"))]
        rows.append({"objective": objective, "read": read, "tokens": tokens} | row)
    return {"job": "objectives", **pretraining_runs.provenance(runs)} | {
        "curves": curves,
        "rows": rows,
    }

"""Causal, masked and hybrid pretraining at equal compute, and how transfer grows with tokens.

The shipped shape from random weights, the same windows, steps and recipe; checkpoints saved along
the way (not decayed, except for the last) are judged by fine-tuning on TREC's dev split, as are the
shipped models and random weights. The hybrid model is judged both ways of reading.
"""

from benchmarks.studies import pretraining_runs, transfer
from tlcourse import checkpoints, sizes
from tlcourse.pretraining import OBJECTIVES
from tlcourse.transformer import Config

KEPT = {
    "tiny": (1024, 2048),
    "small": (250_000, 500_000, 1_000_000, 2_000_000, 4_000_000),
    "full": (1_000_000, 4_000_000, 16_000_000, 64_000_000, 256_000_000),
}
SHAPES = {"tiny": Config(8192, 32, 1, 2, 64, 64)}
LABELS, SEEDS = {"tiny": (24,)}, {"tiny": (0,)}
SHIPPED = {"causal-small": "causal", "masked-small": "masked"}


def measure() -> dict:
    """One row a checkpoint, way of reading and number of labels; the loss curves beside them."""
    size = sizes.current().name
    runs = {
        objective: pretraining_runs.Run(
            f"{objective}, {size}",
            pretraining_runs.recipe(objective=objective),
            KEPT[size],
            config=SHAPES.get(size, Config()),
        )
        for objective in OBJECTIVES
    }
    histories = pretraining_runs.train_all(runs)
    models = {place: facts for run in runs.values() for place, facts in run.readings()}
    models[transfer.SCRATCH] = {"objective": "none", "read": transfer.SCRATCH, "tokens": 0}
    for name, objective in SHIPPED.items():
        tokens = sum(leg["tokens"] for leg in checkpoints.log_of(name)["legs"])
        models[name] = {"objective": objective, "read": name, "tokens": tokens}
    labels, seeds = LABELS.get(size, (500,)), SEEDS.get(size, (0, 1, 2, 3, 4))
    rows = pretraining_runs.judge(models, labels, seeds)
    curves = {
        name: pretraining_runs.curve(histories[name], run.recipe) for name, run in runs.items()
    }
    return pretraining_runs.result("objectives", runs, rows, curves=curves)

"""What each part of today's recipe is worth at equal tokens, beside that of 2019.

Causal models of one shape on the same windows. The first row is the shipped recipe, with a batch
and a warm-up for short runs. Each other one takes one part away, or puts the part of 2019 in its
place; the last takes all of them, on pre-norm blocks and with AdamW's settings of today. Every row
with an optimizer of its own gets the best of three rates, by the mean over seeds on ten articles of
WikiText-103's validation split; the other rows use the first one's. Held-out loss: nats a token on
twenty other articles of it. Runs go in parallel, one thread each; tokens per second are those of
the fastest.
"""

from collections.abc import Mapping
from dataclasses import replace

from benchmarks.studies import pretraining_runs
from benchmarks.studies.pretraining_runs import Run
from tlcourse import sizes
from tlcourse.pretraining import PretrainingRecipe
from tlcourse.transformer import Config, count_parameters

TOKENS = {"tiny": 2_000, "small": 1_000_000, "full": 50_000_000}
BATCH_SIZE = {"tiny": 4, "small": 16, "full": 64}  # windows a step
SHAPES = {
    "tiny": Config(8192, 16, 1, 2, 32, 128),
    "small": Config(8192, 128, 4, 2, 512),
    "full": Config(8192, 512, 8, 8, 2048),
}
SEEDS = {"tiny": (0,)}
OLD_BLOCK = {"rotary": False, "qk_norm": False, "activation": "gelu"}
MUON, ADAMW = "Muon and AdamW", "AdamW"
RATES = {
    MUON: [{"muon_learning_rate": rate} for rate in (0.005, 0.01, 0.02)],
    ADAMW: [{"learning_rate": rate, "muon_learning_rate": None} for rate in (1e-3, 3e-3, 6e-3)],
}
TODAY, OLD = "today's recipe", "the recipe of 2019"
TUNED = {TODAY: MUON, "AdamW for Muon": ADAMW, OLD: ADAMW}
# What differs from the shipped recipe: configuration, recipe, initialisation.
PARTS = {
    TODAY: ({}, {}, True),
    "AdamW for Muon": ({}, {}, True),
    "learned for rotary positions": ({"rotary": False}, {}, True),
    "GELU for squared ReLU": ({"activation": "gelu"}, {}, True),
    "no query-key norm": ({"qk_norm": False}, {}, True),
    "no identity at the start": ({}, {}, False),
    "linear for late decay": ({}, {"decay": 1.0}, True),
    OLD: (OLD_BLOCK, {"decay": 1.0}, False),
}


def runs_of(name: str, rates: Mapping) -> list[Run]:
    """The runs of one of PARTS at some learning rates, one a seed."""
    size, (changes, parts, zero) = sizes.current().name, PARTS[name]
    tokens, batch_size = TOKENS[size], BATCH_SIZE[size]
    warmup = max(1, tokens // (batch_size * PretrainingRecipe.length) // 20)
    shown = ", ".join(f"{key} {value}" for key, value in rates.items())
    return [
        Run(
            f"ablation {name}, {shown}, seed {seed}",
            PretrainingRecipe(**parts, **rates, seed=seed, batch_size=batch_size, warmup=warmup),
            (tokens,),
            config=replace(SHAPES[size], **changes),
            zero_outputs=zero,
        )
        for seed in SEEDS.get(size, (0, 1, 2))
    ]


def trained(variants: list[tuple[str, Mapping]]) -> list[tuple[list[Run], list[list[dict]]]]:
    """The runs of each (part, learning rates), and their histories, one a seed."""
    groups = [runs_of(*variant) for variant in variants]
    histories = pretraining_runs.train_all({run.name: run for group in groups for run in group})
    return [(group, [histories[run.name] for run in group]) for group in groups]


def losses(runs: list[Run], articles: list[str]) -> list[float]:
    """Held-out nats a token of each run."""
    return [pretraining_runs.loss(run.checkpoint(), articles) for run in runs]


def speed(history: list[dict]) -> float:
    """Tokens per second over the second half of a run, when everything is compiled."""
    half, per_step = len(history) // 2, BATCH_SIZE[sizes.current().name] * PretrainingRecipe.length
    seconds = history[-1]["seconds"] - history[half - 1]["seconds"]
    return (len(history) - half) * per_step / seconds


def measure() -> dict:
    """One row a variant: held-out loss over seeds, and its distance from today's recipe."""
    size, choosing = sizes.current().name, pretraining_runs.articles(10, skip=20)
    variants = [(name, rates) for name, kind in TUNED.items() for rates in RATES[kind]]
    tried = {name: [] for name in TUNED}
    for (name, rates), (runs, _) in zip(variants, trained(variants), strict=True):
        tried[name].append({**rates, "losses": losses(runs, choosing)})
    best = {
        name: {key: entry[key] for key in entry if key != "losses"}
        for name, entries in tried.items()
        for entry in [min(entries, key=lambda entry: sum(entry["losses"]))]
    }
    chosen = [(name, best.get(name, best[TODAY])) for name in PARTS]
    articles, rows = pretraining_runs.articles(20), []
    for (name, rates), (runs, histories) in zip(chosen, trained(chosen), strict=True):
        held_out = losses(runs, articles)
        row = {"variant": name, **rates, "losses": held_out, **pretraining_runs.mean_of(held_out)}
        row["worse_by"] = row["mean"] - (rows[0] if rows else row)["mean"]
        rows.append(row | {"tokens_per_second": max(map(speed, histories))})
    return pretraining_runs.result(
        "ablation",
        {TODAY: runs_of(*chosen[0])[0]},
        rows,
        tokens=TOKENS[size],
        parameters=count_parameters(SHAPES[size])["total"],
        rates_tried=tried,
    )

"""Loss over model sizes and budgets, and a power law fitted to it (Hoffmann et al., 2022).

Causal models of four shapes, each trained afresh on three budgets, every run decayed; once by the
recipe of the shipped models, whose batch and warm-up are those of long runs, and once with a batch
and a warm-up for short ones (Porian et al., 2024, found how much that changes a law). The loss is
that on held-out text, nats a token over all of WikiText-103's validation articles, windows of 128
with stride 64. Each law then predicts the loss of the shipped model, which it never saw: after its
first stage, which is one run as those of the law are, and after both.
"""

import math
from dataclasses import asdict
from pathlib import Path

from benchmarks.studies import pretraining_runs
from benchmarks.studies.pretraining_runs import Run
from tlcourse import checkpoints, pretraining, sizes
from tlcourse.pretraining import PretrainingRecipe
from tlcourse.transformer import Config, count_parameters, flops_per_token

SHAPES = {
    "tiny": [(16, 1, 2), (32, 1, 2)],
    "small": [(64, 2, 2), (96, 3, 2), (128, 4, 2), (192, 5, 3)],
    "full": [(64, 2, 2), (128, 4, 2), (256, 6, 4), (512, 8, 8), (768, 12, 12)],
}
BUDGETS = {
    "tiny": (1_024, 2_048, 4_096),
    "small": (1_000_000, 2_000_000, 4_000_000),
    "full": (4_000_000, 16_000_000, 64_000_000),
}
# Windows a step, and the warm-up: so many steps, or a share of them.
RECIPES = {"the recipe of long runs": (64, 100), "a recipe for short runs": (16, 0.05)}
SHIPPED = "causal-small"
REPEATS = {"tiny": 2, "small": 200, "full": 200}  # of the bootstrap


def measure() -> dict:
    """For each recipe a row a run, the law, and its prediction beside the shipped model's loss."""
    size, articles = sizes.current().name, pretraining_runs.articles()
    log = checkpoints.log_of(SHIPPED)["legs"]
    truth = _row(SHIPPED, sum(leg["tokens"] for leg in log), articles)
    first = log[0]["evaluation"]["wikitext-103 validation"]["token_perplexity"]
    truth["first_leg"] = {"tokens": log[0]["tokens"], "loss": math.log(first)}
    runs = {(name, run.name): run for name in RECIPES for run in _runs(name, size)}
    pretraining_runs.train_all(runs)
    rows = [
        {"recipe": name} | _row(run.checkpoint(), run.kept[-1], articles)
        for (name, _), run in runs.items()
    ]
    laws = {
        name: _law([row for row in rows if row["recipe"] == name], truth, REPEATS[size])
        for name in RECIPES
    }
    return pretraining_runs.result(
        "scaling",
        runs,
        rows,
        evaluated_on=f"wikitext-103 validation, {len(articles)} articles",
        shipped={"name": SHIPPED} | truth,
        laws=laws,
    )


def _runs(name: str, size: str) -> list[Run]:
    """One run a shape and budget, by one of RECIPES."""
    _, tokenizer = pretraining_runs.corpus()
    batch_size, warmup = RECIPES[name]
    batch_size, runs = 4 if size == "tiny" else batch_size, []
    for width, layers, heads in SHAPES[size]:
        config = Config(max(8192, tokenizer.vocabulary_size), width, layers, heads, 4 * width)
        for tokens in BUDGETS[size]:
            steps = tokens / (batch_size * PretrainingRecipe.length)
            recipe = PretrainingRecipe(
                batch_size=batch_size,
                warmup=warmup if warmup >= 1 else max(1, round(warmup * steps)),
            )
            title = f"scaling {width}x{layers}, {tokens / 1e6:g}M, {name}"
            runs.append(Run(title, recipe, (tokens,), config=config))
    return runs


def _row(place: str | Path, tokens: int, articles: list[str]) -> dict:
    """A checkpoint's size, what it read, the compute of that, and its loss on held-out text."""
    config = checkpoints.load(place)[0].config
    return {
        "width": config.width,
        "layers": config.layers,
        "parameters": count_parameters(config)["total"],
        "tokens": tokens,
        "flops": training_flops(config, 128, tokens),
        "loss": pretraining_runs.loss(place, articles),
    }


def training_flops(config: Config, length: int, tokens: int) -> float:
    """Floating-point operations of a training run: forward, and twice as much backward."""
    return 3.0 * flops_per_token(config, length) * tokens


def _law(rows: list[dict], truth: dict, repeats: int) -> dict:
    """The law of some runs, and the loss it predicts for the shipped model, after both stages."""
    columns = [[row[name] for row in rows] for name in ("parameters", "tokens", "loss")]
    law = pretraining.fit_law(*columns)

    def predict(tokens: int) -> dict:
        at = (truth["parameters"], tokens)
        interval = pretraining.bootstrap(*columns, at=at, law=law, repeats=repeats)
        return {"predicted": float(law.loss(*at)), "interval": list(interval)}

    first = predict(truth["first_leg"]["tokens"])
    return {"law": asdict(law), **predict(truth["tokens"]), "first_leg": first}

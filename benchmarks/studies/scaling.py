"""Loss over model sizes and budgets, and a power law fitted to it (Hoffmann et al., 2022).

Causal models of four shapes, each trained afresh on three budgets, every run decayed; once by the
recipe of the shipped models, whose batch and warm-up are those of long runs, and once with a batch
and a warm-up for short ones (Porian et al., 2024, found how much that changes a law). The loss is
that on held-out text, nats a token over all of WikiText-103's validation articles, windows of 128
with stride 64. Each law is then asked about the shipped model, which it never saw: about its first
leg, which is one run as those of the law are, and about both.
"""

import math
from dataclasses import asdict

from benchmarks.studies import pretraining_runs
from tlcourse import checkpoints, corpora, device, pretraining, sizes
from tlcourse.evaluation import evaluate
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
    """For each recipe a row a run, the law, and its word on the shipped model beside the truth."""
    size = sizes.current().name
    _, tokenizer = pretraining_runs.corpus()
    articles = list(corpora.articles(corpora.load("wikitext-103")["validation"]))
    articles = articles[: 1 if size == "tiny" else None]
    compute = device.choose()
    shapes = [
        Config(max(8192, tokenizer.vocabulary_size), width, layers, heads, 4 * width)
        for width, layers, heads in SHAPES[size]
    ]
    shipped, _ = checkpoints.load(SHIPPED, compute)
    read = sum(leg["tokens"] for leg in checkpoints.log_of(SHIPPED)["legs"])
    truth = _row(shipped, read, tokenizer, articles, compute)
    truth["first_leg"] = _first_leg()
    laws, runs, rows = {}, [], []
    for name in RECIPES:
        own = [_run(name, config, tokens, size) for config in shapes for tokens in BUDGETS[size]]
        pretraining_runs.train_all(own)
        found = []
        for run in own:
            model, _ = checkpoints.load(run.checkpoint(), compute)
            found.append(_row(model, run.kept[0], tokenizer, articles, compute))
        laws[name] = _law(found, truth, REPEATS[size])
        runs, rows = runs + own, rows + [{"recipe": name} | row for row in found]
    return {"job": "scaling", **pretraining_runs.provenance(runs)} | {
        "evaluated_on": f"wikitext-103 validation, {len(articles)} articles",
        "shipped": {"name": SHIPPED} | truth,
        "laws": laws,
        "rows": rows,
    }


def _run(name: str, config: Config, tokens: int, size: str) -> pretraining_runs.Run:
    batch_size, warmup = RECIPES[name]
    batch_size = 4 if size == "tiny" else batch_size
    if warmup < 1:
        warmup = max(1, round(warmup * tokens / (batch_size * PretrainingRecipe.length)))
    title = f"scaling {config.width}x{config.layers}, {tokens / 1e6:g}M, {name}"
    recipe = PretrainingRecipe(batch_size=batch_size, warmup=warmup)
    return pretraining_runs.Run(title, recipe, (tokens,), "", config)


def _row(model, tokens: int, tokenizer, articles: list, compute) -> dict:
    """A model's size, what it read, what that took, and its loss on held-out text."""
    found = evaluate(model, tokenizer, articles, compute=compute)
    return {
        "width": model.config.width,
        "layers": model.config.layers,
        "parameters": count_parameters(model.config)["total"],
        "tokens": tokens,
        "flops": training_flops(model.config, 128, tokens),
        "loss": found.nats / found.targets,
    }


def training_flops(config: Config, length: int, tokens: int) -> float:
    """Floating-point operations of a training run: forward, and twice as much backward."""
    return 3.0 * flops_per_token(config, length) * tokens


def _first_leg() -> dict:
    """What the shipped model read in its first leg, and its loss then, which the log keeps."""
    leg = checkpoints.log_of(SHIPPED)["legs"][0]
    told = leg["evaluation"]["wikitext-103 validation"]
    return {"tokens": leg["tokens"], "loss": math.log(told["token_perplexity"])}


def _law(rows: list[dict], truth: dict, repeats: int) -> dict:
    """The law of some runs, and its loss for the shipped model, after both legs and the first."""
    columns = [[row[name] for row in rows] for name in ("parameters", "tokens", "loss")]
    law = pretraining.fit_law(*columns)

    def said(tokens: int) -> dict:
        at = (truth["parameters"], tokens)
        interval = pretraining.bootstrap(*columns, at=at, law=law, repeats=repeats)
        return {"predicted": float(law.loss(*at)), "interval": list(interval)}

    first = said(truth["first_leg"]["tokens"])
    return {"law": asdict(law), **said(truth["tokens"]), "first_leg": first}

"""Loss over model sizes and budgets, and a power law fitted to it (Hoffmann et al., 2022).

Causal models of four shapes, each trained afresh on three budgets, every run decayed. The loss is
that on held-out text, nats a token over all of WikiText-103's validation articles, windows of 128
with stride 64. The law is then asked about the shipped model, which it never saw.
"""

from dataclasses import asdict

from benchmarks import studies
from tlcourse import checkpoints, corpora, device, pretraining, sizes
from tlcourse.pretraining import Recipe, scaling
from tlcourse.transformer import Config, count_parameters

SHAPES = {
    "tiny": [(16, 1, 2), (32, 1, 2)],
    "small": [(64, 2, 2), (96, 3, 2), (128, 4, 2), (192, 5, 3)],
    "full": [(64, 2, 2), (128, 4, 2), (256, 6, 4), (512, 8, 8), (768, 12, 12)],
}
BUDGETS = {
    "tiny": (2_000, 4_000, 8_000),
    "small": (1_000_000, 2_000_000, 4_000_000),
    "full": (4_000_000, 16_000_000, 64_000_000),
}
SHIPPED = "causal-small"
REPEATS = {"tiny": 5, "small": 200, "full": 200}  # of the bootstrap


def measure() -> dict:
    """One row a run; the law, and its word on the shipped model beside the truth."""
    size = sizes.current().name
    file, tokenizer = studies.corpus()
    vocabulary = tokenizer.vocabulary_size
    articles = list(corpora.articles(corpora.load("wikitext-103")["validation"]))
    articles = articles[: 1 if size == "tiny" else None]
    compute, recipe = device.choose(), Recipe(batch=4 if size == "tiny" else 64)
    rows, runs = [], []
    for width, layers, heads in SHAPES[size]:
        config = Config(max(8192, vocabulary), width, layers, heads, 4 * width)
        for tokens in BUDGETS[size]:
            name = f"scaling {width}x{layers}, {tokens / 1e6:g}M"
            runs.append(studies.Run(name, recipe, (tokens,), "", config))
            studies.train(runs[-1], file, tokenizer)
            model, _ = checkpoints.load(studies.kept(name, tokens), compute)
            found = pretraining.evaluate(model, tokenizer, articles, compute)
            rows.append(_row(config, tokens, recipe.length, found.nats / found.targets))
    columns = [[row[name] for row in rows] for name in ("parameters", "tokens", "loss")]
    law = scaling.fit_law(*columns)
    return {"job": "scaling", "size": size, **studies.provenance(runs[:1])} | {
        "evaluated_on": f"wikitext-103 validation, {len(articles)} articles",
        "law": asdict(law),
        "rows": rows,
        "shipped": _shipped(law, columns, articles, recipe.length, compute),
    }


def _row(config: Config, tokens: int, length: int, loss: float) -> dict:
    return {
        "width": config.width,
        "layers": config.layers,
        "parameters": count_parameters(config)["total"],
        "tokens": tokens,
        "flops": scaling.training_flops(config, length, tokens),
        "loss": loss,
    }


def _shipped(law: scaling.Law, columns: list, articles: list, length: int, compute) -> dict:
    """The law's loss for the shipped model's parameters and tokens, and the one it has."""
    model, tokenizer = checkpoints.load(SHIPPED, compute)
    tokens = sum(leg["tokens"] for leg in checkpoints.log_of(SHIPPED)["legs"])
    found = pretraining.evaluate(model, tokenizer, articles, compute)
    row = _row(model.config, tokens, length, found.nats / found.targets)
    at = (row["parameters"], tokens)
    return row | {
        "name": SHIPPED,
        "predicted": float(law.loss(*at)),
        "interval": list(scaling.bootstrap(*columns, at, REPEATS[sizes.current().name])),
    }

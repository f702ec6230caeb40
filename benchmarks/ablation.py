"""What each part of today's recipe is worth at equal tokens, beside that of 2019.

Causal models of one shape on the same windows. The first row is the shipped recipe. Each other one
takes one part away, or puts the part of 2019 in its place; the last takes all of them. Rates are
the best of three for each optimizer, chosen by the held-out loss of the first and of the last row
with one seed, and then fixed. Held-out loss: WikiText-103's validation articles, nats a token.
"""

from dataclasses import replace

from benchmarks import studies
from tlcourse import checkpoints, corpora, device, metrics, pretraining, sizes
from tlcourse.pretraining import Recipe
from tlcourse.transformer import Config

TOKENS = {"tiny": 2_000, "small": 2_000_000, "full": 50_000_000}
SHAPES = {"tiny": Config(8192, 16, 1, 2, 32, 128), "full": Config(8192, 512, 8, 8, 2048)}
SMALL = Config(8192, 128, 4, 2, 512)
SEEDS = {"tiny": (0,)}
OLD_BLOCK = {"rotary": False, "qk_norm": False, "activation": "gelu"}
MUON, ADAMW = "Muon and AdamW", "AdamW"
RATES = {
    MUON: [{"muon_rate": rate} for rate in (0.005, 0.01, 0.02)],
    ADAMW: [{"rate": rate, "muon_rate": None} for rate in (1e-3, 3e-3, 6e-3)],
}
# What differs from the shipped recipe: configuration, recipe, initialisation, optimizer.
PARTS = {
    "today's recipe": ({}, {}, True, MUON),
    "AdamW alone": ({}, {}, True, ADAMW),
    "learned positions": ({"rotary": False}, {}, True, MUON),
    "no query-key norm": ({"qk_norm": False}, {}, True, MUON),
    "GELU": ({"activation": "gelu"}, {}, True, MUON),
    "no zero at the start": ({}, {}, False, MUON),
    "linear decay": ({}, {"decay": 1.0}, True, MUON),
    "the recipe of 2019": (OLD_BLOCK, {"decay": 1.0}, False, ADAMW),
}


class Ablation:
    """One shape, one text, one held-out text."""

    def __init__(self):
        self.size = sizes.current().name
        self.tokens = TOKENS[self.size]
        self.shape = SHAPES.get(self.size, SMALL)
        self.file, self.tokenizer = studies.corpus()
        articles = list(corpora.articles(corpora.load("wikitext-103")["validation"]))
        self.articles = articles[: 1 if self.size == "tiny" else None]
        self.compute, self.runs = device.choose(), []

    def loss(self, name: str, rates: dict, seed: int) -> tuple[float, float]:
        """Held-out nats a token of one run, and its tokens per second."""
        changes, recipe, zero, _ = PARTS[name]
        recipe = Recipe(**recipe | rates, seed=seed, batch=4 if self.size == "tiny" else 64)
        shown = ", ".join(f"{key} {value}" for key, value in rates.items())
        title = f"ablation {name}, {shown}, seed {seed}"
        config = replace(self.shape, **changes)
        run = studies.Run(title, recipe, (self.tokens,), "", config, zero)
        self.runs.append(run)
        history = studies.train(run, self.file, self.tokenizer)
        model, _ = checkpoints.load(studies.kept(title, self.tokens), self.compute)
        found = pretraining.evaluate(model, self.tokenizer, self.articles, self.compute)
        return found.nats / found.targets, self.tokens / history[-1]["seconds"]


def measure() -> dict:
    """One row a variant: held-out loss over seeds, and its distance from today's recipe."""
    ablation = Ablation()
    best, tried = {}, {}
    for optimizer, name in ((MUON, "today's recipe"), (ADAMW, "the recipe of 2019")):
        losses = [ablation.loss(name, rates, 0)[0] for rates in RATES[optimizer]]
        best[optimizer] = RATES[optimizer][losses.index(min(losses))]
        tried[optimizer] = [{**r, "loss": x} for r, x in zip(RATES[optimizer], losses, strict=True)]
    rows, seeds = [], SEEDS.get(ablation.size, (0, 1, 2))
    for name, (*_, optimizer) in PARTS.items():
        found = [ablation.loss(name, best[optimizer], seed) for seed in seeds]
        losses, speeds = ([pair[i] for pair in found] for i in (0, 1))
        mean, low, high = metrics.mean_interval(losses) if len(seeds) > 1 else (*losses, None, None)
        row = {"variant": name, "losses": losses, "mean": mean, "interval": [low, high]}
        first = rows[0]["mean"] if rows else mean
        rows.append(row | {"worse_by": mean - first, "tokens_per_second": max(speeds)})
    return {"job": "ablation", "size": ablation.size, "tokens": ablation.tokens} | {
        **studies.provenance(ablation.runs[:1]),
        "rates_tried": tried,
        "rows": rows,
    }

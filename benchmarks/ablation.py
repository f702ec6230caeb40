"""What each part of today's recipe is worth at equal tokens, beside that of 2019.

Causal models of one shape on the same windows. The first row is the shipped recipe, with a batch
and a warm-up for short runs. Each other one takes one part away, or puts the part of 2019 in its
place; the last takes all of them. Rates are the best of three for each optimizer, chosen by the
held-out loss of the first and of the last row with one seed, and then fixed. Held-out loss: nats a
token, the first 20 articles of WikiText-103's validation split. Runs go in parallel, one thread
each; tokens per second are those of one of them.
"""

from dataclasses import replace

from benchmarks import studies
from tlcourse import checkpoints, corpora, device, metrics, pretraining, sizes
from tlcourse.pretraining import Recipe
from tlcourse.transformer import Config

TOKENS = {"tiny": 2_000, "small": 1_000_000, "full": 50_000_000}
BATCH = {"tiny": 4, "small": 16, "full": 64}  # windows a step
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
        self.batch = BATCH[self.size]
        self.shape = SHAPES.get(self.size, SMALL)
        articles = list(corpora.articles(corpora.load("wikitext-103")["validation"]))
        self.articles = articles[: 1 if self.size == "tiny" else 20]
        self.compute, self.runs = device.choose(), []

    def losses(self, asked: list[tuple[str, dict, int]]) -> list[tuple[float, float]]:
        """Held-out nats a token and tokens per second, for each (variant, rates, seed)."""
        runs = [self._run(*each) for each in asked]
        self.runs += runs
        histories = studies.train_all(runs)
        found = []
        for run, history in zip(runs, histories, strict=True):
            model, tokenizer = checkpoints.load(studies.kept(run.name, self.tokens), self.compute)
            result = pretraining.evaluate(model, tokenizer, self.articles, self.compute)
            found.append((result.nats / result.targets, self._speed(history)))
        return found

    def _run(self, name: str, rates: dict, seed: int) -> studies.Run:
        changes, recipe, zero, _ = PARTS[name]
        warmup = max(1, self.tokens // (self.batch * Recipe.length) // 20)
        recipe = Recipe(**recipe | rates, seed=seed, batch=self.batch, warmup=warmup)
        shown = ", ".join(f"{key} {value}" for key, value in rates.items())
        title = f"ablation {name}, {shown}, seed {seed}"
        return studies.Run(title, recipe, (self.tokens,), "", replace(self.shape, **changes), zero)

    def _speed(self, history: list[dict]) -> float:
        """Tokens per second over the second half of a run, when everything is compiled."""
        half = len(history) // 2
        seconds = history[-1]["seconds"] - history[half - 1]["seconds"]
        return (len(history) - half) * self.batch * Recipe.length / seconds


def measure() -> dict:
    """One row a variant: held-out loss over seeds, and its distance from today's recipe."""
    ablation = Ablation()
    today, old = "today's recipe", "the recipe of 2019"
    pairs = [(name, r) for name, o in ((today, MUON), (old, ADAMW)) for r in RATES[o]]
    tried: dict[str, list[dict]] = {MUON: [], ADAMW: []}
    for (name, rates), (loss, _) in zip(
        pairs, ablation.losses([(*pair, 0) for pair in pairs]), strict=True
    ):
        tried[PARTS[name][3]].append({**rates, "loss": loss})
    best = {
        optimizer: RATES[optimizer][min(range(len(found)), key=lambda i: found[i]["loss"])]
        for optimizer, found in tried.items()
    }
    seeds = SEEDS.get(ablation.size, (0, 1, 2))
    found = iter(
        ablation.losses([(n, best[part[3]], seed) for n, part in PARTS.items() for seed in seeds])
    )
    rows = []
    for name in PARTS:
        losses, speeds = zip(*(next(found) for _ in seeds), strict=True)
        mean, low, high = metrics.mean_interval(losses) if len(seeds) > 1 else (*losses, None, None)
        row = {"variant": name, "losses": list(losses), "mean": mean, "interval": [low, high]}
        first = rows[0]["mean"] if rows else mean
        rows.append(row | {"worse_by": mean - first, "tokens_per_second": max(speeds)})
    return {"job": "ablation", "size": ablation.size, "tokens": ablation.tokens} | {
        **studies.provenance(ablation.runs[:1]),
        "rates_tried": tried,
        "rows": rows,
    }

"""What each part of today's recipe is worth at equal tokens, beside that of 2019.

Causal models of one shape on the same windows. The first row is the shipped recipe, with a batch
and a warm-up for short runs. Each other one takes one part away, or puts the part of 2019 in its
place; the last takes all of them, on pre-norm blocks and with AdamW's settings of today. Every row
with an optimizer of its own gets the best of three rates, by the mean over seeds on ten articles of
WikiText-103's validation split; the other rows move at the first one's. Held-out loss: nats a token
on twenty other articles of it. Runs go in parallel, one thread each; tokens per second are those of
the fastest.
"""

from dataclasses import replace

from benchmarks import runner
from benchmarks.studies import pretraining_runs
from tlcourse import checkpoints, corpora, device, metrics, sizes
from tlcourse.evaluation import evaluate
from tlcourse.pretraining import PretrainingRecipe
from tlcourse.transformer import Config, count_parameters

TOKENS = {"tiny": 2_000, "small": 1_000_000, "full": 50_000_000}
BATCH_SIZE = {"tiny": 4, "small": 16, "full": 64}  # windows a step
SHAPES = {"tiny": Config(8192, 16, 1, 2, 32, 128), "full": Config(8192, 512, 8, 8, 2048)}
SMALL = Config(8192, 128, 4, 2, 512)
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


class Ablation:
    """One shape, one text, one held-out text."""

    def __init__(self):
        self.size = sizes.current().name
        self.tokens = TOKENS[self.size]
        self.batch_size = BATCH_SIZE[self.size]
        self.shape = SHAPES.get(self.size, SMALL)
        articles = list(corpora.articles(corpora.load("wikitext-103")["validation"]))
        tiny = self.size == "tiny"
        self.articles = articles[:1] if tiny else articles[:20]
        self.choosing = articles[1:2] if tiny else articles[20:30]
        self.seeds = SEEDS.get(self.size, (0, 1, 2))
        self.compute, self.runs = device.choose(), []

    def train(self, asked: list[tuple[str, dict]]) -> dict[tuple, list[dict]]:
        """The histories of each (variant, rates), a seed each."""
        runs = [self.run(*pair, seed) for pair in asked for seed in self.seeds]
        self.runs += runs
        histories = runner.groups(pretraining_runs.train_all(runs), len(self.seeds))
        return {_key(*pair): mine for pair, mine in zip(asked, histories, strict=True)}

    def losses(self, name: str, rates: dict, articles: list[str]) -> list[float]:
        """Held-out nats a token of each seed."""
        found = []
        for seed in self.seeds:
            place = self.run(name, rates, seed).checkpoint()
            model, tokenizer = checkpoints.load(place, self.compute)
            result = evaluate(model, tokenizer, articles, compute=self.compute)
            found.append(result.nats / result.targets)
        return found

    def run(self, name: str, rates: dict, seed: int) -> pretraining_runs.Run:
        """What is trained for one variant, its rates and a seed."""
        changes, recipe, zero = PARTS[name]
        warmup = max(1, self.tokens // (self.batch_size * PretrainingRecipe.length) // 20)
        size = self.batch_size
        recipe = PretrainingRecipe(**recipe | rates, seed=seed, batch_size=size, warmup=warmup)
        shown = ", ".join(f"{key} {value}" for key, value in rates.items())
        title = f"ablation {name}, {shown}, seed {seed}"
        return pretraining_runs.Run(
            title, recipe, (self.tokens,), "", replace(self.shape, **changes), zero
        )

    def speed(self, history: list[dict]) -> float:
        """Tokens per second over the second half of a run, when everything is compiled."""
        half = len(history) // 2
        seconds = history[-1]["seconds"] - history[half - 1]["seconds"]
        return (len(history) - half) * self.batch_size * PretrainingRecipe.length / seconds


def measure() -> dict:
    """One row a variant: held-out loss over seeds, and its distance from today's recipe."""
    ablation = Ablation()
    histories = ablation.train([(name, r) for name, kind in TUNED.items() for r in RATES[kind]])
    tried = {
        name: [{**rates, "losses": ablation.losses(name, rates, ablation.choosing)}
               for rates in RATES[kind]]
        for name, kind in TUNED.items()
    }  # fmt: skip
    best = {
        name: min(RATES[kind], key=lambda r, n=name: sum(_entry(tried[n], r)["losses"]))
        for name, kind in TUNED.items()
    }
    chosen = {name: best.get(name, best[TODAY]) for name in PARTS}
    histories |= ablation.train([(n, rates) for n, rates in chosen.items() if n not in TUNED])
    rows = []
    for name, rates in chosen.items():
        losses = ablation.losses(name, rates, ablation.articles)
        single = len(losses) == 1
        mean, low, high = (*losses, None, None) if single else metrics.mean_interval(losses)
        row = {"variant": name, **rates, "losses": losses, "mean": mean, "interval": [low, high]}
        speeds = [ablation.speed(history) for history in histories[_key(name, rates)]]
        first = rows[0]["mean"] if rows else mean
        rows.append(row | {"worse_by": mean - first, "tokens_per_second": max(speeds)})
    return {"job": "ablation", "tokens": ablation.tokens} | {
        **pretraining_runs.provenance(ablation.runs[:1]),
        "parameters": count_parameters(ablation.shape)["total"],
        "rates_tried": tried,
        "rows": rows,
    }


def _key(name: str, rates: dict) -> tuple:
    return name, *rates.items()


def _entry(tried: list[dict], rates: dict) -> dict:
    return next(entry for entry in tried if rates.items() <= entry.items())

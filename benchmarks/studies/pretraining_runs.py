"""What studies of pretraining share: runs that differ in one thing, trained and judged alike.

A study names its `Run`s, trains them (`train_all`), judges their checkpoints by fine-tuning on
TREC's dev split (`judge`) or by their loss on held-out articles (`loss`), and returns a `result`.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from benchmarks import runner
from benchmarks.studies import transfer
from tlcourse import checkpoints, corpora, device, evaluation, metrics, pretraining, sizes
from tlcourse.adaptation import Recipe
from tlcourse.batching import TokenFile
from tlcourse.bpe import Tokenizer
from tlcourse.pretraining import PretrainingRecipe
from tlcourse.transformer import Config, Transformer

CORPORA = ("wikitext-2", "wikipedia-standin")  # those of them that this machine has
VOCABULARY = "causal-small"  # the checkpoint whose vocabulary all runs share
TOKENS = {"tiny": 40_000, "small": 61_000_000, "full": 300_000_000}  # more than any run reads
HELD_OUT = "wikitext-103"  # its validation articles
TINY = {"batch_size": 4, "length": 32}  # of recipes at size tiny


@dataclass(frozen=True)
class Run(runner.Job):
    """One pretraining: what it starts from, its recipe, and after how many tokens it is saved.

    `start` is a checkpoint, or "" for random weights of the shape `config`. `kept` counts tokens:
    the last of them is the budget, 0 is the model before its first step. `text_of` is a number of
    tokens of `corpus`, None for the file that all runs of a size share, or the folder of a corpus.
    """

    study = "studies"
    name: str
    recipe: PretrainingRecipe
    kept: tuple[int, ...]
    start: str = ""
    config: Config = Config()
    zero_outputs: bool = True  # whether blocks begin as the identity
    text_of: int | str | None = None

    def weights(self) -> str:
        """The digest of `start`; "none" for random weights."""
        return runner.digest(self.start) if self.start else "none"

    def place(self) -> Path:
        """The folder of its state and its checkpoints."""
        return runner.FOLDER / self.study / f"{self.name}, {self.key()}"

    def checkpoint(self, tokens: int | None = None) -> Path:
        """The folder of the checkpoint after `tokens` tokens; None is the whole budget."""
        return self.place() / f"{(self.kept[-1] if tokens is None else tokens) / 1e6:g}M"

    def run(self) -> dict:
        """Trains to the end from where it was, and saves a checkpoint for each of `kept`.

        "history" is that of all its steps. The training loop reads what was done before, and raises
        ValueError if that was of another text.
        """
        (file, tokenizer), model = self.text(), self.model_at_start()
        per_step = self.recipe.batch_size * self.recipe.length
        after = {tokens // per_step: tokens for tokens in self.kept}

        def keep(steps: int) -> None:
            if steps in after:
                card = f"A run of a study: {self.name}.\n"
                checkpoints.save(self.checkpoint(after[steps]), model, tokenizer, card=card)

        tokens = self.kept[-1]
        print(f"{self.name}: {tokens / 1e6:g}M tokens", flush=True)
        if not self.checkpoint(0).exists():
            keep(0)
        history = pretraining.pretrain(
            model,
            file,
            tokens,
            recipe=self.recipe,
            compute=device.choose(),
            folder=self.place(),
            on_step=[lambda record: keep(record["step"] + 1)],
        )
        return {"history": history}

    def text(self) -> tuple[TokenFile, Tokenizer]:
        """The token file that it reads, and its tokenizer."""
        if not isinstance(self.text_of, str):
            return corpus(self.text_of)
        folder = Path(self.text_of)
        return TokenFile(folder / "tokens.bin"), Tokenizer.load(folder / "tokenizer.json")

    def model_at_start(self) -> Transformer:
        """The model before the first step."""
        config = replace(self.config, causal=self.recipe.objective != "masked")
        torch.manual_seed(self.recipe.seed)
        if self.start:
            base, _ = checkpoints.load(self.start)
            config = replace(base.config, causal=config.causal)
        model = Transformer(config)
        if self.start:
            model.load_state_dict(base.state_dict())
        if not self.zero_outputs:
            for block in model.blocks:  # GPT-2's way (Radford et al., 2019)
                for layer in (block.attention.output, block.down):
                    torch.nn.init.normal_(layer.weight, std=0.02 / math.sqrt(2 * config.layers))
        return model

    def readings(self) -> Iterator[tuple[Path, dict]]:
        """Each checkpoint, and how it reads; a hybrid one also as a copy that reads both sides."""
        objective = self.recipe.objective
        for tokens in self.kept:
            place = self.checkpoint(tokens)
            if objective != "hybrid" or self.recipe.causal_share:
                yield place, {"objective": objective, "read": objective, "tokens": tokens}
            if objective == "hybrid":
                both = {"objective": objective, "read": "hybrid, two-sided", "tokens": tokens}
                yield other_way(place, causal=False), both


def recipe(**changes) -> PretrainingRecipe:
    """The shipped recipe at the size that is set, with some changes."""
    return PretrainingRecipe(**(TINY if sizes.current().name == "tiny" else {}) | changes)


def names() -> list[str]:
    """Those of CORPORA that some source has."""
    there = corpora.available()
    return [name for name in CORPORA if there[name]]


def corpus(tokens: int | None = None) -> tuple[TokenFile, Tokenizer]:
    """A token file of the text of the shipped models, with their vocabulary: its first `tokens`.

    None: as many as TOKENS says.
    """
    tokens = TOKENS[sizes.current().name] if tokens is None else tokens
    folder = runner.FOLDER / Run.study / f"corpus-{tokens / 1e6:g}M"
    known = Tokenizer.load(checkpoints.folder_of(VOCABULARY) / "tokenizer.json")
    tokenizer = pretraining.prepare(
        folder, names(), tokens=tokens, vocabulary_size=known.vocabulary_size, tokenizer=known
    )
    return TokenFile(folder / "tokens.bin"), tokenizer


def articles(most: int | None = None, *, skip: int = 0) -> list[str]:
    """Validation articles of HELD_OUT: the first `most` after `skip` others; at tiny, one."""
    texts = list(corpora.articles(corpora.load(HELD_OUT)["validation"]))
    if sizes.current().name == "tiny":
        skip, most = min(skip, 1), 1
    return texts[skip:][:most]


def train_all(runs: Mapping[str, Run]) -> dict[str, list[dict]]:
    """The history of each run; they run as many at a time as there are cores, one thread each."""
    for run in {run.text_of: run for run in runs.values()}.values():
        run.text()  # written once, before several processes want it
    histories = [trained["history"] for trained in runner.run_all(runs.values())]
    return dict(zip(runs, histories, strict=True))


def other_way(folder: Path, causal: bool) -> Path:
    """A copy of a checkpoint that reads causally, or from both sides; the weights are the same."""
    model, tokenizer = checkpoints.load(folder)
    turned = Transformer(replace(model.config, causal=causal))
    turned.load_state_dict(model.state_dict())
    place = folder.with_name(folder.name + (" causal" if causal else " two-sided"))
    checkpoints.save(place, turned, tokenizer, card="A turned copy.\n")
    return place


def judge(
    models: Mapping[str | Path, dict], labels: Iterable[int | str], seeds: Iterable[int]
) -> list[dict]:
    """Percent wrong on TREC's dev split after full fine-tuning, a row a model and number of labels.

    `models` says what each checkpoint is, which begins its rows. Mean pooling and the default
    recipe for all, so that only the checkpoint differs.
    """
    labels, seeds = list(labels), list(seeds)
    recipe = Recipe(min_steps=transfer.MIN_STEPS)
    results = runner.run_all(
        transfer.Job(str(model), count, seed, "mean", recipe, "dev")
        for model in models
        for count in labels
        for seed in seeds
    )
    facts = [model | {"labels": count} for model in models.values() for count in labels]
    rows = []
    for row, own in zip(facts, runner.groups(results, len(seeds)), strict=True):
        errors = [runner.error_of(result) for result in own]
        rows.append(row | {"dev_errors": errors} | mean_of(errors))
    return rows


def mean_of(values: Sequence[float]) -> dict:
    """The "mean" over seeds and its 95 % "interval", which a single seed does not have."""
    if len(values) == 1:
        return {"mean": values[0], "interval": None}
    mean, low, high = metrics.mean_interval(values)
    return {"mean": mean, "interval": [low, high]}


def loss(place: str | Path, texts: Sequence[str]) -> float:
    """The loss of a causal checkpoint on texts, in nats a token."""
    model, tokenizer = checkpoints.load(place, device.choose())
    figures = evaluation.evaluate(model, tokenizer, texts, compute=device.choose())
    return figures.nats / figures.targets


def curve(history: list[dict], recipe: PretrainingRecipe, points: int = 60) -> list[list[float]]:
    """[tokens, mean loss over the steps since the point before] along a run."""
    size = max(1, len(history) // points)
    groups = [history[start : start + size] for start in range(0, len(history), size)]
    per_step = recipe.batch_size * recipe.length
    return [
        [(group[-1]["step"] + 1) * per_step, sum(r["loss"] for r in group) / len(group)]
        for group in groups
    ]


def tail_loss(history: list[dict], share: float = 0.05) -> float:
    """Mean loss in nats a target over the last `share` of a run's steps."""
    last = history[-math.ceil(share * len(history)) :]
    return sum(record["loss"] for record in last) / len(last)


def result(
    job: str, runs: Mapping[str, Run], rows: list[dict], data: str = "", **more: Any
) -> dict:
    """What a study returns: rows, what they rest on, the recipes of its runs, and `more`."""
    data = data or f"{', '.join(names())}; TREC-6 dev (10 % of train, one split for all)"
    recipes = {run.name: asdict(run.recipe) for run in runs.values()}
    rests_on = runner.provenance(data, note=runner.pooled())
    return {"job": job, **rests_on, "recipes": recipes, **more, "rows": rows}

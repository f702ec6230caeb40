"""Small pretraining runs that differ in one thing, judged by the same fine-tuning on TREC's dev."""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch

from benchmarks import runner
from benchmarks.studies import transfer
from tlcourse import checkpoints, corpora, device, metrics, pretraining, sizes
from tlcourse.adaptation import Recipe
from tlcourse.batching import TokenFile
from tlcourse.bpe import Tokenizer
from tlcourse.transformer import Config, Transformer

CORPORA = ("wikitext-2", "wikipedia-standin")  # what of them is on this machine
VOCABULARY = "causal-small"  # whose vocabulary all runs share
TOKENS = {"tiny": 40_000, "small": 61_000_000, "full": 300_000_000}  # more than any run reads


@dataclass(frozen=True)
class Run(runner.Job):
    """One pretraining: what it starts from, its recipe, and after how many tokens it is saved.

    `start` is a checkpoint, or "" for random weights of the shape `config`. `kept` counts tokens;
    the last of them is the budget.
    """

    study = "studies"
    name: str
    recipe: pretraining.PretrainingRecipe
    kept: tuple[int, ...]
    start: str = ""
    config: Config = Config()
    zero_outputs: bool = True  # whether blocks begin as the identity

    def weights(self) -> str:
        """None where it starts from random ones."""
        return runner.digest(self.start) if self.start else "none"

    def place(self) -> Path:
        """The folder of its state and its checkpoints."""
        return runner.FOLDER / self.study / f"{self.name}, {self.key()}"

    def checkpoint(self, tokens: int | None = None) -> Path:
        """Where the checkpoint after so many tokens lies; None is all of them."""
        return self.place() / f"{(self.kept[-1] if tokens is None else tokens) / 1e6:g}M"

    def run(self) -> dict:
        """Trains to the end from where it was, and saves a checkpoint for each of `kept`.

        "history" is that of all its steps. What was done before is read by the training loop, which
        raises ValueError if it was of another text.
        """
        file, tokenizer = self.text()
        model, per_step = self.model_at_start(), self.recipe.batch_size * self.recipe.length
        steps = {tokens // per_step - 1: tokens for tokens in self.kept}

        def keep(record: dict) -> None:
            if record["step"] in steps:
                card = f"A run of a study: {self.name}.\n"
                place = self.checkpoint(steps[record["step"]])
                checkpoints.save(place, model, tokenizer, card=card)

        tokens = self.kept[-1]
        print(f"{self.name}: {tokens / 1e6:g}M tokens", flush=True)
        history = pretraining.pretrain(
            model, file, tokens, recipe=self.recipe, compute=device.choose(), folder=self.place(),
            on_step=[keep],
        )  # fmt: skip
        return {"history": history}

    def text(self) -> tuple[TokenFile, Tokenizer]:
        """What it reads."""
        return corpus()

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


def names() -> list[str]:
    """Those of CORPORA that some source has."""
    there = corpora.available()
    return [name for name in CORPORA if there[name]]


def corpus(tokens: int | None = None) -> tuple[TokenFile, Tokenizer]:
    """A token file of the text of the shipped models, with their vocabulary: its first `tokens`.

    None: the one that all runs of a size share.
    """
    tokens = TOKENS[sizes.current().name] if tokens is None else tokens
    folder = runner.FOLDER / Run.study / f"corpus-{tokens / 1e6:g}M"
    known = Tokenizer.load(checkpoints.folder_of(VOCABULARY) / "tokenizer.json")
    tokenizer = pretraining.prepare(
        folder, names(), tokens=tokens, vocabulary_size=known.vocabulary_size, tokenizer=known
    )
    return TokenFile(folder / "tokens.bin"), tokenizer


def train_all(runs: Iterable[Run]) -> list[list[dict]]:
    """The histories of several runs, as many at a time as there are cores, one thread each."""
    corpus()  # once, before all of them want it
    return [found["history"] for found in runner.run_all(runs)]


def other_way(folder: Path, causal: bool) -> Path:
    """A copy of a checkpoint that reads causally, or from both sides; the weights are the same."""
    model, tokenizer = checkpoints.load(folder)
    turned = Transformer(replace(model.config, causal=causal))
    turned.load_state_dict(model.state_dict())
    place = folder.with_name(folder.name + (" causal" if causal else " two-sided"))
    checkpoints.save(place, turned, tokenizer, card="A turned copy.\n")
    return place


def judge(
    models: Iterable[str | Path], labels: Iterable[int | str], seeds: Iterable[int]
) -> list[dict]:
    """Errors on TREC's dev split after full fine-tuning, one row a model and number of labels.

    Mean pooling and the default recipe for all, so that only the checkpoint differs.
    """
    seeds = list(seeds)
    recipe = Recipe(min_steps=transfer.MIN_STEPS)
    results = runner.run_all(
        transfer.Job(str(model), count, seed, "mean", recipe, "dev")
        for model in models
        for count in labels
        for seed in seeds
    )
    rows = []
    for mine in runner.groups(results, len(seeds)):
        errors = [runner.error_of(result) for result in mine]
        row = {"model": mine[0]["model"], "labels": mine[0]["labels"], "dev_errors": errors}
        rows.append(row | {"mean": sum(errors) / len(errors), "interval": _interval(errors)})
    return rows


def _interval(errors: list[float]) -> list[float] | None:
    return list(metrics.mean_interval(errors)[1:]) if len(errors) > 1 else None


def curve(
    history: list[dict], recipe: pretraining.PretrainingRecipe, points: int = 60
) -> list[list[float]]:
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


def provenance(runs: Iterable[Run]) -> dict:
    """What the rows of a study rest on."""
    return {
        **runner.provenance(f"{', '.join(names())}; TREC-6 dev (10 % of train, one split for all)"),
        "recipes": {run.name: asdict(run.recipe) for run in runs},
    }

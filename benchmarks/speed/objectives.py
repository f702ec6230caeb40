"""What a training step of each pretraining objective costs, against that of next-token prediction.

`python -m benchmarks objective_speeds`: each objective trains a body of one shape on the same
windows of text with the same optimizers, one step at a time in turn, on one thread. A row's `ratio`
is its processor time a step divided by that of next-token prediction: above 1, it is slower. A step
includes making the batch. `targets_per_token` is how many predictions it learns from for each token
of its windows. The study `pretexts` gives each objective its budget by these ratios.
"""

import tempfile
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks import markdown, runner
from benchmarks.speed import harness
from tlcourse import checkpoints, corpora, device, objectives, pretraining, sizes
from tlcourse.batching import TokenFile
from tlcourse.bpe import Tokenizer
from tlcourse.objectives import Objective
from tlcourse.pretraining import PretrainingRecipe
from tlcourse.training import train
from tlcourse.transformer import Config

VOCABULARY = "causal-small"  # the checkpoint whose vocabulary is used
TEXT = "wikitext-2"
STANDARD = "next token"  # what all are compared with
COLUMNS = {
    "objective": "objective",
    "ms": "ms a step",
    "ratio": "times as long",
    "range": "in rounds",
    "targets_per_token": "targets a token",
}


@dataclass(frozen=True)
class Scale:
    """What is measured at a size; the vocabulary is that of VOCABULARY."""

    shape: Config
    recipe: PretrainingRecipe
    rounds: int
    tokens: int  # of the text


BODY = Config(8192, width=128, layers=4, heads=4, feed_forward=512)
RECIPE = PretrainingRecipe(batch_size=32, length=128, warmup=50)
SMALL = Scale(BODY, RECIPE, 7, 500_000)
TINY = Scale(
    Config(8192, 32, 1, 2, 64), PretrainingRecipe(batch_size=4, length=32, warmup=2), 2, 2_000
)
SCALES = {"tiny": TINY, "small": SMALL, "full": SMALL}


def all_objectives(tokenizer: Tokenizer) -> dict[str, Objective]:
    """The objectives of `tlcourse.objectives` with their defaults, by the names in the rows."""
    return {
        STANDARD: objectives.NextToken(),
        "masked": objectives.Masked(),
        "masked, the same masks": objectives.StaticMasked(),
        "masked words": objectives.WholeWordMasked(begins_word=objectives.word_starts(tokenizer)),
        "masked spans": objectives.SpanMasked(),
        "prefix LM": objectives.PrefixLM(),
        "hybrid": objectives.Hybrid(),
        "UniLM": objectives.UniLM(),
        "span corruption": objectives.SpanCorruption(),
        "BART": objectives.bart(objectives.sentence_ends(tokenizer)),
        "MASS": objectives.MASS(),
        "denoising autoencoder": objectives.denoising_autoencoder(),
        "next sentence": objectives.NextSentence(),
        "sentence order": objectives.SentenceOrder(),
        "Quick Thoughts": objectives.QuickThoughts(),
        "replaced tokens": objectives.ReplacedTokens(),
        "permutation LM": objectives.PermutationLM(),
    }


class Learner:
    """A model of an objective that trains one step a call, and counts its targets."""

    def __init__(self, objective: Objective, file: TokenFile, scale: Scale):
        torch.manual_seed(0)
        self.compute, self.objective = device.choose(), objective
        self.model = objective.model(scale.shape, self.compute.attention)
        config, recipe = objective.body(self.model).config, scale.recipe
        self.batch_of = pretraining.batches(file, config, recipe, objective=objective)
        self.optimizers = pretraining.optimizers_for(self.model, recipe)
        self.read_a_step = recipe.batch_size * recipe.length
        self.steps = self.targets = 0

    def __call__(self) -> None:
        """Trains for the next step."""
        train(
            self.model,
            self.loss,
            lambda _: self.batch_of(self.steps),
            steps=1,
            optimizers=self.optimizers,
            compute=self.compute,
        )
        self.steps += 1

    def loss(self, model: nn.Module, batch: tuple[Tensor, ...]) -> tuple[Tensor, int]:
        """The loss of the objective."""
        nats, targets = self.objective.loss(model, batch)
        self.targets += targets
        return nats, targets

    def targets_per_token(self) -> float:
        """The targets for each token of the windows, over all steps so far."""
        return self.targets / (self.steps * self.read_a_step)


def measure() -> dict:
    """A row an objective, measured in a process of one thread."""
    return runner.in_parallel(_measured, [SCALES[sizes.current().name]])[0]


def _measured(scale: Scale) -> dict:
    tokenizer = Tokenizer.load(checkpoints.folder_of(VOCABULARY) / "tokenizer.json")
    data = corpora.load(TEXT)
    with tempfile.TemporaryDirectory() as folder:
        path, articles = f"{folder}/tokens.bin", corpora.articles(data["train"])
        pretraining.write_corpus(path, articles, tokenizer, tokens=scale.tokens, progress=False)
        file = TokenFile(path)
        learners = {
            name: Learner(objective, file, scale)
            for name, objective in all_objectives(tokenizer).items()
        }
        for learner in learners.values():
            learner()  # a step that does not count
        seconds = harness.alternate(learners, scale.rounds, clock=runner.processor_clock())
    recipe = scale.recipe
    return {
        "job": "objective_speeds",
        **runner.provenance(f"{TEXT}, {corpora.source_of(data)}"),
        "step": f"{recipe.batch_size} x {recipe.length} tokens",
        "shape": asdict(scale.shape),
        "rows": [
            {
                "objective": name,
                "value": repr(learner.objective),
                "ms": 1000 * median(seconds[name]),
                **harness.ratio(seconds[name], seconds[STANDARD]),
                "targets_per_token": learner.targets_per_token(),
            }
            for name, learner in learners.items()
        ],
    }


def section(study: dict[str, Any]) -> str:
    """For RESULTS.md: a row an objective."""
    shape = study["shape"]
    rows = [
        [
            row["objective"],
            f"{row['ms']:.0f}",
            f"{row['ratio']:.2f} ({row['ratio_lowest']:.2f}-{row['ratio_highest']:.2f})",
            f"{row['targets_per_token']:.2f}",
        ]
        for row in study["rows"]
    ]
    head = ["", "milliseconds", "times as long as next token", "targets a token"]
    return markdown.section(
        "### What a step costs",
        f"Processor time of a training step of {study['step']} on one thread; in brackets the "
        f"lowest and the highest ratio of {study['rows'][0]['rounds']} rounds. The body has "
        f"{shape['layers']} layers of width {shape['width']}; the last column counts the "
        "predictions that a step learns from, for each token of its windows (of replaced tokens "
        "the generator's; the discriminator makes one at every token). "
        f"{markdown.source(study, 'lesson 10')}",
        markdown.table(head, rows),
    )

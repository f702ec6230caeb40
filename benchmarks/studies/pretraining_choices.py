"""Apart from the objective, what decides how useful a pretrained body is?

Every body starts from random weights and is trained by masked-token prediction with one recipe, on
the same number of tokens. Each question changes one choice, so the tables share a row, the
standard: 4 layers of width 128, batches of 32 windows, WikiText articles of which no token is read
twice.

- `repeats`: fewer different tokens, which are read more often (Raffel et al., 2020, section 3.4.2).
  They are the first ones of the text; masks are new whenever a window comes back.
- `batch`: fewer or more windows a step, so more or fewer steps. Both learning rates are scaled by
  the square root of the batch size, and the warm-up is the same share of the steps.
- `size`: width, layers and heads (Devlin et al., 2019, section 5.2). All sizes read the same
  tokens, so a larger body takes more time.
- `mixture`: the share of the windows that are IMDB reviews. One of the tasks below is about films,
  so the question is whether the end task should choose the weights (Dery et al., 2022).
- `supervision`: learning the labels of SNLI and MultiNLI instead (Conneau et al., 2017, InferSent),
  and masked-token prediction on the same premises and hypotheses, shuffled. The classifier reads as
  many tokens a step, in as many steps, with the same optimizers, learning rates and schedule; its
  head is thrown away. As this course has the development sets only, there are 19,657 pairs.

Bodies are compared by the loss on masked tokens of held-out articles, with the same masks for all,
and by fine-tuning on questions (TREC), film reviews (SST-2) and names (WikiANN), with the recipe of
`pretexts`. No choice depends on a score. The body that was trained on labels has no decoder, so it
has no such loss. Random weights of the standard shape stand in every table.

A seed determines weights, windows, masks, new heads, and the drawn labels of TREC and SST-2. Runs
that were stopped continue from their last state in `runs/pretraining_choices/`; finished ones are
kept there, and carried in `benchmarks/finished/`.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import mean
from typing import Any

import torch
from torch import Tensor

from benchmarks import markdown, runner
from benchmarks.markdown import error_cell, source
from benchmarks.speed.objectives import BODY, RECIPE, TINY
from benchmarks.studies import growth, pretexts, pretraining_runs
from benchmarks.studies.pretexts import NAMES, UNTRAINED
from tlcourse import checkpoints, corpora, device, pretraining, sizes
from tlcourse.adaptation import Batches, Classifier, Recipe
from tlcourse.batching import Mixture, TokenFile
from tlcourse.bpe import Tokenizer, normalise
from tlcourse.objectives import Masked
from tlcourse.pretraining import PretrainingRecipe
from tlcourse.training import Resume, train, warmup_stable_decay
from tlcourse.transformer import Config, Transformer

SEEDS = (0, 1, 2)  # one takes most of a core hour
MASKED, LABELS = "masked", "NLI labels"  # objectives, beside UNTRAINED
ARTICLES, PAIRS = "articles", "pairs"  # texts
NLI = ("snli", "mnli")  # those of them that this machine has
REVIEWS = "imdb"
JUDGED = {task: pretexts.JUDGED[task] for task in ("trec", "sst-2", NAMES)}
PASSES = (1, 4, 16, 64)
BATCHES = (0.25, 1, 4)  # times the standard
SHARES = (0.0, 0.25, 0.5, 1.0)  # of reviews
QUESTIONS = {  # the title of a table, and what its rows have in common
    "repeats": (
        "Fewer tokens, read more often",
        "The text is the beginning of the same articles; masks are new in each pass.",
    ),
    "batch": (
        "Windows a step",
        "Learning rates are scaled by the square root of the batch size, and the warm-up is the "
        "same share of the steps.",
    ),
    "size": (
        "The size of the body",
        "All sizes read the same tokens. The random weights have the standard shape.",
    ),
    "mixture": (
        "The share of film reviews in the text",
        "IMDB's training reviews, in place of articles. Only SST-2 is about films.",
    ),
    "supervision": (
        "Labels instead of text",
        "The pairs are SNLI's and MultiNLI's development sets; the training loss of labels is in "
        "nats a pair.",
    ),
}

Shape = tuple[int, int, int]  # width, layers, heads


@dataclass(frozen=True)
class Plan:
    """The standard that is trained and how bodies are judged, at a size."""

    tokens: int = 488 * 32 * 128  # that every body reads
    shape: Config = BODY
    pretraining: PretrainingRecipe = RECIPE
    labels: tuple[int, ...] = (1_000, 1_000, 500)  # of the tasks in JUDGED
    adaptation: Recipe = pretexts.Plan.adaptation
    articles: int = 10  # held out

    def labels_of(self) -> dict[str, int]:
        """How many examples each task is learnt from, at most."""
        return dict(zip(JUDGED, self.labels, strict=True))

    def steps(self) -> int:
        """How many steps the standard trains for."""
        return self.tokens // (self.pretraining.batch_size * self.pretraining.length)

    def text(self, passes: int = 1) -> int:
        """The tokens of a file whose windows are all read so many times, whatever their offset."""
        windows = self.tokens // self.pretraining.length // passes
        return (windows + 1) * self.pretraining.length


PLANS = {
    "tiny": Plan(2_048, TINY.shape, TINY.recipe, (24,) * 3, Recipe(1), 1),
    "small": Plan(),
    "full": Plan(),
}
SHAPES: dict[str, tuple[Shape, ...]] = {
    "tiny": ((16, 1, 1), (32, 1, 2)),
    "small": ((64, 2, 2), (128, 4, 4), (192, 5, 3), (256, 6, 4)),
}
SHAPES["full"] = SHAPES["small"]


@dataclass(frozen=True)
class Job(runner.Job):
    """One body with one seed: its pretraining, and all its scores."""

    study = "pretraining_choices"
    seed: int
    recipe: Plan
    batch: int  # windows a step
    shape: Shape
    objective: str = MASKED
    text: str = ARTICLES
    passes: int = 1  # how often the text is read; PAIRS have a length of their own
    reviews: float = 0.0  # their share of the windows

    def weights(self) -> str:
        """Random ones."""
        return "none"

    def config(self) -> Config:
        """The shape of its body, which reads from both sides."""
        width, layers, heads = self.shape
        more = {"feed_forward": 4 * width, "causal": False}
        return replace(self.recipe.shape, width=width, layers=layers, heads=heads, **more)

    def pretraining(self) -> PretrainingRecipe:
        """The standard recipe, adjusted to its batch."""
        standard = self.recipe.pretraining
        times = self.batch / standard.batch_size
        muon = standard.muon_learning_rate
        return replace(
            standard,
            seed=self.seed,
            batch_size=self.batch,
            learning_rate=standard.learning_rate * math.sqrt(times),
            muon_learning_rate=None if muon is None else muon * math.sqrt(times),
            warmup=max(1, round(standard.warmup / times)),
        )

    def file(self) -> TokenFile | Mixture:
        """What it reads."""
        if self.text == PAIRS:
            return pair_file()
        if self.reviews == 1:
            return review_file(self.recipe)
        articles, _ = pretraining_runs.corpus(self.recipe.text())
        articles.ids = articles.ids[: self.recipe.text(self.passes)]
        if not self.reviews:
            return articles
        shares = {"articles": 1 - self.reviews, "reviews": self.reviews}
        return Mixture({"articles": articles, "reviews": review_file(self.recipe)}, shares)

    def work(self) -> dict:
        """Pretrains, or goes on, and judges the body."""
        tokenizer, plan, place = vocabulary(), self.recipe, self.folder() / "body"
        torch.manual_seed(self.seed)
        body = Transformer(self.config())
        if self.objective == LABELS:
            facts = learn_labels(body, tokenizer, self)
        else:
            facts = {"tokens": 0, "loss": None, "seconds": 0.0}
            if self.objective == MASKED:
                facts = {"tokens": plan.tokens} | pretexts.pretrained(
                    body,
                    self.file(),
                    plan.tokens,
                    recipe=self.pretraining(),
                    objective=Masked(),
                    folder=self.folder(),
                )
            facts["held out"] = growth.loss(body.eval(), tokenizer, plan.articles)
        checkpoints.save(place, body, tokenizer, card="A body of a study.\n")
        scores = pretexts.judged(place, plan.labels_of(), recipe=plan.adaptation, seed=self.seed)
        return facts | {"scores": scores}

    def told(self, result: dict) -> str:
        """Its held-out loss and its scores."""
        held_out = result.get("held out")
        loss = "" if held_out is None else f"held out {held_out:.2f}, "
        scores = (f"{task} {one['score']:.1f}" for task, one in result["scores"].items())
        return loss + ", ".join(scores)


def learn_labels(body: Transformer, tokenizer: Tokenizer, job: Job) -> dict:
    """Trains a body, in place, to classify pairs: "tokens" read, "loss" a pair, "seconds".

    A step has as many pairs as have the tokens of the windows of masked-token prediction.
    """
    recipe, steps = job.pretraining(), job.recipe.steps()
    pairs, labels = nli()
    torch.manual_seed(job.seed)
    model = Classifier(body, tokenizer, sorted(set(labels)))
    lengths = [len(ids) for ids in model.encode(pairs)]
    size = max(1, round(recipe.batch_size * recipe.length / mean(lengths)))
    examples = Batches(model, pairs, labels, batch_size=size, seed=job.seed)
    optimizers = pretraining.optimizers_for(model.body, recipe)
    optimizers[-1].add_param_group({"params": [*model.head.parameters()], "weight_decay": 0.0})
    meter = pretexts.Meter(job.folder() / "seconds.json")
    history = train(
        model,
        _loss_of_pairs,
        examples.batch,
        steps=steps,
        optimizers=optimizers,
        schedule=warmup_stable_decay(steps, recipe.warmup, recipe.decay),
        compute=replace(device.choose(), compiles=False),
        seed=job.seed,
        resume=Resume(job.folder(), settings=asdict(recipe) | {"pairs": len(pairs), "size": size}),
        on_step=[meter],
    )
    body.load_state_dict(model.body.state_dict())
    return {
        "tokens": sum(int(examples.batch(step)[1].sum()) for step in range(steps)),
        "loss": pretraining_runs.tail_loss(history),
        "seconds": meter.of(steps),
    }


def _loss_of_pairs(model: Any, batch: tuple[Tensor, ...]) -> tuple[Tensor, int]:
    return model.batch_loss(batch)


# texts


def vocabulary() -> Tokenizer:
    """The tokenizer that all runs share."""
    folder = checkpoints.folder_of(pretraining_runs.VOCABULARY)
    return Tokenizer.load(folder / "tokenizer.json")


def nli() -> tuple[list[tuple[str, str]], list[str]]:
    """Premises and hypotheses, shuffled so that those of one premise lie apart, and their labels.

    They are those of the validation splits of all of NLI that this machine has.
    """
    pairs, labels = [], []
    for name in nli_names():
        rows = corpora.load(name)["validation"].shuffle(seed=0)
        pairs += list(zip(rows["premise"][:], rows["hypothesis"][:], strict=True))
        labels += rows["label"][:]
    return pairs, labels


def nli_names() -> list[str]:
    """Those of NLI that some source has."""
    there = corpora.available()
    return [name for name in NLI if there[name]]


def pair_file() -> TokenFile:
    """Each pair as a text: the premise, then the hypothesis."""
    pairs, _ = nli()
    return _written(f"pairs-{len(pairs)}", lambda: map(" ".join, pairs))


def review_file(plan: Plan) -> TokenFile:
    """As many tokens of training reviews, negative and positive ones shuffled, as a body reads."""
    tokens = plan.text()
    name = f"reviews-{tokens / 1e6:g}M"
    return _written(name, lambda: corpora.load(REVIEWS)["train"].shuffle(seed=0)["text"][:], tokens)


def _written(name: str, texts: Callable[[], Iterable[str]], tokens: float = math.inf) -> TokenFile:
    """A token file of texts in the form of `normalise`, written where it is missing."""
    path = runner.FOLDER / Job.study / f"{name}.bin"
    if not path.exists():
        normal = map(normalise, texts())
        pretraining.write_corpus(path, normal, vocabulary(), tokens=tokens, progress=False)
    return TokenFile(path)


# questions


def questions(plan: Plan, shapes: Sequence[Shape]) -> dict[str, dict[str, Job]]:
    """By question, the bodies that are compared, by what a row calls them; all with seed 0."""
    standard = plan.pretraining.batch_size
    shape = plan.shape.width, plan.shape.layers, plan.shape.heads
    base = Job(0, plan, standard, shape)
    untrained = {UNTRAINED: replace(base, objective=UNTRAINED)}
    repeats = {
        f"{passes} x {plan.tokens // passes:,} tokens": replace(base, passes=passes)
        for passes in PASSES
    }
    batches = {
        f"{batch} windows, {plan.tokens // (batch * plan.pretraining.length):,} steps": replace(
            base, batch=batch
        )
        for batch in (int(standard * times) for times in BATCHES)
    }
    bodies = {
        f"width {width}, {layers} layers, {heads} heads": replace(
            base, shape=(width, layers, heads)
        )
        for width, layers, heads in shapes
    }
    mixtures = {f"{100 * share:.0f} % reviews": replace(base, reviews=share) for share in SHARES}
    supervision = {
        "masked, articles": base,
        "masked, premises and hypotheses": replace(base, text=PAIRS),
        "labels of premises and hypotheses": replace(base, text=PAIRS, objective=LABELS),
    }
    rows = (repeats, batches, bodies, mixtures, supervision)
    return {name: untrained | own for name, own in zip(QUESTIONS, rows, strict=True)}


def jobs(asked: Mapping[str, Mapping[str, Job]]) -> list[Job]:
    """The runs, each once, those of one seed after those of the seed before."""
    distinct = dict.fromkeys(job for rows in asked.values() for job in rows.values())
    return [replace(job, seed=seed) for seed in SEEDS for job in distinct]


def measure() -> dict:
    """A row for each body of each question, over the seeds; some bodies are in several."""
    size = sizes.current().name
    plan = PLANS[size]
    asked = questions(plan, SHAPES[size])
    every = jobs(asked)
    pretraining_runs.corpus(plan.text())  # written once, before several processes want them
    review_file(plan)
    pair_file()
    runs = runner.run_all(every)
    found = dict(zip(every, runs, strict=True))
    rows = [
        {"question": question, "body": body}
        | _row([found[replace(job, seed=seed)] for seed in SEEDS])
        for question, bodies in asked.items()
        for body, job in bodies.items()
    ]
    read = [*pretraining_runs.names(), REVIEWS, *nli_names()]
    return {
        "job": "pretraining_choices",
        **runner.provenance(
            f"{', '.join(read)}; {pretraining_runs.HELD_OUT} validation, {plan.articles} articles; "
            "TREC-6, SST-2, WikiANN (English)",
            runs=runs,
            note=runner.pooled(),
        ),
        "plan": asdict(plan),
        "judged": {
            task: text.format(labels=plan.labels_of()[task]) for task, text in JUDGED.items()
        },
        "rows": rows,
    }


def _row(mine: Sequence[dict]) -> dict:
    """A body; intervals are over seeds, other figures their means."""

    def found(name: str) -> list[float]:
        return [run[name] for run in mine if run.get(name) is not None]

    def average(name: str) -> float | None:
        return mean(found(name)) if found(name) else None

    return {
        "seeds": [run["seed"] for run in mine],
        "tokens": average("tokens"),
        "seconds": average("seconds"),
        "loss": average("loss"),
        "held out": average("held out"),
        "held out by seed": found("held out"),
        "scores": pretexts.over_seeds([run["scores"] for run in mine]),
    }


def section(study: dict[str, Any]) -> str:
    """For RESULTS.md: a table a question."""
    first, shape = study["rows"][0], study["plan"]["shape"]
    judged = "; ".join(
        f"{task}: {text}, of {first['scores'][task]['of']:,}"
        for task, text in study["judged"].items()
    )
    head = ["", "tokens", "seconds", "training loss", "held-out loss", *study["judged"]]
    blocks = []
    for question, (title, note) in QUESTIONS.items():
        own = [_cells(row) for row in study["rows"] if row["question"] == question]
        blocks += [f"### {title}", note, markdown.table(head, own)]
    return markdown.section(
        "## What else decides how useful a pretrained body is",
        f"Bodies of {shape['layers']} layers and width {shape['width']}, trained by masked-token "
        "prediction unless the row says otherwise, and fine-tuned with one recipe. Losses are in "
        "nats a masked token, seconds are those of pretraining, in processor time. Scores are in "
        f"percent, {markdown.over(first['seeds'])} ({judged}). "
        f"{source(study, 'lesson 10b')}",
        *blocks,
    )


def _cells(row: Mapping) -> list[str]:
    """The row of a table."""
    losses = (row["loss"], row["held out"])
    return [
        row["body"],
        f"{row['tokens'] / 1e6:.2f}M",
        f"{row['seconds']:,.0f}",
        *("" if loss is None else f"{loss:.2f}" for loss in losses),
        *(error_cell(one) for one in row["scores"].values()),
    ]

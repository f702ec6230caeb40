"""ULMFiT on an LSTM and on a Transformer, in the same processor time (Howard & Ruder, 2018).

An AWD-LSTM and a Transformer with as many parameters are pretrained on `wikipedia-standin`, go on
reading the texts of a task without their labels, and become classifiers. Each stage has the same
processor seconds for both bodies: what a step costs is measured first, with both taking turns
(`Pace`), and gives each stage its number of tokens or steps. The LSTM is trained by AdamW, the
Transformer by Muon and AdamW, as the shipped models are; Muon's step is costly for an LSTM's large
matrices.

A body's rows differ in one thing each: pretraining, LM fine-tuning, then ULMFiT's training of the
classifier (discriminative rates, gradual unfreezing, one cycle). All of them have ULMFiT's pooling
and head of two blocks. Each row's learning rate is chosen on TREC's dev split, with two draws of
labels; IMDB takes the same. Test sets are read by the final runs alone. A seed stands for labels,
head, dropout and order; there is one pretraining and one LM fine-tuning a body.

The last runs ask how far fine-tuning spreads: their labels are the same, and head, dropout and
order differ. A run fails if it is no better than answering the commonest label.

Finished runs lie in `runs/ulmfit/`, with the checkpoints they start from.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from itertools import pairwise
from statistics import mean, median, stdev
from typing import Any

import torch

from benchmarks import clocks, markdown, runner
from benchmarks.markdown import error_cell, source
from benchmarks.studies import pretraining_runs
from tlcourse import checkpoints, corpora, device, evaluation, metrics, pretraining, sizes
from tlcourse.adaptation import (
    FULL,
    ByLayer,
    Classifier,
    GradualUnfreezing,
    HiddenHead,
    OneCycle,
    Recipe,
    Scheme,
    adapt,
    baselines,
    encode,
    misclassified,
    pretrain_on_texts,
)
from tlcourse.batching import TokenFile
from tlcourse.bpe import Tokenizer
from tlcourse.pretraining import PretrainingRecipe
from tlcourse.recurrent import LSTMConfig
from tlcourse.transformer import Config

STANDIN, SMALLER = "wikipedia-standin", "wikitext-2"  # the latter where the former is missing
VOCABULARY = "causal-small"
LSTM, TRANSFORMER, TFIDF = "AWD-LSTM", "Transformer", "TF-IDF"
TREC, IMDB = "trec", "imdb"
TASKS = (TREC, IMDB)
SCRATCH, PRETRAINED, READ, WHOLE = "from scratch", "pretrained", "LM fine-tuned", "ULMFiT"
ROWS = (SCRATCH, PRETRAINED, READ, WHOLE)
PLAIN = "plain fine-tuning"  # of the pretrained body, under one linear layer
HEAD = HiddenHead(50)
SCHEMES = {
    PLAIN: FULL,
    **dict.fromkeys((SCRATCH, PRETRAINED, READ), Scheme("two blocks", edit=HEAD)),
    WHOLE: Scheme(
        WHOLE, edit=HEAD, groups=ByLayer(2.6), schedule=GradualUnfreezing(OneCycle(), share=0.3)
    ),  # everything is trained when the rate is highest
}
SPREAD = ((LSTM, PLAIN), (TRANSFORMER, PLAIN), (LSTM, WHOLE))
UNLABELLED_SEED = 99  # of the reviews that are read without labels
DROPOUTS = {"embedding_dropout": 0.02, "input_dropout": 0.1, "dropout": 0.1, "output_dropout": 0.1}
PUBLISHED = {  # percent wrong with all labels, as their authors give them; TREC-6 and IMDB
    "ULMFiT, two directions (Howard & Ruder, 2018)": {TREC: 3.6, IMDB: 4.6},
    "the tutorial's Transformer of 50M (Ruder et al., 2019)": {TREC: 3.6},
}


@dataclass(frozen=True)
class Plan:
    """What is trained, and for how many processor seconds, at a size."""

    lstm: LSTMConfig = LSTMConfig(8192, 128, (224, 224), weight_drop=0.2, **DROPOUTS)
    transformer: Config = Config(8192, width=128, layers=4, heads=4, feed_forward=512)
    recipe: PretrainingRecipe = PretrainingRecipe(batch_size=16, length=128, warmup=40)
    text: int = 6_000_000  # tokens in the file, which a fast machine reads more than once
    pretraining: float = 420.0  # seconds
    reading: tuple[float, float] = (15.0, 30.0)  # of TREC, of IMDB
    adapting: tuple[float, float] = (5.0, 15.0)
    spread: float = 3.0  # of TREC
    labels: int = 500
    cut: int = 128  # tokens of a text
    unlabelled: int = 2_000  # reviews; of TREC, all questions
    judged: int = 500  # test texts
    rates: tuple[float, ...] = (5e-4, 1.5e-3, 5e-3, 1.5e-2, 5e-2)
    draws: int = 2  # of labels, on which a rate is tried
    seeds: int = 3
    runs: int = 20  # whose spread is shown
    rounds: int = 3  # of the measurement of steps

    def shapes(self) -> dict[str, LSTMConfig | Config]:
        """The bodies by name."""
        return {LSTM: self.lstm, TRANSFORMER: self.transformer}


def recipe_of(body: str, recipe: PretrainingRecipe) -> PretrainingRecipe:
    """How a body is pretrained."""
    if body == TRANSFORMER:
        return recipe
    return replace(recipe, learning_rate=3e-3, muon_learning_rate=None, weight_decay=0.01)


TINY = Plan(
    lstm=LSTMConfig(8192, 16, (24, 24), weight_drop=0.2, **DROPOUTS),
    transformer=Config(8192, 16, 2, 2, 32),
    recipe=PretrainingRecipe(batch_size=2, length=16, warmup=2),
    text=2_000, pretraining=0.05, reading=(0.02, 0.02), adapting=(0.02, 0.02), spread=0.02,
    labels=12, cut=24, unlabelled=20, judged=10, rates=(1e-3, 2e-3), draws=1, seeds=2, runs=2,
    rounds=1,
)  # fmt: skip
PLANS = {"tiny": TINY, "small": Plan(), "full": Plan()}


class Job(runner.Job):
    """A run of this study, which the seeds and the values of its fields determine."""

    study = "ulmfit"

    def weights(self) -> str:
        """None but those that other jobs of the study make."""
        return "none"


@dataclass(frozen=True)
class Pretraining(Job):
    """A body that reads so many tokens of the corpus; it lies in `folder()`."""

    body: str
    shape: LSTMConfig | Config
    recipe: PretrainingRecipe
    tokens: int
    text: int

    def work(self) -> dict:
        """Its last loss, what it predicts of held-out articles, and the seconds of training."""
        (file, tokenizer), clock = corpus(self.text), runner.processor_clock()
        torch.manual_seed(0)
        model = checkpoints.new(self.shape)
        train = partial(pretraining.pretrain, recipe=self.recipe, compute=compute())
        history, seconds = clocks.timed(lambda: train(model, file, self.tokens), clock)
        checkpoints.save(self.folder(), model, tokenizer, card=f"{self.body}, of a study.\n")
        return {
            "loss": pretraining_runs.tail_loss(history),
            "curve": pretraining_runs.curve(history, self.recipe),
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "seconds": seconds,
            "held_out": predicted(model, tokenizer, pretraining_runs.articles(4)),
        }

    def told(self, result: dict) -> str:
        """Bits per byte."""
        return f"{result['held_out']['bits_per_byte']:.3f} bits per byte"


@dataclass(frozen=True)
class Reading(Job):
    """LM fine-tuning: a pretrained body goes on reading, the texts of a task."""

    start: Pretraining
    task: str
    tokens: int
    cut: int
    unlabelled: int
    judged: int

    def work(self) -> dict:
        """How well the task's test texts are predicted before and after; the seconds."""
        body, tokenizer = checkpoints.load(self.start.folder())
        texts = unlabelled(self.task, self.unlabelled, self.cut)
        held_out = judged(self.task, "test", self.judged, self.cut)["text"][:100]
        before = predicted(body, tokenizer, held_out)
        start, clock = Classifier(body, tokenizer, labels_of(self.task)), runner.processor_clock()
        recipe = self.start.recipe
        slower = {"learning_rate": recipe.learning_rate / 3}
        if recipe.muon_learning_rate is not None:
            slower["muon_learning_rate"] = recipe.muon_learning_rate / 3
        recipe = replace(recipe, warmup=10, **slower)
        read = partial(pretrain_on_texts, tokens=self.tokens, recipe=recipe, compute=compute())
        done, seconds = clocks.timed(lambda: read(start, texts), clock)
        checkpoints.save(self.folder(), done.body, tokenizer, card="A body of a study.\n")
        after = predicted(done.body, tokenizer, held_out)
        return {"texts": len(texts), "seconds": seconds, "before": before, "after": after}

    def told(self, result: dict) -> str:
        """Bits per byte before and after."""
        return " to ".join(f"{result[at]['bits_per_byte']:.3f}" for at in ("before", "after"))


@dataclass(frozen=True)
class Run(Job):
    """A classifier: what it starts from, how it is trained, on what it is judged."""

    start: Pretraining
    reading: Reading | None
    task: str
    row: str
    seed: int
    draw: int  # of the labels
    labels: int
    steps: int
    rate: float
    cut: int
    judged: int
    split: str = "test"

    def work(self) -> dict:
        """The texts that it gets wrong, and the seconds of its training."""
        train, held_out = questions(self)
        clock = runner.processor_clock()
        if self.row == TFIDF:
            choice = baselines.cross_validate(train["text"], train["label"])
            model = baselines.linear(choice.kind, choice.strength)
            fitted, seconds = clocks.timed(lambda: model.fit(train["text"], train["label"]), clock)
            guesses = fitted.predict(held_out["text"])
            pairs = enumerate(zip(guesses, held_out["label"], strict=True))
            return facts(
                [row for row, (guess, label) in pairs if guess != label], held_out, seconds
            )
        body, tokenizer = checkpoints.load((self.reading or self.start).folder(), compute())
        torch.manual_seed(self.seed)
        if self.row == SCRATCH:
            body = checkpoints.new(self.start.shape)
        names = labels_of(self.task)
        start = Classifier(body, tokenizer, names, pooling="concatenation")
        recipe = Recipe(1, self.rate, min_steps=self.steps)
        train_it = partial(adapt, scheme=SCHEMES[self.row], recipe=recipe, seed=self.seed)
        done, seconds = clocks.timed(
            lambda: train_it(start, train["text"], train["label"], compute=compute()), clock
        )
        found = done.probabilities(held_out["text"], compute=compute())
        return facts(misclassified(found, held_out["label"], names), held_out, seconds)


def facts(wrong: list[int], held_out: Mapping[str, list], seconds: float) -> dict:
    """What a run says; "commonest" is the error of answering the commonest label."""
    counts, of = Counter(held_out["label"]), len(held_out["label"])
    commonest = 100 * (1 - counts.most_common(1)[0][1] / of)
    return {"wrong": wrong, "of": of, "seconds": seconds, "commonest": commonest}


@dataclass(frozen=True)
class Pace(Job):
    """The processor seconds of a token of pretraining, and of a step on each task, by body."""

    lstm: LSTMConfig
    transformer: Config
    recipe: PretrainingRecipe
    labels: int
    cut: int
    text: int
    rounds: int

    def work(self) -> dict:
        """Medians over the steps of all rounds, in which the bodies take turns."""
        file, tokenizer = corpus(self.text)
        shapes = {LSTM: self.lstm, TRANSFORMER: self.transformer}
        data = {task: labelled(task, self.labels, 0, self.cut) for task in TASKS}
        stamps: dict[str, dict[str, list[float]]] = {body: defaultdict(list) for body in shapes}
        per_step = self.recipe.batch_size * self.recipe.length
        for _ in range(self.rounds):
            for body, shape in shapes.items():
                model, mine = checkpoints.new(shape), stamps[body]
                recipe = recipe_of(body, self.recipe)
                mine["pretraining"] += steps_of(
                    pretraining.pretrain, model, file, 4 * per_step, recipe=recipe
                )
                for task, rows in data.items():
                    start = Classifier(model, tokenizer, labels_of(task), pooling="concatenation")
                    few, steps = (64, 2) if task == IMDB else (self.labels, 8)
                    mine[task] += steps_of(
                        adapt, start, rows["text"][:few], rows["label"][:few],
                        scheme=SCHEMES[READ], recipe=Recipe(1, min_steps=steps),
                    )  # fmt: skip
        paces = {
            body: {what: median(seconds) for what, seconds in each.items()}
            for body, each in stamps.items()
        }
        for each in paces.values():
            each["pretraining"] /= per_step
        return {"paces": paces}

    def told(self, result: dict) -> str:
        """All of them."""
        return str(result["paces"])


def steps_of(train: Callable[..., object], *given: Any, **more: Any) -> list[float]:
    """The processor seconds of each step but the first of a training."""
    clock, stamps = runner.processor_clock(), []
    train(*given, compute=compute(), on_step=[lambda _: stamps.append(clock())], **more)
    return [after - before for before, after in pairwise(stamps)]


def compute() -> device.Compute:
    """Without compilation, which short runs do not repay."""
    return replace(device.choose(), compiles=False)


def predicted(model: Any, tokenizer: Tokenizer, texts: Sequence[str]) -> dict:
    """The bits per byte of texts, and their word perplexity."""
    found = evaluation.evaluate(model, tokenizer, texts, compute=compute())
    return {"bits_per_byte": found.bits_per_byte, "word_perplexity": found.word_perplexity}


# data


def text_name() -> str:
    """The corpus that is read."""
    return STANDIN if corpora.available()[STANDIN] else SMALLER


def corpus(tokens: int) -> tuple[TokenFile, Tokenizer]:
    """A token file of the beginning of the corpus, and the shipped vocabulary."""
    folder = runner.FOLDER / Job.study / f"corpus-{tokens}"
    known = Tokenizer.load(checkpoints.folder_of(VOCABULARY) / "tokenizer.json")
    size = known.vocabulary_size
    tokenizer = pretraining.prepare(
        folder, (text_name(),), tokens=tokens, vocabulary_size=size, tokenizer=known
    )
    return TokenFile(folder / "tokens.bin"), tokenizer


def labels_of(task: str) -> list[str]:
    """The labels of a task."""
    return list(corpora.labels_of(task))


@cache
def shipped() -> Tokenizer:
    """The vocabulary."""
    return Tokenizer.load(checkpoints.folder_of(VOCABULARY) / "tokenizer.json")


def short(rows: Any, cut: int) -> dict[str, list[str]]:
    """Texts and labels of rows, the texts cut to so many tokens."""
    ids = encode(rows["text"][:], shipped(), cut)
    return {"text": [shipped().decode(each[:-1]) for each in ids], "label": rows["label"][:]}


def train_of(task: str, split: str = "test") -> Any:
    """The rows to learn from; for TREC's "dev", those that remain."""
    data = corpora.load(task)
    return (corpora.trec_with_dev(data) if split == "dev" else data)["train"]


def labelled(task: str, count: int, draw: int, cut: int, split: str = "test") -> dict:
    """`count` rows with labels."""
    rows = train_of(task, split)
    return short(corpora.label_subset(rows, min(count, len(rows)), seed=draw), cut)


def unlabelled(task: str, count: int, cut: int) -> list[str]:
    """Training texts, of which no label is read: all questions, or so many reviews."""
    rows = train_of(task)
    if task == IMDB:
        rows = corpora.label_subset(rows, min(count, len(rows)), seed=UNLABELLED_SEED)
    return short(rows, cut)["text"]


def judged(task: str, split: str, most: int, cut: int) -> dict:
    """At most so many rows of "test", the same for every run, or TREC's "dev"."""
    data = corpora.load(task)
    rows = (corpora.trec_with_dev(data) if split == "dev" else data)[split]
    return short(corpora.label_subset(rows, most) if len(rows) > most else rows, cut)


def questions(run: Run) -> tuple[dict, dict]:
    """What a run learns from, and what it is judged on."""
    train = labelled(run.task, run.labels, run.draw, run.cut, run.split)
    return train, judged(run.task, run.split, run.judged, run.cut)


# the study


class Stages:
    """The runs of a plan, for bodies whose steps take as long as `paces` says."""

    def __init__(self, plan: Plan, paces: Mapping[str, Mapping[str, float]]):
        self.plan, self.paces = plan, paces
        self.rates: dict[tuple[str, str], float] = {}
        self.pretrained = {
            body: Pretraining(
                body,
                shape,
                recipe_of(body, plan.recipe),
                self._tokens(body, plan.pretraining),
                plan.text,
            )
            for body, shape in plan.shapes().items()
        }
        self.readings = {
            (body, task): Reading(
                start,
                task,
                self._tokens(body, seconds),
                plan.cut,
                plan.unlabelled,
                plan.judged,
            )
            for body, start in self.pretrained.items()
            for task, seconds in zip(TASKS, plan.reading, strict=False)
        }

    def _tokens(self, body: str, seconds: float) -> int:
        per_step = self.plan.recipe.batch_size * self.plan.recipe.length
        return max(1, round(seconds / self.paces[body]["pretraining"] / per_step)) * per_step

    def run(self, body: str, task: str, row: str, seed: int, **changes: Any) -> Run:
        """A run of a row; of its seconds, each body makes as many steps as it can."""
        plan = self.plan
        seconds = dict(zip(TASKS, plan.adapting, strict=False))[task]
        settings = {
            "draw": seed,
            "labels": plan.labels,
            "steps": max(1, round(changes.pop("seconds", seconds) / self.paces[body][task])),
            "rate": self.rates.get((body, row), 0.0),
            "cut": plan.cut,
            "judged": plan.judged,
        }
        reading = self.readings[body, task] if row in (READ, WHOLE) else None
        start = self.pretrained[body]
        return Run(start, reading, task, row, seed, **settings | changes)

    def searched(self) -> list[Run]:
        """A run on TREC's dev split for each body, row, rate and draw of labels."""
        return [
            self.run(body, TREC, row, seed, rate=rate, split="dev")
            for body in self.pretrained
            for row in (*ROWS, PLAIN)
            for rate in self.plan.rates
            for seed in range(self.plan.draws)
        ]

    def tables(self) -> dict[tuple[str, str, str], list[Run]]:
        """By task, body and row, the runs of its seeds."""
        rows = {}
        seeds = range(self.plan.seeds)
        for task in TASKS:
            for body in self.pretrained:
                for row in ROWS:
                    rows[task, body, row] = [self.run(body, task, row, seed) for seed in seeds]
            rows[task, "", TFIDF] = [
                self.run(LSTM, task, TFIDF, seed, steps=0, rate=0.0) for seed in seeds
            ]
        return rows

    def spread(self) -> dict[tuple[str, str], list[Run]]:
        """By body and way, runs that differ in head, dropout and order alone."""
        seconds = self.plan.spread
        return {
            (body, row): [
                self.run(body, TREC, row, seed, draw=0, seconds=seconds)
                for seed in range(self.plan.runs)
            ]
            for body, row in SPREAD
        }


def tried(searched: Sequence[Mapping]) -> list[dict]:
    """The mean error on dev of each body, row and rate."""
    errors: dict[tuple[str, str, float], list[float]] = defaultdict(list)
    for run in searched:
        errors[run["start"]["body"], run["row"], run["rate"]].append(runner.error_of(run))
    return [
        {"body": body, "row": row, "rate": rate, "dev_error": mean(found)}
        for (body, row, rate), found in errors.items()
    ]


def choose(points: Sequence[Mapping]) -> dict[tuple[str, str], float]:
    """The rate of each body and row with the fewest errors on dev; the smallest among equals."""
    by_error = sorted(points, key=lambda point: (point["dev_error"], point["rate"]), reverse=True)
    return {(point["body"], point["row"]): point["rate"] for point in by_error}


def measure() -> dict:
    """Pretraining, LM fine-tuning, the rows of both tasks, and the spread over seeds."""
    plan = PLANS[sizes.current().name]
    corpus(plan.text)  # written once, before several processes want it
    pace = Pace(
        plan.lstm, plan.transformer, plan.recipe, plan.labels, plan.cut, plan.text, plan.rounds
    )
    paces = runner.run_all([pace])[0]["paces"]
    stages = Stages(plan, paces)
    pretrained = runner.run_all(stages.pretrained.values())
    readings = runner.run_all(stages.readings.values())
    searched = runner.run_all(stages.searched())
    stages.rates = choose(points := tried(searched))
    tables, spread = stages.tables(), stages.spread()
    every = [run for runs in (*tables.values(), *spread.values()) for run in runs]
    every.sort(key=lambda run: (run.task == IMDB, run.seed))  # what takes long comes last
    found = dict(zip(every, runner.run_all(every), strict=True))
    rows = [
        {"task": task, "body": body, "row": row, "rate": runs[0].rate}
        | row_of([found[run] for run in runs])
        for (task, body, row), runs in tables.items()
    ]
    return {
        "job": Job.study,
        **runner.provenance(
            f"{text_name()}; TREC-6; IMDB, the first {plan.cut} tokens of each review",
            runs=found.values(),
            note=runner.pooled(),
        ),
        "plan": asdict(plan),
        "paces": paces,
        "pretraining": [{name: one[name] for name in PRETRAINING_FACTS} for one in pretrained],
        "readings": [
            {"body": one["start"]["body"]}
            | {name: one[name] for name in ("task", "tokens", "texts", "seconds", *READ_FACTS)}
            for one in readings
        ],
        "searched": points,
        "rows": rows,
        "comparisons": compare(rows),
        "spread": [
            {"body": body, "way": way, "rate": runs[0].rate}
            | spread_of([found[run] for run in runs])
            for (body, way), runs in spread.items()
        ],
        "published": PUBLISHED,
    }


PRETRAINING_FACTS = ("body", "tokens", "loss", "curve", "parameters", "seconds", "held_out")
READ_FACTS = ("before", "after")


def row_of(runs: Sequence[Mapping]) -> dict:
    """The errors of the seeds of a row."""
    first = runs[0]
    return {
        "seeds": [run["seed"] for run in runs],
        "labels": first["labels"],
        "steps": first["steps"],
        "of": first["of"],
        "seconds": mean(run["seconds"] for run in runs),
        **runner.spread([run["wrong"] for run in runs], first["of"]),
        "test_wrong": [run["wrong"] for run in runs],
    }


def spread_of(runs: Sequence[Mapping]) -> dict:
    """Errors over seeds, their standard deviation, and how many runs failed."""
    errors = [runner.error_of(run) for run in runs]
    commonest = runs[0]["commonest"]
    return {
        "steps": runs[0]["steps"],
        "of": runs[0]["of"],
        "seconds": mean(run["seconds"] for run in runs),
        **runner.over_seeds(errors),
        "deviation": stdev(errors),
        "commonest": commonest,
        "failed": sum(error >= commonest for error in errors),
    }


def compare(rows: Sequence[Mapping]) -> list[dict]:
    """Each row of a body against the one before, and the bodies' ULMFiT: sign-flip tests, Holm.

    The primary comparison, named beforehand, is that of the two bodies after all of ULMFiT.
    """
    by = {(row["task"], row["body"], row["row"]): row for row in rows}
    pairs = []
    for task in TASKS:
        pairs.append(((task, LSTM, WHOLE), (task, TRANSFORMER, WHOLE)))
        for body in (LSTM, TRANSFORMER):
            steps = zip(ROWS[1:], ROWS, strict=False)
            pairs += [((task, body, row), (task, body, before)) for row, before in steps]
    comparisons = []
    for one, other in pairs:
        a, b = by[one], by[other]
        result = metrics.sign_flip_test(a["test_wrong"], b["test_wrong"], a["of"])
        comparisons.append(
            {"task": one[0], "row": list(one[1:]), "against": list(other[1:])}
            | {"points": 100 * result.difference, "p": result.p_value}
        )
    runner.correct(comparisons)
    return comparisons


def section(study: Mapping[str, Any]) -> str:
    """For RESULTS.md: pretraining, a row a body and stage, and the spread over seeds."""
    by = {(row["task"], row["body"], row["row"]): row for row in study["rows"]}
    kinds = dict.fromkeys((row["body"], row["row"]) for row in study["rows"])
    rows = [
        [f"{body}, {row}" if body else row]
        + [f"{by[TREC, body, row]['rate']:g}" if body else ""]
        + [cell for task in TASKS for cell in _cells(by[task, body, row])]
        for body, row in kinds
    ]
    plan, of = study["plan"], {task: by[task, "", TFIDF]["of"] for task in TASKS}
    read = [
        f"{one['body']} ({one['parameters'] / 1e6:.2f}M parameters): "
        f"{one['tokens'] / 1e6:.2f}M tokens in {one['seconds']:,.0f} s, "
        f"{one['held_out']['bits_per_byte']:.3f} bits per byte of WikiText-103's validation"
        for one in study["pretraining"]
    ]
    spread = [
        [f"{one['body']}, {one['way']}", error_cell(one), f"{one['deviation']:.1f}"]
        + [f"{min(one['errors']):.1f}-{max(one['errors']):.1f}", str(one["failed"])]
        for one in study["spread"]
    ]
    head = ["", "rate", "TREC-6", "steps", "IMDB", "steps"]
    return markdown.section(
        "## ULMFiT, on an LSTM and on a Transformer",
        f"Test error in percent with {plan['labels']} labels, of {of[TREC]} questions and of "
        f"{of[IMDB]:,} reviews; means over {plan['seeds']} seeds with Student's intervals. Each "
        "row's learning rate was chosen on TREC's dev split. At each stage both bodies have the "
        "same processor time. "
        f"{'; '.join(read)}. {source(study, 'lesson 11b')}",
        markdown.table(head, rows),
        f"The spread over {plan['runs']} seeds of short fine-tuning on TREC-6, with the same "
        "labels. A run fails if it is no better than answering the commonest label.",
        markdown.table(["", "mean", "deviation", "range", "failed"], spread),
    )


def _cells(row: Mapping) -> list[str]:
    return [error_cell(row), f"{row['steps']}" if row["steps"] else ""]

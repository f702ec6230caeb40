"""More than TREC: two schemes and linear models on four tasks, with few labels and with many.

The rule of thumb under test: with few labels keep the body frozen, above all if the task resembles
what the body has read; with many labels move everything. How alike a task is, is measured: the nats
a token of its texts, to the pretrained body. The schemes keep the recipe of the course; what
linear models have to choose they choose by cross-validation within their labels. Finished runs are
kept in `runs/tasks/`.
"""

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from datasets import Dataset
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks import runner
from benchmarks.table import error_cell, source
from tlcourse import checkpoints, corpora, device
from tlcourse.adaptation import (
    FULL,
    SCHEMES,
    Classifier,
    Recipe,
    adapt,
    baselines,
    by_length,
    causal_nats,
    encode,
)

MODEL = "causal-small"
NAMES = ("frozen body", "full fine-tuning")
POOLED = "full fine-tuning, pooled concatenation"  # of long texts
SOLVED = "frozen body, solved"  # the head at its optimum, in place of so many steps towards it
SOLVED_STRENGTHS = (1e-4, 1e-3, 1e-2, 0.1, 1.0)  # the values of C tried for that head
TFIDF = "TF-IDF"
CUT = "TF-IDF, cut texts"  # to what the body reads at once
CUT_BODY = "full fine-tuning, cut texts"  # the same, in place of windows
SEEDS = (0, 1, 2)
JUDGED = 1_000  # texts that are judged, at most
ASKED, FIRST = 1_000, 12  # texts that the body's nats are measured on, and tokens of each
LONG = Recipe(epochs=3, batch_size=16, min_steps=100)  # for reviews, which are read in windows
SHORT = Recipe(epochs=4, min_steps=200)


@dataclass(frozen=True)
class Kind:
    """A data set as a task: the split that is judged, the columns read, numbers of labels."""

    judged: str
    columns: tuple[str, ...]
    labels: tuple[int, ...]
    recipe: Recipe


TASKS = {
    "trec": Kind("test", ("text",), (100, 2_000), SHORT),
    "sst-2": Kind("validation", ("text",), (100, 2_000), SHORT),
    "imdb": Kind("test", ("text",), (100, 2_000), LONG),
    "rte": Kind("validation", ("premise", "hypothesis"), (100, 2_000), SHORT),
}


@dataclass(frozen=True)
class Job(runner.Job):
    """One scheme on one draw of labels of one task."""

    study = "tasks"
    model = MODEL  # no field: the same for every job of this study
    task: str
    labels: int
    scheme: str
    seed: int
    recipe: Recipe

    def kind(self) -> Kind:
        """What the task is."""
        return TASKS[self.task]

    def work(self) -> dict:
        """Learns and is judged."""
        train, judged = questions(self)
        kind = self.kind()
        given = texts_of(train, kind), train["label"][:], texts_of(judged, kind)
        guessed = (_adapted if self.scheme in SCHEMES else OTHERS[self.scheme])(self, *given)
        missed = [
            row
            for row, pair in enumerate(zip(guessed, judged["label"], strict=True))
            if len(set(pair)) > 1
        ]
        return {"wrong": missed, "of": len(judged)}


def texts_of(rows: Dataset, kind: Kind) -> list:
    """The texts, or pairs of texts, of a data set's rows."""
    columns = [rows[column][:] for column in kind.columns]
    return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))


def questions(job: Job) -> tuple[Dataset, Dataset]:
    """What a run learns from, and what it is judged on, which is the same for every run."""
    data = corpora.load(job.task)
    judged = data[job.kind().judged]
    if len(judged) > JUDGED:
        judged = corpora.label_subset(judged, JUDGED, seed=0)
    return corpora.label_subset(
        data["train"], min(job.labels, len(data["train"])), seed=job.seed
    ), judged


def _adapted(job: Job, texts: list, labels: list[str], asked: list) -> list[str]:
    """A scheme; full fine-tuning for what is none, by another pooling for POOLED."""
    pooling = "concatenation" if job.scheme == POOLED else "mean"
    start = Classifier.from_checkpoint(
        job.model, sorted(set(labels)), pooling=pooling, seed=job.seed
    )
    scheme = SCHEMES.get(job.scheme, FULL)
    adapted = adapt(start, texts, labels, scheme=scheme, recipe=job.recipe, seed=job.seed)
    return adapted.predict(asked)


def _linear(job: Job, texts: list, labels: list[str], asked: list) -> list[str]:
    """TF-IDF, chosen by cross-validation within the labels; a pair is one text."""
    texts, asked = (
        [each if isinstance(each, str) else " ".join(each) for each in some]
        for some in (texts, asked)
    )
    choice = baselines.cross_validate(texts, labels)
    return list(baselines.linear(choice.kind, choice.strength).fit(texts, labels).predict(asked))


def _cut(job: Job, texts: list, labels: list[str], asked: list) -> list[str]:
    """The one or the other on the words that the body reads at once; of single texts."""
    body, tokenizer = checkpoints.load(job.model)
    texts, asked = (
        [tokenizer.decode(ids[:-1]) for ids in encode(some, tokenizer, body.config.max_length)]
        for some in (texts, asked)
    )
    return (_linear if job.scheme == CUT else _adapted)(job, texts, labels, asked)


@torch.no_grad()
def _solved(job: Job, texts: list, labels: list[str], asked: list) -> list[str]:
    """Logistic regression on the body's features, chosen by cross-validation within the labels."""
    classifier = Classifier.from_checkpoint(job.model, sorted(set(labels))).eval()
    known, new = (
        by_length(classifier.encode(some), classifier.features, pad_id=classifier.pad)
        for some in (texts, asked)
    )
    head = GridSearchCV(
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000)),
        {"logisticregression__C": SOLVED_STRENGTHS},
        cv=StratifiedKFold(5, shuffle=True, random_state=job.seed),
    )
    with warnings.catch_warnings():  # a label with fewer texts than folds is no mistake
        warnings.simplefilter("ignore", UserWarning)
        head.fit(known.cpu().numpy(), labels)
    return list(head.predict(new.cpu().numpy()))


OTHERS = {TFIDF: _linear, CUT: _cut, CUT_BODY: _cut, SOLVED: _solved, POOLED: _adapted}


@torch.no_grad()
def nats_a_token(texts: list) -> float:
    """How likely the pretrained body finds the first FIRST tokens of texts that have so many.

    The fewer nats, the more alike what it has read; by the end of longer texts it would know more.
    """
    compute = device.choose()
    body, tokenizer = checkpoints.load(MODEL, compute)
    sequences = encode(texts, tokenizer, body.config.max_length)
    tokens = torch.tensor([each[:FIRST] for each in sequences if len(each) > FIRST])
    tokens = tokens.to(compute.device)
    return causal_nats(body, tokens, torch.ones_like(tokens).bool()).item()


def likeness() -> dict[str, float]:
    """`nats_a_token` of ASKED texts of every task, and of articles as the body has read them."""
    found = {}
    for task, kind in TASKS.items():
        rows = corpora.load(task)["train"].shuffle(seed=0)
        found[task] = nats_a_token(texts_of(rows.select(range(min(ASKED, len(rows)))), kind))
    articles = list(corpora.articles(corpora.load("wikitext-103")["validation"]))
    return found | {"wikitext-103": nats_a_token(articles)}


def measure() -> dict:
    """One row for each task, number of labels and scheme."""
    asked = [
        Job(task, labels, scheme, seed, kind.recipe)
        for task, kind in TASKS.items()
        for labels in kind.labels
        for scheme in (
            *NAMES,
            SOLVED,
            TFIDF,
            *((CUT, CUT_BODY, POOLED) if kind.recipe == LONG else ()),
        )
        for seed in SEEDS
    ]
    found = runner.run_all(asked)
    return {
        "job": "tasks",
        **runner.provenance(
            "TREC test, SST-2 validation, 1,000 reviews of IMDB's test, RTE validation",
            runs=found,
            note=runner.pooled(),
        ),
        "model": MODEL,
        "nats_a_token": likeness(),
        "rows": rows_of(asked, found),
    }


def rows_of(asked: Sequence[Job], found: Sequence[dict]) -> list[dict]:
    """One row for the SEEDS of each task, number of labels and scheme, in the order of the jobs."""
    return [
        {"task": job.task, "labels": job.labels, "scheme": job.scheme, "seeds": list(SEEDS)}
        | runner.over_seeds([runner.error_of(result) for result in mine])
        | {"judged": mine[0]["of"], "recipe": asdict(job.recipe)}
        | {"wrong": [result["wrong"] for result in mine]}
        for job, mine in zip(asked[:: len(SEEDS)], runner.groups(found, len(SEEDS)), strict=True)
    ]


def section(study: dict[str, Any]) -> str:
    """For RESULTS.md: a row a way to learn, a column a task and number of labels."""
    cells = {(row["scheme"], row["task"], row["labels"]): row for row in study["rows"]}
    columns = list(dict.fromkeys((task, labels) for _, task, labels in cells))
    lines = [
        "## Other tasks",
        "",
        f"Error of {study['model']} in percent, mean over three samples of labels with 95 % "
        "interval; the body reads long texts in windows, unless they are cut to what it reads at "
        f"once. {source(study, 'lesson 06b')}",
        "",
        "| | " + " | ".join(f"{task}, {labels:,}" for task, labels in columns) + " |",
        "|---|" + "---:|" * len(columns),
    ]
    for scheme in dict.fromkeys(scheme for scheme, _, _ in cells):
        rows = [cells.get((scheme, *column)) for column in columns]
        shown = " | ".join(error_cell(row) if row else "" for row in rows)
        lines.append(f"| {scheme} | {shown} |")
    return "\n".join(lines)

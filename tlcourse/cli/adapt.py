"""Adapts a model to the texts and labels of a CSV file and saves the classifier."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tlcourse import files, signals
from tlcourse.cli.options import Option, options_of
from tlcourse.ranges import SEED
from tlcourse.recipes import Recipe
from tlcourse.wording import nearest, number_of, twin

if TYPE_CHECKING:
    from tlcourse.adaptation import Classifier, Scheme, tables
    from tlcourse.device import Compute
    from tlcourse.transformer import Transformer

LEARNT = 0.02  # nats: once the mean loss of 20 steps is below this, there is nothing left to learn


RECIPE = ("epochs", "learning_rate", "batch_size", "weight_decay")  # the fields to ask for
OWN = {"default": None, "shown": "the scheme's"}
OF_THE_ROWS = {"default": None, "shown": "the scheme's, more for few rows"}
TABLE = files.here_or_bundled
OPTIONS = [
    Option("--train", "CSV (or .tsv), UTF-8, with column names", TABLE, required=True),
    Option("--test", "rows to measure the error on; they are not learnt", TABLE),
    Option("--out", "new folder for the classifier", Path, required=True),
    Option("--text", "column of the texts", default="text", metavar="COLUMN"),
    Option("--pair", "column of the second texts, for pairs of sentences", metavar="COLUMN"),
    Option("--label", "column of labels", default="label", metavar="COLUMN"),
    Option(
        "--model",
        "a shipped name, a released one such as all-MiniLM-L6-v2, or a folder of either kind",
        default="causal-small",
    ),
    Option("--scheme", "such as lora; a wrong one lists all", default="full-fine-tuning"),
    Option("--pooling", "such as last-token; a wrong one lists all", default="mean"),
    *options_of(Recipe, RECIPE, **dict.fromkeys(RECIPE, OWN) | {"epochs": OF_THE_ROWS}),
    Option("--seed", "of head, batches and dropout", SEED, default=0),
]


def run(arguments: SimpleNamespace) -> int:
    """Adapts a model to a file and saves it; whatever is wrong is told before the training."""
    out = arguments.out.absolute()
    files.refuse_occupied(arguments.out)  # before PyTorch is imported, which takes seconds
    busy = (
        f"expected one command at a time to write {arguments.out}, but another one is running; "
        "wait until it has finished, or give another --out"
    )
    with files.locked(out.with_name(f".{out.name}.lock"), busy):
        return _run(arguments)


def _run(arguments: SimpleNamespace) -> int:
    """What `run` does, once no other command can write the same folder."""
    import torch

    from tlcourse import checkpoints, device
    from tlcourse.adaptation import POOLINGS, SCHEMES, Classifier, serialization, validation

    signals.check()
    scheme = SCHEMES[name_typed_as(arguments.scheme, SCHEMES, "scheme")]
    pooling = name_typed_as(arguments.pooling, POOLINGS, "pooling")
    columns = _columns(arguments)
    train, test = _read(arguments, columns)
    released = checkpoints.is_released(arguments.model)
    recipe = _recipe(arguments, scheme, len(train.texts), released=released)
    labels = list(train.counts)
    compute, base = device.choose(), checkpoints.name_of(arguments.model)
    body, tokenizer = checkpoints.load(arguments.model, compute)
    _refuse_two_sided(scheme, body, base)
    torch.manual_seed(arguments.seed)
    start = Classifier(body, tokenizer, labels, pooling=pooling)
    for examples in filter(None, (train, test)):
        _say(validation.long_texts(start, examples.texts, examples.path.name))
    print(f"{scheme.name} of {base} on {device.describe(compute)}")
    adapted = _adapt(start, train, scheme, recipe, arguments.seed, compute)
    signals.check()
    about: dict[str, Any] = {
        "columns": asdict(columns),
        "base_model": base,
        "recipe": asdict(recipe),
        "seed": arguments.seed,
        "train": _errors(adapted, train, compute) | {"labels": train.counts},
    }
    print(f"training error: {serialization.in_words(about['train'])}")
    _say(_not_learnt(len(about["train"]["wrong"]), len(train.texts), train.counts))
    if test is None:
        print("no --test: how often it is wrong on other texts is not known")
    else:
        about["test"] = _tested(adapted, train, test, compute)
    _say_where(arguments.out, adapted.save(arguments.out, about=about))
    return 0


def left(arguments: SimpleNamespace) -> str:
    """What there is when it was stopped: the folder is written whole or not at all."""
    saved = (arguments.out / "classifier.json").exists()
    return f"the classifier is saved in {arguments.out}" if saved else "nothing was written"


def typed(name: str) -> str:
    """A name as it is typed on a command line: "LoRA, all layers" is lora-all-layers."""
    return name.lower().replace(",", "").replace(" ", "-")


def name_typed_as(asked: str, names: Iterable[str], what: str) -> str:
    """The one of `names` that is typed as `asked`; raises ValueError that lists them."""
    by_typed = {typed(name): name for name in names}
    if typed(asked) not in by_typed:
        near = nearest(typed(asked), by_typed)
        raise ValueError(f"expected a {what} out of {', '.join(by_typed)}, got {asked!r}{near}")
    return by_typed[typed(asked)]


def _recipe(arguments: SimpleNamespace, scheme: Scheme, rows: int, *, released: bool) -> Recipe:
    """The scheme's, with what is asked for in its place.

    Epochs that are asked for are those that are run: a file of few rows gets no more of them. A
    learning rate that is asked for is the head's, too, times its factor.
    """
    from tlcourse.adaptation import preset

    asked: dict[str, Any] = {name: getattr(arguments, name) for name in RECIPE}
    asked = {name: value for name, value in asked.items() if value is not None}
    if "epochs" in asked:
        asked |= {"min_steps": 0, "stop_below": None}
    if "learning_rate" in asked:
        asked["head_learning_rate"] = None
    return replace(preset(scheme, rows, released=released), **{"stop_below": LEARNT} | asked)


def _columns(arguments: SimpleNamespace) -> tables.Columns:
    from tlcourse.adaptation import tables

    columns = tables.Columns(arguments.text, arguments.pair, arguments.label)
    if len(set(asdict(columns).values())) < 3:
        raise ValueError(
            "expected different columns for --text, --pair and --label, got "
            f"{', '.join(name for name in asdict(columns).values() if name)}"
        )
    return columns


def _read(
    arguments: SimpleNamespace, columns: tables.Columns
) -> tuple[tables.Examples, tables.Examples | None]:
    """What is learnt and what is tested; says what is in there, and what is odd."""
    from tlcourse.adaptation import tables, validation

    tables_read = {}
    for path in filter(None, (arguments.train, arguments.test)):
        tables_read[path] = tables.read(path)
        _refuse_other_columns(tables_read[path], columns)
    train, test = tables.examples(tables_read[arguments.train], columns), None
    _refuse_single_texts(train.counts, columns)
    odd = [*validation.odd_labels(train.counts), *validation.contradictions(train)]
    if arguments.test is not None:
        test = tables.examples(tables_read[arguments.test], columns, list(train.counts))
    listed = ", ".join(f"{name} {count}" for name, count in train.counts.items())
    print(f"{len(train.texts)} rows, {len(train.counts)} labels: {listed}")
    _say(odd)
    return train, test


def _refuse_other_columns(table: tables.Table, columns: tables.Columns) -> None:
    """Raises ValueError for a column that a table lacks; it says how its own one is named."""
    asked = {"--text": columns.text, "--pair": columns.pair, "--label": columns.label}
    others = [name for name in table.columns if name not in asked.values()]
    for option, name in asked.items():
        if name is None or name in table.columns:
            continue
        alike = twin(name, table.columns)
        yours = f" {shlex.quote(others[0])}" if len(others) == 1 else nearest(name, others)
        raise ValueError(
            f"expected a column {name!r} in {table.path}, got {', '.join(table.columns)}"
            + (
                f"{alike}; retype that name in its first line"
                if alike
                else f"; its first line has to name the columns; name yours with {option}{yours}"
            )
        )


def _refuse_two_sided(scheme: Scheme, body: Transformer, base: str) -> None:
    """Raises ValueError for a scheme that foretells the next word, of a model that sees it."""
    from tlcourse.adaptation import LanguageModelling

    if isinstance(scheme.extra_loss, LanguageModelling) and not body.config.causal:
        raise ValueError(
            f"expected a causal model for the scheme {scheme.name}, which foretells the next word, "
            f"got {base}, which sees it; give --model causal-small, or another --scheme"
        )


def _refuse_single_texts(counts: Mapping[str, int], columns: tables.Columns) -> None:
    """Raises ValueError if no label has more than one text."""
    if max(counts.values()) == 1:
        raise ValueError(
            f"expected labels with several texts in column {columns.label!r}, got {len(counts)} "
            f"labels with one text each; is {columns.label!r} the column of the labels (--label), "
            f"and {columns.text!r} that of the texts (--text)?"
        )


def _not_learnt(wrong: int, rows: int, counts: Mapping[str, int]) -> Iterator[str]:
    """A line for a model that gets half as much of its training texts wrong as a constant does."""
    if 2 * wrong > rows - max(counts.values()):
        yield (
            f"it has not learnt its training texts yet ({100 * wrong / rows:.1f} % of them wrong): "
            "give more --epochs"
        )


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)


def _adapt(
    start: Classifier,
    train: tables.Examples,
    scheme: Scheme,
    recipe: Recipe,
    seed: int,
    compute: Compute,
) -> Classifier:
    """Trains with a progress bar and says how it went."""
    from tqdm import tqdm

    from tlcourse.adaptation import adapt

    steps = recipe.steps(len(train.texts))
    with tqdm(total=steps, unit="step") as bar:

        def show(record: dict) -> None:
            bar.set_postfix_str(f"loss {record['loss']:.3f}", refresh=False)
            bar.update()

        adapted = adapt(
            start,
            train.texts,
            train.labels,
            scheme=scheme,
            recipe=recipe,
            seed=seed,
            compute=compute,
            on_step=[show],
        )
    _say_how_it_went(adapted, steps)
    return adapted


def _say_how_it_went(adapted: Classifier, steps: int) -> None:
    """Prints how many of the steps it took, and what moved."""
    from tlcourse.adaptation import Unchanged

    report = adapted.report
    assert report is not None  # `adapt` has just written it
    if len(report.history) < steps:
        print(
            f"ended after {len(report.history)} of {number_of(steps, 'step')}: the texts are "
            f"learnt (mean loss of the last 20 steps below {LEARNT:g})"
        )
    share = 100 * report.trained / report.parameters
    print(
        f"moved: {report.trained:,} of {report.parameters:,} parameters ({share:.3g} %), in "
        f"{number_of(len(report.history), 'step')} and {report.seconds:.0f} s"
    )
    if adapted.edit != Unchanged():
        print(
            "before training, what the scheme adds changed the scores of the labels by at most "
            f"{report.start_difference:.2g}"
        )


def _errors(classifier: Classifier, examples: tables.Examples, compute: Compute) -> dict[str, Any]:
    """The name of a file, how many rows it has, and the lines of those that went wrong."""
    from tlcourse.adaptation import wrong

    try:
        probabilities = classifier.probabilities(examples.texts, compute=compute)
    except FloatingPointError:
        raise FloatingPointError(
            "expected probabilities of the adapted model, got NaN: its last step went too far; "
            "give a lower --learning-rate"
        ) from None
    rows = wrong(probabilities, examples.labels, classifier.labels)
    lines = [examples.lines[row] for row in rows]
    return {"file": examples.path.name, "rows": len(examples.texts), "wrong": lines}


def _tested(
    classifier: Classifier, train: tables.Examples, test: tables.Examples, compute: Compute
) -> dict[str, Any]:
    """The errors on texts that were not learnt; says them, beside what is simpler."""
    from tlcourse.adaptation import comparing, serialization, validation
    from tlcourse.metrics import wilson_interval

    _say(validation.repeated(train, test))
    found = _errors(classifier, test, compute)
    found["interval"] = wilson_interval(len(found["wrong"]), found["rows"])
    print(f"test error: {serialization.in_words(found)}")
    for line in comparing.with_simpler(train, test, found["wrong"]):
        print(line)
    return found


def _say_where(folder: Path, record: dict[str, Any]) -> None:
    if record["precision"] != "float32":
        print("the weights are kept in half precision: in float32 the file would be too large")
    pair = record["columns"]["pair"]
    texts = '"a first text" "and its second"' if pair else '"a text"'
    print(f"saved in {folder}; next: tlcourse predict {shlex.quote(str(folder))} {texts}")

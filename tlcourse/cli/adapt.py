"""Adapts a model to a file of texts and labels, or to another task, and saves it."""

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
    from tlcourse.adaptation import Classifier, Scheme, TaskModel, tables, tasks
    from tlcourse.checkpoints import Body
    from tlcourse.device import Compute

LEARNT = 0.02  # nats: once the mean loss of 20 steps is below this, there is nothing left to learn
RECIPE = ("epochs", "learning_rate", "batch_size", "weight_decay")  # the fields to ask for
OWN = {"default": None, "shown": "the scheme's"}
OF_THE_ROWS = {"default": None, "shown": "the scheme's, more for few rows"}
TABLE = files.here_or_bundled
LABELS = "labels"  # the task of a classifier
OPTIONS = [
    Option("--train", "CSV (or .tsv), UTF-8, with column names; see --task", TABLE, required=True),
    Option("--test", "file of rows to test on; they are not used for training", TABLE),
    Option("--out", "new folder for the classifier", Path, required=True),
    Option(
        "--task",
        "labels of texts; tags of words (CoNLL: a word and its tag a line); spans that answer "
        "questions (SQuAD's JSON); pairs, a number for each (CSV); embeddings, the same with each "
        "text read alone; choice (CSV with choice1, …)",
        (LABELS, "tags", "spans", "pairs", "embeddings", "choice"),
        default=LABELS,
    ),
    Option("--text", "column with the texts", default="text", metavar="COLUMN"),
    Option("--pair", "column with the second texts, for pairs of sentences", metavar="COLUMN"),
    Option("--label", "column with the labels", default="label", metavar="COLUMN"),
    Option(
        "--model",
        "a shipped name, a released one such as all-MiniLM-L6-v2, or a folder of either kind",
        default="causal-small",
    ),
    Option("--scheme", "such as lora; an unknown name lists all", default="full-fine-tuning"),
    Option("--pooling", "such as last-token; an unknown name lists all", default="mean"),
    *options_of(Recipe, RECIPE, **dict.fromkeys(RECIPE, OWN) | {"epochs": OF_THE_ROWS}),
    Option("--seed", "for the head, the batches and dropout", SEED, default=0),
]


def run(arguments: SimpleNamespace) -> int:
    """Adapts a model to a file and saves it; bad input is refused before the training."""
    out = arguments.out.absolute()
    files.refuse_occupied(arguments.out)  # before PyTorch is imported, which takes seconds
    busy = (
        f"expected one command at a time to write {arguments.out}, but another one is running; "
        "wait until it has finished, or give another --out"
    )
    with files.locked(out.with_name(f".{out.name}.lock"), busy):
        return (_run if arguments.task == LABELS else _run_task)(arguments)


def _run_task(arguments: SimpleNamespace) -> int:
    """Does the work of `run` for a task other than labels."""
    import torch

    from tlcourse import checkpoints, device
    from tlcourse.adaptation import POOLINGS, SCHEMES, tables, tasks

    signals.check()
    task = tasks.TASKS[arguments.task]
    scheme = SCHEMES[name_typed_as(arguments.scheme, SCHEMES, "scheme")]
    columns = tables.Columns(arguments.text, arguments.pair, arguments.label)
    train = task.read(arguments.train, columns)
    test = None if arguments.test is None else task.read(arguments.test, columns)
    print(f"{number_of(len(train.texts), 'row')} in {train.path.name}")
    options = task.options(train)
    if "pooling" in task.model.SETTINGS:
        options["pooling"] = name_typed_as(arguments.pooling, POOLINGS, "pooling")
    compute, base = device.choose(), checkpoints.name_of(arguments.model)
    body, tokenizer = checkpoints.load(arguments.model, compute)
    _refuse_two_sided(scheme, body, base)
    released = checkpoints.is_released(arguments.model)
    recipe = _recipe(arguments, scheme, len(train.texts), released=released)
    torch.manual_seed(arguments.seed)
    start = task.model(body, tokenizer, **options)
    print(f"{scheme.name} of {base} on {device.describe(compute)}")
    how: dict[str, Any] = {"scheme": scheme, "recipe": recipe, "seed": arguments.seed}
    adapted = _adapt(start, train.texts, train.answers, how | {"compute": compute})
    signals.check()
    about: dict[str, Any] = {"base_model": base, "recipe": asdict(recipe), "seed": arguments.seed}
    for name, rows in (("train", train), ("test", test)):
        if rows is not None:
            about[name] = _scored(adapted, name, rows, task, compute)
    if test is None:
        print("there is no --test file, so nothing is known about new texts")
    adapted.save(arguments.out, about=about)
    print(f"saved in {arguments.out}; next: tlcourse predict {shlex.quote(str(arguments.out))} …")
    return 0


def _scored(
    model: TaskModel, name: str, rows: tasks.Rows, task: tasks.Task, compute: Compute
) -> dict[str, Any]:
    """Returns the name of a file, its number of rows and the scores on it, which are printed."""
    from tlcourse.adaptation import serialization

    scored = {"file": rows.path.name, "rows": len(rows.texts)}
    scored["scores"] = task.score(model, rows, compute)
    print(f"{name}: {serialization.scores_in_words(scored)}")
    return scored


def _run(arguments: SimpleNamespace) -> int:
    """Does the work of `run` while no other command can write the same folder."""
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
    how: dict[str, Any] = {"scheme": scheme, "recipe": recipe, "seed": arguments.seed}
    adapted = _adapt(start, train.texts, train.labels, how | {"compute": compute})
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
        print("there is no --test file, so the error on new texts is unknown")
    else:
        about["test"] = _tested(adapted, train, test, compute)
    _say_where(arguments.out, adapted.save(arguments.out, about=about))
    return 0


def left(arguments: SimpleNamespace) -> str:
    """Returns what is left behind when stopped: the folder is written whole or not at all."""
    saved = (arguments.out / "classifier.json").exists()
    return f"the classifier is saved in {arguments.out}" if saved else "nothing was written"


def typed(name: str) -> str:
    """Returns a name as it is typed on a command line: lora-all-layers for "LoRA, all layers"."""
    return name.lower().replace(",", "").replace(" ", "-")


def name_typed_as(word: str, names: Iterable[str], what: str) -> str:
    """Returns the name that is typed as `word`; raises ValueError that lists the names."""
    by_typed = {typed(name): name for name in names}
    if typed(word) not in by_typed:
        near = nearest(typed(word), by_typed)
        raise ValueError(f"expected a {what} out of {', '.join(by_typed)}, got {word!r}{near}")
    return by_typed[typed(word)]


def _recipe(arguments: SimpleNamespace, scheme: Scheme, rows: int, *, released: bool) -> Recipe:
    """Returns the scheme's recipe with the values that the options give.

    If --epochs is given, a file of few rows gets no further epochs. If --learning-rate is given, it
    applies to the head, too, times its factor.
    """
    from tlcourse.adaptation import preset

    options: dict[str, Any] = {name: getattr(arguments, name) for name in RECIPE}
    given = {name: value for name, value in options.items() if value is not None}
    if "epochs" in given:
        given |= {"min_steps": 0, "stop_below": None}
    if "learning_rate" in given:
        given["head_learning_rate"] = None
    return replace(preset(scheme, rows, released=released), **{"stop_below": LEARNT} | given)


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
    """Returns training and test examples; prints a summary, and what may be a mistake."""
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
    """Raises ValueError for a missing column; the message says how to name the table's own."""
    expected = {"--text": columns.text, "--pair": columns.pair, "--label": columns.label}
    others = [name for name in table.columns if name not in expected.values()]
    for option, name in expected.items():
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


def _refuse_two_sided(scheme: Scheme, body: Body, base: str) -> None:
    """Raises ValueError if the scheme predicts the next word and the model is not causal."""
    from tlcourse.adaptation import LanguageModelling

    if isinstance(scheme.extra_loss, LanguageModelling) and not body.config.causal:
        raise ValueError(
            f"expected a causal model for the scheme {scheme.name}, which predicts the next word, "
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
    """Yields a line if the training error is more than half of that of the commonest label."""
    if 2 * wrong > rows - max(counts.values()):
        yield (
            f"it still gets {100 * wrong / rows:.1f} % of its training texts wrong: train for more "
            "--epochs"
        )


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)


def _adapt(start: Any, texts: list, labels: list, how: dict[str, Any]) -> Any:
    """Returns the adapted model; shows a progress bar and prints a summary.

    `how` are the options of `adapt`.
    """
    from tqdm import tqdm

    from tlcourse.adaptation import adapt

    steps = how["recipe"].steps(len(start.examples(texts, labels)[0]))
    with tqdm(total=steps, unit="step") as bar:

        def show(record: dict) -> None:
            bar.set_postfix_str(f"loss {record['loss']:.3f}", refresh=False)
            bar.update()

        adapted = adapt(start, texts, labels, on_step=[show], **how)
    _say_how_it_went(adapted, steps)
    return adapted


def _say_how_it_went(adapted: TaskModel, steps: int) -> None:
    """Prints the number of steps, and of the parameters that were trained."""
    from tlcourse.adaptation import Unchanged

    report = adapted.report
    assert report is not None  # `adapt` has just written it
    if len(report.history) < steps:
        print(
            f"stopped after {len(report.history)} of {number_of(steps, 'step')}, because the texts "
            f"are learned (mean loss of the last 20 steps below {LEARNT:g})"
        )
    share = 100 * report.trained / report.parameters
    print(
        f"trained {report.trained:,} of {report.parameters:,} parameters ({share:.3g} %) in "
        f"{number_of(len(report.history), 'step')} and {report.seconds:.0f} s"
    )
    if adapted.edit != Unchanged():
        print(
            "before training, the parts that the scheme adds changed the label scores by at most "
            f"{report.start_difference:.2g}"
        )


def _errors(classifier: Classifier, examples: tables.Examples, compute: Compute) -> dict[str, Any]:
    """Returns the name of a file, its number of rows, and the lines that were misclassified."""
    from tlcourse.adaptation import misclassified

    try:
        probabilities = classifier.probabilities(examples.texts, compute=compute)
    except FloatingPointError:
        raise FloatingPointError(
            "expected probabilities of the adapted model, got NaN: its last step went too far; "
            "give a lower --learning-rate"
        ) from None
    rows = misclassified(probabilities, examples.labels, classifier.labels)
    lines = [examples.lines[row] for row in rows]
    return {"file": examples.path.name, "rows": len(examples.texts), "wrong": lines}


def _tested(
    classifier: Classifier, train: tables.Examples, test: tables.Examples, compute: Compute
) -> dict[str, Any]:
    """Returns the errors on the test texts; prints them beside those of simpler classifiers."""
    from tlcourse.adaptation import comparing, serialization, validation
    from tlcourse.metrics import wilson_interval

    _say(validation.repeated(train, test))
    errors = _errors(classifier, test, compute)
    errors["interval"] = wilson_interval(len(errors["wrong"]), errors["rows"])
    print(f"test error: {serialization.in_words(errors)}")
    _say(comparing.with_simpler(train, test, errors["wrong"]))
    return errors


def _say_where(folder: Path, record: dict[str, Any]) -> None:
    if record["precision"] != "float32":
        print(
            "the weights are saved in half precision, because in float32 the file would be too "
            "large"
        )
    pair = record["columns"]["pair"]
    texts = '"a first text" "and its second"' if pair else '"a text"'
    print(f"saved in {folder}; next: tlcourse predict {shlex.quote(str(folder))} {texts}")

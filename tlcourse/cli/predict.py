"""Predicts labels with probabilities, tags, answers or numbers, by a saved model."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from tlcourse import files
from tlcourse.cli.options import Argument, Option

if TYPE_CHECKING:
    from torch import Tensor

    from tlcourse.adaptation import Classifier, tables, tasks
    from tlcourse.adaptation.examples import Text
    from tlcourse.device import Compute


OPTIONS = [
    Argument("folder", "what `tlcourse adapt` wrote", Path),
    Argument(
        "texts",
        "one or more texts, each in quotes, or two texts for each pair; without any, one text per "
        "line is read from standard input, with a tab between the two texts of a pair",
        nargs=-1,
    ),
    Option("--csv", "file with the same columns as the training file", files.here_or_bundled),
    Option("--out", "new file for the rows of --csv with label and probabilities", Path),
]
BEHIND = "a text that begins with a minus"


def run(arguments: SimpleNamespace) -> int:
    """Prints the label and the probabilities of texts, or writes them beside a file's columns."""
    _refuse(arguments)
    from tlcourse import device
    from tlcourse.adaptation import Classifier, serialization, tables, tasks

    compute = device.choose()
    record = serialization.record_of(arguments.folder)
    if (name := record.get("task", Classifier.task)) in tasks.TASKS:
        return _other_task(arguments, tasks.TASKS[name], compute)
    classifier = Classifier.load(arguments.folder, compute=compute)
    columns = _columns(classifier, arguments.folder)
    table = None if arguments.csv is None else tables.read(arguments.csv)
    if table is None:
        texts = _texts(arguments.texts, columns.pair is not None)
    else:
        texts = tables.texts(table, columns)
    _warn(classifier, texts)
    probabilities = classifier.probabilities(texts, compute=compute)
    if table is None:
        for text, row in zip(texts, probabilities, strict=True):
            print(_line(text, classifier.labels, row))
        return 0
    rows, out = tables.with_predictions(table, classifier.labels, probabilities), arguments.out
    content = tables.lines(rows, table.path if out is None else out)
    if out is None:
        sys.stdout.write(content)
    else:
        files.write_text(out, content)
        print(f"{len(rows) - 1} rows written to {out}")
    return 0


def _other_task(arguments: SimpleNamespace, task: tasks.Task, compute: Compute) -> int:
    """Prints what a model for another task than labels predicts for the texts."""
    if arguments.csv is not None:
        raise ValueError(f"expected texts for a model of {task.model.task}, got --csv; type them")
    texts = task.asked(arguments.texts or [line.strip() for line in _lines() if line.strip()])
    model = task.model.load(arguments.folder, compute=compute)
    print("\n".join(task.shown(model, texts, compute)))
    return 0


def left(arguments: SimpleNamespace) -> str:
    """Returns what is left behind when stopped: the file is written whole or not at all."""
    written = arguments.out is not None and arguments.out.exists()
    return f"the rows are written to {arguments.out}" if written else "nothing was written"


def _refuse(arguments: SimpleNamespace) -> None:
    """Raises ValueError for words that do not go together, before anything slow."""
    if arguments.csv is not None and arguments.texts:
        raise ValueError("expected texts or --csv, got both; give one of them")
    if arguments.out is not None and arguments.csv is None:
        raise ValueError("expected --csv with --out; other texts are only printed")
    if arguments.out is not None and arguments.out.exists():
        raise ValueError(
            f"expected a new file, but {arguments.out} is there already; give another name or "
            "remove it"
        )
    if arguments.out is not None:
        files.refuse_unwritable(arguments.out.parent, "a folder", "give another place")
    if arguments.csv is None and not arguments.texts and sys.stdin.isatty():
        raise ValueError(
            'expected "a text" behind the folder, --csv FILE, or lines on the standard input, '
            "got nothing"
        )


def _columns(classifier: Classifier, folder: Path) -> tables.Columns:
    """Returns the columns that a classifier learnt from; the defaults if it names none."""
    from tlcourse.adaptation import tables

    try:
        return tables.Columns(**classifier.about.get("columns", {}))
    except TypeError as error:
        raise ValueError(
            f"expected columns text, pair and label in the record of {folder}, but {error!r}; was "
            "it written by another version?"
        ) from None


def _texts(given: Sequence[str], pairs: bool) -> list[Text]:
    """Returns the texts of the command line, else the non-empty lines of the standard input."""
    for number, text in enumerate(given, start=1):
        if not text.strip():
            raise ValueError(f"expected texts behind the folder, but number {number} is empty")
    if given and pairs:
        if len(given) % 2:
            raise ValueError(f"expected two texts for each pair, got {len(given)}")
        return list(zip(given[::2], given[1::2], strict=True))
    texts: list[Text] = list(given)
    for number, line in enumerate([] if given else _lines(), start=1):
        if not line.strip():
            continue
        text = line.rstrip("\n")
        parts = text.split("\t")
        if pairs and len(parts) != 2:
            raise ValueError(
                f"expected two texts with a tab between them in line {number} of the standard "
                f"input, got {line.rstrip()!r}"
            )
        texts.append((parts[0], parts[1]) if pairs else text)
    if not texts:
        raise ValueError("expected a text a line on the standard input, got none")
    return texts


def _lines() -> list[str]:
    """Returns the lines of the standard input: UTF-8 in any locale, without byte order mark."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8-sig", errors="strict")
    try:
        return list(sys.stdin)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"expected UTF-8 on the standard input, got the byte {error.object[error.start]:#04x} "
            f"({error.reason}); write your texts as UTF-8"
        ) from None


def _warn(classifier: Classifier, texts: Sequence[Text]) -> None:
    """Prints, on the error stream, how long texts are read."""
    from tlcourse.adaptation import validation

    for line in validation.long_texts(classifier, texts):
        print(line, file=sys.stderr)


def _line(text: Text, labels: Sequence[str], probabilities: Tensor) -> str:
    """Returns label, probabilities (the likeliest first) and text, separated by tabs."""
    order = probabilities.argsort(descending=True).tolist()
    listed = ", ".join(f"{labels[place]} {probabilities[place].item():.3f}" for place in order)
    shown = text if isinstance(text, str) else " | ".join(text)
    return f"{labels[order[0]]}\t{listed}\t{' '.join(shown.split())}"

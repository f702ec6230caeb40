"""The command `tlcourse predict`: labels and probabilities of texts, from a saved classifier."""

import argparse
import csv
import io
import sys
from collections.abc import Sequence
from pathlib import Path

from torch import Tensor

from tlcourse import device, files
from tlcourse.adaptation import saved, tables
from tlcourse.adaptation.classifier import Text, predict


def run(arguments: argparse.Namespace) -> int:
    """Prints the label and the probabilities of texts, or writes them beside a file's columns."""
    if arguments.csv is not None and arguments.texts:
        raise ValueError("expected texts or --csv, got both; give one of them")
    if arguments.out is not None and arguments.csv is None:
        raise ValueError("expected --csv with --out; other texts are only printed")
    if arguments.out is not None and arguments.out.exists():
        raise ValueError(
            f"expected a new file, but {arguments.out} is there already; give another name or "
            "remove it"
        )
    if arguments.csv is None and not arguments.texts and sys.stdin.isatty():
        raise ValueError(
            'expected "a text" behind the folder, --csv FILE, or lines on the standard input, '
            "got nothing"
        )
    compute = device.choose()
    found = saved.load(arguments.folder, compute)
    if arguments.csv is not None:
        table = tables.read(arguments.csv)
        chances = _chances(found, tables.texts(table, found.columns), compute)
        _write(_beside(table, found.classifier.labels, chances), table.path, arguments.out)
        return 0
    texts = _texts(arguments.texts, found.columns.pair is not None)
    for text, row in zip(texts, _chances(found, texts, compute), strict=True):
        print(_line(text, found.classifier.labels, row))
    return 0


def _chances(found: saved.Saved, texts: Sequence[Text], compute: device.Compute) -> Tensor:
    return predict(found.classifier, found.tokenizer, texts, compute)


def _texts(given: Sequence[str], pairs: bool) -> list[Text]:
    """The texts of the command line, else the lines of the standard input, empty ones left out."""
    for number, text in enumerate(given, start=1):
        if not text.strip():
            raise ValueError(f"expected texts behind the folder, but number {number} is empty")
    if given and pairs:
        if len(given) % 2:
            raise ValueError(f"expected two texts for each pair, got {len(given)}")
        return list(zip(given[::2], given[1::2], strict=True))
    texts: list[Text] = list(given)
    for number, line in enumerate([] if given else sys.stdin, start=1):
        if not line.strip():
            continue
        parts = tuple(line.rstrip("\n").split("\t"))
        if pairs and len(parts) != 2:
            raise ValueError(
                f"expected two texts with a tab between them in line {number} of the standard "
                f"input, got {line.rstrip()!r}"
            )
        texts.append(parts if pairs else line.rstrip("\n"))
    if not texts:
        raise ValueError("expected a text a line on the standard input, got none")
    return texts


def _line(text: Text, labels: Sequence[str], chances: Tensor) -> str:
    """Label, probabilities (the likeliest first) and text, with tabs between them."""
    order = chances.argsort(descending=True).tolist()
    listed = ", ".join(f"{labels[place]} {chances[place].item():.3f}" for place in order)
    shown = text if isinstance(text, str) else " | ".join(text)
    return f"{labels[order[0]]}\t{listed}\t{' '.join(shown.split())}"


def _beside(table: tables.Table, labels: Sequence[str], chances: Tensor) -> list[list[str]]:
    """The rows of a table, names first, with label and probabilities behind their own columns."""
    new = ["predicted", *(f"probability of {label}" for label in labels)]
    there = sorted(set(new) & set(table.columns))
    if there:
        raise ValueError(
            f"expected no column {there[0]!r} in {table.path}, where the predictions shall stand; "
            "rename it"
        )
    rows = [[*table.columns, *new]]
    for fields, row in zip(table.rows, chances, strict=True):
        label = labels[int(row.argmax())]
        rows.append([*fields, label, *(f"{chance:.6f}" for chance in row.tolist())])
    return rows


def _write(rows: list[list[str]], source: Path, out: Path | None) -> None:
    """Writes rows to a new file, or to the standard output with the separator of the source."""
    text = io.StringIO()
    delimiter = tables.separator(source if out is None else out)
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    if out is None:
        sys.stdout.write(text.getvalue())
    else:
        files.write_text(out, text.getvalue())
        print(f"{len(rows) - 1} rows written to {out}")

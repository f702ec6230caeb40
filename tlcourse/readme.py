"""For maintainers: the README's tables and pictures (`python -m tlcourse.readme`)."""

import base64
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

from tlcourse import files, first_cell, lessons, running

TRANSFER = "benchmarks/results/transfer.json"
PICTURES = "notebooks/pictures"
TAG = "readme"  # on the lessons' cells whose figure the README shows


def lessons_table(logs: dict[str, Any]) -> str:
    """One row a lesson: title, measured minutes, badge."""
    rows = ["| lesson | minutes | |", "|---|---:|---|"]
    for lesson in lessons.every():
        minutes = logs.get(lesson.number, {}).get("minutes", "not measured yet")
        link = f"[{lesson.title}](notebooks/{lesson.path.name})"
        rows.append(f"| {link} | {minutes} | {first_cell.badge(lesson.path.name)} |")
    rows.append("\nMinutes at size `small` on two CPU cores without bf16, as the run's log says.")
    return "\n".join(rows)


def results_section(transfer: dict[str, Any]) -> str:
    """What transfer brings on TREC: a row for each model, a column for each number of labels.

    `transfer` is what `python -m benchmarks transfer` wrote; errors are in percent.
    """
    cells = {
        (row["model"], row["labels"]): "{:.1f} ({:.1f}-{:.1f})".format(
            row["mean"], *row["interval"]
        )
        for row in transfer["rows"]
    }
    columns = sorted({labels for _, labels in cells})
    lines = [
        "## Results",
        "",
        "Does pretraining help, and does it beat word counts? The shipped models, fine-tuned whole,"
        " beside the same network from scratch and linear models on TF-IDF (how: "
        "`python -m benchmarks transfer`; what the models are: their cards in "
        "[data/checkpoints](data/checkpoints)).",
        "",
        f"Test error in percent. {transfer['data']}; {transfer['machine']}.",
        "",
        "| | " + " | ".join(f"{labels:,} labels" for labels in columns) + " |",
        "|---|" + "---:|" * len(columns),
    ]
    for model in dict.fromkeys(model for model, _ in cells):
        errors = " | ".join(cells.get((model, labels), "") for labels in columns)
        lines.append(f"| {model} | {errors} |")
    return "\n".join([*lines, "", transfer["note"]])


@dataclass(frozen=True)
class Figure:
    """A lesson's figure for the README: file name, alt text, PNG."""

    name: str
    alt: str
    png: bytes


def figures() -> Iterable[Figure]:
    """The figures that the committed lessons show in cells tagged `readme`, in their order."""
    for lesson in lessons.every():
        cells = nbformat.read(lesson.path, as_version=4).cells
        for cell in (each for each in cells if TAG in each.metadata.get("tags", ())):
            for output in cell.outputs:
                data = output.get("data", {})
                if "image/png" in data:
                    png = base64.b64decode(data["image/png"])
                    alt = " ".join(data["text/plain"].removeprefix("Figure: ").split())
                    yield Figure(f"{lesson.number}_{cell.id}.png", alt.strip("'"), png)


def pictures_section(shown: Iterable[Figure]) -> str:
    """The figures, one below the other, with their alt texts."""
    images = (
        f"![{each.alt.translate(str.maketrans('[]', '()'))}]({PICTURES}/{each.name})"
        for each in shown
    )
    return "\n\n".join(["## From the lessons", *images])


def written(readme: str, root: Path) -> str:
    """The README's text with its tables brought up to date with the logs below `root`."""
    logs, transfer = root / running.RESULTS, root / TRANSFER
    new = _between(readme, "lessons", lessons_table(files.read_json(logs)))
    found = results_section(files.read_json(transfer)) if transfer.exists() else ""
    return _between(_between(new, "results", found), "pictures", pictures_section(figures()))


def _between(text: str, name: str, content: str) -> str:
    """Replaces what stands between the two marks called `name`; ValueError if there are none."""
    marks = rf"(<!-- {name}: begin[^>]*-->\n).*?(<!-- {name}: end -->)"
    content = content and content + "\n"
    new, count = re.subn(marks, lambda m: m[1] + content + m[2], text, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"expected one pair of marks '<!-- {name}: begin -->', got {count}")
    return new


def main() -> None:
    """Writes README.md and the pictures that it shows."""
    for figure in figures():
        with files.atomic(files.root() / PICTURES / figure.name) as temporary:
            temporary.write_bytes(figure.png)
    path = files.find("README.md")
    old = path.read_text(encoding="utf-8")
    new = written(old, files.root())
    files.write_text(path, new)
    print("README.md written" if new != old else "README.md is up to date")


if __name__ == "__main__":
    main()

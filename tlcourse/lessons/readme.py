"""For maintainers: what README and lesson 00 show of the lessons.

`python -m tlcourse.lessons.readme` writes it; `python -m benchmarks results` writes RESULTS.md.
"""

import base64
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tlcourse import files
from tlcourse.lessons import execution, finding, first_cell, marks, start, studying

PICTURES = "notebooks/pictures"
TAG = "readme"  # on the lessons' cells whose figure is shown outside of them
FRONT = ("story", "road")  # the cells of lesson 00 whose figures the README shows itself


def lessons_table(logs: dict[str, Any]) -> str:
    """One row a lesson: title, what is built, minutes of study and of computing, badge."""
    rows = ["| lesson | you build | study | runs | |", "|---|---|---:|---:|---|"]
    for lesson in finding.every():
        notebook = finding.read_notebook(lesson.path)
        runs = logs.get(lesson.id, {}).get("minutes", "not measured yet")
        link = f"[{lesson.title}](notebooks/{lesson.path.name})"
        built = start.line_of(finding.opening(notebook), start.BUILD)
        cells = link, built, _study(notebook), str(runs), first_cell.badge(lesson.path.name)
        rows.append("| " + " | ".join(cells) + " |")
    rows.append(
        f"\nMinutes. *Study*: the core, and what is deeper, by a rule ({studying.WORDS} words or "
        f"{studying.LINES} lines of code a minute, {60 * studying.RUN:.0f} seconds to look at what "
        "a cell shows, and the time that each exercise states). *Runs*: at size `small` on two CPU "
        "cores without bf16, as the run's log says."
    )
    return "\n".join(rows)


def _study(notebook: Any) -> str:
    """Minutes of the core, plus those of what is deeper."""
    study = studying.of(notebook)
    if study is None:
        return ""
    more = study.all - study.core
    return f"{study.core} + {more}" if study.core and more else str(study.all)


@dataclass(frozen=True)
class Figure:
    """A lesson's figure for the README: file name, alt text, PNG."""

    name: str
    alt: str
    png: bytes


def figures() -> Iterable[Figure]:
    """The figures that the committed lessons show in cells tagged `readme`, in their order."""
    for lesson in finding.every():
        cells = finding.read_notebook(lesson.path).cells
        for cell in (each for each in cells if TAG in each.metadata.get("tags", ())):
            for output in cell.outputs:
                data = output.get("data", {})
                if "image/png" in data:
                    png = base64.b64decode(data["image/png"])
                    alt = " ".join(data["text/plain"].removeprefix("Figure: ").split())
                    yield Figure(f"{lesson.id}_{cell.id}.png", alt.strip("'"), png)


def image(shown: Figure) -> str:
    """The Markdown of a figure, with its alt text."""
    return f"![{shown.alt.translate(str.maketrans('[]', '()'))}]({PICTURES}/{shown.name})"


def written(readme: str, root: Path) -> str:
    """The README's text with its table and pictures as what is below `root` says."""
    logs = files.read_json(root / execution.RESULTS)
    new = marks.replaced(readme, "lessons", lessons_table(logs))
    shown = {each.name: each for each in figures()}
    for name in FRONT:
        new = marks.replaced(new, name, image(shown[f"00_{name}.png"]))
    return new


def main() -> None:
    """Writes README.md, the pictures that it and RESULTS.md show, lesson 00's map and example."""
    for figure in figures():
        with files.atomic(files.root() / PICTURES / figure.name) as temporary:
            temporary.write_bytes(figure.png)
    front = files.bundled("README.md")
    old = front.read_text(encoding="utf-8")
    new = written(old, files.root())
    files.write_text(front, new)
    print(f"{front.name} written" if new != old else f"{front.name} is up to date")
    print(start.write(new))


if __name__ == "__main__":
    main()

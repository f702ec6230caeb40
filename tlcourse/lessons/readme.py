"""For maintainers: what README, RESULTS.md and lesson 00 show of the lessons and of the studies.

`python -m tlcourse.lessons.readme` writes it.
"""

import base64
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tlcourse import files
from tlcourse.lessons import execution, finding, first_cell, marks, results, start, studying

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


def results_page(root: Path) -> str:
    """RESULTS.md: what the studies stored, and figures of the lessons."""
    front = [f"00_{name}.png" for name in FRONT]
    images = [image(each) for each in figures() if each.name not in front]
    return "\n\n".join([results.page(root), "## From the lessons", *images]) + "\n"


def main() -> None:
    """Writes README.md, RESULTS.md, the pictures that they show, lesson 00's map and example."""
    for figure in figures():
        with files.atomic(files.root() / PICTURES / figure.name) as temporary:
            temporary.write_bytes(figure.png)
    front = files.bundled("README.md")
    readme = written(front.read_text(encoding="utf-8"), files.root())
    for path, new in ((front, readme), (files.root() / "RESULTS.md", results_page(files.root()))):
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        files.write_text(path, new)
        print(f"{path.name} written" if new != old else f"{path.name} is up to date")
    print(start.write(readme))


if __name__ == "__main__":
    main()

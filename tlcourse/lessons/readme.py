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
FRONT = "04"  # the lesson whose first such figure the README shows itself


def lessons_table(logs: dict[str, Any]) -> str:
    """A row for each lesson and its deeper part: titles, what is built, minutes, badges."""
    rows: list[list[str]] = []
    for lesson in finding.every():
        cell = _lesson(lesson, logs)
        if lesson.id.endswith("b"):
            rows[-1][1] = cell
        else:
            rows.append([cell, ""])
    table = ["| lesson | deeper |", "|---|---|", *("| " + " | ".join(row) + " |" for row in rows)]
    table.append(
        f"\nStudy times are estimates ({studying.WORDS} words or {studying.LINES} lines of code a "
        f"minute, {60 * studying.RUN:.0f} seconds to look at each output, and the time that each "
        "exercise states); *+* adds the sections marked *deeper*. Run times were measured at size "
        "`small` on two CPU cores without bf16."
    )
    return "\n".join(table)


def _lesson(lesson: finding.Lesson, logs: dict[str, Any]) -> str:
    """A cell of the table: a lesson's link, what is built in it, its minutes, its badge."""
    notebook = finding.read_notebook(lesson.path)
    runs = logs.get(lesson.id, {}).get("minutes", "?")
    return "<br>".join(
        filter(
            None,
            (
                f"**[{lesson.title}](notebooks/{lesson.path.name})**",
                start.line_of(finding.opening(notebook), start.BUILD),
                f"*study {_study(notebook)} min, run {runs} min*",
                first_cell.badge(lesson.path.name),
            ),
        )
    )


def _study(notebook: Any) -> str:
    """Minutes of the core, plus those of what is deeper."""
    study = studying.of(notebook)
    if study is None:
        return ""
    more = study.all - study.core
    return f"{study.core} + {more}" if study.core and more else str(study.all)


def address() -> str:
    """The badge of lesson 00, or how to set the address that badges need."""
    first = finding.every()[0].path.name
    return first_cell.badge(first) or (
        "*For the owner of this copy:* "
        "`python -m tlcourse.lessons.address https://github.com/YOU/tlcourse` "
        "sets the address of the repository, and with it the Colab badges, everywhere."
    )


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
    clone = f"```bash\ngit clone --depth 1 {first_cell.address()}\n```"
    shown = [image(each) for each in figures() if each.name.startswith(f"{FRONT}_")]
    for name, content in (
        ("address", address()),
        ("clone", clone),
        ("errors", "".join(shown[:1])),
        ("lessons", lessons_table(logs)),
    ):
        readme = marks.replaced(readme, name, content)
    return readme


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

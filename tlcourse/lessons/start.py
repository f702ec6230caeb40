"""The generated parts of lesson 00: the map of all lessons, and the README's example."""

from typing import Any

from tlcourse.lessons import finding, marks

BUILD, QUESTION = "**You build:**", "**The question:**"  # lines of every opening block


def lessons_map() -> str:
    """A Markdown table with a row a lesson: its title, what is built in it, its question."""
    rows = ["| lesson | what you build | the question it answers |", "|---|---|---|"]
    for number, lesson in enumerate(finding.every()):
        opening = finding.opening(finding.read_notebook(lesson.path))
        title = f"[{lesson.title}]({lesson.path.name})" if number else lesson.title
        rows.append(f"| {title} | {line_of(opening, BUILD)} | {line_of(opening, QUESTION)} |")
    return "\n".join(rows)


def line_of(opening: str, label: str) -> str:
    """The rest of the line of an opening block that begins with `label`; "" if there is none."""
    lines = [line for line in opening.splitlines() if line.startswith(label)]
    return lines[0].removeprefix(label).strip() if lines else ""


def updated(notebook: Any, readme: str) -> Any:
    """Brings lesson 00 up to date, in place, and returns it.

    Raises ValueError if the marks of a part are not in exactly one cell.
    """
    parts = {"map": lessons_map(), "example": marks.between(readme, "example").rstrip("\n")}
    for name, content in parts.items():
        cells = [cell for cell in notebook.cells if f"<!-- {name}: begin" in cell.source]
        if len(cells) != 1:
            raise ValueError(f"expected the marks of the {name} in one cell, got {len(cells)}")
        cells[0].source = marks.replaced(cells[0].source, name, content)
    return notebook


def write(readme: str) -> str:
    """Writes lesson 00 if it is out of date; returns a line that says what was done."""
    lesson = finding.every()[0]
    old = finding.read_notebook(lesson.path)
    new = updated(finding.read_notebook(lesson.path), readme)
    if new == old:
        return f"{lesson.path.name} is up to date"
    finding.write_notebook(new, lesson.path)
    return f"{lesson.path.name} written"

"""For maintainers: writes the generated parts of the lecturer's pages, docs/teaching/lessons/NN.md.

`python -m tlcourse.lessons.lecturing` copies into them each prediction of a lesson with its answer,
and the known mistakes of its exercises.
"""

import re
from pathlib import Path
from typing import Any

from tlcourse import files
from tlcourse.exercises import task
from tlcourse.lessons import finding, marks

FOLDER = "docs/teaching/lessons"
SECTION = re.compile(r"^## (.+?)(?: \*\((?:core|deeper), \d+ minutes\)\*)?$")
PARTS = re.compile(
    r"^(## [^\n]+)|(\*\*Predict\b.*?)(?=\n\n(?![-*] |\d\. )|\Z)"
    r"|<details><summary><b>What we see</b></summary>(.*?)</details>",
    re.DOTALL | re.MULTILINE,
)


def predictions(notebook: Any) -> list[tuple[str, str, str]]:
    """Each prediction of a lesson: its section's title, the question, and what the reader sees.

    Raises ValueError for a question without an answer.
    """
    rows: list[tuple[str, str, str]] = []
    section = question = ""
    for cell in notebook.cells:
        for match in PARTS.finditer(cell.source if cell.cell_type == "markdown" else ""):
            heading, asked, answer = match.groups()
            if question and (heading or asked):
                raise ValueError(f"expected 'What we see' after the question {question!r}")
            if heading:
                section = SECTION.sub(r"\1", heading)
            elif asked:
                question = asked
            elif question:
                rows.append((section, question.strip(), answer.strip()))
                question = ""
    return rows


def of_predictions(notebook: Any) -> str:
    """The Markdown of a lesson's predictions, each with its answer as a quotation."""
    text, last = [], ""
    for section, question, answer in predictions(notebook):
        if section != last:
            text.append(f"### {section}")
        quoted = "\n".join(f"> {line}".rstrip() for line in answer.splitlines())
        text += [question, quoted]
        last = section
    return _linked("\n" + "\n\n".join(text) + "\n")


def of_mistakes(lesson: str) -> str:
    """The Markdown of a lesson's exercises, each with what its check says to known mistakes."""
    text = []
    for exercise in (task.get(id) for id in task.ids() if task.facts(id).lesson == lesson):
        facts = f"difficulty {exercise.difficulty} of 5, importance {exercise.importance} of 5"
        text.append(f"### Exercise {exercise.number} · {exercise.title}")
        text.append(f"`{exercise.id}`: {facts}, {exercise.minutes} minutes. The check knows:")
        text.append("\n".join(f"- {mistake.message}" for mistake in exercise.catalogue))
    return "\n" + "\n\n".join(text) + "\n" if text else "\nThis lesson has no checked exercise.\n"


def _linked(text: str) -> str:
    """The text, whose links start from the folder of the lessons, for the folder of the pages."""
    text = text.replace("](../", "](../../../")
    return re.sub(r"\]\((?=\d\db?_)", "](../../../notebooks/", text)


def written(page: str, lesson: finding.Lesson) -> str:
    """The text of a lesson's page with its generated parts as the lesson and its exercises are."""
    notebook = finding.read_notebook(lesson.path)
    page = marks.replaced(page, "predictions", of_predictions(notebook))
    return marks.replaced(page, "mistakes", of_mistakes(lesson.id))


def path_of(lesson: finding.Lesson) -> Path:
    """Where the page of a lesson is."""
    return files.root() / FOLDER / f"{lesson.id}.md"


def main() -> None:
    """Writes the generated parts of all pages."""
    for lesson in finding.every():
        path = path_of(lesson)
        old = path.read_text(encoding="utf-8")
        new = written(old, lesson)
        files.write_text(path, new)
        print(f"{path.name} written" if new != old else f"{path.name} is up to date")


if __name__ == "__main__":
    main()

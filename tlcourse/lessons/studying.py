"""How long a lesson takes to study, estimated by one rule, and written where the lesson says it.

The rule, for each section: its prose at 150 words a minute, folds left out; its code at 20 lines a
minute; three quarters of a minute for each cell to be run and looked at; and the minutes of its
exercises; all rounded to 5 minutes. `first_cell` writes them into the headings, which say whether
a section is core or deeper, and their sums into the opening block.
"""

import re
from dataclasses import dataclass
from typing import Any

WORDS, LINES, RUN = 150, 20, 0.75  # words and lines a minute; minutes a cell
STUDY = "**Study time:**"
HEADING = re.compile(r"^(## .+?) \*\((core|deeper), \d+ minutes\)\*$", re.MULTILINE)
EXERCISE = re.compile(r"^#+ Exercise .* (\d+) minutes$", re.MULTILINE)
FOLD = re.compile(r"<details>.*?</details>", re.DOTALL)


@dataclass(frozen=True)
class Study:
    """Minutes of a lesson: of its core, and of all of it."""

    core: int
    all: int

    def __str__(self) -> str:
        if not self.core:
            return f"{self.all} minutes; everything here is deeper"
        more = self.all - self.core
        return f"{self.core} minutes for the core" + f", {more} more for the rest" * bool(more)


def sections(notebook: Any) -> list[tuple[str, str, int]]:
    """Each section that says what it is: heading, "core" or "deeper", minutes by the rule."""
    found: list[list] = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            if found and found[-1][1]:
                lines = [line for line in cell.source.splitlines() if line.strip()]
                found[-1][2] += len(lines) / LINES + RUN
            continue
        for part in re.split(r"^(?=## )", cell.source, flags=re.MULTILINE):
            if part.startswith("## "):
                match = HEADING.match(part)
                found.append([match[1], match[2], 0.0] if match else ["", "", 0.0])
            if found and found[-1][1]:
                found[-1][2] += _prose(part)
    return [(title, kind, max(5, 5 * round(spent / 5))) for title, kind, spent in found if kind]


def _prose(text: str) -> float:
    """The minutes of Markdown: its words, and those that its exercises state."""
    words = len(re.findall(r"\w+", FOLD.sub("", text)))
    return words / WORDS + sum(map(int, EXERCISE.findall(text)))


def of(notebook: Any) -> Study | None:
    """The study time of a lesson, or None where no section says whether it is core."""
    found = sections(notebook)
    if not found:
        return None
    core = sum(minutes for _, kind, minutes in found if kind == "core")
    return Study(core, sum(minutes for *_, minutes in found))


def state(notebook: Any) -> None:
    """Writes the minutes into headings and opening block, in place."""
    study = of(notebook)
    if study is None:
        return
    minutes = {title: spent for title, _, spent in sections(notebook)}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = HEADING.sub(
                lambda match: f"{match[1]} *({match[2]}, {minutes[match[1]]} minutes)*", cell.source
            )
            cell.source = re.sub(
                rf"^{re.escape(STUDY)}.*$", f"{STUDY} {study}", cell.source, flags=re.MULTILINE
            )

"""Estimates the study time of a lesson by one rule, and writes it into the lesson.

The rule, for each section: its prose at 150 words a minute, without folded parts; its code at 20
lines a minute; three quarters of a minute to run each cell and look at it; and the minutes of its
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
    """The minutes of a lesson's core and of all of it."""

    core: int
    all: int

    def __str__(self) -> str:
        if not self.core:
            return f"{self.all} minutes; everything here is deeper"
        more = self.all - self.core
        return f"{self.core} minutes for the core" + f", {more} more for the rest" * bool(more)


def sections(notebook: Any) -> list[tuple[str, str, int]]:
    """The sections marked core or deeper: heading, "core" or "deeper", minutes by the rule."""
    rows: list[list] = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            if rows and rows[-1][1]:
                lines = [line for line in cell.source.splitlines() if line.strip()]
                rows[-1][2] += len(lines) / LINES + RUN
            continue
        for part in re.split(r"^(?=## )", cell.source, flags=re.MULTILINE):
            if part.startswith("## "):
                match = HEADING.match(part)
                rows.append([match[1], match[2], 0.0] if match else ["", "", 0.0])
            if rows and rows[-1][1]:
                rows[-1][2] += _prose(part)
    return [(title, kind, max(5, 5 * round(spent / 5))) for title, kind, spent in rows if kind]


def _prose(text: str) -> float:
    """The minutes for Markdown: for its words, plus those stated by its exercises."""
    words = len(re.findall(r"\w+", FOLD.sub("", text)))
    return words / WORDS + sum(map(int, EXERCISE.findall(text)))


def of(notebook: Any) -> Study | None:
    """The study time of a lesson, or None if no section is marked core or deeper."""
    rows = sections(notebook)
    if not rows:
        return None
    core = sum(minutes for _, kind, minutes in rows if kind == "core")
    return Study(core, sum(minutes for *_, minutes in rows))


def state(notebook: Any) -> None:
    """Writes the minutes into the headings and the opening block, in place."""
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

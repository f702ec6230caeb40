"""The slides of a lesson, which follow from the form of its cells.

A title, the problem, the aims, each section's heading, formula, table, figure, prediction and
exercise becomes a slide. Other prose, the code of figures and folded parts become speaker notes.
*What we see* is a slide with the question, and the answer appears on the next key, as a solution
does. A cell tagged `slide` is shown whatever its form; one tagged `no-slide` goes into the notes.
"""

import ast
import html
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from tlcourse.exercises import session, task
from tlcourse.lessons import finding, solved
from tlcourse.lessons.export import markdown

CODE_LINES = 12  # longer code is shown by its signatures
OUTPUT_LINES = 16  # longer outputs are cut
TOGETHER = 16  # lines of code and output that share a slide
TABLE_WORDS = 130  # of a table on one slide
SOLUTION_LINES = 22  # of a solution on one slide, at most
SHOW, HIDE = "slide", "no-slide"  # tags of cells
PARTS = re.compile(r"(<details>.*?</details>|^#{2,4} [^\n]*)", re.DOTALL | re.MULTILINE)
SUMMARY = re.compile(r"<details>\s*<summary>(.*?)</summary>(.*)</details>", re.DOTALL)
MINUTES = re.compile(r" \*\((core|deeper), (\d+) minutes\)\*$")
ASKS = re.compile(r"\*\*(Predict|On paper|Your turn)\b")
LEAD = re.compile(r"\*\*([^*]+)[.:]\*\* ")  # of a paragraph, such as **Version 1: no weights.**
SHOWN_WHOLE = ("What changed since 2019", "Summary", "Exercises", "Open questions")
NOT_SHOWN = ("References", "About this lesson")


@dataclass
class Slide:
    """One slide: its kind (a class in the style sheet), its content and its notes, as HTML."""

    kind: str
    content: str
    heading: str = ""
    notes: str = ""


@dataclass
class Section:
    """The slides under one heading; `depth` is "core", "deeper" or "" for the other parts."""

    title: str = ""
    depth: str = ""
    minutes: int = 0
    slides: list[Slide] = field(default_factory=list)


def of(path: Path, *, solutions: bool = True) -> list[Section]:
    """The slides of the lesson at `path`, by section; the first section is its opening.

    Without `solutions`, those of the exercises are left out.
    Raises ValueError for a file that is not a notebook.
    """
    return _Sorter(solutions).sort(finding.read_notebook(path))


def within(sections: list[Section], minutes: int) -> tuple[list[Section], list[Section]]:
    """The sections to show in `minutes`, and those that are left out.

    The last core section, which answers the lesson's question, is always shown. Before it come as
    many core sections from the beginning as their stated minutes allow. Opening and closing
    sections, which state no minutes, are shown too; deeper sections are left out.
    Raises ValueError if the time is too short for the first and the last core section.
    """
    core = [section for section in sections if section.depth == "core"]
    if not core:
        raise ValueError("expected a lesson with core sections, but all of this one is deeper")
    shown, left = [core[-1]], minutes - core[-1].minutes
    for section in core[:-1]:
        left -= section.minutes
        if left < 0:
            break
        shown.append(section)
    if left < 0 and len(shown) == 1:
        least = core[0].minutes + core[-1].minutes
        raise ValueError(f"expected at least {least} minutes for this lesson, got {minutes}")
    titles = [section.title for section in shown]
    chosen = [s for s in sections if not s.depth or s.title in titles]
    return chosen, [s for s in sections if s not in chosen]


def chosen(sections: list[Section], numbers: Sequence[str]) -> tuple[list[Section], list[Section]]:
    """The sections to show if a lecturer names them, such as 2.1, and those that are left out.

    Opening and closing sections, which state no minutes, are shown too.
    Raises ValueError for a number that the lesson lacks.
    """
    there = [section.title.split()[0] for section in sections if section.depth]
    for number in numbers:
        if number not in there:
            raise ValueError(f"expected sections of {', '.join(there)}, got {number!r}")
    shown = [s for s in sections if not s.depth or s.title.split()[0] in numbers]
    return shown, [s for s in sections if s not in shown]


class _Sorter:
    """Sorts the cells of one notebook into slides and notes."""

    def __init__(self, solutions: bool):
        self.solutions = solutions
        self.sections = [Section()]
        self.notes: list[str] = []
        self.question = self.lead = ""

    def sort(self, notebook: Any) -> list[Section]:
        first, *cells = notebook.cells
        self._opening(first.source)
        for cell in cells:
            hidden = HIDE in cell.metadata.get("tags", [])
            if cell.cell_type == "markdown":
                self._note(cell.source) if hidden else self._prose(cell)
            elif cell.cell_type == "code":
                self._note_code(cell.source) if hidden else self._code(cell)
        self._flush()
        return [section for section in self.sections if section.slides]

    # slides and notes

    def _add(self, kind: str, content: str) -> None:
        heading = self.lead or markdown_line(self.sections[-1].title)
        notes, self.notes, self.lead = "\n".join(self.notes), [], ""
        self.sections[-1].slides.append(Slide(kind, content, heading, notes))

    def _note(self, text: str) -> None:
        if text.strip():
            self.notes.append(markdown(text))

    def _note_code(self, source: str) -> None:
        self.notes.append(f"<pre>{html.escape(source)}</pre>")

    def _flush(self) -> None:
        """Gives the notes that no slide has followed to the last slide."""
        if self.notes and self.sections[-1].slides:
            self.sections[-1].slides[-1].notes += "\n".join(self.notes)
            self.notes = []

    # prose

    def _opening(self, source: str) -> None:
        """The title with the lesson's question, the problem, and what one will be able to do."""
        title, _, rest = re.sub(r"^\[?!\[.*$\n*", "", source, flags=re.MULTILINE).partition("\n")
        problem, _, plan = rest.partition("**You build:**")
        self._note(rest)
        question = re.search(r"^\*\*The question:\*\* (.+)$", plan, re.MULTILINE)
        asked = question[1][0].upper() + question[1][1:] if question else ""
        asked = f'<p class="question">{markdown_line(asked)}</p>'
        self._add("title", f"<h1>{markdown_line(title.removeprefix('# '))}</h1>{asked}")
        self._add("text", markdown(problem))
        aims = re.search(r"\*\*You will be able to:\*\*\s+((?:- .+\n(?:  .+\n)*)+)", plan)
        if aims:
            self.lead = "You will be able to"
            self._add("text", markdown(aims[1]))

    def _prose(self, cell: Any) -> None:
        if SHOW in cell.metadata.get("tags", []):
            self._add("text", markdown(cell.source))
            return
        statement = ""
        for part in PARTS.split(cell.source):
            if part.startswith("#### Exercise "):
                statement = part
            elif statement and not part.startswith(("#", "<")):
                title = f"<h4>{markdown_line(statement.lstrip('# '))}</h4>"
                self._add("exercise", title + markdown(part))
                statement = ""
            elif part.startswith("#"):
                self._heading(part)
            elif fold := SUMMARY.match(part):
                self._fold(re.sub("<.*?>", "", fold[1]), fold[2])
            else:
                self._blocks(part)

    def _heading(self, line: str) -> None:
        title = line.lstrip("# ")
        if not line.startswith("## "):
            self.lead = markdown_line(title)
            return
        self._flush()
        stated = MINUTES.search(title)
        title = MINUTES.sub("", title)
        depth, minutes = (stated[1], int(stated[2])) if stated else ("", 0)
        self.sections.append(Section(title, depth, minutes))
        if stated:
            time = f'<p class="minutes">{depth}, {minutes} minutes</p>'
            self._add("divider", f"<h2>{markdown_line(title)}</h2>{time}")
            self.sections[-1].slides[-1].heading = ""

    def _fold(self, title: str, text: str) -> None:
        """*What we see* answers the last question; other folded parts are notes."""
        if title != "What we see":
            self._note(f"**{title}**\n\n{text}")
            return
        answer = f'<div class="fragment">{markdown(text)}</div>'
        self._add("answer", f'<div class="asked">{self.question}</div>{answer}')
        self.question = ""

    def _blocks(self, text: str) -> None:
        """Each paragraph, list, formula and table by itself; a list belongs to what it follows."""
        section = self.sections[-1].title
        for block in re.split(r"\n\s*\n(?!- |\d\. )", text.strip()):
            if section in NOT_SHOWN or not block:
                self._note(block)
            elif "\n|" in block or block.startswith("|"):
                self._table(block)
            elif ASKS.match(block):
                self.question = markdown(block)
                self._add("ask", self.question)
            elif "$$" in block:
                self._add("formula", markdown(block))
            elif section in SHOWN_WHOLE and "\n- " in f"\n{block}":
                self._add("text", markdown(block))
            else:
                self._note(block)
                lead = LEAD.match(block)
                self.lead = markdown_line(lead[1]) if lead else self.lead

    def _table(self, block: str) -> None:
        """A table of many rows continues on further slides, each with the header."""
        before, first, rows = re.match(r"((?:.*\n)*?)((?:\|.*\n){2})((?:.|\n)*)", block).groups()
        part, *rows = rows.splitlines()
        for row in rows:
            if len(f"{part} {row}".split()) > TABLE_WORDS:
                self._add("table", markdown(f"{before}{first}{part}"))
                part = row
            else:
                part += f"\n{row}"
        self._add("table", markdown(f"{before}{first}{part}"))

    # code

    def _code(self, cell: Any) -> None:
        shown = SHOW in cell.metadata.get("tags", [])
        hidden = cell.metadata.get("jupyter", {}).get("source_hidden") or cell.id == "set-up"
        handed_in = solved.HANDED_IN.search(cell.source)
        if handed_in and not shown:
            self._note_code(cell.source)
            if self.solutions:
                self._solution(handed_in[2])
            return
        pictures = [_picture(o) for o in cell.outputs if "image/png" in o.get("data", {})]
        text = _cut("".join(map(_text, cell.outputs)).strip("\n"))
        source = "" if hidden else cell.source if shown else _short(cell.source)
        if pictures and not text and not shown:
            source = ""
        if source != cell.source:
            self._note_code(cell.source)
        lines = len(source.splitlines()) + len(text.splitlines())
        if source and text and lines <= TOGETHER:
            self._add("code", _python(source) + _output(text))
        else:
            for content in filter(None, [source and _python(source), text and _output(text)]):
                self._add("code", content)
        for picture in pictures:
            self._add("figure", picture)

    def _solution(self, id: str) -> None:
        lines = session.solution_text(task.get(id)).strip("\n").splitlines()
        size = math.ceil(len(lines) / math.ceil(len(lines) / SOLUTION_LINES))
        for start in range(0, len(lines), size):
            self.lead = f"For the lecturer: one solution of {html.escape(id)}"
            chunk = "\n".join(lines[start : start + size])
            shown_next = _python(chunk).replace("<pre>", '<pre class="fragment">', 1)
            self._add("code solution", shown_next)


def markdown_line(text: str) -> str:
    """One line of Markdown as HTML, without the paragraph around it."""
    return markdown(text).strip().removeprefix("<p>").removesuffix("</p>")


def _python(source: str) -> str:
    code = highlight(source, PythonLexer(), HtmlFormatter(nowrap=True))
    return f"<pre><code>{code}</code></pre>"


def _output(text: str) -> str:
    return f'<pre class="output">{html.escape(text)}</pre>'


def _text(output: Any) -> str:
    """The text of an output that has no picture and is not made for a live notebook."""
    if output.output_type == "stream":
        return output.text
    data = output.get("data", {})
    rich = {"image/png", "text/html"} & data.keys()
    return "" if rich else data.get("text/plain", "") + "\n"


def _cut(text: str) -> str:
    lines = text.splitlines()
    return "\n".join([*lines[: OUTPUT_LINES - 1], "…"]) if len(lines) > OUTPUT_LINES else text


def _picture(output: Any) -> str:
    alt = html.escape(output.metadata.get("image/png", {}).get("alt", ""))
    data = output.data["image/png"].replace("\n", "")
    return f'<img alt="{alt}" src="data:image/png;base64,{data}">'


def _short(source: str) -> str:
    """The code if it is short, else the signatures of its functions and classes, if any."""
    if len(source.splitlines()) <= CODE_LINES:
        return source
    try:
        body = ast.parse(source).body
    except SyntaxError:  # a line for IPython, such as %pip
        return ""
    lines = source.splitlines()
    kept = [line for node in body for line in _signature(node, lines)]
    return "\n".join(kept) if len(kept) <= CODE_LINES else ""


def _signature(node: ast.AST, lines: list[str], indent: str = "") -> list[str]:
    """The lines of a function or class up to its body, and the first of its docstring."""
    if not isinstance(node, ast.FunctionDef | ast.ClassDef):
        return []
    head = lines[node.lineno - 1 : node.body[0].lineno - 1] or [lines[node.lineno - 1]]
    docstring = ast.get_docstring(node)
    first = [f'{indent}    """{docstring.splitlines()[0]}"""'] if docstring else []
    if isinstance(node, ast.ClassDef):
        inner = [line for child in node.body for line in _signature(child, lines, indent + "    ")]
        return [*head, *first, *inner]
    return [*head, *first, f"{indent}    ..."]

"""The results of a class: a table in CSV, and a page that needs no network."""

import csv
import html
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from tlcourse import files
from tlcourse.exercises import task
from tlcourse.grading.checking import Result
from tlcourse.grading.submitted import Submission, tidied

Graded = Sequence[tuple[Submission, Sequence[Result]]]
COLUMNS = (
    "student", "exercise", "title", "minutes", "passed", "stage", "stages", "variant",
    "seconds", "as_reference", "alike", "look", "said",
)  # fmt: skip
STYLE = """
:root { color-scheme: light dark; --line: #8884; --good: #00735a; --bad: #b34700; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; }
table { border-collapse: collapse; } th, td { padding: 0.2em 0.6em; text-align: left; }
td, th { border-bottom: 1px solid var(--line); vertical-align: top; } .wide { overflow-x: auto; }
.yes { color: var(--good); font-weight: 600; } .none { opacity: 0.6; }
.no { color: var(--bad); white-space: nowrap; }
pre { white-space: pre-wrap; background: #8881; padding: 0.6em; margin: 0.3em 0; }
summary { cursor: pointer; }
@media (prefers-color-scheme: dark) { :root { --good: #4dd0ae; --bad: #ffa366; } }
"""


def alike(graded: Graded) -> dict[tuple[str, str], str]:
    """For each (student, exercise): others with the same answer up to names, joined by commas.

    Answers that equal the reference, and those that were never begun, are left out.
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for submission, results in graded:
        for result in results:
            text = submission.answers[result.id].text
            if text and result.stage and not result.as_reference:
                groups.setdefault((result.id, tidied(text)), []).append(submission.student)
    return {
        (student, id): ", ".join(other for other in students if other != student)
        for (id, _), students in groups.items()
        for student in students
        if len(students) > 1
    }


def write_report(path: str | Path, graded: Graded, lesson: str) -> Path:
    """Writes the table in CSV and a page beside it, each atomically; returns the page's path."""
    twins, page = alike(graded), Path(path).with_suffix(".html")
    files.write_text(path, _table(graded, twins))
    files.write_text(page, _page(graded, lesson, twins))
    return page


def _table(graded: Graded, twins: Mapping[tuple[str, str], str]) -> str:
    """One line for each student and exercise."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for submission, results in graded:
        for result in results:
            facts = task.facts(result.id)
            row: dict[str, object] = {"student": submission.student, "exercise": result.id}
            row |= {name: getattr(result, name) for name in COLUMNS if hasattr(result, name)}
            row |= {"title": facts.title, "minutes": facts.minutes}
            row["alike"] = twins.get((submission.student, result.id), "")
            writer.writerow({name: _plain(value) for name, value in row.items()})
    return text.getvalue()


def _plain(value: object) -> object:
    """A value that a spreadsheet does not take for a formula."""
    dangerous = isinstance(value, str) and value[:1] in "=+-@" and value != ""
    return f"'{value}" if dangerous else value


def _page(graded: Graded, lesson: str, twins: Mapping[tuple[str, str], str]) -> str:
    """The class as a page: all results, each exercise with its mistakes, each student."""
    parts = [f"<h1>Lesson {html.escape(lesson)}: {len(graded)} submissions</h1>", _board(graded)]
    parts.append("<h2>By exercise</h2>")
    ids = [result.id for result in graded[0][1]] if graded else []
    for id in ids:
        of_one = [result for _, results in graded for result in results if result.id == id]
        parts.append(_exercise(id, of_one))
    parts.append("<h2>By student</h2>")
    parts += [_student(submission, results, twins) for submission, results in graded]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        f"style-src 'unsafe-inline'\"><title>Lesson {html.escape(lesson)}</title>"
        f"<style>{STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
    )


def _mark(result: Result) -> str:
    if result.passed:
        return '<span class="yes">✓</span>'
    if not result.stage and not result.look:
        return '<span class="none">–</span>'
    return f'<span class="no">{max(result.stage - 1, 0)} of {result.stages}</span>'


def _board(graded: Graded) -> str:
    """A row for each student; a cell says how many stages of an exercise passed."""
    if not graded:
        return "<p>No submission.</p>"
    facts = [task.facts(result.id) for result in graded[0][1]]
    head = "".join(f'<th title="{html.escape(f.title)}">{f.number}</th>' for f in facts)
    rows = []
    for submission, results in graded:
        cells = "".join(f"<td>{_mark(result)}</td>" for result in results)
        count = sum(result.passed for result in results)
        name = html.escape(submission.student)
        rows.append(f'<tr><td><a href="#s-{name}">{name}</a></td>{cells}<td>{count}</td></tr>')
    head = f"<tr><th>student</th>{head}<th>passed</th></tr>"
    return f'<div class="wide"><table>{head}{"".join(rows)}</table></div>'


def _exercise(id: str, results: Sequence[Result]) -> str:
    """How many passed, and what went wrong how often: what to say in the next class."""
    facts = task.facts(id)
    passed = sum(result.passed for result in results)
    wrong = [result.said for result in results if not result.passed]
    first = {_in_short(said): said for said in reversed(wrong)}
    rows = ""
    for short, count in Counter(map(_in_short, wrong)).most_common(6):
        more = first[short].replace(f"\nWhy: {short}", "").replace(short, "", 1).strip()
        example = f"<pre>{html.escape(more)}</pre>" if more else ""
        rows += f"<li>{count} × {html.escape(short)}{example}</li>"
    title = f"{facts.number} {facts.title}: {passed} of {len(results)} passed"
    return f"<details><summary>{html.escape(title)}</summary><ul>{rows}</ul></details>"


def _in_short(said: str) -> str:
    """The likely mistake in what a check said, if it names one, else its first line."""
    why = [line.removeprefix("Why: ") for line in said.splitlines() if line.startswith("Why: ")]
    return why[0] if why else said.partition("\n")[0]


def _student(
    submission: Submission, results: Sequence[Result], twins: Mapping[tuple[str, str], str]
) -> str:
    rows = []
    for result in results:
        others = twins.get((submission.student, result.id), "")
        notes = [
            "equals the course's solution" * result.as_reference,
            f"equals the answer of {others}" * bool(others),
            f"hidden cases: {result.variant}" * bool(result.variant),
            result.look,
        ]
        said = html.escape(result.said)
        told = html.escape("; ".join(filter(None, notes)))
        title = html.escape(f"{task.facts(result.id).number} {task.facts(result.id).title}")
        rows.append(
            f"<tr><td>{title}</td><td>{_mark(result)}</td><td>{told}</td><td>{said}</td></tr>"
        )
    name = html.escape(submission.student)
    table = f'<div class="wide"><table>{"".join(rows)}</table></div>'
    return f'<details id="s-{name}"><summary>{name}</summary>{table}</details>'

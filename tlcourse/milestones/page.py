"""The page on which learners show what they built: one file that loads nothing."""

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

from tlcourse import __version__, files
from tlcourse.exercises import task
from tlcourse.exercises.keeping import Found
from tlcourse.exercises.messages import tagged
from tlcourse.milestones.demonstrations import Shown
from tlcourse.milestones.running import Result
from tlcourse.wording import number_of

STYLE = """
:root { color-scheme: light dark; --ink: #1c2733; --soft: #52606d; --ground: #fff;
  --card: #f3f6f9; --line: #d5dde5; --accent: #0072b2; }
@media screen and (prefers-color-scheme: dark) { :root { --ink: #e8edf2; --soft: #a9b6c3;
  --ground: #12181f; --card: #1c252f; --line: #37444f; --accent: #6fc0f0; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 52rem; padding: 2.5rem 1rem; background: var(--ground);
  color: var(--ink); font: 1.05rem/1.6 system-ui, sans-serif; }
h1 { font-size: clamp(2.2rem, 8vw, 3.2rem); line-height: 1.1; margin: 0 0 1rem; }
h2 { margin: 3rem 0 .3rem; line-height: 1.2; } a { color: var(--accent); }
.soft, figcaption, footer { color: var(--soft); } code { font-size: .95em; }
.tiles { display: grid; gap: .8rem; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr));
  list-style: none; margin: 2rem 0; padding: 0; }
.tiles a { display: block; height: 100%; padding: .9rem 1.1rem; border-radius: .6rem;
  background: var(--card); border-left: .3rem solid var(--accent); color: inherit;
  text-decoration: none; line-height: 1.35; }
.tiles b { display: block; font-size: 1.7rem; color: var(--accent); }
figure { margin: 1.2rem 0 .6rem; } figcaption { margin-top: .6rem; }
figure div { overflow-x: auto; border-radius: .6rem;
  background: #fff; border: 1px solid var(--line); padding: .6rem; }
img { display: block; height: auto; margin: auto; max-width: 100%; min-width: 34rem; }
summary { cursor: pointer; } table { border-collapse: collapse; width: 100%; font-size: .95rem; }
td, th { border-bottom: 1px solid var(--line); padding: .3rem .6rem .3rem 0; text-align: left; }
td + td, th + th { text-align: right; white-space: nowrap; }
footer { border-top: 1px solid var(--line); margin-top: 3rem; padding-top: 1rem; }
@media print { body { padding: 0; } section, li { break-inside: avoid; } img { min-width: 0; }
  .tiles { grid-template-columns: 1fr 1fr; } }
"""


def write_page(path: str | Path, results: Sequence[Result]) -> None:
    """Writes the page atomically; raises ValueError unless all passed on the learner's own code."""
    rows = [(result, result.shown) for result in results if result.own and result.shown]
    if not rows or len(rows) < len(results):
        raise ValueError(
            f"expected demonstrations that all passed on own code, got {len(rows)} of "
            f"{len(results)}; `tlcourse milestone` says what is missing"
        )
    pieces = {id: found for result in results for id, found in result.pieces.items()}
    solved = sorted(found.kept.solved[:10] for found in pieces.values())
    files.write_text(
        path,
        f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>What I built</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<style>{STYLE}</style></head><body>
<header><p class="soft">Transfer learning in NLP, from scratch</p><h1>What I built</h1>
<p>A language model, from the bytes of its text to the heads of its attention. I wrote these
{len(pieces)} parts myself, in {_lines(pieces)} lines of Python and PyTorch. Everything below ran on
my code, and every result was compared with that of a program in which my code had no part.</p>
</header>
<ul class="tiles">{"".join(_tile(*row) for row in rows)}</ul>
<main>{"".join(_section(*row) for row in rows)}</main>
<footer><p>Solved from {solved[0]} to {solved[-1]}. Run on {date.today()} by
<code>tlcourse milestone</code>, version {__version__}, on a CPU and without a network.</p></footer>
</body></html>
""",
    )


def _lines(pieces: Mapping[str, Found]) -> int:
    """The number of lines of code, without the empty ones."""
    texts = (found.kept.text for found in pieces.values())
    return sum(bool(line.strip()) for text in texts for line in text.splitlines())


def _tile(result: Result, shown: Shown) -> str:
    """The number of a demonstration, as a link to its section."""
    about = f"My {result.demonstration.name}<b>{tagged(shown.number)}</b>{tagged(shown.unit)}"
    return f'<li><a href="#lesson-{result.demonstration.lesson}">{about}</a></li>'


def _section(result: Result, shown: Shown) -> str:
    """What was built, the figure, and the parts with their lines and dates."""
    name, rows = result.demonstration.name, []
    for id, found in result.pieces.items():
        cells = task.facts(id).title, str(_lines({id: found})), found.kept.solved[:10]
        rows.append("".join(f"<td>{tagged(cell)}</td>" for cell in cells))
    return f"""<section id="lesson-{result.demonstration.lesson}"><h2>My {name}</h2>
<p>{tagged(result.demonstration.about)}</p>
<figure><div tabindex="0">{shown.figure.html()}</div>
<figcaption>My {name} {tagged(shown.says)}.</figcaption></figure>
<details><summary>My code: {number_of(len(rows), "part")}, {_lines(result.pieces)} lines</summary>
<table><tr><th>part</th><th>lines</th><th>solved</th></tr>
{"".join(f"<tr>{row}</tr>" for row in rows)}</table></details></section>
"""

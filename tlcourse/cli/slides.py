"""Writes a lesson as slides: one HTML file that needs no network."""

from pathlib import Path
from types import SimpleNamespace

from tlcourse import files
from tlcourse.cli.options import Argument, Option
from tlcourse.ranges import COUNT

SLIDES = Path("runs/slides")
OPTIONS = [
    Argument("lesson", "its number or name, such as 01, or the path of a notebook"),
    Option("--out", "the file to write, NAME.html", Path, shown=f"{SLIDES}/NAME.html"),
    Option("--minutes", "show only core sections that fit, by their minutes", COUNT),
    Option(
        "--sections",
        "show only these sections, by their numbers: 2.1 2.4",
        multiple=True,
        metavar="N.N",
    ),
    Option("--no-solutions", "leave out the solutions of the exercises", bool),
]


def run(arguments: SimpleNamespace) -> int:
    """Writes the slides of the notebook's saved outputs; prints their number and path."""
    from tlcourse.lessons import deck, finding, slides

    path = finding.notebook_path(arguments.lesson)
    out = arguments.out or SLIDES / path.with_suffix(".html").name
    files.refuse_no_page(out)
    sections = slides.of(path, solutions=not arguments.no_solutions)
    left_out: list[slides.Section] = []
    if arguments.minutes and arguments.sections:
        raise ValueError("expected --minutes or --sections, got both; the minutes choose sections")
    if arguments.minutes:
        sections, left_out = slides.within(sections, arguments.minutes)
    if arguments.sections:
        sections, left_out = slides.chosen(sections, arguments.sections)
    for section in left_out:
        print(f"left out: {section.title} ({section.depth}, {section.minutes} minutes)")
    files.write_text(out, deck.to_html(sections, path.stem))
    count = sum(len(section.slides) for section in sections)
    print(f"wrote {out}, {count} slides; S opens the speaker view, and F fills the screen")
    return 0


def left(arguments: SimpleNamespace) -> str:
    """Returns what is left behind by a command that was stopped."""
    return "no file is half written"

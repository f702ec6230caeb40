"""Runs the course's demonstrations on your kept answers; writes a page to show."""

from pathlib import Path
from types import SimpleNamespace

from tlcourse import files, signals
from tlcourse.cli.options import Option

OPTIONS = [
    Option(
        "--out",
        "the page to write once all is your own, NAME.html",
        Path,
        shown="milestone.html in your folder",
    )
]


def run(arguments: SimpleNamespace) -> int:
    """Prints a line for each demonstration; writes the page if all passed on the learner's code."""
    out = _page(arguments)
    files.refuse_no_page(out)
    from tlcourse import milestones
    from tlcourse.exercises import messages, task

    results = []
    for result in milestones.run():
        signals.check()
        messages.show(result.line)
        results.append(result)
    pieces = {id for result in results for id in result.pieces}
    missing = {id for result in results for id in result.missing}
    failed = not all(result.passed for result in results)
    if missing:
        open_ = [task.facts(id) for id in task.ids() if id in missing]
        named = ", ".join(f"{each.number} {each.title}" for each in open_)
        print(f"no page yet: {len(missing)} of {len(pieces)} parts are not your own, {named}")
    elif failed:
        print("no page yet: a demonstration failed")
    else:
        milestones.write_page(out, results)
        print(f"wrote {out}: what you built, to show to others")
    return 1 if failed else 0


def _page(arguments: SimpleNamespace) -> Path:
    return arguments.out or files.my_folder() / "milestone.html"


def left(arguments: SimpleNamespace) -> str:
    """Returns what is left behind by a command that was stopped."""
    return "no page is half written"

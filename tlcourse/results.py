"""The stored results of `python -m benchmarks NAME`: what lessons, cards and studies read.

    from tlcourse import results

    study = results.read("tapt")
    study["rows"], study["machine"]  # what was measured, and where

Every result has "rows"; its other parts depend on the study.
"""

from typing import Any

from tlcourse import files

FOLDER = "benchmarks/results"


def stored(name: str) -> dict[str, Any]:
    """The result in `benchmarks/results/NAME.json`.

    Raises FileNotFoundError, which names the command that makes it, where there is none.
    """
    path = files.root() / FOLDER / f"{name}.json"
    if not path.exists():
        raise FileNotFoundError(
            f"expected a stored result in {path}, found nothing; "
            f"`python -m benchmarks {name} --json {path}` makes it"
        )
    return files.read_object(path)


def read(name: str) -> dict[str, Any]:
    """As `stored`; where there is no such result, a printed line and a result without rows.

    So a cell that shows a stored table never stops a lesson.
    """
    try:
        return stored(name)
    except FileNotFoundError:
        print(f"No stored table in this copy: `python -m benchmarks {name}` makes one.")
        return {"rows": [], "comparisons": [], "machine": "nowhere"}

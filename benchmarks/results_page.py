"""Writes RESULTS.md, made of what the studies stored: `python -m benchmarks results`.

A study's section stands beside it, a function of its stored result.
"""

from collections.abc import Callable
from pathlib import Path

from benchmarks.speed import finetuning, pretraining
from benchmarks.studies import (
    behaviour,
    combined,
    grid_search,
    growth,
    probing,
    released,
    tasks,
    transfer,
    trec,
)
from tlcourse import files
from tlcourse.lessons import readme
from tlcourse.results import FOLDER

HEAD = """# Results

What the course's models and code reach, and what they are measured against. This page is written by
`python -m benchmarks results` from the files in [benchmarks/results](benchmarks/results); each
section names the command that made its numbers. The lessons say what they mean."""

SECTIONS: dict[str, Callable[[dict], str]] = {  # by the name of the stored result
    "transfer": transfer.section,
    "transfer_released": released.section,
    "screen": grid_search.section,
    "schemes": trec.STUDIES["schemes"].section,
    "other_schemes": trec.STUDIES["other_schemes"].section,
    "combined": combined.section,
    "distilled": combined.distilled_section,
    "few_labels": trec.STUDIES["few_labels"].section,
    "tapt": trec.STUDIES["tapt"].section,
    "tapt_texts": trec.STUDIES["tapt_texts"].section,
    "more_signal": trec.STUDIES["more_signal"].section,
    "tasks": tasks.section,
    "reviews": tasks.reviews_section,
    "tasks_released": tasks.released_section,
    "probing": probing.section,
    "probing_pairs": probing.pairs_section,
    "probing_released": probing.released_section,
    "behaviour": behaviour.section,
    "growth": growth.section,
    "pretraining": pretraining.section,
    "finetuning": finetuning.section,
    "finetuning_again": finetuning.again_section,
}


def page(root: Path) -> str:
    """The page: a section for each study that is stored below `root`, and figures of lessons."""
    paths = {root / FOLDER / f"{name}.json": section for name, section in SECTIONS.items()}
    studies = [section(files.read_json(path)) for path, section in paths.items() if path.exists()]
    front = [f"00_{name}.png" for name in readme.FRONT]
    images = [readme.image(figure) for figure in readme.figures() if figure.name not in front]
    return "\n\n".join([HEAD, *studies, "## From the lessons", *images]) + "\n"


def write() -> None:
    """Writes RESULTS.md and says whether it changed."""
    path, new = files.root() / "RESULTS.md", page(files.root())
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    files.write_text(path, new)
    print(f"{path.name} written" if new != old else f"{path.name} is up to date")

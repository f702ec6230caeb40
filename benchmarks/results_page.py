"""Writes RESULTS.md, made of what the studies stored: `python -m benchmarks results`.

A study's section stands beside it, a function of its stored result.
"""

from pathlib import Path

from benchmarks.catalogue import study_of
from tlcourse import files
from tlcourse.lessons import readme
from tlcourse.results import FOLDER

HEAD = """# Results

What the course's models and code reach, and what they are measured against. This page is written by
`python -m benchmarks results` from the files in [benchmarks/results](benchmarks/results); each
section names the command that made its numbers. The lessons say what they mean."""

SECTIONS = (  # the studies that have one, in the order of the page
    *("transfer", "transfer_released", "screen", "schemes", "other_schemes"),
    *("combined", "distilled", "few_labels", "tapt", "tapt_texts", "more_signal"),
    *("tasks", "reviews", "tasks_released", "tasks_beyond", "prompting", "summaries"),
    *("probing", "probing_pairs", "probing_released"),
    *("behaviour", "growth"),
    *("pretexts", "pretext_rates", "pretext_states"),
    *("objective_speeds", "pretraining_choices"),
    *("word_vectors", "word_vector_speeds"),
    *("sentence_vectors", "elmo", "ulmfit", "encoders", "encoder_speeds"),
    *("pretraining", "finetuning"),
)


def page(root: Path) -> str:
    """The page: a section for each study that is stored below `root`, and figures of lessons."""
    sections = {name: study_of(name).section for name in SECTIONS}
    sections["finetuning_again"] = study_of("finetuning").again_section
    paths = {root / FOLDER / f"{name}.json": section for name, section in sections.items()}
    studies = [section(files.read_json(path)) for path, section in paths.items() if path.exists()]
    images = [readme.image(figure) for figure in readme.figures()]
    return "\n\n".join([HEAD, *studies, "## From the lessons", *images]) + "\n"


def write() -> None:
    """Writes RESULTS.md and says whether it changed."""
    path, new = files.root() / "RESULTS.md", page(files.root())
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    files.write_text(path, new)
    print(f"{path.name} written" if new != old else f"{path.name} is up to date")

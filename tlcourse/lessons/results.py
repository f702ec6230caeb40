"""For maintainers: the results page, RESULTS.md, made of what the studies stored.

`python -m tlcourse.lessons.readme` writes it.
"""

from pathlib import Path
from typing import Any

from tlcourse import files
from tlcourse.lessons.adapted import (
    released_section,
    released_tasks_section,
    reviews_section,
    tasks_section,
    texts_section,
    transfer_section,
)
from tlcourse.lessons.probed import (
    behaviour_section,
    growth_section,
    pairs_section,
    probing_released_section,
    probing_section,
)
from tlcourse.lessons.searched import (
    combined_section,
    distilled_section,
    few_labels_section,
    more_signal_section,
    others_section,
    schemes_section,
    screen_section,
    tapt_section,
)

RESULTS = "benchmarks/results"
HEAD = """# Results

What the course's models and code reach, and what they are measured against. This page is written by
`python -m tlcourse.lessons.readme` from the files in [benchmarks/results](benchmarks/results); each
section names the command that made its numbers. The lessons say what they mean."""


def speed_section(pretraining: dict[str, Any]) -> str:
    """How fast a pretraining step is beside the libraries': a row a peer, a column a job.

    `pretraining` is what `python -m benchmarks pretraining` wrote. A cell is our tokens per second
    over the peer's, and in brackets our training memory over theirs.
    """
    columns = list(dict.fromkeys((row["job"], row["vocabulary"]) for row in pretraining["rows"]))
    cells: dict[str, dict] = {}
    for row in pretraining["rows"]:
        peer = row["peer"].replace("GPT-2", "model").replace("BERT", "model")
        described = ["as it comes"] * (row["form"].startswith("float32"))
        described += ["fastest form"] * row["fastest"]
        if described:
            cell = f"{row['ratio']:.2f} ({row['memory_ratio']:.2f})"
            name = f"{peer}, {' and '.join(described)}: {row['form']}"
            cells.setdefault(name, {})[row["job"], row["vocabulary"]] = cell
    lines = [
        "## Speed",
        "",
        "A step of our pretraining against the libraries': our tokens per second over theirs (above"
        " 1 we are faster), in brackets our training memory over theirs. One run, every contestant"
        f" in its own process; {pretraining['step']}; {pretraining['machine']}"
        " (`python -m benchmarks pretraining`).",
        "",
        "| | " + " | ".join(f"{job}, vocabulary {size:,}" for job, size in columns) + " |",
        "|---|" + "---:|" * len(columns),
    ]
    for name, found in cells.items():
        lines.append(f"| {name} | " + " | ".join(found.get(c, "") for c in columns) + " |")
    shares = [f"{100 * row['peak_share']:.0f} %" for row in pretraining["ours"]]
    lines += ["", f"Our step reaches {', '.join(shares)} of this machine's fastest matrix product "]
    lines[-1] += "(a number for each column)."
    return "\n".join(lines)


def finetuning_section(finetuning: dict[str, Any]) -> str:
    """How many questions a second fine-tuning reads beside others: a line a body, precision, peer.

    `finetuning` is what `python -m benchmarks finetuning` wrote. Of a peer's forms its quickest.
    """
    return (
        "Fine-tuning, our questions per second over theirs, nobody compiled; in brackets the "
        f"lowest and the highest of {finetuning['rows'][0]['rounds']} rounds. "
        f"{finetuning['data']}; {finetuning['machine']} (`python -m benchmarks finetuning`):\n\n"
        + _finetuning_lines(finetuning)
    )


def finetuning_again_section(finetuning: dict[str, Any]) -> str:
    """The same lines, of a second run of that command on another machine."""
    return (
        "The same command on another machine of that kind, where the rounds lie farther apart:\n\n"
        + _finetuning_lines(finetuning)
    )


def _finetuning_lines(finetuning: dict[str, Any]) -> str:
    rows: dict[tuple[str, str, str], dict] = {}
    for row in finetuning["rows"]:
        key = row["body"], row["precision"], row["peer"]
        rows[key] = min(rows.get(key, row), row, key=lambda each: each["ratio"])
    return "\n".join(
        f"- {body} body, {precision}, {peer} ({row['form']}): {row['ratio']:.2f} "
        f"({row['ratio_lowest']:.2f} to {row['ratio_highest']:.2f})"
        for (body, precision, peer), row in rows.items()
    )


SECTIONS = {
    "transfer": transfer_section,
    "transfer_released": released_section,
    "screen": screen_section,
    "schemes": schemes_section,
    "other_schemes": others_section,
    "combined": combined_section,
    "distilled": distilled_section,
    "few_labels": few_labels_section,
    "tapt": tapt_section,
    "tapt_texts": texts_section,
    "more_signal": more_signal_section,
    "tasks": tasks_section,
    "reviews": reviews_section,
    "tasks_released": released_tasks_section,
    "probing": probing_section,
    "probing_pairs": pairs_section,
    "probing_released": probing_released_section,
    "behaviour": behaviour_section,
    "growth": growth_section,
    "pretraining": speed_section,
    "finetuning": finetuning_section,
    "finetuning_again": finetuning_again_section,
}


def page(root: Path) -> str:
    """The page's sections, one for each study that is stored below `root`."""
    paths = {root / RESULTS / f"{name}.json": section for name, section in SECTIONS.items()}
    found = [section(files.read_json(path)) for path, section in paths.items() if path.exists()]
    return "\n\n".join([HEAD, *found])

"""Sections of the results page: what adaptation reaches, with which scheme, on which task."""

from typing import Any

from tlcourse.metrics import wilson_interval

# Test errors on TREC-6 in percent with all labels, as their authors give them, and who they are
PUBLISHED = {
    "Universal Sentence Encoder under a CNN (Cer et al., 2018), mean of runs": 1.93,
    "the tutorial's model of 50M, with the LM loss (2019)": 3.4,
    "the tutorial's model of 50M, full fine-tuning (2019)": 3.6,
    "ULMFiT, two directions (Howard & Ruder, 2018)": 3.6,
    "CoVe (McCann et al., 2017)": 4.2,
    "SVM with hand-written rules (Silva et al., 2011)": 5.0,
    "CNN, word2vec tuned (Kim, 2014)": 6.4,
    "CNN, words from scratch (Kim, 2014)": 8.8,
}
ALL = 5452  # TREC's labels
MARKS = {"fewer errors": " ↓", "more errors": " ↑"}  # of leaderboard's verdicts


def transfer_section(transfer: dict[str, Any]) -> str:
    """What transfer brings on TREC: a row for each model, a column for each number of labels.

    `transfer` is what `python -m benchmarks transfer` wrote; errors are in percent.
    """
    cells = {(row["model"], row["labels"]): error_cell(row) for row in transfer["rows"]}
    columns = sorted({labels for _, labels in cells})
    lines = [
        "## Does pretraining help?",
        "",
        "And does it beat counting words? The shipped models, fine-tuned whole, beside"
        " the same network from scratch and linear models on TF-IDF (how: "
        "`python -m benchmarks transfer`; what the models are: their cards in "
        "[data/checkpoints](data/checkpoints)).",
        "",
        f"Test error in percent. {transfer['data']}; {transfer['machine']}.",
        "",
        "| | " + " | ".join(f"{labels:,} labels" for labels in columns) + " |",
        "|---|" + "---:|" * len(columns),
    ]
    for model in dict.fromkeys(model for model, _ in cells):
        errors = " | ".join(cells.get((model, labels), "") for labels in columns)
        lines.append(f"| {model} | {errors} |")
    return "\n".join([*lines, "", transfer["note"], "", *_published()])


def _published() -> list[str]:
    """What others report on the same test questions, each with its interval over them."""
    told = []
    for name, error in PUBLISHED.items():
        told.append(f"- {wilson_cell(error, 500)}: {name}")
    return [
        "Published test errors with all labels on the same 500 questions (in brackets the interval "
        "over questions; other models, other texts, mostly a single run):",
        "",
        *told,
    ]


def texts_section(study: dict[str, Any]) -> str:
    """What TAPT reads: a row a text, beside full fine-tuning and beside the task's own texts.

    `study` is what `python -m benchmarks tapt_texts` wrote.
    """
    rows = {row["scheme"]: row for row in study["rows"]}
    apart = {(entry["scheme"], entry["against"]): entry for entry in study["comparisons"]}
    lines = [
        f"What TAPT reads: with {study['rows'][0]['labels']} labels, {study['tokens']:,} tokens of "
        "TREC's own questions, of questions out of film reviews, or of statements out of them as "
        "long as TREC's questions. Differences in points, with 95 % interval over draws; p is of "
        "a sign-flip test over questions, Holm-corrected but for TAPT against statements, which "
        f"was named beforehand. {study['data']}; {study['machine']} "
        "(`python -m benchmarks tapt_texts`; lesson 06).",
        "",
        line("", "error", "against full fine-tuning", "TAPT against it"),
        "|---|---:|---:|---:|",
    ]
    for name, row in rows.items():
        told = [apart.get(pair) for pair in ((name, "full fine-tuning"), ("TAPT", name))]
        lines.append(line(name, error_cell(row), *map(_points_cell, told)))
    return "\n".join(lines)


def error_cell(row: dict) -> str:
    """Mean and interval."""
    return "{:.1f} ({:.1f}-{:.1f})".format(row["mean"], *row["interval"])


def wilson_cell(error: float, of: int) -> str:
    """An error in percent of so many questions, and Wilson's interval."""
    interval = wilson_interval(round(error * of / 100), of)
    return error_cell({"mean": error, "interval": [100 * end for end in interval]})


def signed(number: float | None) -> str:
    """With its sign; nothing where there is none."""
    return "" if number is None else f"{number:+.2f}"


def line(*cells: str | int) -> str:
    """A row of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def tasks_section(tasks: dict[str, Any]) -> str:
    """Four tasks: a row a way to learn, a column a task and number of labels.

    `tasks` is what `python -m benchmarks tasks` wrote.
    """
    cells = {(row["scheme"], row["task"], row["labels"]): row for row in tasks["rows"]}
    columns = list(dict.fromkeys((task, labels) for _, task, labels in cells))
    lines = [
        "## Other tasks",
        "",
        f"Error of {tasks['model']} in percent, mean over three samples of labels with 95 % "
        "interval; the body reads long texts in windows, unless they are cut to what it reads at "
        f"once. {tasks['data']}; {tasks['machine']} (`python -m benchmarks tasks`; lesson 06b).",
        "",
        "| | " + " | ".join(f"{task}, {labels:,}" for task, labels in columns) + " |",
        "|---|" + "---:|" * len(columns),
    ]
    for scheme in dict.fromkeys(scheme for scheme, _, _ in cells):
        found = [cells.get((scheme, *column)) for column in columns]
        told = [error_cell(row) if row else "" for row in found]
        lines.append(f"| {scheme} | " + " | ".join(told) + " |")
    return "\n".join(lines)


def reviews_section(reviews: dict[str, Any]) -> str:
    """Film reviews after the body has read reviews: a row a number of labels.

    `reviews` is what `python -m benchmarks reviews` wrote.
    """
    rivals = list(dict.fromkeys(entry["against"] for entry in reviews["comparisons"]))
    before, after = reviews["word_perplexity"].values()
    lines = [
        "Full fine-tuning on reviews after the body has gone on pretraining for "
        f"{reviews['tokens']:,} tokens of IMDB's training reviews, without their labels (word "
        f"perplexity of other reviews {before:.0f} → {after:.0f}). Points of error against the "
        "rows above on the same samples of labels, with 95 % interval over samples; p is of a "
        "sign-flip test over reviews, Holm-corrected. "
        f"{reviews['data']}; {reviews['machine']} (`python -m benchmarks reviews`; lesson 06b).",
        "",
        line("labels", "error", *(f"against {rival}" for rival in rivals)),
        "|---:|---:|" + "---:|" * len(rivals),
    ]
    for row in reviews["rows"]:
        beside = {e["against"]: e for e in reviews["comparisons"] if e["labels"] == row["labels"]}
        told = [_points_cell(beside[rival]) for rival in rivals]
        lines.append(line(f"{row['labels']:,}", error_cell(row), *told))
    return "\n".join(lines)


def _points_cell(entry: dict | None) -> str:
    """By how much two rows differ, its interval and its corrected p; nothing for None."""
    if entry is None:
        return ""
    low, high = entry["points_interval"]
    p = "< 0.001" if entry["p_holm"] < 5e-4 else f"= {entry['p_holm']:.3f}"
    return f"{entry['points']:+.1f} ({low:+.1f} to {high:+.1f}), p {p}"


def released_section(study: dict[str, Any]) -> str:
    """A released model on TREC: what it reaches, what a step costs, what its schemes forget.

    `study` is what `python -m benchmarks transfer_released` wrote.
    """
    by = {(row["scheme"], row["labels"]): row for row in study["rows"]}
    columns = sorted({labels for _, labels in by})
    lines = [
        "## A model that others released",
        "",
        f"{study['model']} on the same questions, draws of labels and seeds as above. "
        f"{study['note']} {study['data']}; {study['machine']} "
        "(`python -m benchmarks transfer_released`; lessons 04 and 05b).",
        "",
        "Test error in percent:",
        "",
        line("", *(f"{labels:,} labels" for labels in columns)),
        "|---|" + "---:|" * len(columns),
    ]
    for scheme in dict.fromkeys(scheme for scheme, _ in by):
        found = [by.get((scheme, labels)) for labels in columns]
        lines.append(line(scheme, *(error_cell(row) if row else "" for row in found)))
    lines += [
        "",
        "Points of error more than what each is held against, on the same draws, with 95 % "
        "interval over draws; p is of a sign-flip test over questions, Holm-corrected. *Alike* is "
        "how well cosines of sentences' mean states go with people's scores on STS-B after the "
        "training (rank correlation × 100); before it, "
        + ", ".join(f"{value:.1f} for {name}" for name, value in study["alike_before"].items())
        + ".",
        "",
        line("", "labels", "against", "points", "alike"),
        "|---|---:|---|---:|---:|",
    ]
    for entry in study["comparisons"]:
        row = by[entry["scheme"], entry["labels"]]
        cells = f"{entry['labels']:,}", entry["against"], _points_cell(entry)
        lines.append(line(entry["scheme"], *cells, f"{row['alike']['mean']:.1f}"))
    lines += [
        "",
        "A training step of 32 questions, on one thread:",
        "",
        line("", "scheme", "parameters trained", "milliseconds", "MiB"),
        "|---|---|---:|---:|---:|",
    ]
    for step in study["steps"]:
        cells = f"{step['trained']:,}", f"{step['milliseconds']:.0f}", f"{step['mebibytes']:.0f}"
        lines.append(line(step["model"], step["scheme"], *cells))
    return "\n".join(lines)


def released_tasks_section(study: dict[str, Any]) -> str:
    """A released model on other tasks: a row a task, number of labels and way to learn.

    `study` is what `python -m benchmarks tasks_released` wrote.
    """
    beside = {(e["task"], e["labels"], e["scheme"], e["against"]): e for e in study["comparisons"]}
    rivals = list(dict.fromkeys(entry["against"] for entry in study["comparisons"]))
    read = ", ".join(f"{name}: {what}" for name, what in study["read"].items())
    lines = [
        f"The same tasks with {study['model']}, mean over three samples of labels with 95 % "
        "interval, and points against TF-IDF and full fine-tuning of ours on the same samples. "
        f"What it has read that is like a task: {read}. {study['data']}; {study['machine']} "
        "(`python -m benchmarks tasks_released`; lesson 06b).",
        "",
        line("task", "labels", "", "error", *(f"against {rival}" for rival in rivals)),
        "|---|---:|---|---:|" + "---:|" * len(rivals),
    ]
    for row in study["rows"]:
        key = row["task"], row["labels"], row["scheme"]
        told = [_points_cell(beside.get((*key, rival))) for rival in rivals]
        name = row["scheme"] if row["model"] == study["model"] else f"{row['model']}: {key[2]}"
        lines.append(line(key[0], f"{key[1]:,}", name, error_cell(row), *told))
    lines += [
        "",
        "Cosines of two sentences against people's scores, without any training (STS-B, rank "
        "correlation × 100):",
        "",
    ]
    for split, found in study["sentence_pairs"].items():
        told = ", ".join(f"{name} {value:.1f}" for name, value in found.items())
        lines.append(f"- {split}: {told}")
    return "\n".join(lines)

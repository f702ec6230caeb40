"""Sections of the results page: what adaptation reaches, with which scheme, on which task."""

from typing import Any

from tlcourse.adaptation import leaderboard
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
MARKS = {"fewer errors": " ↓", "more errors": " ↑"}  # of leaderboard's verdicts


def transfer_section(transfer: dict[str, Any]) -> str:
    """What transfer brings on TREC: a row for each model, a column for each number of labels.

    `transfer` is what `python -m benchmarks transfer` wrote; errors are in percent.
    """
    cells = {(row["model"], row["labels"]): _error(row) for row in transfer["rows"]}
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
        low, high = wilson_interval(round(5 * error), 500)
        told.append(f"- {error:.1f} ({100 * low:.1f}-{100 * high:.1f}): {name}")
    return [
        "Published test errors with all labels on the same 500 questions (in brackets the interval "
        "over questions; other models, other texts, mostly a single run):",
        "",
        *told,
    ]


def adaptation_section(adaptation: dict[str, Any]) -> str:
    """Every scheme beside full fine-tuning: a row a scheme, a column for each number of labels.

    `adaptation` is what `python -m benchmarks adaptation` wrote.
    """
    counts = [n for n in (100, 500, 5452) if leaderboard.rows_at(adaptation, n)]
    tables = {n: leaderboard.rows_at(adaptation, n) for n in counts}
    names = dict.fromkeys(name for table in tables.values() for name in table)
    heads = [
        f"{n:,} labels, {len(next(iter(table.values()))['seeds'])} seeds"
        for n, table in tables.items()
    ]
    lines = [
        "## Ways to adapt",
        "",
        f"Test error of {adaptation['model']} on TREC-6 in percent, mean over draws of labels with "
        "95 % interval; ↓ fewer and ↑ more errors than full fine-tuning on the same draws (a "
        "sign-flip test over questions, Holm-corrected, and the interval over draws both say so). "
        "Share trained, seconds of one core and forgetting (nats per token on WikiText-103) are "
        f"those of {counts[0]:,} labels. All schemes but *pooled concatenation* pool by the mean. "
        "They share a recipe of four epochs and at least 200 steps; with all labels each has a "
        "learning rate chosen in one run. The table above chose pooling and epochs on dev, and the "
        "main schemes have a search of their own below: their errors differ from these "
        "(`python -m benchmarks adaptation`; lessons 05 and 06).",
        "",
        "| | " + " | ".join(heads) + " | trained | seconds | forgets |",
        "|---|" + "---:|" * (len(counts) + 3),
    ]
    for name in names:
        cells = []
        for n in counts:
            row = tables[n].get(name)
            said = leaderboard.verdict(adaptation, name, n)
            error = _error(row) if row else ""
            cells.append(error + MARKS.get(said, ""))
        row = tables[counts[0]].get(name) or tables[counts[-1]][name]
        seconds = f"{row['seconds']:.0f}"
        cells += [f"{row['trained_share']:.2%}", seconds, _signed(row["forgetting"])]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def screen_section(screen: dict[str, Any]) -> str:
    """The best point of each scheme's grid on dev; `screen` is of `python -m benchmarks screen`."""
    best = leaderboard.best_points(screen)
    count = next(iter(best.values()))["of"]
    lines = [
        "## The same search for every scheme",
        "",
        "Of each main scheme the best point of its grid: learning rates, each twice the one before,"
        " on until the best has a neighbour on both sides, with three values of the scheme's own"
        f" number. Error on {count} dev questions in percent with 95 % interval, one run of "
        f"{screen['epochs']} epochs a point: the best of a dozen runs looks better than it is. "
        f"{screen['data']}; {screen['machine']} (`python -m benchmarks screen`; lessons 05, 05b).",
        "",
        "| | runs | learning rate | own number | dev error | forgets |",
        "|---|---:|---:|---|---:|---:|",
    ]
    for name, row in best.items():
        tried = sum(each["scheme"] == name for each in screen["rows"])
        own = f"{screen['what'][name]} {row['size']:g}" if screen["what"][name] else ""
        low, high = wilson_interval(round(row["error"] * count / 100), count)
        lost = _signed(row["forgetting"])
        lines.append(
            f"| {name} | {tried} | {row['rate']:g} | {own} | "
            f"{row['error']:.1f} ({100 * low:.1f}-{100 * high:.1f}) | {lost} |"
        )
    return "\n".join(lines)


def schemes_section(schemes: dict[str, Any]) -> str:
    """The main schemes on test, each as dev chose it: a row a scheme, fewest errors first.

    `schemes` is what `python -m benchmarks schemes` wrote.
    """
    asked, seeds = schemes["what_is"], len(schemes["rows"][0]["errors"])
    lines = [
        "## The main schemes, searched alike",
        "",
        f"{schemes['model']} with all labels. The best two points of each grid were confirmed by "
        f"two runs of {schemes['epochs']} epochs on two dev splits; the better was frozen "
        f"and fitted on all labels with {seeds} seeds, and each run read the test set once. Errors "
        "in percent: on dev the mean of the two runs, on test with 95 % interval over seeds; then "
        f"of the {len(asked)} test questions that begin with *What is* or *What are*, and of the "
        "others. ↓ fewer and ↑ more errors than full fine-tuning (a sign-flip test over questions, "
        "Holm-corrected, and the interval over seeds both say so). "
        f"{schemes['data']}; {schemes['machine']} (`python -m benchmarks schemes`; lesson 05).",
        "",
        "| | learning rate | dev | test | What is / are | others | trained | seconds | forgets |",
        "|---|" + "---:|" * 8,
    ]
    for name, row in leaderboard.rows_at(schemes, 5452).items():
        mark = MARKS.get(leaderboard.verdict(schemes, name, 5452), "")
        test = _error(row) + mark
        rate, dev = f"{row['recipe']['learning_rate']:g}", f"{row['dev_error']:.1f}"
        cost = f"{row['trained_share']:.2%}", f"{row['seconds']:.0f}", _signed(row["forgetting"])
        lines.append(_line(name, rate, dev, test, *_apart(row, asked), *cost))
    for row in schemes["counting"]:
        lines.append(_line("TF-IDF", "", "", f"{row['mean']:.1f}", *_apart(row, asked), *[""] * 3))
    return "\n".join(lines)


def distilled_section(distilled: dict[str, Any]) -> str:
    """Models of one scheme alone and together, and students of them: a row each.

    `distilled` is what `python -m benchmarks distilled` wrote.
    """
    p = {each["what"]: f"{each['p_holm']:.2f}" for each in distilled["comparisons"]}
    lines = [
        f"Several models of {distilled['scheme']}, which dev had chosen, with all labels: each "
        "alone, the mean of their answers, and students of one model's size that learn these "
        "answers to the training questions and to questions of film reviews. Test error in "
        "percent, with 95 % interval over runs, or over questions where there is one; p is of a "
        f"sign-flip test against one model, Holm-corrected. {distilled['data']}; "
        f"{distilled['machine']} (`python -m benchmarks distilled`; lesson 06).",
        "",
        "| | runs | test | p |",
        "|---|---:|---:|---:|",
    ]
    for row in distilled["rows"]:
        lines.append(_line(row["what"], len(row["errors"]), _error(row), p.get(row["what"], "")))
    return "\n".join(lines)


def few_labels_section(few: dict[str, Any]) -> str:
    """Ways to adapt with few labels beside counting words: a row a way, a column a number of them.

    `few` is what `python -m benchmarks few_labels` wrote.
    """
    counts = sorted({row["labels"] for row in few["rows"]})
    draws = len(few["rows"][0]["errors"])
    lines = [
        "## Few labels",
        "",
        f"Test error of {few['model']} on TREC-6 in percent, mean over {draws} draws of labels, "
        "95 % interval. The learning rate was chosen with 200 labels on a dev split, before the "
        "test set was read. ↓ fewer and ↑ more errors than full fine-tuning, ° not clearly fewer "
        "than TF-IDF (a sign-flip test over questions, Holm-corrected, and the interval over draws "
        f"both say so). {few['data']}; {few['machine']} (`python -m benchmarks few_labels`; "
        "lesson 05b).",
        "",
        "| | learning rate | " + " | ".join(f"{count} labels" for count in counts) + " |",
        "|---|" + "---:|" * (1 + len(counts)),
    ]
    for name, choice in few["choices"].items():
        cells = []
        for count in counts:
            row = leaderboard.rows_at(few, count)[name]
            mark = MARKS.get(leaderboard.verdict(few, name, count), "")
            beside = leaderboard.verdict_of(leaderboard.against_counting(few, name, count))
            mark += "" if beside == "fewer errors" else " °"
            cells.append(_error(row) + mark)
        lines.append(_line(name, f"{choice['recipe']['learning_rate']:g}", *cells))
    counting = {row["labels"]: row for row in few["counting"]}
    lines.append(_line("TF-IDF", "", *(_error(counting[count]) for count in counts)))
    return "\n".join(lines)


def _error(row: dict) -> str:
    return "{:.1f} ({:.1f}-{:.1f})".format(row["mean"], *row["interval"])


def _signed(number: float | None) -> str:
    return "" if number is None else f"{number:+.2f}"


def _line(*cells: str | int) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _apart(row: dict, questions: list[int]) -> list[str]:
    """The errors on some of TREC's 500 test questions, and on the others."""
    both = leaderboard.split_errors(row["test_wrong"], questions, 500)
    return [f"{sum(errors) / len(errors):.1f}" for errors in both]


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
        told = [_error(row) if row else "" for row in found]
        lines.append(f"| {scheme} | " + " | ".join(told) + " |")
    return "\n".join(lines)

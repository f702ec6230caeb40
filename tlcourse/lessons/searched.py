"""Sections of the results page: schemes that were searched alike, and what came of the best."""

from typing import Any

from tlcourse.adaptation import leaderboard
from tlcourse.lessons.adapted import ALL, MARKS, error_cell, line, signed, wilson_cell

QUESTIONS = 500  # of TREC-6's test split


def screen_section(screen: dict[str, Any]) -> str:
    """The best point of each scheme's grid on dev; `screen` is of `python -m benchmarks screen`."""
    best = leaderboard.best_points(screen)
    count = next(iter(best.values()))["of"]
    lines = [
        "## One search for all schemes",
        "",
        "Of each scheme the best point of its grid: six learning rates, each twice the one before,"
        " up to three more where the best was the first or the last, with three values of the"
        f" scheme's own number, if it has one. Error on {count} dev questions in percent with 95 % "
        f"interval, one run of {screen['epochs']} epochs a point (from scratch: times its own "
        "number); the best of many runs looks better than it is. "
        f"{screen['data']}; {screen['machine']} (`python -m benchmarks screen`; lessons 05, 05b).",
        "",
        "| | runs | learning rate | own number | dev error | forgets |",
        "|---|---:|---:|---|---:|---:|",
    ]
    for name, row in best.items():
        tried = sum(each["scheme"] == name for each in screen["rows"])
        own = f"{screen['what'][name]} {row['size']:g}" if screen["what"][name] else ""
        error, lost = wilson_cell(row["error"], count), signed(row["forgetting"])
        lines.append(f"| {name} | {tried} | {row['rate']:g} | {own} | {error} | {lost} |")
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
        f"two runs of {schemes['epochs']} epochs on two dev splits, one of them the search's. The "
        f"better point was fitted on all labels with {seeds} seeds, and each run read the test set "
        "once. Errors "
        "in percent: on dev the mean of the two runs, on test with 95 % interval over seeds; then "
        f"of the {len(asked)} test questions that begin with *What is* or *What are*, and of the "
        "others. ↓ fewer and ↑ more errors than full fine-tuning (a sign-flip test over questions, "
        "Holm-corrected, and the interval over seeds both say so); ° of four that were held "
        "against TF-IDF: not clearly fewer errors. "
        f"{schemes['data']}; {schemes['machine']} (`python -m benchmarks schemes`; lesson 05).",
        "",
    ]
    lines += _tested(schemes)
    for row in schemes["counting"]:
        lines.append(line("TF-IDF", "", "", f"{row['mean']:.1f}", *_apart(row, asked), *[""] * 3))
    return "\n".join(lines)


def others_section(others: dict[str, Any]) -> str:
    """The other schemes on test, each as its grid was best: a row a scheme, fewest errors first.

    `others` is what `python -m benchmarks other_schemes` wrote.
    """
    seeds = len(others["rows"][0]["errors"])
    lines = [
        "The other schemes, beside full fine-tuning as it was chosen. Nothing of theirs was "
        f"confirmed: dev is the best single run of {others['epochs']['screen']} epochs, so a "
        f"little too low. Then as above, {others['epochs']['test']} epochs and {seeds} seeds (from "
        "scratch: times its own number); the comparisons are corrected among themselves. "
        f"{others['data']}; {others['machine']} "
        "(`python -m benchmarks other_schemes`; lesson 05b).",
        "",
    ]
    return "\n".join(lines + _tested(others))


def _tested(study: dict[str, Any]) -> list[str]:
    """Schemes with all labels as a table: dev, test, the test questions apart, and costs."""
    lines = [
        "| | learning rate | dev | test | What is / are | others | trained | seconds | forgets |",
        "|---|" + "---:|" * 8,
    ]
    for name, row in leaderboard.rows_at(study, ALL).items():
        mark = MARKS.get(leaderboard.verdict(study, name, ALL), "") + _counted(study, name, ALL)
        test = error_cell(row) + mark
        rate, dev = f"{row['recipe']['learning_rate']:g}", f"{row['dev_error']:.1f}"
        cost = f"{row['trained_share']:.2%}", f"{row['seconds']:.0f}", signed(row["forgetting"])
        lines.append(line(name, rate, dev, test, *_apart(row, study["what_is"]), *cost))
    return lines


def combined_section(combined: dict[str, Any]) -> str:
    """Gradual unfreezing with more beside it, on dev: a row a way, fewest errors first.

    `combined` is what `python -m benchmarks combined` wrote.
    """
    runs = len(combined["rows"][0]["errors"])
    lines = [
        "## Put together",
        "",
        "Gradual unfreezing had the lowest dev error. Here it has something beside it: it keeps "
        "its chosen settings, the LM loss its chosen weight; pooling and epochs were set by hand. "
        f"Error on dev in percent, mean of {runs} runs on two dev splits, one of them the "
        "search's, with 95 % interval over their questions. That "
        "pooling and the LM loss would help was known from earlier studies, which had read the "
        f"test set. {combined['data']}; {combined['machine']} (`python -m benchmarks combined`; "
        "lesson 06).",
        "",
        "| gradual unfreezing, and | dev error | forgets |",
        "|---|---:|---:|",
    ]
    for row in sorted(combined["rows"], key=lambda row: row["mean"]):
        of = row["of"] * runs
        name = "nothing" if row["what"] == "gradual unfreezing" else row["what"]
        lines.append(line(name, wilson_cell(row["mean"], of), signed(row["forgetting"])))
    return "\n".join(lines)


def distilled_section(distilled: dict[str, Any]) -> str:
    """Models of one scheme alone and together, and students of them: a row each.

    `distilled` is what `python -m benchmarks distilled` wrote.
    """
    p = {each["what"]: f"{each['p_holm']:.2f}" for each in distilled["comparisons"]}
    lines = [
        f"Gradual unfreezing with what dev chose beside it ({distilled['chosen']['what']}) and all "
        "labels: models alone, the mean of their answers, and students of one model's size that "
        "learn these answers to the training questions and to questions of film reviews (about "
        "half as many steps again). Mean test error in percent, with 95 % interval over questions "
        "(Wilson's, as for a single run); p is of a sign-flip test against one model, "
        f"Holm-corrected. {distilled['data']}; {distilled['machine']} "
        "(`python -m benchmarks distilled`; lesson 06).",
        "",
        "| | runs | test | p |",
        "|---|---:|---:|---:|",
    ]
    for row in distilled["rows"]:
        error = wilson_cell(row["mean"], QUESTIONS)
        lines.append(line(row["what"], len(row["errors"]), error, p.get(row["what"], "")))
    return "\n".join(lines)


def few_labels_section(few: dict[str, Any]) -> str:
    """Ways to adapt with few labels beside counting words: a row a way, a column a number of them.

    `few` is what `python -m benchmarks few_labels` wrote.
    """
    counts = sorted({row["labels"] for row in few["rows"]})
    draws = len(few["rows"][0]["errors"])
    machine = few["machine"].partition(";")[0]  # no seconds are shown
    lines = [
        "## Few labels",
        "",
        f"Test error of {few['model']} on TREC-6 in percent, mean over {draws} draws of labels, "
        "95 % interval. The learning rate was chosen with 200 labels on a dev split, before the "
        "test set was read. ↓ clearly fewer and ↑ clearly more errors than full fine-tuning, ° not "
        "clearly fewer than TF-IDF. Clear is what both a sign-flip test over questions, "
        f"Holm-corrected, and the interval over draws say. {few['data']}; {machine} "
        "(`python -m benchmarks few_labels`; lesson 05b).",
        "",
        "| | learning rate | " + " | ".join(f"{count} labels" for count in counts) + " |",
        "|---|" + "---:|" * (1 + len(counts)),
    ]
    for name, choice in few["choices"].items():
        cells = []
        for count in counts:
            row = leaderboard.rows_at(few, count)[name]
            mark = MARKS.get(leaderboard.verdict(few, name, count), "")
            mark += _counted(few, name, count)
            cells.append(error_cell(row) + mark)
        lines.append(line(name, f"{choice['recipe']['learning_rate']:g}", *cells))
    counting = {row["labels"]: row for row in few["counting"]}
    lines.append(line("TF-IDF", "", *(error_cell(counting[count]) for count in counts)))
    return "\n".join(lines)


def tapt_section(study: dict[str, Any]) -> str:
    """Pretraining on the task's own texts first: a row a way, a column a number of labels.

    `study` is what `python -m benchmarks tapt` wrote.
    """
    lines = [
        "## More signal",
        "",
        f"TAPT: {study['model']} reads {study['tokens']:,} tokens of TREC's training questions, "
        "without their labels, before it is fine-tuned. Test error in percent, mean over draws of "
        f"labels with 95 % interval; {study['readings']} readings with other seeds, draws take "
        "them in turn. ↓ fewer and ↑ more errors than full fine-tuning on the same draws (a "
        "sign-flip test over questions, Holm-corrected, and the interval over draws both say so). "
        "Both train as full fine-tuning was chosen to. Forgetting, in nats per token, is that with "
        f"the fewest labels. {study['data']}; {study['machine']} (`python -m benchmarks tapt`; "
        "lesson 06).",
        "",
    ]
    return "\n".join(lines + _beside_full(study))


def more_signal_section(study: dict[str, Any]) -> str:
    """More labels, losses or models beside full fine-tuning: a row a way, a column a number.

    `study` is what `python -m benchmarks more_signal` wrote.
    """
    lines = [
        "Other signals, as above. The LM loss was searched as full fine-tuning was; the comparisons"
        " are corrected among themselves. Seconds are of one core with the fewest labels "
        f"(TAPT: {study['seconds']['TAPT']:.0f}). "
        f"{study['data']}; {study['machine']} "
        "(`python -m benchmarks more_signal`; lesson 06b).",
        "",
    ]
    return "\n".join(lines + _beside_full(study))


def _beside_full(study: dict[str, Any]) -> list[str]:
    """Rows that were held against full fine-tuning, by number of labels; costs with the fewest."""
    counts = sorted({row["labels"] for row in study["rows"]})
    tables = {count: leaderboard.rows_at(study, count) for count in counts}
    heads = [
        f"{count:,} labels, {len(next(iter(table.values()))['seeds'])} "
        + ("seeds" if count == ALL else "draws")
        for count, table in tables.items()
    ]
    fewest, seconds = tables[counts[0]], study.get("seconds", {})
    heads += ["seconds"] * bool(seconds) + ["forgets"]
    lines = [line("", *heads), "|---|" + "---:|" * len(heads)]
    for name, row in fewest.items():
        cells = []
        for count, table in tables.items():
            mark = MARKS.get(leaderboard.verdict(study, name, count), "")
            cells.append(error_cell(table[name]) + mark if name in table else "")
        cells += [f"{seconds[name]:.0f}"] if seconds else []
        lines.append(line(name, *cells, signed(row["forgetting"])))
    return lines


def _counted(study: dict, name: str, labels: int) -> str:
    """The mark of who was held against TF-IDF and has not clearly fewer errors."""
    beside = leaderboard.verdict_of(leaderboard.against_counting(study, name, labels))
    return "" if beside in ("", "fewer errors") else " °"


def _apart(row: dict, questions: list[int]) -> list[str]:
    """The errors on some of TREC's test questions, and on the others."""
    both = leaderboard.split_errors(row["test_wrong"], questions, QUESTIONS)
    return [f"{sum(errors) / len(errors):.1f}" for errors in both]

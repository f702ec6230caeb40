"""Schemes on TREC-6: which one, with how many labels? Each study is a value of `Study`.

A scheme trains as it was chosen to on dev, before the test set was read (see `grid_search`); then
every run reads the test set once. Finished runs are kept in `runs/adaptation/`; a stopped study
goes on where it was.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from benchmarks import markdown, runner
from benchmarks.markdown import error_cell, line, points_cell, signed, source
from benchmarks.studies import comparison, grid_search, transfer
from benchmarks.studies.comparison import FEW, PRIMARY, asked_what
from benchmarks.studies.grid_search import CONFIRMED, EPOCHS, GRID_EPOCHS
from benchmarks.studies.multi_stage import ELSEWHERE, MULTI_STAGE, READINGS, TAPT, TAPT_TOKENS
from benchmarks.studies.search_space import MAIN, SPACE
from benchmarks.studies.trials import MODEL, Job
from tlcourse import results
from tlcourse.adaptation import FULL, leaderboard

ALL = transfer.ALL
DATA = "TREC-6, published split; forgetting on WikiText-103's validation articles"
CLOCK = "seconds are the processor's"
LM = "with the LM loss"
SEEDS = {"all": 5}  # runs with all labels
TIMED_EPOCH, TIMED_DRAW = 2000, 100  # labels of what is timed for all schemes on one machine
MARKS = {"fewer errors": " ↓", "more errors": " ↑"}  # of leaderboard's verdicts


@dataclass(frozen=True)
class Choices:
    """How each scheme trains: with `all` labels, and with `few`.

    A choice is a dictionary with "size" and "recipe". `kept` stands in the study's result.
    """

    all: Mapping[str, dict] = field(default_factory=dict)
    few: Mapping[str, dict] = field(default_factory=dict)
    kept: Mapping[str, Any] = field(default_factory=dict)
    dev_apart: Mapping[str, list[float]] = field(default_factory=dict)  # see `searched`

    def job(self, scheme: str, labels: int | str, seed: int, split: str = "test") -> Job:
        """One run; what is no scheme of the search trains as full fine-tuning does."""
        searched = scheme in SPACE
        choice = (self.all if labels == "all" else self.few)[scheme if searched else FULL.name]
        size = choice["size"] if searched else None
        return Job(scheme, labels, seed, split, runner.recipe_of(choice), size=size)


@dataclass(frozen=True)
class Study:
    """Schemes with numbers of labels (`pairs`), so many `draws` of each number.

    `recipe` says how they train and `seconds` what their seconds are; `against` are pairs of
    schemes that are compared in place of each with full fine-tuning; `facts` go into the result.
    """

    name: str
    pairs: Sequence[tuple[str, int | str]]
    draws: Mapping[int | str, int]
    recipe: Callable[[], Choices]
    section: Callable[[dict], str]  # of RESULTS.md, made of the result
    seconds: Callable[[list[dict], Choices], tuple[dict, str]]
    against: Sequence[tuple[str, str]] = ()
    data: str = DATA
    facts: Mapping[str, Any] = field(default_factory=dict)

    def jobs(self, choices: Choices) -> list[Job]:
        """The runs that read the test set, draw by draw."""
        jobs = [
            choices.job(scheme, labels, seed)
            for scheme, labels in self.pairs
            for seed in range(self.draws[labels])
        ]
        return sorted(jobs, key=lambda job: job.seed)

    def measure(self) -> dict:
        """One row a scheme and number of labels, and what was compared.

        Raises FileNotFoundError where a choice of another study is needed that is not stored.
        """
        choices = self.recipe()
        runs = runner.run_all(self.jobs(choices))
        rows = self._rows(runs, choices)
        timed, clock = self.seconds(rows, choices)
        note = "; ".join(filter(None, [runner.pooled(), clock]))
        return {
            "job": self.name,
            **runner.provenance(self.data, runs=runs, note=note),
            "model": MODEL,
            **self.facts,
            **choices.kept,
            **timed,
            "rows": rows,
            **self._compared(rows),
        }

    def _rows(self, runs: list[dict], choices: Choices) -> list[dict]:
        """One row a pair; "dev_error" is that of its choice, where it trains with all labels."""
        rows = []
        for scheme, labels in self.pairs:
            mine = [run for run in runs if (run["scheme"], run["labels"]) == (scheme, labels)]
            row = comparison.row_of(mine, ALL if labels == "all" else labels)
            chosen = choices.all.get(scheme, {}) if labels == "all" else {}
            row["dev_error"] = chosen.get("dev_error")
            if scheme in choices.dev_apart:
                row["dev_apart"] = choices.dev_apart[scheme]
            rows.append(row)
        return rows

    def _compared(self, rows: list[dict]) -> dict[str, Any]:
        """Pairs of `against`; else each with full fine-tuning, and some with counting words."""
        test = transfer.questions("all", 0, "test")[1]
        if self.against:
            return {
                "comparisons": comparison.compare_pairs(rows, self.against, len(test)),
                "primary": list(self.against[0]),
            }
        counting = transfer.tfidf_rows(self.draws)
        comparisons, against_counting = comparison.compare(rows, counting, len(test))
        return {
            "what_is": asked_what(test["text"]),
            "counting": counting,
            "comparisons": comparisons,
            "against_counting": against_counting,
        }


# What the seconds of rows are: sets them, returns what else the result says of them, and a note


def of_the_runs(rows: list[dict], choices: Choices) -> tuple[dict, str]:
    """Means over the runs, as they are."""
    return {}, CLOCK


def no_seconds(rows: list[dict], choices: Choices) -> tuple[dict, str]:
    """None: the runs may have been kept from several machines."""
    for row in rows:
        row["seconds"] = None
    return {}, ""


def of_an_epoch(rows: list[dict], choices: Choices) -> tuple[dict, str]:
    """Those of one epoch of TIMED_EPOCH questions, as each scheme trains with all labels."""
    jobs = [
        replace(job, labels=TIMED_EPOCH, recipe=replace(job.recipe, epochs=1))
        for job in (choices.job(row["scheme"], "all", 0, "dev") for row in rows)
    ]
    runs = runner.run_all(jobs)
    for row, run in zip(rows, runs, strict=True):
        row["seconds"] = run["seconds"]
    return {}, f"{CLOCK}, of one epoch of {TIMED_EPOCH:,} questions on {runner.machines(runs)}"


def of_a_draw(rows: list[dict], choices: Choices) -> tuple[dict, str]:
    """Those of one draw of TIMED_DRAW labels that no test has, by scheme; TAPT beside them."""
    no_seconds(rows, choices)
    names = [*(row["scheme"] for row in rows if row["labels"] == TIMED_DRAW), "TAPT"]
    seed = grid_search.FEW_SEEDS[0]
    runs = runner.run_all(choices.job(name, TIMED_DRAW, seed, "dev") for name in names)
    seconds = {run["scheme"]: run["seconds"] for run in runs}
    clock = f"{CLOCK}, of one draw of {TIMED_DRAW} labels on {runner.machines(runs)}"
    return {"seconds": seconds}, clock


# How schemes train


def searched() -> Choices:
    """As the better of the two best points of each grid, which were confirmed on dev.

    "dev_apart" are the errors of that point in percent, means over its runs: on dev questions that
    begin with "What is" or "What are", and on the others.
    """
    confirmed = grid_search.confirm(grid_search.search(grid_search.grid, MAIN))
    chosen = grid_search.choices({name: points[0] for name, points in confirmed.items()})
    dev_apart = {name: _dev_apart(name, points[0]) for name, points in confirmed.items()}
    kept = {"epochs": EPOCHS, "confirmed": confirmed, "choices": chosen}
    return Choices(chosen, kept=kept, dev_apart=dev_apart)


def _dev_apart(name: str, point: dict) -> list[float]:
    both = []
    for seed, fold in CONFIRMED:
        dev = transfer.questions("all", seed, "dev", fold=fold)[1]
        missed = grid_search.confirming(name, point, seed, fold).run()["wrong"]
        errors = leaderboard.split_errors([missed], asked_what(dev["text"]), len(dev))
        both.append([error for (error,) in errors])
    return [sum(column) / len(CONFIRMED) for column in zip(*both, strict=True)]


def by_the_grid() -> Choices:
    """As the best point of each grid; full fine-tuning as `schemes` chose, and confirmed."""
    grids = grid_search.search(grid_search.grid, OTHERS)
    chosen = grid_search.choices({name: grid_search.best(rows) for name, rows in grids.items()})
    chosen[FULL.name] = _stored("schemes", FULL.name)
    epochs = {"screen": GRID_EPOCHS, "test": EPOCHS}
    return Choices(chosen, kept={"epochs": epochs, "choices": chosen})


def with_few_labels() -> Choices:
    """As the best learning rate of each with few labels."""
    return _few(FEW_SCHEMES, {})


def as_full() -> Choices:
    """As full fine-tuning was chosen to: with few labels by `few_labels`, with all by `schemes`."""
    stored = (_stored(study, FULL.name) for study in ("schemes", "few_labels"))
    return Choices(*({FULL.name: choice} for choice in stored))


def as_full_but_the_lm_loss() -> Choices:
    """As full fine-tuning, but for the LM loss, which is searched in the same way."""
    chosen = {name: _stored("schemes", name) for name in (FULL.name, LM)}
    few = _few([LM], {FULL.name: _stored("few_labels", FULL.name)})
    return replace(few, all=chosen)


def _few(names: Sequence[str], others: dict[str, dict]) -> Choices:
    """Schemes that are searched with few labels, and the choices of others."""
    grids = grid_search.search(grid_search.few_grid, names)
    chosen = {name: grid_search.best(points) for name, points in grids.items()} | others
    tried = [point for points in grids.values() for point in points]
    return Choices(few=chosen, kept={"tried": tried, "choices": chosen})


def _stored(study: str, scheme: str) -> dict:
    return results.stored(study)["choices"][scheme]


# Sections of RESULTS.md


def schemes_section(study: dict[str, Any]) -> str:
    """The main schemes on test, each as dev chose it: a row a scheme, fewest errors first."""
    what_is, seeds = study["what_is"], len(study["rows"][0]["errors"])
    counting = [
        ["TF-IDF", "", "", f"{row['mean']:.1f}", *_apart(row, what_is), *[""] * 3]
        for row in study["counting"]
    ]
    return markdown.section(
        "## The main schemes, searched alike",
        f"{study['model']} with all labels. The best two points of each grid were confirmed by "
        f"two runs of {study['epochs']} epochs on two dev splits, one of them the search's. The "
        f"better point was fitted on all labels with {seeds} seeds, and each run read the test set "
        "once. Errors "
        "in percent: on dev the mean of the two runs, on test with 95 % interval over seeds; then "
        f"of the {len(what_is)} test questions that begin with *What is* or *What are*, and of the "
        "others. ↓ fewer and ↑ more errors than full fine-tuning (a sign-flip test over questions, "
        "Holm-corrected, and the interval over seeds both say so); ° of four that were held "
        f"against TF-IDF: not clearly fewer errors. {source(study, 'lesson 05')}",
        _tested(study, counting),
    )


def others_section(study: dict[str, Any]) -> str:
    """The other schemes on test, each as its grid was best: a row a scheme, fewest errors first."""
    return markdown.section(
        "The other schemes, beside full fine-tuning as it was chosen. Nothing of theirs was "
        f"confirmed: dev is the best single run of {study['epochs']['screen']} epochs, so a "
        f"little too low. Then as above, {study['epochs']['test']} epochs and "
        f"{len(study['rows'][0]['errors'])} seeds (from "
        "scratch: times its own number); the comparisons are corrected among themselves. "
        + source(study, "lesson 05b"),
        _tested(study),
    )


def few_labels_section(study: dict[str, Any]) -> str:
    """Schemes with few labels beside counting words: a row a scheme, a column a number of them."""
    counts = sorted({row["labels"] for row in study["rows"]})
    no_clock = {"machine": study["machine"].partition(";")[0]}  # no seconds are shown
    counting = {row["labels"]: row for row in study["counting"]}
    rows = [
        [
            name,
            f"{choice['recipe']['learning_rate']:g}",
            *(
                error_cell(leaderboard.rows_at(study, count)[name])
                + _mark(study, name, count)
                + _counted(study, name, count)
                for count in counts
            ),
        ]
        for name, choice in study["choices"].items()
    ]
    rows.append(["TF-IDF", "", *(error_cell(counting[count]) for count in counts)])
    return markdown.section(
        "## Few labels",
        f"Test error of {study['model']} on TREC-6 in percent, mean over "
        f"{len(study['rows'][0]['errors'])} draws of labels, "
        "95 % interval. The learning rate was chosen with 200 labels on a dev split, before the "
        "test set was read. ↓ clearly fewer and ↑ clearly more errors than full fine-tuning, ° not "
        "clearly fewer than TF-IDF. Clear is what both a sign-flip test over questions, "
        "Holm-corrected, and the interval over draws say. "
        + source(study | no_clock, "lesson 05b"),
        markdown.table(["", "learning rate", *(f"{count} labels" for count in counts)], rows),
    )


def tapt_section(study: dict[str, Any]) -> str:
    """Pretraining on the task's own texts first: a row a way, a column a number of labels."""
    return markdown.section(
        "## More signal",
        f"TAPT: {study['model']} reads {study['tokens']:,} tokens of TREC's training questions, "
        "without their labels, before it is fine-tuned. Test error in percent, mean over draws of "
        f"labels with 95 % interval; {study['readings']} readings with other seeds, draws take "
        "them in turn. ↓ fewer and ↑ more errors than full fine-tuning on the same draws (a "
        "sign-flip test over questions, Holm-corrected, and the interval over draws both say so). "
        "Both train as full fine-tuning was chosen to. Forgetting, in nats per token, is that with "
        f"the fewest labels. {source(study, 'lesson 06')}",
        _beside_full(study),
    )


def texts_section(study: dict[str, Any]) -> str:
    """What TAPT reads: a row a text, beside full fine-tuning and beside the task's own texts."""
    entries = {(entry["scheme"], entry["against"]): entry for entry in study["comparisons"]}
    lines = [
        f"What TAPT reads: with {study['rows'][0]['labels']} labels, {study['tokens']:,} tokens of "
        "TREC's own questions, of questions out of film reviews, or of statements out of them as "
        "long as TREC's questions. Differences in points, with 95 % interval over draws; p is of "
        "a sign-flip test over questions, Holm-corrected but for TAPT against statements, which "
        f"was named beforehand. {source(study, 'lesson 06')}",
        "",
        line("", "error", "against full fine-tuning", "TAPT against it"),
        "|---|---:|---:|---:|",
    ]
    for row in study["rows"]:
        name = row["scheme"]
        beside = entries.get((name, FULL.name)), entries.get(("TAPT", name))
        lines.append(line(name, error_cell(row), *map(points_cell, beside)))
    return "\n".join(lines)


def more_signal_section(study: dict[str, Any]) -> str:
    """More labels, losses or models beside full fine-tuning: a row a way, a column a number."""
    return markdown.section(
        "Other signals, as above. The LM loss was searched as full fine-tuning was; the comparisons"
        " are corrected among themselves. Seconds are of one core with the fewest labels "
        f"(TAPT: {study['seconds']['TAPT']:.0f}). {source(study, 'lesson 06b')}",
        _beside_full(study),
    )


def _tested(study: dict[str, Any], more: Sequence[Sequence[str]] = ()) -> str:
    """Schemes with all labels as a table: dev, test, the test questions apart, and costs.

    `more` are rows that stand below those of the schemes.
    """
    head = ["", "learning rate", "dev", "test", "What is / are", "others"]
    rows = []
    for name, row in leaderboard.rows_at(study, ALL).items():
        test = error_cell(row) + _mark(study, name, ALL) + _counted(study, name, ALL)
        rate, dev = f"{row['recipe']['learning_rate']:g}", f"{row['dev_error']:.1f}"
        cost = f"{row['trained_share']:.2%}", f"{row['seconds']:.0f}", signed(row["forgetting"])
        rows.append([name, rate, dev, test, *_apart(row, study["what_is"]), *cost])
    return markdown.table([*head, "trained", "seconds", "forgets"], [*rows, *more])


def _beside_full(study: dict[str, Any]) -> str:
    """Rows that were compared with full fine-tuning, by number of labels; costs with the fewest."""
    counts = sorted({row["labels"] for row in study["rows"]})
    tables = {count: leaderboard.rows_at(study, count) for count in counts}
    heads = [
        f"{count:,} labels, {len(next(iter(table.values()))['seeds'])} "
        + ("seeds" if count == ALL else "draws")
        for count, table in tables.items()
    ]
    seconds = study.get("seconds", {})
    heads += ["seconds"] * bool(seconds) + ["forgets"]
    lines = [line("", *heads), "|---|" + "---:|" * len(heads)]
    for name, row in tables[counts[0]].items():
        cells = [
            error_cell(table[name]) + _mark(study, name, count) if name in table else ""
            for count, table in tables.items()
        ]
        cells += [f"{seconds[name]:.0f}"] if seconds else []
        lines.append(line(name, *cells, signed(row["forgetting"])))
    return "\n".join(lines)


def _mark(study: dict, name: str, labels: int) -> str:
    """An arrow where a scheme has clearly fewer or more errors than full fine-tuning."""
    return MARKS.get(leaderboard.verdict(study, name, labels), "")


def _counted(study: dict, name: str, labels: int) -> str:
    """The mark of a scheme that was compared with TF-IDF and has not clearly fewer errors."""
    beside = leaderboard.verdict_of(leaderboard.against_counting(study, name, labels))
    return "" if beside in ("", "fewer errors") else " °"


def _apart(row: dict, questions: list[int]) -> list[str]:
    """The errors on some of TREC's test questions, and on the others."""
    both = leaderboard.split_errors(row["test_wrong"], questions, transfer.QUESTIONS)
    return [f"{sum(errors) / len(errors):.1f}" for errors in both]


# The studies

OTHERS = tuple(name for name in SPACE if name not in MAIN)
FEW_SCHEMES = tuple(name for name in FEW if name in SPACE)  # none that trains more than once
FEW_DRAWS = dict.fromkeys((100, 200, 500), 20)
OWN, STATEMENTS, QUESTIONS = TAPT

STUDIES = {
    study.name: study
    for study in (
        Study(  # the main schemes with all labels: searched alike, confirmed, tested
            "schemes",
            pairs=[(name, "all") for name in MAIN],
            draws=SEEDS,
            recipe=searched,
            section=schemes_section,
            seconds=of_an_epoch,
            facts={"primary": [PRIMARY[0], ALL]},
        ),
        Study(  # the others, without the confirmation, beside full fine-tuning
            "other_schemes",
            pairs=[(name, "all") for name in (*OTHERS, FULL.name)],
            draws=SEEDS,
            recipe=by_the_grid,
            section=others_section,
            seconds=of_an_epoch,
        ),
        Study(  # which scheme with few labels, and does it beat counting words?
            "few_labels",
            pairs=[(name, labels) for labels in FEW_DRAWS for name in FEW_SCHEMES],
            draws=FEW_DRAWS,
            recipe=with_few_labels,
            section=few_labels_section,
            seconds=of_the_runs,
        ),
        Study(  # does it pay to go on pretraining on the task's own texts first?
            "tapt",
            pairs=list(product((FULL.name, OWN), FEW_DRAWS | SEEDS)),
            draws=FEW_DRAWS | SEEDS,
            recipe=as_full,
            section=tapt_section,
            seconds=no_seconds,
            facts={"tokens": TAPT_TOKENS, "readings": READINGS},
        ),
        Study(  # what does that feed on: the task's own texts, or any short sentences?
            "tapt_texts",
            pairs=[(name, 500) for name in (FULL.name, *TAPT)],
            draws={500: 10},
            recipe=as_full,
            section=texts_section,
            seconds=no_seconds,
            against=(
                (OWN, STATEMENTS),
                (OWN, QUESTIONS),
                (QUESTIONS, STATEMENTS),
                (QUESTIONS, FULL.name),
                (STATEMENTS, FULL.name),
            ),
            data=f"{DATA}; {ELSEWHERE}'s reviews",
            facts={"tokens": TAPT_TOKENS},
        ),
        Study(  # what other features, labels, losses and models are worth
            "more_signal",
            pairs=[
                *((name, 100) for name in (FULL.name, LM, *MULTI_STAGE) if name not in TAPT),
                *((name, "all") for name in (FULL.name, LM, "pooled concatenation")),
            ],
            draws={100: 10} | SEEDS,
            recipe=as_full_but_the_lm_loss,
            section=more_signal_section,
            seconds=of_a_draw,
        ),
    )
}

"""Five models of the scheme that dev chose, their mean answer, and students that learn from it.

The way to train is the one with the lowest dev error of `python -m benchmarks combined`, on all of
TREC-6's labels. A student has one model's size and learns the teachers' mean probabilities (Hinton,
Vinyals & Dean, 2015) on the training questions, and on questions out of film reviews that have no
label, in as many epochs: it takes about half as many steps again. Everything was fixed before any
of these models read the test set. Finished runs are kept in `runs/distilled/`; a stopped study goes
on where it was.
"""

from dataclasses import dataclass
from typing import Any

import torch

from benchmarks import runner
from benchmarks.studies import transfer
from benchmarks.studies.multi_stage import QUESTION, Task, distil, sentences_elsewhere
from benchmarks.studies.search_space import task_at
from benchmarks.studies.trials import MODEL
from benchmarks.table import line, source, wilson_cell
from tlcourse import corpora, metrics, results
from tlcourse.adaptation import Classifier, Recipe, wrong

TEACHERS, STUDENTS = (0, 1, 2, 3, 4), (0, 1, 2)  # their seeds


@dataclass(frozen=True)
class Teacher(runner.Job):
    """One model of the scheme; its answers to all texts are kept."""

    study = "distilled"
    scheme: str
    size: Any
    pooling: str
    recipe: Recipe
    seed: int
    model: str = MODEL
    role: str = "teacher"

    def work(self) -> dict:
        """Trains and judges, and answers: (texts, labels) probabilities."""
        task = self.task()
        fitted = task.fit(task.start())
        answers = fitted.probabilities(_texts(task))
        return tested(fitted) | {"answers": _rounded(answers)}

    def task(self) -> Task:
        """All labelled questions and the scheme, under a head drawn from the seed."""
        train = transfer.questions("all", self.seed, "test")[0]
        torch.manual_seed(self.seed)
        task = Task(
            model=self.model, pooling=self.pooling, recipe=self.recipe, seed=self.seed,
            texts=train["text"][:], labels=train["label"][:], every_text=train["text"][:],
        )  # fmt: skip
        return task_at(self.scheme, task, self.size)


@dataclass(frozen=True)
class Student(Teacher):
    """One model that learns from the answers of the teachers, which have run."""

    role: str = "student"

    def work(self) -> dict:
        """Trains on what the teachers answered, and judges."""
        known = (self.scheme, self.size, self.pooling, self.recipe)
        teachers = [Teacher(*known, seed, self.model).run()["answers"] for seed in TEACHERS]
        task = self.task()
        student = distil(
            task.start(), _texts(task), list(map(torch.tensor, teachers)), scheme=task.scheme,
            recipe=self.recipe, seed=self.seed,
        )  # fmt: skip
        return tested(student)


def tested(classifier: Classifier) -> dict:
    """Which test questions it gets wrong, and its probabilities of them."""
    test = transfer.questions("all", 0, "test")[1]
    probabilities = classifier.probabilities(test["text"])
    return transfer.judged(classifier, test) | {"test": _rounded(probabilities)}


def _texts(task: Task) -> list[str]:
    return [*task.texts, *sentences_elsewhere(QUESTION)]


def _rounded(probabilities: torch.Tensor) -> list[list[float]]:
    return [[round(share, 5) for share in row] for row in probabilities.tolist()]


def measure() -> dict:
    """A row for the single models, one for their mean answer, one for the students.

    Raises FileNotFoundError where it is not stored what dev chose.
    """
    chosen = results.stored("combined")["chosen"]
    known = (*(chosen[each] for each in ("scheme", "size", "pooling")), runner.recipe_of(chosen))
    teachers = runner.run_all(Teacher(*known, seed) for seed in TEACHERS)
    students = runner.run_all(Student(*known, seed) for seed in STUDENTS)
    test = transfer.questions("all", 0, "test")[1]
    mean = sum(torch.tensor(each["test"]) for each in teachers)
    together = {"wrong": wrong(mean, test["label"], corpora.TREC_LABELS), "of": len(test)}
    rows = [
        _row("one model", teachers),
        _row("five models together", [together]),
        _row("one student of the five", students),
    ]
    comparisons = [_against(row, rows[0], len(test)) for row in rows[1:]]
    runner.correct(comparisons)
    return {
        "job": "distilled",
        **runner.provenance(
            "TREC-6, published split; questions in IMDB's reviews",
            runs=[*teachers, *students],
            note=runner.pooled(),
        ),
        "model": MODEL,
        "chosen": chosen,
        "rows": rows,
        "comparisons": comparisons,
    }


def _row(what: str, mine: list[dict]) -> dict:
    """Errors of models of one kind; a single one has the interval over questions (Wilson's)."""
    errors = [runner.error_of(each) for each in mine]
    row = {"what": what, "test_wrong": [each["wrong"] for each in mine]}
    if len(mine) > 1:
        return row | runner.over_seeds(errors)
    low, high = metrics.wilson_interval(len(mine[0]["wrong"]), mine[0]["of"])
    return row | {"errors": errors, "mean": errors[0], "interval": [100 * low, 100 * high]}


def _against(row: dict, single: dict, questions: int) -> dict:
    """By how many points a row differs from the single models; a sign-flip test over questions."""
    result = metrics.sign_flip_test(row["test_wrong"], single["test_wrong"], questions)
    return {"what": row["what"], "points": row["mean"] - single["mean"], "p": result.p_value}


def section(study: dict[str, Any]) -> str:
    """For RESULTS.md: models alone and together, and students of them, a row each."""
    p = {entry["what"]: f"{entry['p_holm']:.2f}" for entry in study["comparisons"]}
    lines = [
        f"Gradual unfreezing with what dev chose beside it ({study['chosen']['what']}) and all "
        "labels: models alone, the mean of their answers, and students of one model's size that "
        "learn these answers to the training questions and to questions of film reviews (about "
        "half as many steps again). Mean test error in percent, with 95 % interval over questions "
        "(Wilson's, as for a single run); p is of a sign-flip test against one model, "
        f"Holm-corrected. {source(study, 'lesson 06')}",
        "",
        "| | runs | test | p |",
        "|---|---:|---:|---:|",
    ]
    for row in study["rows"]:
        error = wilson_cell(row["mean"], transfer.QUESTIONS)
        lines.append(line(row["what"], len(row["errors"]), error, p.get(row["what"], "")))
    return "\n".join(lines)

"""Gradual unfreezing with more beside it, and a student of five models of the best such way.

It had the lowest dev error of `python -m benchmarks schemes`. `combined`: it keeps what was chosen
there, and the LM loss keeps its weight; poolings and epochs were set by hand, nothing is searched
anew. Each way has two runs on two dev splits, as the points that were confirmed there; the lowest
mean is chosen. The test set is not read.

`distilled` trains by the chosen way on all labels: five models, their mean answer, and students. A
student has one model's size and learns the teachers' mean probabilities (Hinton, Vinyals & Dean,
2015) on the training questions, and on questions out of film reviews that have no label, in as many
epochs: it takes about half as many steps again. Everything was fixed before any of these models
read the test set.

Finished runs are kept in `runs/adaptation/` and `runs/distilled/`.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from benchmarks import markdown, runner
from benchmarks.markdown import signed, source, wilson_cell
from benchmarks.studies import transfer
from benchmarks.studies.grid_search import CONFIRMED, EPOCHS
from benchmarks.studies.multi_stage import QUESTION, Task, sentences_elsewhere, student
from benchmarks.studies.search_space import COMBINED, task_at
from benchmarks.studies.trials import MODEL, POOLING, Job
from tlcourse import corpora, metrics, results
from tlcourse.adaptation import Classifier, Recipe, misclassified

BASE, (BOTH,) = "gradual unfreezing", tuple(COMBINED)
TEACHERS, STUDENTS = (0, 1, 2, 3, 4), (0, 1, 2)  # their seeds


@dataclass(frozen=True)
class Way:
    """What differs from gradual unfreezing alone."""

    scheme: str = BASE
    pooling: str = POOLING
    epochs: int = EPOCHS


WAYS = {
    "gradual unfreezing": Way(),
    "twice the epochs": Way(epochs=2 * EPOCHS),
    "with the LM loss": Way(BOTH),
    "pooled concatenation": Way(pooling="concatenation"),
    "pooled concatenation, with the LM loss": Way(BOTH, "concatenation"),
}


def measure() -> dict:
    """One row a way, and which one was chosen with all that it takes to train it.

    Raises FileNotFoundError where the choices of `schemes` are not stored.
    """
    alone = results.stored("schemes")["choices"][BASE]
    known = {name: _settings(way, alone) for name, way in WAYS.items()}
    runs = runner.run_all(
        Job(way.scheme, "all", seed, "dev", recipe, pooling=way.pooling, size=size, fold=fold)
        for (size, recipe), way in zip(known.values(), WAYS.values(), strict=True)
        for seed, fold in CONFIRMED
    )
    rows = []
    for name, mine in zip(WAYS, runner.groups(runs, len(CONFIRMED)), strict=True):
        errors = [runner.error_of(run) for run in mine]
        row = {"what": name, "errors": errors, "mean": sum(errors) / len(errors)}
        forgetting = sum(run["forgetting"] for run in mine) / len(mine)
        rows.append(row | {"of": mine[0]["of"], "forgetting": forgetting})
    best = min(rows, key=lambda row: row["mean"])["what"]
    size, recipe = known[best]
    way = {"scheme": WAYS[best].scheme, "pooling": WAYS[best].pooling}
    return {
        "job": "combined",
        **runner.provenance("TREC-6, dev splits out of train", runs=runs, note=runner.pooled()),
        "model": MODEL,
        "rows": rows,
        "chosen": {"what": best, **way, "size": size, "recipe": asdict(recipe)},
    }


def _settings(way: Way, alone: dict) -> tuple[Any, Recipe]:
    """The scheme's own number, and how it trains."""
    recipe = replace(runner.recipe_of(alone), epochs=way.epochs)
    return COMBINED[BOTH].sizes[0] if way.scheme == BOTH else alone["size"], recipe


def section(study: dict[str, Any]) -> str:
    """For RESULTS.md: a row a way, fewest errors first."""
    runs = len(study["rows"][0]["errors"])
    rows = [
        [
            "nothing" if row["what"] == BASE else row["what"],
            wilson_cell(row["mean"], row["of"] * runs),
            signed(row["forgetting"]),
        ]
        for row in sorted(study["rows"], key=lambda row: row["mean"])
    ]
    return markdown.section(
        "## Put together",
        "Gradual unfreezing had the lowest dev error. Here it has something beside it: it keeps "
        "its chosen settings, the LM loss its chosen weight; pooling and epochs were set by hand. "
        f"Error on dev in percent, mean of {runs} runs on two dev splits, one of them the "
        "search's, with 95 % interval over their questions. That "
        "pooling and the LM loss would help was known from earlier studies, which had read the "
        f"test set. {source(study, 'lesson 06')}",
        markdown.table(["gradual unfreezing, and", "dev error", "forgets"], rows),
    )


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
        texts, labels = train["text"][:], train["label"][:]
        task = Task(self.model, self.pooling, texts, labels, texts, self.recipe, self.seed)
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
        return tested(student(task, _texts(task), list(map(torch.tensor, teachers))))


def tested(classifier: Classifier) -> dict:
    """Which test questions it gets wrong, and its probabilities of them."""
    test = transfer.questions("all", 0, "test")[1]
    probabilities = classifier.probabilities(test["text"])
    return transfer.judged(classifier, test) | {"test": _rounded(probabilities)}


def _texts(task: Task) -> list[str]:
    return [*task.texts, *sentences_elsewhere(QUESTION)]


def _rounded(probabilities: torch.Tensor) -> list[list[float]]:
    return [[round(share, 5) for share in row] for row in probabilities.tolist()]


def measure_distilled() -> dict:
    """A row for the single models, one for their mean answer, one for the students.

    Raises FileNotFoundError where it is not stored what dev chose.
    """
    chosen = results.stored("combined")["chosen"]
    known = (*(chosen[key] for key in ("scheme", "size", "pooling")), runner.recipe_of(chosen))
    teachers = runner.run_all(Teacher(*known, seed) for seed in TEACHERS)
    students = runner.run_all(Student(*known, seed) for seed in STUDENTS)
    test = transfer.questions("all", 0, "test")[1]
    mean = sum(torch.tensor(run["test"]) for run in teachers)
    together = {"wrong": misclassified(mean, test["label"], corpora.TREC_LABELS), "of": len(test)}
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
    """Errors of models of one kind."""
    missed = [run["wrong"] for run in mine]
    return {"what": what, "test_wrong": missed} | runner.spread(missed, mine[0]["of"])


def _against(row: dict, single: dict, questions: int) -> dict:
    """By how many points a row differs from the single models; a sign-flip test over questions."""
    result = metrics.sign_flip_test(row["test_wrong"], single["test_wrong"], questions)
    return {"what": row["what"], "points": row["mean"] - single["mean"], "p": result.p_value}


def distilled_section(study: dict[str, Any]) -> str:
    """For RESULTS.md: models alone and together, and students of them, a row each."""
    p = {entry["what"]: f"{entry['p_holm']:.2f}" for entry in study["comparisons"]}
    rows = []
    for row in study["rows"]:
        error = wilson_cell(row["mean"], transfer.QUESTIONS)
        rows.append([row["what"], len(row["errors"]), error, p.get(row["what"], "")])
    return markdown.section(
        f"Gradual unfreezing with what dev chose beside it ({study['chosen']['what']}) and all "
        "labels: models alone, the mean of their answers, and students of one model's size that "
        "learn these answers to the training questions and to questions of film reviews (about "
        "half as many steps again). Mean test error in percent, with 95 % interval over questions "
        "(Wilson's, as for a single run); p is of a sign-flip test against one model, "
        f"Holm-corrected. {source(study, 'lesson 06')}",
        markdown.table(["", "runs", "test", "p"], rows),
    )


STUDIES = {
    "combined": runner.Measurement(measure, section),
    "distilled": runner.Measurement(measure_distilled, distilled_section),
}

"""Sizes of language models and scores of tasks over the years, each with its source.

    from tlcourse import history

    for model in history.models():
        print(model.name, model.year, model.parameters, model.source)
    history.scores()["GLUE, average"][-1].score

The numbers are those of the papers, in `data/history.json`.
"""

from dataclasses import dataclass

from tlcourse import files

PLACE = "data/history.json"


@dataclass(frozen=True)
class Model:
    """A language model, as its authors describe it; None for what they do not say."""

    name: str
    when: str  # the year and month of the first version of the paper, or of the release
    parameters: float
    layers: int
    read: str  # what it was trained on
    operations: float | None  # floating-point operations of its training
    source: str
    note: str = ""  # how a number was computed, if the paper does not say it

    @property
    def year(self) -> float:
        """When, in years: 2018.5 is July 2018."""
        return _years(self.when)


@dataclass(frozen=True)
class Score:
    """A score on the test set of a task, in percent."""

    name: str
    when: str
    score: float
    pretrained: str  # "none", "vectors" of words, "states" of a frozen model, or "fine-tuned"
    source: str

    @property
    def year(self) -> float:
        """When, in years: 2018.5 is July 2018."""
        return _years(self.when)


def models() -> list[Model]:
    """Language models from 2003 to 2020, in the order of time."""
    rows = files.read_object(files.bundled(PLACE))["models"]
    return sorted((Model(**row) for row in rows), key=lambda model: model.when)


def scores() -> dict[str, list[Score]]:
    """By task, the scores that its models reached, in the order of time."""
    tasks = files.read_object(files.bundled(PLACE))["scores"]
    return {
        task: sorted((Score(**row) for row in rows), key=lambda score: score.when)
        for task, rows in tasks.items()
    }


def people() -> dict[str, float]:
    """By task, the score of people, where it was measured."""
    rows = files.read_object(files.bundled(PLACE))["people"]
    return {task: row["score"] for task, row in rows.items()}


def _years(when: str) -> float:
    year, month = map(int, when.split("-"))
    return year + (month - 1) / 12

"""How long and how fast a classifier is adapted, and the report of what happened."""

import math
from dataclasses import dataclass

from tlcourse import ranges
from tlcourse.adaptation.groups import Group


@dataclass(frozen=True)
class Recipe:
    """How long and how fast; the defaults were chosen on TREC's dev split."""

    epochs: int = 4
    learning_rate: float = 5e-4  # AdamW; a group moves at this times its own factor
    batch_size: int = 32  # texts a step
    weight_decay: float = 0.01
    min_steps: int = 0  # small sets get more epochs, until they reach this many steps
    stop_below: float | None = None  # nats: ends once the mean loss of 20 steps is below it
    head_learning_rate: float | None = None  # of the group "head"; None: as its factor says

    def __post_init__(self) -> None:
        ranges.check(
            self,
            epochs=ranges.COUNT,
            learning_rate=ranges.POSITIVE,
            batch_size=ranges.COUNT,
            weight_decay=ranges.NOT_NEGATIVE,
            min_steps=ranges.WHOLE,
            stop_below=ranges.NOT_NEGATIVE,
            head_learning_rate=ranges.POSITIVE,
        )

    def steps(self, texts: int) -> int:
        """How many steps so many texts take."""
        return max(self.epochs * math.ceil(texts / self.batch_size), self.min_steps)

    def rate_of(self, name: str, group: Group) -> float:
        """The learning rate of one group."""
        own = self.head_learning_rate if name == "head" else None
        return self.learning_rate * group.factor if own is None else own


@dataclass(frozen=True)
class Report:
    """What `adapt` did."""

    history: list[dict]  # a record a step
    start_difference: float  # the most that the edit changed a logit, before the first step
    declared: tuple[str, ...]  # the parameters that were to move
    moved: tuple[str, ...]  # those that did
    trained: int  # numbers in the declared parameters
    parameters: int  # numbers in all
    seconds: float
    in_windows: int = 0  # texts that are longer than the body reads at once

"""How a model is pretrained and how it is adapted: settings with their ranges and defaults.

They stand apart from what reads them, so that `tlcourse pretrain --help` can show them without
importing PyTorch. `tlcourse.pretraining` and `tlcourse.adaptation` export them.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from tlcourse import ranges
from tlcourse.ranges import COUNT, NOT_NEGATIVE, POSITIVE, SEED, SHARE, WHOLE, Number, setting


class Reading(NamedTuple):
    """How a model that is trained on an objective reads text."""

    causal: bool  # of its configuration; True if each position predicts the next token
    readings: tuple[str, ...]  # the ways in which it can be evaluated
    unused: tuple[str, ...] = ()  # the settings of a recipe that have no effect


OBJECTIVES = {
    "causal": Reading(True, ("causal",), unused=("mask_probability", "causal_share")),
    "masked": Reading(False, ("masked",), unused=("causal_share",)),
    "hybrid": Reading(True, ("causal", "masked")),
}


@dataclass(frozen=True)
class PretrainingRecipe:
    """How to train: what a run needs to know besides model, data and budget.

    The hybrid objective reads `causal_share` of the windows causally and the others from both
    sides, as one model. Without `muon_learning_rate` AdamW trains all parameters. Raises ValueError
    for an objective that is not in OBJECTIVES and for a number out of its range.
    """

    objective: str = "causal"
    batch_size: int = setting(64, COUNT, "windows per step, over all processes")
    length: int = setting(128, COUNT, "tokens per window")
    learning_rate: float = setting(3e-3, POSITIVE, "of AdamW: embeddings, norms and biases")
    muon_learning_rate: float | None = setting(0.01, POSITIVE, "of Muon: matrices in the blocks")
    weight_decay: float = setting(
        0.1, NOT_NEGATIVE, "of those matrices, times their learning rate, per step"
    )
    warmup: int = setting(100, WHOLE, "steps until the full learning rates")
    decay: float = setting(
        0.4, SHARE, "share of the steps, at the end, in which the learning rates fall to 0"
    )
    mask_probability: float = setting(
        0.15, Number(above=0, most=1), "probability that a token is hidden (masked, hybrid)"
    )
    causal_share: float = setting(0.5, SHARE, "share of causal windows (hybrid)")
    seed: int = setting(0, SEED, "for weights and windows")

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise ValueError(
                f"expected an objective out of {', '.join(OBJECTIVES)}, got {self.objective!r}"
            )
        ranges.check(self)


@dataclass(frozen=True)
class Recipe:
    """How long and how fast to adapt; the defaults were chosen on TREC's dev split."""

    epochs: int = setting(4, COUNT, "passes over the texts")
    learning_rate: float = setting(
        5e-4, POSITIVE, "of AdamW; each parameter group multiplies it by a factor"
    )
    batch_size: int = setting(32, COUNT, "texts per step")
    weight_decay: float = setting(0.01, NOT_NEGATIVE, "of AdamW")
    min_steps: int = setting(0, WHOLE, "small sets get more epochs, until so many steps")
    stop_below: float | None = setting(
        None, NOT_NEGATIVE, "nats: ends once the mean loss of 20 steps is below it"
    )
    head_learning_rate: float | None = setting(
        None, POSITIVE, 'of the group "head", in place of its factor'
    )

    def __post_init__(self) -> None:
        ranges.check(self)

    def steps(self, texts: int) -> int:
        """Returns the number of steps for `texts` texts."""
        return max(self.epochs * math.ceil(texts / self.batch_size), self.min_steps)

    def rate_of(self, name: str, group: Any) -> float:
        """Returns the learning rate of a group of parameters (`adaptation.groups.Group`)."""
        own = self.head_learning_rate if name == "head" else None
        return self.learning_rate * group.factor if own is None else own

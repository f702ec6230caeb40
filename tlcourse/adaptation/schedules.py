"""The third knob: the factor of each group's learning rate at each step.

A schedule is a value that is called with the number of steps and the groups' names, from the input
to the output; it returns a function of the step. A group whose factor is 0 is frozen in that step:
neither its parameters nor its optimizer state change.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tlcourse import ranges
from tlcourse.adaptation.knobs import check_choice
from tlcourse.training import warmup_stable_decay

Curve = Callable[[int], float]  # one factor for all groups
Factors = Callable[[int], float | Mapping[str, float]]
Shape = Callable[[int, Sequence[str]], Curve]
Schedule = Callable[[int, Sequence[str]], Factors]


@dataclass(frozen=True)
class Triangular:
    """Linear rise over the share `warmup` of the steps, then linear to 0; one for all groups."""

    warmup: float = 0.1

    def __post_init__(self) -> None:
        ranges.check(self, warmup=ranges.SHARE)

    def __call__(self, steps: int, groups: Sequence[str]) -> Curve:
        """Returns the factor of all groups at a step."""
        return warmup_stable_decay(steps, max(1, round(self.warmup * steps)), 1.0)


@dataclass(frozen=True)
class SlantedTriangular:
    """Linear rise over the share `cut` of the steps, then linear fall; from 1 / `ratio` to 1.

    Howard & Ruder (2018), equation 3.
    """

    cut: float = 0.1
    ratio: float = 32.0

    def __post_init__(self) -> None:
        ranges.check(self, cut=ranges.SHARE, ratio=ranges.Number(least=1))

    def __call__(self, steps: int, groups: Sequence[str]) -> Curve:
        """Returns the factor of all groups at a step."""
        peak = max(1, math.floor(self.cut * steps))

        def factor(step: int) -> float:
            share = step / peak if step < peak else 1 - (step - peak) / max(1, steps - peak)
            return (1 + share * (self.ratio - 1)) / self.ratio

        return factor


@dataclass(frozen=True)
class OneCycle:
    """Cosine rise from `start` to 1 at the share `peak` of the steps, cosine fall to `end`.

    Smith & Topin (2017), but with cosines instead of straight lines, and with constant momentum,
    which they lower while the rate rises.
    """

    start: float = 0.04
    end: float = 1e-4
    peak: float = 0.3

    def __post_init__(self) -> None:
        ranges.check(self, start=ranges.SHARE, end=ranges.SHARE, peak=ranges.SHARE)

    def __call__(self, steps: int, groups: Sequence[str]) -> Curve:
        """Returns the factor of all groups at a step."""
        middle = max(1, round(self.peak * steps))

        def factor(step: int) -> float:
            if step < middle:
                low, share = self.start, step / middle
            else:
                low, share = self.end, 1 - (step - middle) / max(1, steps - middle)
            return low + (1 - low) * (1 - math.cos(math.pi * share)) / 2

        return factor


@dataclass(frozen=True)
class GradualUnfreezing:
    """The head first, then one more group from the top at a time, all after `share` of the steps.

    Howard & Ruder (2018) unfreeze one layer per epoch. The trained groups follow `shape`.
    """

    shape: Shape = Triangular()
    share: float = 0.5

    def __post_init__(self) -> None:
        check_choice("shape", self.shape)
        ranges.check(self, share=ranges.SHARE)

    def __call__(self, steps: int, groups: Sequence[str]) -> Factors:
        """Returns the factor of each group at a step."""
        curve, top = _curve(self.shape, steps, groups), len(groups) - 1
        begins = {
            name: round(self.share * steps * (top - place) / max(1, top))
            for place, name in enumerate(groups)
        }

        def factors(step: int) -> Mapping[str, float]:
            factor = curve(step)
            return {name: factor if step >= begin else 0.0 for name, begin in begins.items()}

        return factors


@dataclass(frozen=True)
class ChainThaw:
    """The head, then each group alone from the input to the output, then all; equal stages.

    Felbo et al. (2017), who do not return to the head before they train all groups; here it is
    trained again after the last group below it. The trained groups follow `shape`.
    """

    shape: Shape = Triangular()

    def __post_init__(self) -> None:
        check_choice("shape", self.shape)

    def __call__(self, steps: int, groups: Sequence[str]) -> Factors:
        """Returns the factor of each group at a step."""
        stages = [groups[-1:], *([name] for name in groups), groups]
        return _in_stages(stages, _curve(self.shape, steps, groups), steps, groups)


@dataclass(frozen=True)
class SequentialUnfreezing:
    """The head, then all but the group at the input, then all; a third of the steps each.

    Chronopoulou, Baziotis & Potamianos (2019): new layers, pretrained ones, embeddings. The trained
    groups follow `shape`.
    """

    shape: Shape = Triangular()

    def __post_init__(self) -> None:
        check_choice("shape", self.shape)

    def __call__(self, steps: int, groups: Sequence[str]) -> Factors:
        """Returns the factor of each group at a step."""
        stages = [groups[-1:], groups[1:], groups]
        return _in_stages(stages, _curve(self.shape, steps, groups), steps, groups)


def _curve(shape: Shape, steps: int, groups: Sequence[str]) -> Curve:
    """Returns the factor of the trained groups; raises ValueError if it is 0 in the first step."""
    curve = shape(steps, groups)
    if curve(0) == 0:
        raise ValueError(
            "expected a shape above 0 in the first step, where a single group is trained, "
            f"got {shape}; let it start above 0"
        )
    return curve


def _in_stages(
    stages: Sequence[Sequence[str]], curve: Curve, steps: int, groups: Sequence[str]
) -> Factors:
    """Returns the factors of stages of equal length; the groups of a stage follow `curve`."""

    def factors(step: int) -> Mapping[str, float]:
        factor, stage = curve(step), stages[min(len(stages) - 1, step * len(stages) // steps)]
        return {name: factor if name in stage else 0.0 for name in groups}

    return factors

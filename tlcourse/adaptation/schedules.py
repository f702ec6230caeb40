"""The third knob: what factor of its own rate each group gets at each step.

A schedule is a function of the number of steps and of the groups' names, from the input to the
output; it returns a function of the step. A group at 0 is frozen in that step: it does not move,
and its optimizer remembers nothing of it.
"""

import math
from collections.abc import Callable, Mapping, Sequence

from tlcourse.training import warmup_stable_decay

Factors = Callable[[int], float | Mapping[str, float]]
Schedule = Callable[[int, Sequence[str]], Factors]


def triangular(warmup: float = 0.1) -> Schedule:
    """Linear up over the share `warmup` of the steps, then linear to 0; the same for all groups."""

    def schedule(steps: int, groups: Sequence[str]) -> Factors:
        return warmup_stable_decay(steps, max(1, round(warmup * steps)), 1.0)

    return schedule


def slanted_triangular(cut: float = 0.1, ratio: float = 32.0) -> Schedule:
    """Up over the share `cut` of the steps and down for the rest, between 1 / `ratio` and 1.

    Howard & Ruder (2018), their equation 3.
    """

    def schedule(steps: int, groups: Sequence[str]) -> Factors:
        peak = max(1, math.floor(cut * steps))

        def factor(step: int) -> float:
            share = step / peak if step < peak else 1 - (step - peak) / max(1, steps - peak)
            return (1 + share * (ratio - 1)) / ratio

        return factor

    return schedule


def one_cycle(start: float = 0.04, end: float = 1e-4, peak: float = 0.3) -> Schedule:
    """Cosine up from `start` to 1 at the share `peak` of the steps, cosine down to `end`.

    Smith & Topin (2017), with the cosine in place of their straight lines.
    """

    def schedule(steps: int, groups: Sequence[str]) -> Factors:
        middle = max(1, round(peak * steps))

        def factor(step: int) -> float:
            if step < middle:
                low, share = start, step / middle
            else:
                low, share = end, 1 - (step - middle) / max(1, steps - middle)
            return low + (1 - low) * (1 - math.cos(math.pi * share)) / 2

        return factor

    return schedule


def gradual_unfreezing(shape: Schedule, share: float = 0.5) -> Schedule:
    """The head first, then one more group from the top at a time, all from `share` of the steps on.

    Howard & Ruder (2018) unfreeze one layer an epoch. Whoever moves follows `shape`.
    """

    def schedule(steps: int, groups: Sequence[str]) -> Factors:
        factor, top = shape(steps, groups), len(groups) - 1
        begins = {
            name: round(share * steps * (top - place) / max(1, top))
            for place, name in enumerate(groups)
        }

        def factors(step: int) -> Mapping[str, float]:
            now = factor(step)
            return {name: now if step >= begin else 0.0 for name, begin in begins.items()}

        return factors

    return schedule


def stages(moving: Callable[[Sequence[str]], Sequence[Sequence[str]]], shape: Schedule) -> Schedule:
    """Stages of equal length; `moving` says for the groups' names which move in each stage."""

    def schedule(steps: int, groups: Sequence[str]) -> Factors:
        factor, order = shape(steps, groups), moving(groups)

        def factors(step: int) -> Mapping[str, float]:
            now, stage = factor(step), order[min(len(order) - 1, step * len(order) // steps)]
            return {name: now if name in stage else 0.0 for name in groups}

        return factors

    return schedule


def chain_thaw(shape: Schedule) -> Schedule:
    """The head, then each group alone from the input to the output, then all.

    Felbo et al. (2017).
    """
    return stages(lambda names: [names[-1:], *([name] for name in names), names], shape)


def sequential_unfreezing(shape: Schedule) -> Schedule:
    """The head, then all but the group at the input, then all; a third of the steps each.

    Chronopoulou, Baziotis & Potamianos (2019): new layers, pretrained ones, embeddings.
    """
    return stages(lambda names: [names[-1:], names[1:], names], shape)

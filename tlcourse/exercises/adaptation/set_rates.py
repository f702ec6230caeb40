"""Lesson 05b: learning rates that keep their ratios under a schedule; two bugs to find."""

import random

import numpy as np

from tlcourse.exercises.adaptation._common import failed
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying


def rates_as_given(groups, decay, factor):
    """The code of the lesson: two bugs, in what a step starts from and in the schedule."""
    for depth, group in enumerate(reversed(groups)):
        group["lr"] = group["lr"] / decay**depth
    for group in groups:
        group["lr"] = groups[-1]["initial_lr"] * factor


def rates_after(candidate, first, start, factors, *decays):
    """The rates of groups that begin at `start` times `first`, after a step at each of `factors`.

    Each step has one of `decays`; the last one serves all further steps.
    """
    groups = [
        {"name": f"layer {place}", "params": [], "lr": start * rate, "initial_lr": rate}
        for place, rate in enumerate(first)
    ]
    handed = [(id(group), group["initial_lr"]) for group in groups]
    for step, factor in enumerate(factors):
        candidate(groups, decays[min(step, len(decays) - 1)], factor)
        if [(id(group), group.get("initial_lr")) for group in groups] != handed:
            why = "Set `lr` in each group. The next step needs `initial_lr` as it is."
            raise failed("the groups after the call, except `lr`", "changed", "unchanged", why)
    return [float(group["lr"]) for group in groups]


task = Exercise(
    __name__,
    number="5b.1",
    title="Find the bugs: rates that lose their ratios",
    difficulty=2,
    importance=2,
    minutes=10,
    hints=(
        "There are two loops. Which of the numbers that the first one writes are still there after "
        "the second?",
        "Let the second loop multiply what the first one wrote, then call the function twice with "
        "the same factor. Where does the second step start from? This is what `initial_lr` is for.",
        "One loop with one line is enough: each rate is the group's own `initial_lr`, divided by "
        "`decay**depth` and multiplied by `factor`.",
    ),
    imports="import itertools\n\nimport numpy as np\nimport torch",
    given=rates_as_given,
    measure=rates_after,
    tolerance=1e-6,
)


@task.reference
def set_rates(groups, decay, factor):
    """Sets the `lr` of each group for one step; groups are ordered from the input to the output."""
    for depth, group in enumerate(reversed(groups)):
        group["lr"] = group["initial_lr"] / decay**depth * factor


@task.truth
def by_product(first, start, factors, *decays):
    """The right rates, from the initial ones and the last step alone."""
    depths = np.arange(len(first))[::-1]
    return (np.array(first) * factors[-1] / np.power(decays[-1], depths)).tolist()


THREE = "the rates of three layers with `initial_lr` 0.09"
FRESH = "Each step starts from `initial_lr`, not from the `lr` of the step before."
EQUAL = [0.09] * 3  # initial rates

task.stage(
    "one step",
    case(f"{THREE}, decay 10, one step at factor 1", EQUAL, 1.0, [1.0], 10.0),
    hint="The last group, the top layer, has its own rate, and each group below has the rate of "
    "the group above, divided by `decay`.",
)
task.stage(
    "three steps",
    case(f"{THREE}, a step with decay 2, then two with decay 3", EQUAL, 1.0, [1.0] * 3, 2.0, 3.0),
    hint=FRESH,
)
task.stage(
    "a schedule",
    case(
        f"{THREE}, decay 3, one step at factor 0.5",
        *(EQUAL, 1.0, [0.5], 3.0),
        hint="At factor 0.5 each rate is half of its rate at factor 1, so the ratios remain.",
    ),
    case(
        f"{THREE}, decay 3, steps at factors 0.5 and 0",
        *(EQUAL, 1.0, [0.5, 0.0], 3.0),
        hint="A factor of 0 is treated like any other: every rate is 0 in this step.",
    ),
    case(
        f"{THREE} but `lr` 0 before the first step, decay 3, steps at factors 0.1, 0 and 2",
        *(EQUAL, 0.0, [0.1, 0.0, 2.0], 3.0),
        hint=f"{FRESH} A factor, also one above 1, belongs to one step alone.",
    ),
)
task.stage(
    "groups with rates of their own",
    case(
        "the rates for `initial_lr` 0.09, 0.09 and 0.27 (a faster head), decay 3, a second step at "
        "factor 1",
        *([0.09, 0.09, 0.27], 1.0, [0.5, 1.0], 3.0),
    ),
    hint="Each group starts from its own `initial_lr`.",
)


def runs():
    """20 random cases."""
    draw = random.Random(varying(3))
    for _ in range(20):
        first = [draw.choice([0.5, 1.0, 3.0]) for _ in range(draw.randrange(1, 9))]
        factors = [draw.random() for _ in range(draw.randrange(1, 5))]
        decay = draw.uniform(1.0, 3.0)
        what = f"the rates of {len(first)} groups, decay {decay:.3f}, after {len(factors)} steps"
        yield case(what, first, 1.0, factors, decay)


task.stage(
    "20 runs",
    *runs(),
    hint="The ratio of two neighbours is `decay`, at any depth, and nothing is rounded.",
)


def rated(rate):
    """An answer that sets `rate(group, depth, decay)` times the factor; depth 0 is the last."""

    def candidate(groups, decay, factor):
        for depth, group in enumerate(reversed(groups)):
            group["lr"] = rate(group, depth, decay) * factor

    return candidate


task.mistakes(
    (
        "All rates are equal. Either nothing is divided by `decay`, or the groups are not changed "
        "in place, or a second loop writes one rate over all of them.",
        lambda groups, decay, factor: set_rates(groups, 1.0, factor),
    ),
    (
        "The rates are upside down: groups go from the input to the output, so the last group has "
        "depth 0. Go through `reversed(groups)`.",
        lambda groups, decay, factor: set_rates(groups[::-1], decay, factor),
    ),
    (
        "You divide by `decay * depth`, but each group further down is divided once more: use "
        "`decay**depth`.",
        rated(lambda group, depth, decay: group["initial_lr"] / max(1, decay * depth)),
    ),
)

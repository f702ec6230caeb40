"""Lesson 05b: rates that keep their ratios under a schedule; two bugs to be found."""

import random

import numpy as np

from tlcourse.exercises.adaptation._common import failed
from tlcourse.exercises.task import Exercise, case


def rates_as_given(groups, decay, factor):
    """What the lesson hands out: two bugs, in what a step starts from and in the schedule."""
    for depth, group in enumerate(reversed(groups)):
        group["lr"] = group["lr"] / decay**depth
    for group in groups:
        group["lr"] = groups[-1]["initial_lr"] * factor


class Rates(list):
    """Rates of groups, from the input to the output; the rounding of single precision is none."""

    def __eq__(self, other):
        return len(self) == len(other) and np.allclose(self, other, rtol=1e-5, atol=1e-12)

    def __repr__(self):
        return str([float(f"{rate:.6g}") for rate in self])


def rates_after(candidate, first, start, factors, *decays):
    """The rates of groups that begin at `start` times `first`, after a step at each of `factors`.

    One of `decays` for each step, the last one for all that follow.
    """
    groups = [
        {"name": f"layer {place}", "params": [], "lr": start * rate, "initial_lr": rate}
        for place, rate in enumerate(first)
    ]
    handed = list(groups)
    for step, factor in enumerate(factors):
        candidate(groups, decays[min(step, len(decays) - 1)], factor)
        if [id(group) for group in groups] != [id(group) for group in handed]:
            why = "Set `lr` in each group, and leave their order."
            raise failed("the list of groups after the call", "changed", "unchanged", why)
        if [group.get("initial_lr") for group in groups] != first:
            why = "The next step starts from `initial_lr`, so it must stay."
            raise failed("`initial_lr` after the call", "changed", "unchanged", why)
    return Rates(float(group["lr"]) for group in groups)


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
        "Let the second loop multiply what the first one wrote, then call the function twice "
        "with the same factor. Where does the second step start from? `initial_lr` is there "
        "for a reason.",
        "One loop with one line is enough: each rate is the group's own `initial_lr`, over "
        "`decay**depth`, times `factor`.",
    ),
    imports="import itertools\n\nimport numpy as np\nimport torch",
    given=rates_as_given,
    measure=rates_after,
)


@task.reference
def set_rates(groups, decay, factor):
    """Sets the `lr` of each group for one step; the groups go from the input to the output."""
    for depth, group in enumerate(reversed(groups)):
        group["lr"] = group["initial_lr"] / decay**depth * factor


@task.truth
def by_product(first, start, factors, *decays):
    """The right rates, from the initial ones and the last step alone."""
    slower, rates = 1.0, Rates()
    for rate in reversed(first):
        rates.insert(0, rate / slower * factors[-1])
        slower *= decays[-1]
    return rates


THREE = "the rates of three layers with `initial_lr` 0.09"
FRESH = "Each step starts from `initial_lr`, not from what the step before has left in `lr`."
HIGHER = (
    "The last group, the top layer, has its own rate, and each group below has the rate of the "
)
HIGHER += "group above, divided by `decay`."
EQUAL = [0.09] * 3  # initial rates

task.stage(
    "one step",
    case(f"{THREE}, decay 3, one step at factor 1", EQUAL, 1.0, [1.0], 3.0),
    case(f"{THREE}, decay 2, one step at factor 1", EQUAL, 1.0, [1.0], 2.0),
    hint=HIGHER,
)
task.stage(
    "three steps",
    case(f"{THREE}, decay 3, three steps at factor 1", EQUAL, 1.0, [1.0] * 3, 3.0, hint=FRESH),
    case(
        f"{THREE}, a step with decay 2, then one with decay 3",
        *(EQUAL, 1.0, [1.0] * 2, 2.0, 3.0),
        hint="What an earlier step worked out is kept somewhere: begin anew from `initial_lr`.",
    ),
)
task.stage(
    "a schedule",
    case(
        f"{THREE}, decay 3, one step at factor 0.5",
        *(EQUAL, 1.0, [0.5], 3.0),
        hint="At factor 0.5 each rate is half of what it is at factor 1, so the ratios stay.",
    ),
    case(
        f"{THREE}, decay 3, one step at factor 2",
        *(EQUAL, 1.0, [2.0], 3.0),
        hint="A factor above 1 is treated like any other: each rate is twice that at factor 1.",
    ),
    case(
        f"{THREE}, decay 3, steps at factors 0.5 and 0",
        *(EQUAL, 1.0, [0.5, 0.0], 3.0),
        hint="A factor of 0 is treated like any other: every rate is 0 in this step.",
    ),
    case(
        f"{THREE}, decay 3, steps at factors 0.1, 0 and 0.5",
        *(EQUAL, 1.0, [0.1, 0.0, 0.5], 3.0),
        hint="A factor belongs to one step: the factors before, 0 included, are forgotten.",
    ),
    case(
        f"{THREE} but `lr` 0 before the first step, decay 3, one step at factor 1",
        *(EQUAL, 0.0, [1.0], 3.0),
        hint=FRESH,
    ),
)
task.stage(
    "groups with rates of their own",
    case(
        "the rates for `initial_lr` 0.09, 0.09 and 0.27 (a faster head), decay 3, a second step at "
        "factor 1",
        *([0.09, 0.09, 0.27], 1.0, [0.5, 1.0], 3.0),
        hint="Each group starts from its own `initial_lr`.",
    ),
)


def runs():
    """20 random cases."""
    draw = random.Random(3)
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


def faulty(rate):
    """An answer that sets `rate(group, depth, decay, factor)`, from the last group to the first."""

    def candidate(groups, decay, factor):
        for depth, group in enumerate(reversed(groups)):
            group["lr"] = rate(group, depth, decay, factor)

    return candidate


def divides_again(groups, decay, factor):
    for depth, group in enumerate(reversed(groups)):
        group["lr"] = group["lr"] / decay**depth
    for group in groups:
        group["lr"] = group["lr"] * factor


def one_rate_first(groups, decay, factor):
    for depth, group in enumerate(reversed(groups)):
        group["lr"] = groups[-1]["initial_lr"] * factor / decay**depth


def factor_for_the_top(groups, decay, factor):
    set_rates(groups, decay, 1.0)
    groups[-1]["lr"] *= factor


task.mistakes(
    (
        "All rates are equal. Either nothing is divided by `decay`, or nothing is set (each group "
        "is to be changed in place), or one rate for all is written over what was divided.",
        faulty(lambda group, depth, decay, factor: group["initial_lr"] * factor),
    ),
    (
        "This is upside down: groups go from the input to the output, so the top layer is the "
        "last.",
        lambda groups, decay, factor: set_rates(groups[::-1], decay, factor),
    ),
    (
        "Each layer further down is divided once more: `decay**depth`, not `decay * depth`.",
        faulty(lambda group, depth, decay, f: group["initial_lr"] / max(1, decay * depth) * f),
    ),
    (f"The lower layers are divided again at each step. {FRESH}", divides_again),
    (
        "The factor of the schedule is not used.",
        lambda groups, decay, factor: set_rates(groups, decay, 1.0),
    ),
    ("Only the top layer gets the factor.", factor_for_the_top),
    (
        "The `initial_lr` of one group is used for all. Each group starts from its own.",
        one_rate_first,
    ),
)

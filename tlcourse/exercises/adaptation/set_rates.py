"""Lesson 05b: rates that keep their ratios under a schedule; two bugs to be found."""

import random

import numpy as np

from tlcourse.exercises.expect import CheckFailed
from tlcourse.exercises.task import Exercise


def rates_as_given(groups, decay, factor):
    """What the lesson hands out: two bugs, in what a step starts from and in the schedule."""
    for depth, group in enumerate(reversed(groups)):
        group["lr"] = group["lr"] / decay**depth
    for group in groups:
        group["lr"] = groups[-1]["initial_lr"] * factor


task = Exercise(
    __name__,
    number="5b.1",
    title="Find the bugs: rates that lose their ratios",
    difficulty=2,
    minutes=10,
    hints=(
        "two loops. Which of the numbers that the first one writes are still there after the "
        "second?",
        "let the second loop multiply what the first one wrote, then call the function twice "
        "with the same factor. Where does the second step start from? `initial_lr` is there "
        "for a reason.",
        "one loop, one line: each rate is the group's own `initial_lr`, over `decay**depth`, "
        "times `factor`.",
    ),
    imports="import itertools\n\nimport numpy as np\nimport torch",
    given=rates_as_given,
)


@task.reference
def set_rates(groups, decay, factor):
    """Sets the `lr` of each group for one step; the groups go from the input to the output."""
    for depth, group in enumerate(reversed(groups)):
        group["lr"] = group["initial_lr"] / decay**depth * factor


@task.right
def from_the_top_down(groups, decay, factor):
    divided = 1.0
    for place in range(len(groups) - 1, -1, -1):
        groups[place].update(lr=factor * groups[place]["initial_lr"] / divided)
        divided *= decay


@task.right
def by_powers(groups, decay, factor):
    shares = np.power(float(decay), np.arange(1.0 - len(groups), 1.0))
    for group, share in zip(groups, shares, strict=True):
        group["lr"] = float(group["initial_lr"] * share * factor)


class Rates(list):
    """Rates of groups, from the input to the output; the rounding of single precision is none."""

    def __eq__(self, other):
        return len(self) == len(other) and np.allclose(self, other, rtol=1e-5, atol=1e-12)

    def __repr__(self):
        return str([float(f"{rate:.6g}") for rate in self])


FRESH = "Each step starts from `initial_lr`, not from what the step before has left in `lr`."
ABOVE = "A factor above 1 is one like others: each rate is twice what it is at factor 1."
FORGOTTEN = "A factor belongs to one step: what it was before, 0 included, is forgotten."
OWN = "One group's `initial_lr` was used for all. Each group starts from its own `initial_lr`."
EQUAL, RIGHT = [0.09] * 3, [0.01, 0.03, 0.09]  # first rates; at decay 3 and factor 1


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
            raise CheckFailed("the list of groups was changed: set `lr` in each, and leave their order.")
        if [group.get("initial_lr") for group in groups] != first:
            raise CheckFailed(
                "`initial_lr` was changed. It is what the next step starts from, and must stay."
            )
    return Rates(float(group["lr"]) for group in groups)


def follow(candidate, factors, decays, right, what, likely, first=EQUAL, start=1.0):
    """Observes the rates after steps at `factors`, each at one of `decays`."""
    task.observe(
        candidate, rates_after, first, start, factors, *decays,
        gives=Rates(right), what=what, likely=likely,
    )  # fmt: skip


@task.stage("one step")
def one_step(candidate):
    what = "three layers, all with initial_lr 0.09, decay {}, one step at factor 1:"
    likely = "The last group, the top layer, moves at its own rate, the one below at a third of it."
    follow(candidate, [1.0], [3.0], RIGHT, what.format(3), likely)
    right, likely = [0.0225, 0.045, 0.09], "Each rate is that of the layer above over `decay`."
    follow(candidate, [1.0], [2.0], right, what.format(2), likely)


@task.stage("three steps")
def three_steps(candidate):
    what = "the same three layers, decay 3, after three such steps:"
    follow(candidate, [1.0] * 3, [3.0], RIGHT, what, FRESH)
    what = "a step with decay 2, then one with decay 3:"
    likely = "What an earlier step worked out is kept somewhere: begin anew from `initial_lr`."
    follow(candidate, [1.0] * 2, [2.0, 3.0], RIGHT, what, likely)


@task.stage("a schedule")
def a_schedule(candidate):
    half, double = [rate / 2 for rate in RIGHT], [rate * 2 for rate in RIGHT]
    likely = "At factor 0.5 each rate is half of what it is at factor 1, and the ratios stay."
    follow(candidate, [0.5], [3.0], half, "one step at factor 0.5:", likely)
    follow(candidate, [2.0], [3.0], double, "one step at factor 2:", ABOVE)
    likely = "0 is a factor like others: every rate is 0 in this step, not what it was before."
    follow(candidate, [0.5, 0.0], [3.0], [0.0] * 3, "after steps at factors 0.5 and 0:", likely)
    what = "after steps at factors 0.1, 0 and 0.5:"
    follow(candidate, [0.1, 0.0, 0.5], [3.0], half, what, FORGOTTEN)
    what = "initial_lr 0.09, but `lr` 0 before the first step, decay 3, one step at factor 1:"
    follow(candidate, [1.0], [3.0], RIGHT, what, FRESH, start=0.0)


@task.stage("groups with rates of their own")
def own_rates(candidate):
    first, right = [0.09, 0.09, 0.27], [0.01, 0.03, 0.27]
    what = "initial_lr 0.09, 0.09 and 0.27 (a head that is faster), decay 3, factor 1:"
    likely = "Each group starts from its own `initial_lr`."
    follow(candidate, [0.5, 1.0], [3.0], right, what, likely, first)


@task.stage("20 runs")
def many(candidate):
    draw = random.Random(3)
    for _ in range(20):
        first = [draw.choice([0.5, 1.0, 3.0]) for _ in range(draw.randrange(1, 9))]
        factors = [draw.random() for _ in range(draw.randrange(1, 5))]
        decay, slower, right = draw.uniform(1.0, 3.0), 1.0, []
        for rate in reversed(first):
            right.insert(0, rate / slower * factors[-1])
            slower *= decay
        what = f"{len(first)} groups, decay {decay:.3f}, {len(factors)} steps:"
        likely = "The ratio of two neighbours is `decay`, at any depth."
        follow(candidate, factors, [decay], right, what, likely, first)


@task.mistake(
    "one step",
    "All are equal. Nothing was divided by `decay`, nothing was set (each group is changed in "
    "place), or one rate for all is written over what was divided.",
)
def not_divided(groups, decay, factor):
    for group in groups:
        group["lr"] = group["initial_lr"] * factor


@task.mistake("one step", "That is upside down: groups go from the input up, the top is the last.")
def the_other_order(groups, decay, factor):
    set_rates(groups[::-1], decay, factor)


DEPTH = "The top layer is not divided at all: its depth is 0."
task.mistake("one step", DEPTH)(
    lambda groups, decay, factor: set_rates(groups, decay, factor / decay)
)


@task.mistake("one step", "One layer further down is divided once more: `decay**depth`.")
def product_not_power(groups, decay, factor):
    for depth, group in enumerate(reversed(groups)):
        group["lr"] = group["initial_lr"] / max(1, decay * depth) * factor


@task.mistake("one step", "One layer further down is divided once more: `decay**depth`.")
def all_below_alike(groups, decay, factor):
    for group in groups:
        group["lr"] = group["initial_lr"] / (1 if group is groups[-1] else decay) * factor


SLOWER = "Lower layers are slower: divide by `decay**depth`."
task.mistake("one step", SLOWER)(lambda groups, decay, factor: set_rates(groups, 1 / decay, factor))
THREE = "`decay` is an argument: this is still divided by 3."
task.mistake("one step", THREE)(lambda groups, decay, factor: set_rates(groups, 3.0, factor))


@task.mistake("three steps", f"The lower layers were divided again at each step. {FRESH}")
def divides_again(groups, decay, factor):
    for depth, group in enumerate(reversed(groups)):
        group["lr"] = group["lr"] / decay**depth
    for group in groups:
        group["lr"] = group["lr"] * factor


UNUSED, TWICE = "The factor of the schedule was not used.", "The factor was multiplied in twice."
task.mistake("a schedule", UNUSED)(lambda groups, decay, factor: set_rates(groups, decay, 1.0))
task.mistake("a schedule", TWICE)(lambda groups, decay, factor: set_rates(groups, decay, factor**2))


@task.mistake("a schedule", "Only the top layer got the factor.")
def factor_for_the_top(groups, decay, factor):
    set_rates(groups, decay, 1.0)
    groups[-1]["lr"] *= factor


@task.mistake("a schedule", "The schedule wrote one rate over all: multiply each one's own.")
def one_rate_under_a_schedule(groups, decay, factor):
    set_rates(groups, decay, factor)
    for group in groups if factor < 1 else ():
        group["lr"] = groups[-1]["lr"]


@task.mistake("a schedule", ABOVE)
def at_most_one(groups, decay, factor):
    set_rates(groups, decay, min(factor, 1.0))


@task.mistake("a schedule", FORGOTTEN)
def keeps_the_factor(groups, decay, factor):
    if groups[-1]["lr"] == groups[-1]["initial_lr"]:
        set_rates(groups, decay, 1.0)
    for group in groups:
        group["lr"] *= factor


@task.mistake("20 runs", "Nothing is rounded: give what the division gives.")
def rounds(groups, decay, factor):
    set_rates(groups, decay, factor)
    for group in groups:
        group["lr"] = round(group["lr"], 4)


@task.mistake("groups with rates of their own", OWN)
def one_rate_first(groups, decay, factor):
    for group in groups:
        group["lr"] = groups[-1]["initial_lr"] * factor
    for depth, group in enumerate(reversed(groups)):
        group["lr"] = group["lr"] / decay**depth


@task.mistake("groups with rates of their own", OWN)
def rate_of_the_bottom(groups, decay, factor):
    for depth, group in enumerate(reversed(groups)):
        group["lr"] = groups[0]["initial_lr"] / decay**depth * factor

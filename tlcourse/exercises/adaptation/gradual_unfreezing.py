"""Lesson 05: a schedule that unfreezes from the output to the input."""

import random
from fractions import Fraction

from tlcourse.exercises.expect import CheckFailed, expect_unchanged, real_number, short
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="5.3",
    title="Gradual unfreezing",
    difficulty=2,
    minutes=15,
    hints=(
        "first find the step at which each name begins. The last name begins at step 0, the first "
        "at `share * steps`, those between at equal distances. How many distances are there?",
        "with `top = len(names) - 1`, the name at place `i` begins at "
        "`round(share * steps * (top - i) / top)`. A single name has no distance: it begins at 0.",
        "inside, define `def factors(step):`, which builds the dictionary: `shape(step)` for a "
        "name whose beginning is not after `step`, 0.0 for the others. Return `factors` itself.",
    ),
    imports="import math\n\nimport torch",
)


@task.reference
def gradual_unfreezing(steps, names, shape, share=0.5):
    """A function of the step, which gives {name: factor}: `shape(step)` for all that have begun."""
    top = len(names) - 1
    begins = {
        name: round(share * steps * (top - place) / max(1, top)) for place, name in enumerate(names)
    }

    def factors(step):
        return {name: shape(step) if step >= begin else 0.0 for name, begin in begins.items()}

    return factors


@task.right
def from_the_top(steps, names, shape, share=0.5):
    between = share * steps / (len(names) - 1) if len(names) > 1 else 0

    def factors(step):
        found = {}
        for below, name in enumerate(reversed(names)):
            found[name] = shape(step) * (step >= int(below * between + 0.5))
        return {name: found[name] for name in names}

    return factors


@task.right
class AsAClass:
    def __init__(self, steps, names, shape, share=0.5):
        self.names, self.shape = list(names), shape
        self.begins = [
            round(share * steps * at / max(len(names) - 1, 1)) for at in range(len(names))
        ]

    def __call__(self, step):
        moving = sum(begin <= step for begin in self.begins)
        asleep = len(self.names) - moving
        return dict.fromkeys(self.names[:asleep], 0) | dict.fromkeys(
            self.names[asleep:], self.shape(step)
        )


THREE = ("embedding", "block 0", "head")


def flat(step):
    """A shape of ones."""
    return 1.0


def falling(step):
    """Another, which tells every step apart."""
    return 1 / (1 + step)


def moved(candidate, steps, names, shape, share, at):
    """The factors at the steps `at`: one row a step, in the order of the names."""
    factors = expect_unchanged(candidate, steps, list(names), shape, *[share] * (share is not None))
    if not callable(factors):
        came = "None (is a `return` missing?)" if factors is None else short(factors)
        raise CheckFailed(
            f"gradual_unfreezing({steps}, {list(names)}, shape) gave {came}; expected a function "
            "of the step."
        )
    return [_row(factors(step), names, step) for step in at]


def _row(got, names, step):
    """A step's factors as numbers, in the order of the names."""
    if not isinstance(got, dict):
        came = "None (is a `return` missing?)" if got is None else short(got)
        raise CheckFailed(f"step {step} gave {came}; expected a dictionary, a factor for each name.")
    if missing := [name for name in names if name not in got]:
        raise CheckFailed(
            f"step {step} gave no factor for {missing[0]!r}: a group that stands still is there, "
            "too, with 0."
        )
    row = [real_number(got[name]) for name in names]
    if None in row:
        raise CheckFailed(f"step {step} gave {short(got)}; expected numbers.")
    return row


def follow(candidate, steps, names, shape, share, at, gives, what, likely):
    """Raises CheckFailed unless the factors at the steps `at` are those."""
    told = {"gives": gives, "what": what, "likely": likely}
    task.observe(candidate, moved, steps, names, shape, share, at, tolerance=1e-6, **told)


@task.stage("the head first")
def first(candidate):
    follow(
        candidate, 20, THREE, flat, 0.5, [0, 2], [[0, 0, 1], [0, 0, 1]],
        f"20 steps, {list(THREE)}, share 0.5: the factors at steps 0 and 2",
        "Only the last name, the head, moves from the beginning.",
    )  # fmt: skip


@task.stage("one more at a time")
def one_more(candidate):
    for share in (0.5, None):  # None: by default
        follow(
            candidate, 20, THREE, flat, share, [5, 9, 10, 19], [[0, 1, 1]] * 2 + [[1, 1, 1]] * 2,
            f"20 steps, {list(THREE)}, share 0.5: the factors at steps 5, 9, 10 and 19",
            "The block begins at step 5, the embedding at step 10; whoever moves goes on moving.",
        )  # fmt: skip
    follow(
        candidate, 40, THREE, flat, 0.25, [4, 5, 9, 10],
        [[0, 0, 1], [0, 1, 1], [0, 1, 1], [1, 1, 1]],
        f"40 steps, {list(THREE)}, share 0.25: the factors at steps 4, 5, 9 and 10",
        "With share 0.25 the embedding begins at a quarter of the 40 steps.",
    )  # fmt: skip


@task.stage("the shape")
def shaped(candidate):
    follow(
        candidate, 20, THREE, falling, 0.5, [0, 7, 12],
        [[0, 0, 1], [0, 1 / 8, 1 / 8], [1 / 13] * 3],
        "a shape that falls, 1 / (1 + step): the factors at steps 0, 7 and 12",
        "Whoever moves has `shape(step)`, all the same.",
    )  # fmt: skip


@task.stage("any number of groups")
def any_number(candidate):
    follow(
        candidate, 10, ("head",), falling, 0.5, [0, 4], [[1], [1 / 5]],
        "a single group, the head: its factors at steps 0 and 4",
        "It begins at step 0. Is something divided by 0?",
    )  # fmt: skip
    follow(
        candidate, 8, ("a", "b"), flat, 1.0, [0, 7], [[0, 1]] * 2,
        "8 steps, two groups, share 1: the factors at steps 0 and 7",
        "With share 1 the first would begin at step 8, after the last step.",
    )  # fmt: skip


@task.stage("20 runs")
def runs(candidate):
    draw = random.Random(2)
    for _ in range(20):
        count, steps = draw.randrange(2, 9), draw.randrange(10, 200)
        percent = draw.randrange(10, 100)
        exact = [
            Fraction(percent * steps * (count - 1 - i), 100 * (count - 1)) for i in range(count)
        ]
        if any(each.denominator == 2 for each in exact):  # a tie may go up or down
            continue
        begins, names = [round(each) for each in exact], [f"group {i}" for i in range(count)]
        at = sorted(
            {0, steps - 1, *(min(steps - 1, max(0, b + d)) for b in begins for d in (-1, 0))}
        )
        gives = [[falling(step) if step >= begin else 0.0 for begin in begins] for step in at]
        what = f"{steps} steps, {count} groups, share {percent / 100:g}: the factors at steps {at}"
        likely = "Group i of n begins at share × steps × (n - 1 - i) / (n - 1), rounded."
        follow(candidate, steps, names, falling, percent / 100, at, gives, what, likely)


def wrong(stage, says, begin=None, factor=None):
    """A known mistake: `begin(steps, place, count, share)` and `factor(step, begin, shape)`."""

    def candidate(steps, names, shape, share=0.5):
        count = len(names)
        begins = [
            round(share * steps * (count - 1 - i) / max(1, count - 1))
            if begin is None
            else begin(steps, i, count, share)
            for i in range(count)
        ]

        def factors(step):
            found = [
                (shape(step) if step >= b else 0.0) if factor is None else factor(step, b, shape)
                for b in begins
            ]
            return dict(zip(names, found, strict=True))

        return factors

    task.mistake(stage, says)(candidate)


FIRST, MORE = "the head first", "one more at a time"
wrong(
    FIRST, "That is upside down: names go from the input to the output, the head is the last.",
    begin=lambda steps, i, n, share: round(share * steps * i / max(1, n - 1)),
)  # fmt: skip
wrong(FIRST, "Everything moves from the beginning.", begin=lambda steps, i, n, share: 0)
wrong(
    FIRST, "The head, too, has to wait: it begins at step 0.",
    begin=lambda steps, i, n, share: round(share * steps * (n - i) / n),
)  # fmt: skip
wrong(
    MORE, "There is one distance less than there are names: divide by `len(names) - 1`.",
    begin=lambda steps, i, n, share: round(share * steps * (n - 1 - i) / n),
)  # fmt: skip
wrong(
    MORE, "`share` is an argument: this is always half of the steps.",
    begin=lambda steps, i, n, share: round(0.5 * steps * (n - 1 - i) / max(1, n - 1)),
)  # fmt: skip
wrong(
    MORE, "`share` is missing: the first name begins only when all steps are over.",
    begin=lambda steps, i, n, share: round(steps * (n - 1 - i) / max(1, n - 1)),
)  # fmt: skip
wrong(
    MORE, "It is one step late: whoever begins at step 5 moves in step 5.",
    factor=lambda step, begin, shape: shape(step) if step > begin or begin == 0 else 0.0,
)  # fmt: skip
wrong(
    MORE, "Nothing is ever unfrozen: only the head moves.",
    factor=lambda step, begin, shape: shape(step) if begin == 0 else 0.0,
)  # fmt: skip
wrong(
    "the shape", "The shape is missing: whoever moves has `shape(step)`, not 1.",
    factor=lambda step, begin, shape: float(step >= begin),
)  # fmt: skip
wrong(
    "the shape", "The shape counts from the beginning of the run for all: `shape(step)`.",
    factor=lambda step, begin, shape: shape(step - begin) if step >= begin else 0.0,
)  # fmt: skip


@task.mistake(MORE, "Whoever moves goes on moving: this freezes the others again.")
def one_alone(steps, names, shape, share=0.5):
    right = gradual_unfreezing(steps, names, shape, share)

    def factors(step):
        found = right(step)
        newest = next(name for name in names if found[name])
        return {name: each if name == newest else 0.0 for name, each in found.items()}

    return factors

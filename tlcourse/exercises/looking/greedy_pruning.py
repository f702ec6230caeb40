"""Lesson 08: heads removed one at a time, each time the one whose removal costs least."""

import itertools
import random

from tlcourse.exercises.expect import CheckFailed, expect_type, expect_unchanged, short
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying


def judge_of(errors, asked):
    """A judge that looks up the error of a set of removed heads, and notes its size in `asked`."""

    def judge(removed):
        if not isinstance(removed, frozenset) or removed not in errors:
            raise CheckFailed(
                check="the argument that your function passes to `judge`",
                yours=short(removed),
                expected="a frozenset of heads out of `heads`",
            )
        asked.append(len(removed))
        return errors[removed]

    return judge


def pairs(candidate, errors, heads, count):
    """The candidate's pairs."""
    judge = judge_of(errors, [])
    got = expect_unchanged(lambda heads, count: candidate(judge, heads, count), heads, count)
    expect_type(got, list, "what you return", "Return the pairs in a list, as they were removed.")
    return [tuple(pair) if isinstance(pair, list) else pair for pair in got]


def questions(candidate, errors, heads, count):
    """How often the judge was called for no head, for one, for two, and so on up to `count`."""
    candidate(judge_of(errors, asked := []), list(heads), count)
    return [asked.count(size) for size in range(count + 1)]


task = Exercise(
    __name__,
    number="8.6",
    title="Greedy pruning",
    difficulty=4,
    importance=2,
    minutes=20,
    hints=(
        "Go through the example: for which sets is `judge` called in the first round, and for "
        "which in the second? The winner of the first round is in all sets of the second.",
        "Keep two things from round to round: the set of removed heads, and the list of results. "
        "A round calls `judge(frozenset(removed | {head}))` for each head that is left.",
        "Keep the errors of a round, `errors = {head: judge(...) for head in heads if head not in "
        "removed}`, and take the first of the best, `best = min(errors, key=errors.get)`. Then "
        "`removed.add(best)` and `found.append((best, errors[best]))`.",
    ),
    imports="import math\nimport functools\nimport itertools\nimport numpy as np\nimport torch",
    measure=pairs,
)


@task.reference
def greedy_pruning(judge, heads, count):
    """A list of `count` pairs, in order of removal: (head, error without it and all before it)."""
    removed, found = set(), []
    for _ in range(count):
        errors = {head: judge(frozenset({*removed, head})) for head in heads if head not in removed}
        best = min(errors, key=errors.get)
        removed.add(best)
        found.append((best, errors[best]))
    return found


@task.truth
def by_all_sets(errors, heads, count):
    """In each round, chooses the set of the least error among those with one head more."""
    removed, order = frozenset(), []
    for size in range(1, count + 1):
        larger = [each for each in errors if len(each) == size and removed < each]
        least = min(errors[each] for each in larger)
        head = next(h for h in heads if h not in removed and errors[removed | {h}] == least)
        removed |= {head}
        order.append((head, least))
    return order


HEADS = [(0, 0), (0, 1), (1, 0), (1, 1)]
COSTS = dict(zip(HEADS, (3.0, 1.0, 4.0, 2.0), strict=True))
PAIR = frozenset({(0, 1), (1, 1)})  # two heads that do the same, so that one of them is needed


def tabled(heads, error):
    """The errors of all sets of heads: `error(set)` of each."""
    sizes = range(len(heads) + 1)
    sets = (frozenset(each) for size in sizes for each in itertools.combinations(heads, size))
    return {each: error(each) for each in sets}


def removing(count, more, errors, heads=HEADS, **rest):
    """A case in which `count` of these heads are removed."""
    what = f"{count} of {len(heads)} heads to remove{more}"
    return case(what, errors, heads, count, **rest)


def random_case(draw):
    heads = draw.sample(list(itertools.product(range(3), range(2))), draw.randrange(2, 6))
    errors = tabled(heads, lambda removed: draw.randrange(6) / 4)
    return removing(draw.randrange(1, len(heads) + 1), "", errors, heads)


ALONE = tabled(HEADS, lambda removed: 1.0 + sum(COSTS[head] for head in removed))
IN_PAIRS = {removed: error + 100.0 * (removed >= PAIR) for removed, error in ALONE.items()}
BETTER = {removed: 9.0 - error for removed, error in ALONE.items()}
task.stage(
    "one head",
    removing(1, " that give the errors 4, 2, 5 and 3", ALONE),
    hint="Call `judge` with the set of *removed* heads, once for each head, and remove the one "
    "whose removal leaves the lowest error. Return `count` pairs (head, error).",
)
task.stage(
    "measured without the heads removed before",
    removing(3, "; the error without both (0, 1) and (1, 1) is 100 higher", IN_PAIRS),
    hint="Call `judge` anew in each round, with all heads that are removed already and one more: "
    "two heads that do the same are dispensable one at a time, but not together.",
)
task.stage(
    "ties",
    removing(3, " if all errors are equal", dict.fromkeys(ALONE, 0.5), HEADS[::-1]),
    hint="Of heads with equal errors, remove the first in the order of `heads`: here (1, 1).",
)
task.stage(
    "all of them, or none",
    removing(4, "", IN_PAIRS, hint="The last round has one head left, however large its error."),
    removing(0, "", IN_PAIRS, hint="The list is empty."),
    removing(2, " if the error falls with every removed head", BETTER),
    hint="Return the pairs in the order of removal, even if the error falls.",
)
task.stage(
    "no unnecessary measurement",
    case(
        "how often you call `judge` for sets of 0, 1, 2 and 3 heads, with 3 of 4 heads to remove",
        *(IN_PAIRS, HEADS, 3),
        expected=[0, 4, 3, 2],
    ),
    measure=questions,
    hint="Call it once for each head that is left, and for nothing else, because a real judge "
    "takes seconds each time. You do not need the error of the empty set.",
)
task.stage(
    "20 random tables",
    *(random_case(draw) for draw in [random.Random(varying(8))] for _ in range(20)),
    hint="In each round, remove the first head of those with the lowest error.",
)


def rounds(
    choose=min,
    asks=lambda gone, head, heads: gone | {head},
    left=lambda heads, gone: [head for head in heads if head not in gone],
):
    """The rounds with another choice, another question, or another set to choose from."""

    def greedy_pruning(judge, heads, count):
        gone, order = frozenset(), []
        for _ in range(count):
            errors = {head: judge(asks(gone, head, heads)) for head in left(heads, gone)}
            best = choose(errors, key=errors.get)
            gone |= {best}
            order.append((best, errors[best]))
        return order

    return greedy_pruning


def ranked_once(judge, heads, count):
    errors = {head: judge(frozenset({head})) for head in heads}
    return sorted(errors.items(), key=lambda pair: pair[1])[:count]


task.mistakes(
    (
        "The head whose removal costs *most* goes first: remove the one with the lowest error.",
        rounds(choose=max),
    ),
    (
        "`judge` takes the set of heads that are *removed*, but here it gets those that are kept.",
        rounds(asks=lambda gone, head, heads: frozenset(heads) - gone - {head}),
    ),
    (
        "The heads are ranked once and removed in that order, which is not greedy: call `judge` "
        "anew in each round, with all heads that are already removed.",
        ranked_once,
    ),
    (
        "A head that is already removed is removed again: leave it out of later rounds.",
        rounds(left=lambda heads, gone: heads),
    ),
)

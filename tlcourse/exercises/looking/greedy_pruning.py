"""Lesson 08: heads taken away one at a time, each time the one that is missed least."""

import itertools
import random

from tlcourse.exercises.expect import CheckFailed, expect_type, expect_unchanged, short
from tlcourse.exercises.task import Exercise, case


def judge_of(errors, asked):
    """A judge that looks up the error of a set of removed heads; its size goes into `asked`."""

    def judge(removed):
        if not isinstance(removed, frozenset) or removed not in errors:
            raise CheckFailed(
                check="what your function gives to `judge`",
                yours=short(removed),
                expected="a frozenset of heads out of `heads`",
            )
        asked.append(len(removed))
        return errors[removed]

    return judge


def pairs(candidate, errors, heads, count):
    """The pairs that come."""
    judge = judge_of(errors, [])
    got = expect_unchanged(lambda heads, count: candidate(judge, heads, count), heads, count)
    expect_type(got, list, "what you return", "Return the pairs in a list, as they were removed.")
    return [tuple(pair) if isinstance(pair, list) else pair for pair in got]


def questions(candidate, errors, heads, count):
    """How often the judge was asked for no head, for one, for two, and so on up to `count`."""
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
        "Play it with the example: which sets is `judge` asked for in the first round, which in "
        "the second? The winner of the first round is in all sets of the second.",
        "Keep two things from round to round: the set of what is removed, and the list of "
        "results. A round asks for each head that is left: `judge(frozenset(removed | {head}))`.",
        "Ask once a round and keep the answers, `errors = {head: judge(...) for head in heads if "
        "head not in removed}`. `min(errors, key=errors.get)` gives the first of the best.",
        "Then `removed.add(best)` and `found.append((best, errors[best]))`.",
    ),
    imports="import math\nimport functools\nimport itertools\nimport numpy as np\nimport torch",
    measure=pairs,
)


@task.reference
def greedy_pruning(judge, heads, count):
    """[(head, error without it and all before it), ...], `count` of them, in order of removal."""
    removed, found = set(), []
    for _ in range(count):
        errors = {head: judge(frozenset({*removed, head})) for head in heads if head not in removed}
        best = min(errors, key=errors.get)
        removed.add(best)
        found.append((best, errors[best]))
    return found


@task.truth
def by_all_sets(errors, heads, count):
    """Round by round, of all sets with one head more that of the least error."""
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
PAIR = frozenset({(0, 1), (1, 1)})  # two heads that do the same: one of them has to stay


def tabled(heads, error):
    """The errors of all sets of heads: `error(set)` of each."""
    sizes = range(len(heads) + 1)
    sets = (frozenset(each) for size in sizes for each in itertools.combinations(heads, size))
    return {each: error(each) for each in sets}


def removing(count, more, errors, heads=HEADS, **rest):
    """A case with so many of these heads to remove."""
    what = f"{count} of {len(heads)} heads to remove{more}"
    return case(what, errors, heads, count, **rest)


def random_case(draw):
    heads = draw.sample(list(itertools.product(range(3), range(2))), draw.randrange(2, 6))
    errors = tabled(heads, lambda removed: draw.randrange(6) / 4)
    return removing(draw.randrange(1, len(heads) + 1), "", errors, heads)


ALONE = tabled(HEADS, lambda removed: 1.0 + sum(COSTS[head] for head in removed))
IN_PAIRS = {removed: error + 10.0 * (removed >= PAIR) for removed, error in ALONE.items()}
BETTER = {removed: 9.0 - error for removed, error in ALONE.items()}
task.stage(
    "one head",
    removing(1, " that give the errors 4, 2, 5 and 3", ALONE),
    hint="Ask `judge` for each head, and remove the one whose removal leaves the lowest error. "
    "Return `count` pairs (head, error), no more and no fewer.",
)
task.stage(
    "each is judged with those that are gone",
    removing(3, "; the error without both (0, 1) and (1, 1) is 10 higher", IN_PAIRS),
    hint="Ask anew in each round, with all heads that are gone already and one more: two heads "
    "that do the same are dispensable one at a time, but not together.",
)
task.stage(
    "the first of equals",
    removing(3, " if all errors are equal", dict.fromkeys(ALONE, 0.5), HEADS[::-1]),
    hint="Of heads with equal errors, remove the first in the order of `heads`: here (1, 1).",
)
task.stage(
    "all of them, or none",
    removing(4, "", IN_PAIRS, hint="The last round has one head left."),
    removing(0, "", IN_PAIRS, hint="The list is empty."),
    removing(2, " if the error falls with every head that goes", BETTER),
    hint="Return the pairs in the order of removal, even if the error falls.",
)
task.stage(
    "no question too many",
    case(
        "how often you ask `judge` for sets of 0, 1, 2 and 3 heads, with 3 of 4 heads to remove",
        *(IN_PAIRS, HEADS, 3),
        expected=[0, 4, 3, 2],
    ),
    measure=questions,
    hint="Ask once for each head that is left, and for nothing else: a real judge takes seconds "
    "each time. The empty set need not be asked for, because `count` heads go in any case.",
)
task.stage(
    "20 random tables",
    *(random_case(draw) for draw in [random.Random(8)] for _ in range(20)),
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
        "The head that is missed *most* went first. Remove the one with the lowest error.",
        rounds(choose=max),
    ),
    (
        "`judge` takes the set of heads that are *removed*, not of those that are kept.",
        rounds(asks=lambda gone, head, heads: frozenset(heads) - gone - {head}),
    ),
    (
        "The heads were ranked once, and removed in that order. That is not greedy: ask anew in "
        "each round, with all heads that are gone already.",
        ranked_once,
    ),
    (
        "A head that is gone was removed again: leave it out of later rounds.",
        rounds(left=lambda heads, gone: heads),
    ),
)

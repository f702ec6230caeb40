"""Lesson 08: heads taken away one at a time, each time the one that is missed least.

The true order is found by going through all sets of heads in a table of errors.
"""

import itertools
import random

from tlcourse.exercises.expect import CheckFailed, expect_type, expect_unchanged, short
from tlcourse.exercises.looking._pruning import (
    Judge,
    by_hand,
    errors_before,
    more_or_fewer,
    ranked_once,
    rises,
    rounds,
    tabled,
)
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="8.6",
    title="Greedy pruning",
    difficulty=4,
    minutes=20,
    hints=(
        "play it with the example: which sets is `judge` asked for in the first round, which in "
        "the second? The winner of the first round is in all sets of the second.",
        "keep two things from round to round: the set of what is removed, and the list of "
        "results. A round asks for each head that is left: `judge(frozenset(removed | {head}))`.",
        "ask once a round and keep the answers, `errors = {head: judge(...) for head in heads if "
        "head not in removed}`. `min(errors, key=errors.get)` gives the first of the best.",
        "then `removed.add(best)` and `found.append((best, errors[best]))`.",
    ),
    imports="import math\nimport functools\nimport itertools\nimport numpy as np\nimport torch",
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


@task.right
def by_recursion(judge, heads, count, removed=frozenset()):
    if count == 0:
        return []
    asked = [(judge(removed | {head}), place) for place, head in enumerate(heads)]
    error, place = min(asked)
    rest = heads[:place] + heads[place + 1 :]
    return [(heads[place], error), *by_recursion(judge, rest, count - 1, removed | {heads[place]})]


@task.right
def by_best_so_far(judge, heads, count):
    left, order = list(heads), []
    while len(order) < count:
        best, least = None, float("inf")
        for head in left:
            error = judge(frozenset([each for each, _ in order] + [head]))
            if best is None or error < least:
                best, least = head, error
        left.remove(best)
        order.append((best, least))
    return order


def found(candidate, errors, heads, count):
    """What comes out; raises CheckFailed for what is no list of pairs."""
    judge = Judge(errors)
    got = expect_unchanged(lambda heads, count: candidate(judge, heads, count), heads, count)
    what = f"{len(heads)} heads, {count} to remove,"
    expect_type(got, list, what, "A list of pairs (head, error), in the order of removal.")
    for each in got:
        if not isinstance(each, tuple | list) or len(each) != 2:
            raise CheckFailed(f"{what} gave a list with {short(each)}; expected pairs (head, error).")
    return [tuple(each) for each in got]


def asked(candidate, errors, heads, count):
    """How often the judge was asked for no head, for one, for two, and so on up to `count`."""
    judge = Judge(errors)
    candidate(judge, list(heads), count)
    return [sum(len(each) == size for each in judge.asked) for size in range(count + 1)]


def expect(candidate, errors, heads, count, what, likely):
    """Raises CheckFailed unless these heads go in the right order, with the right errors."""
    task.observe(
        candidate, found, errors, heads, count, gives=by_hand(errors, heads, count), what=what,
        likely=likely,
    )  # fmt: skip


HEADS = [(0, 0), (0, 1), (1, 0), (1, 1)]
COSTS = dict(zip(HEADS, (3.0, 1.0, 4.0, 2.0), strict=True))
PAIR = frozenset({(0, 1), (1, 1)})  # two heads that do the same: one of them has to stay


def alone(removed):
    """Errors that add up."""
    return 1.0 + sum(COSTS[head] for head in removed)


def in_pairs(removed):
    """Errors that add up, and 10 more where both heads of a pair are gone."""
    return alone(removed) + 10.0 * (removed >= PAIR)


@task.stage("one head")
def one(candidate):
    what = "4 heads whose removal gives the errors 4, 2, 5, 3; one to remove:"
    expect(candidate, tabled(HEADS, alone), HEADS, 1, what, ONE)


@task.stage("each is judged with those that are gone")
def greedy(candidate):
    what = "the same heads; without (0, 1) *and* (1, 1) the error is 10 higher; three to remove:"
    expect(candidate, tabled(HEADS, in_pairs), HEADS, 3, what, ROUNDS)


@task.stage("the first of equals")
def ties(candidate):
    heads = [(1, 1), (0, 1), (1, 0), (0, 0)]
    what = f"heads {heads}, all errors equal:"
    expect(candidate, tabled(heads, lambda removed: 0.5), heads, 3, what, EQUALS)


@task.stage("all of them, or none")
def ends(candidate):
    what = "4 heads, all to remove:"
    expect(candidate, tabled(HEADS, in_pairs), HEADS, 4, what, "The last round has one head left.")
    expect(candidate, tabled(HEADS, in_pairs), HEADS, 0, "none to remove:", "The list is empty.")
    better = tabled(HEADS, lambda removed: 9.0 - alone(removed))
    expect(candidate, better, HEADS, 2, "errors that fall with every head that goes:", ROUNDS)


@task.stage("no question too many")
def calls(candidate):
    task.observe(
        candidate, asked, tabled(HEADS, in_pairs), HEADS, 3, gives=[0, 4, 3, 2],
        what="4 heads, 3 to remove: how often `judge` was asked for sets of 0, 1, 2, 3 heads",
        likely=OFTEN,
    )  # fmt: skip


@task.stage("20 random tables")
def whole(candidate):
    draw = random.Random(8)
    for _ in range(20):
        heads = draw.sample(list(itertools.product(range(3), range(2))), draw.randrange(2, 6))
        errors = tabled(heads, lambda removed: draw.randrange(6) / 4)
        count = draw.randrange(1, len(heads) + 1)
        what = f"{len(heads)} heads, {count} to remove:"
        expect(candidate, errors, heads, count, what, "In each round the first of the least.")


ONE = "Ask `judge` for each head, and remove the one whose removal leaves the error lowest."
ROUNDS = (
    "Ask anew in each round, with all that is gone already and one head more. Heads that do the "
    "same are dispensable one at a time, and not together."
)
MOST = "The head that is missed *most* went first. Remove the one with the lowest error."
ONCE = (
    "The heads were ranked once, and removed in that order. That is not greedy: ask anew in each "
    "round, with all that is gone already."
)
SINGLE = "The errors are those of each head alone; wanted is that after all removals so far."
AGAIN = "A head that is gone was asked for, and removed, again: leave it out of later rounds."
NO_SET = (
    "Nothing has to be asked for the empty set: `count` heads go, whatever the error was before."
)
EQUALS = "Of heads with equal errors the first in the order of `heads` goes."
BY_NAME = "Of equals the smallest head went; it is the first in the order of `heads` that goes."
LAST = "Of equals the last went; the first goes: `<`, not `<=`."
OFTEN = "Once for each head that is left, and no more: a real judge takes seconds each time."
STOPS = "It stopped early: `count` heads have to go, even if the error rises."
KEPT = "`judge` takes what is *removed*, and not what is kept."
COUNT = "`count` heads go, no more and no fewer."
RISE = "These are the rises of the error; wanted is the error itself, after each removal."
SORTED = "The list was sorted. The pairs come in the order of removal."
EARLIER = "This is the error before each removal; wanted is that after it."
SETS = "The first of each pair is the head that goes in this round, not all that are gone."


def stops_when_it_rises(judge, heads, count):
    order = greedy_pruning(judge, heads, count)
    rises = [n for n in range(1, len(order)) if order[n][1] > order[n - 1][1]]
    return order[: min(rises, default=count)]


def errors_alone(judge, heads, count):
    return [(h, judge(frozenset({h}))) for h, _ in greedy_pruning(judge, heads, count)]


def asks_for_what_is_kept(judge, heads, count):
    return greedy_pruning(lambda gone: judge(frozenset(heads) - gone), heads, count)


def takes_out_of_the_list(judge, heads, count):
    order = greedy_pruning(judge, heads, count)
    for head, _ in order:
        heads.remove(head)
    return order


def asks_twice(judge, heads, count):
    return greedy_pruning(lambda gone: max(judge(gone), judge(gone)), heads, count)


def asks_for_none(judge, heads, count):
    judge(frozenset())
    return greedy_pruning(judge, heads, count)


for stage, says, wrong in (
    ("one head", MOST, rounds(key=lambda error, place, head: (-error, place))),
    ("one head", SETS, rounds(tells=lambda gone, head, error: (gone, error))),
    ("one head", "expected pairs (head, error)", rounds(tells=lambda gone, head, error: head)),
    ("one head", "The head comes first, then the error.",
     rounds(tells=lambda gone, head, error: (error, head))),
    ("one head", "expected a frozenset of heads", rounds(asks=lambda gone, head: {*gone, head})),
    ("one head", KEPT, asks_for_what_is_kept),
    ("one head", EARLIER, errors_before),
    ("one head", COUNT, more_or_fewer(lambda count, all_: count + 1)),
    ("one head", COUNT, more_or_fewer(lambda count, all_: count - 1)),
    ("one head", COUNT, more_or_fewer(lambda count, all_: all_)),
    ("one head", "your function changed argument 1", takes_out_of_the_list),
    ("each is judged with those that are gone", ONCE,
     ranked_once(lambda judge, order, errors, n: (order[n], errors[order[n]]))),
    ("each is judged with those that are gone", ONCE,
     ranked_once(lambda judge, order, errors, n: (order[n], judge(frozenset(order[: n + 1]))))),
    ("each is judged with those that are gone", SINGLE, errors_alone),
    ("each is judged with those that are gone", AGAIN, rounds(of=lambda heads, gone: heads)),
    ("each is judged with those that are gone", STOPS, stops_when_it_rises),
    ("each is judged with those that are gone", RISE, rises),
    ("each is judged with those that are gone", SORTED,
     lambda *given: sorted(greedy_pruning(*given))),
    ("all of them, or none", SORTED,
     lambda *given: sorted(greedy_pruning(*given), key=lambda pair: pair[1])),
    ("the first of equals", LAST, rounds(key=lambda error, place, head: (error, -place))),
    ("the first of equals", BY_NAME, rounds(key=lambda error, place, head: (error, head))),
    ("no question too many", OFTEN, asks_twice),
    ("no question too many", NO_SET, asks_for_none),
):  # fmt: skip
    task.mistake(stage, says)(wrong)

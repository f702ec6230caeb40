"""Lesson 01b: the best pair from a lazy heap, whose entries may be out of date."""

import heapq
import random

from tlcourse.exercises.expect import expect_unchanged
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying


def popped(candidate, entries, pairs, times):
    """Returns the pairs of successive calls, and the entries that remain in the heap."""
    heap = [(-count, pair) for pair, count in entries]
    heapq.heapify(heap)
    pairs_in_turn = [
        expect_unchanged(lambda pairs: candidate(heap, pairs), pairs) for _ in range(times)
    ]
    return pairs_in_turn, sorted(heap)


task = Exercise(
    __name__,
    number="1b.1",
    title="The best pair from a lazy heap",
    difficulty=3,
    importance=2,
    minutes=10,
    hints=(
        "`heapq.heappop(heap)` removes the smallest entry, `(-count, pair)`, and returns it. With "
        "what do you compare its count?",
        "There are three cases: the count is the true one, it is too high, or the pair no longer "
        "occurs, so that its true count is 0.",
        "`while heap:` pop an entry. Return its pair if `pairs[pair] == -count`. Otherwise, if "
        "`pairs[pair] > 0`, call `heapq.heappush(heap, (-pairs[pair], pair))`. After the loop, "
        "`return None`.",
    ),
    imports="import heapq",
    measure=popped,
)


@task.reference
def pop_best(heap, pairs):
    """Pops the best pair from a heap whose entries may be too high; None if it is empty."""
    while heap:
        count, pair = heapq.heappop(heap)
        if pairs[pair] == -count:
            return pair
        if pairs[pair] > 0:
            heapq.heappush(heap, (-pairs[pair], pair))
    return None


AB, BC, CD = ("a", "b"), ("b", "c"), ("c", "d")
TRUE = {AB: 3, BC: 5, CD: 3}
TOO_HIGH = [(AB, 9), (BC, 5), (CD, 2)]


def calls(entries, pairs, times, returned, left, hint):
    high = ", ".join(f"{' '.join(pair)} {count}" for pair, count in entries)
    true = ", ".join(f"{' '.join(pair)} {count}" for pair, count in pairs.items())
    what = f"the pairs of {times} calls, and the remaining heap (entries {high}; true: {true})"
    return case(what, entries, pairs, times, expected=(returned, left), hint=hint)


def random_heap(draw):
    pairs = {(a, b): draw.randrange(6) for a in "abc" for b in "abc"}
    entries = [(pair, count + draw.randrange(4)) for pair, count in pairs.items()]
    right = sorted((p for p in pairs if pairs[p]), key=lambda p: (-pairs[p], p)) + [None]
    return calls([each for each in entries if each[1]], pairs, len(right), right, [], ALL)


GONE = "`a b` no longer occurs, so its true count is 0: throw the entry away."
BACK = "The true count of `a b` is 4, so `b c` is the best pair, and `a b` remains with 4."
ALL = "A pair that was pushed back comes out later. Where nothing is left, return None."
task.stage(
    "all entries are true",
    calls([*TRUE.items()], TRUE, 4, [BC, AB, CD, None], [], ALL),
)
task.stage(
    "entries that are too high",
    calls(TOO_HIGH, {AB: 4, BC: 5, CD: 2}, 1, [BC], [(-4, AB), (-2, CD)], BACK),
    calls(TOO_HIGH, {AB: 0, BC: 5, CD: 2}, 1, [BC], [(-2, CD)], GONE),
)
draw = random.Random(varying(5))
task.stage("50 random heaps", *(random_heap(draw) for _ in range(50)))


def drops_what_is_too_high(heap, pairs):
    heap[:] = sorted(entry for entry in heap if -entry[0] == pairs[entry[1]])
    return pop_best(heap, pairs)


task.mistakes(
    (
        "This entry's count is too high: compare it with `pairs` first.",
        lambda heap, pairs: heapq.heappop(heap)[1] if heap else None,
    ),
    (
        "This code pops from an empty heap: loop with `while heap:`, and return None after it.",
        lambda heap, pairs: pop_best(heap, pairs) or heapq.heappop([]),
    ),
    (
        "This code throws away an entry whose count is too high, although its pair still occurs: "
        "push it back with its true count.",
        drops_what_is_too_high,
    ),
)

"""Lesson 01b: the best pair from a lazy heap, whose entries may have grown old."""

import heapq
import random

from tlcourse.exercises.expect import expect_unchanged
from tlcourse.exercises.task import Exercise, case


def popped(candidate, entries, pairs, times):
    """The pairs that come, one after the other, and the entries that are left."""
    heap = [(-count, pair) for pair, count in entries]
    heapq.heapify(heap)
    came = [expect_unchanged(lambda pairs: candidate(heap, pairs), pairs) for _ in range(times)]
    return came, sorted(heap)


task = Exercise(
    __name__,
    number="1b.1",
    title="The best pair from a lazy heap",
    difficulty=3,
    importance=2,
    minutes=10,
    hints=(
        "`heapq.heappop(heap)` removes the smallest entry and returns it: `(-count, pair)`. What "
        "do you compare its count with?",
        "Three cases: the count is the true one; it is too high; or the pair is gone, its true "
        "count is 0.",
        "`while heap:` pop an entry; return its pair if `pairs[pair] == -count`; else, if "
        "`pairs[pair] > 0`, `heapq.heappush(heap, (-pairs[pair], pair))`. After the loop "
        "`return None`.",
    ),
    imports="import heapq",
    measure=popped,
)


@task.reference
def pop_best(heap, pairs):
    """Takes the best pair from a heap whose entries may be too high; None if it is empty."""
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


def calls(entries, pairs, times, came, left, hint):
    high = ", ".join(f"{' '.join(pair)} {count}" for pair, count in entries)
    true = ", ".join(f"{' '.join(pair)} {count}" for pair, count in pairs.items())
    what = f"what comes, and what is left, in {times} of your calls (entries {high}; true: {true})"
    return case(what, entries, pairs, times, expected=(came, left), hint=hint)


def random_heap(draw):
    pairs = {(a, b): draw.randrange(6) for a in "abc" for b in "abc"}
    entries = [(pair, count + draw.randrange(4)) for pair, count in pairs.items()]
    right = sorted((p for p in pairs if pairs[p]), key=lambda p: (-pairs[p], p)) + [None]
    return calls([each for each in entries if each[1]], pairs, len(right), right, [], ALL)


GONE = "`a b` is gone from the text, its true count is 0: throw the entry away."
BACK = "`a b` is too high: it goes back with its true count, and `b c` is the best."
ALL = "An entry that went back comes up again, and where nothing is left, None comes."
task.stage(
    "all entries are true",
    calls([*TRUE.items()], TRUE, 1, [BC], [(-3, AB), (-3, CD)], "The best pair leaves the heap."),
    calls([*TRUE.items()], TRUE, 4, [BC, AB, CD, None], [], ALL),
)
task.stage(
    "entries that are too high",
    calls(TOO_HIGH, {AB: 4, BC: 5, CD: 2}, 1, [BC], [(-4, AB), (-2, CD)], BACK),
    calls(TOO_HIGH, {AB: 0, BC: 5, CD: 2}, 1, [BC], [(-2, CD)], GONE),
)
task.stage(
    "50 random heaps", *(random_heap(draw) for draw in [random.Random(5)] for _ in range(50))
)


def never_looks_whether_it_is_empty(heap, pairs):
    while True:
        count, pair = heapq.heappop(heap)
        if pairs[pair] == -count:
            return pair
        if pairs[pair] > 0:
            heapq.heappush(heap, (-pairs[pair], pair))


task.mistakes(
    (
        "The entry is too high: compare it with `pairs` first.",
        lambda heap, pairs: heapq.heappop(heap)[1] if heap else None,
    ),
    (
        "Where the heap is empty, return None: ask `while heap`.",
        never_looks_whether_it_is_empty,
    ),
)

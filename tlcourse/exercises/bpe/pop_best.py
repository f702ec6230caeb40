"""Lesson 01b: the best pair from a lazy heap, whose entries may have grown old."""

import heapq
import random

from tlcourse.exercises.expect import CheckFailed, short
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="1b.1",
    title="The best pair from a lazy heap",
    difficulty=3,
    minutes=10,
    hints=(
        "`heapq.heappop(heap)` removes the smallest entry and returns it: `(-count, pair)`. What "
        "do you compare its count with?",
        "three cases: the count is the true one; it is too high; or the pair is gone, its true "
        "count is 0.",
        "`while heap:` pop an entry; return its pair if `pairs[pair] == -count`; else, if "
        "`pairs[pair] > 0`, `heapq.heappush(heap, (-pairs[pair], pair))`. Behind the loop "
        "`return None`.",
    ),
    imports="import heapq",
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


@task.right
def by_replacing(heap, pairs):
    while heap and -heap[0][0] != pairs[heap[0][1]]:
        now = pairs[heap[0][1]]
        if now > 0:
            heapq.heapreplace(heap, (-now, heap[0][1]))
        else:
            heapq.heappop(heap)
    return heapq.heappop(heap)[1] if heap else None


@task.right
def by_recursion(heap, pairs):
    if not heap:
        return None
    count, pair = heapq.heappop(heap)
    now = pairs[pair]
    if now + count == 0:
        return pair
    if now:
        heapq.heappush(heap, (-now, pair))
    return by_recursion(heap, pairs)


def popped(candidate, entries, pairs, times):
    """The pairs that come, one after the other, and the entries that are left."""
    heap = [(-count, pair) for pair, count in entries]
    heapq.heapify(heap)
    before, came = dict(pairs), []
    for _ in range(times):
        came.append(candidate(heap, pairs))
        if pairs != before:
            raise CheckFailed("your function changed `pairs`; it only asks it for the true counts.")
    if not all(isinstance(entry, tuple) and len(entry) == 2 for entry in heap):
        raise CheckFailed(f"the heap holds {short(heap)} now; expected entries (-count, pair).")
    return came, sorted(heap)


AB, BC, CD = ("a", "b"), ("b", "c"), ("c", "d")


@task.stage("all entries are true")
def true_entries(candidate):
    pairs = {AB: 3, BC: 5, CD: 3}
    for times, right, likely in (
        (1, ([BC], [(-3, AB), (-3, CD)]), "The most frequent pair comes, and leaves the heap."),
        (2, ([BC, AB], [(-3, CD)]), "Of equals the smaller entry: the heap sees to that."),
        (4, ([BC, AB, CD, None], []), "Where nothing is left, None comes."),
    ):
        task.observe(
            candidate, popped, list(pairs.items()), pairs, times, gives=right,
            what=f"{times} call{'s' * (times > 1)} with the entries b c 5, a b 3, c d 3, all true",
            likely=likely,
        )  # fmt: skip


@task.stage("entries that are too high")
def too_high(candidate):
    entries = [(AB, 9), (BC, 5), (CD, 2)]
    for pairs, times, right, likely in (
        (
            {AB: 4, BC: 5, CD: 2}, 1, ([BC], [(-4, AB), (-2, CD)]),
            "a b is too high: it goes back with its true count, and b c is the best.",
        ),
        (
            {AB: 0, BC: 5, CD: 2}, 1, ([BC], [(-2, CD)]),
            "a b is gone from the text, its count is 0: throw the entry away.",
        ),
        (
            {AB: 3, BC: 1, CD: 2}, 3, ([AB, CD, BC], []),
            "An entry that went back comes up again, with its true count.",
        ),
        ({AB: 0, BC: 0, CD: 0}, 1, ([None], []), "Nothing is left: None."),
    ):  # fmt: skip
        what = f"entries a b 9, b c 5, c d 2; true counts {short(pairs)}; {times} calls"
        task.observe(
            candidate, popped, entries, pairs, times, gives=right, what=what, likely=likely
        )


@task.stage("50 random heaps")
def random_heaps(candidate):
    draw = random.Random(5)
    for _ in range(50):
        pairs = {(a, b): draw.randrange(6) for a in "abc" for b in "abc"}
        entries = [(pair, count + draw.randrange(4)) for pair, count in pairs.items()]
        entries = [(pair, count) for pair, count in entries if count]
        right = sorted((p for p in pairs if pairs[p]), key=lambda p: (-pairs[p], p)) + [None]
        task.observe(
            candidate, popped, entries, pairs, len(right), gives=(right, []),
            what=f"the entries {short(entries)} with the true counts {short(pairs)}",
        )  # fmt: skip


@task.mistake("entries that are too high", "The entry is too high: compare it with `pairs` first.")
def believes_the_heap(heap, pairs):
    return heapq.heappop(heap)[1] if heap else None


@task.mistake(
    "entries that are too high",
    "A pair whose entry was too high is lost: put it back with its true count.",
)
def throws_away_what_is_old(heap, pairs):
    while heap:
        count, pair = heapq.heappop(heap)
        if pairs[pair] == -count:
            return pair
    return None


@task.mistake("entries that are too high", "Put an entry back only if its true count is not 0.")
def puts_back_zeros(heap, pairs):
    while heap:
        count, pair = heapq.heappop(heap)
        if pairs[pair] == -count:
            return pair if count else None
        heapq.heappush(heap, (-pairs[pair], pair))
    return None


@task.mistake("all entries are true", "The pair that is returned leaves the heap: `heappop`.")
def leaves_it_there(heap, pairs):
    best = pop_best(heap, pairs)
    if best is not None:
        heapq.heappush(heap, (-pairs[best], best))
    return best


@task.mistake("all entries are true", "Return the pair alone, without its count.")
def gives_the_entry(heap, pairs):
    best = pop_best(heap, pairs)
    return None if best is None else (-pairs[best], best)


@task.mistake("all entries are true", "Where the heap is empty, return None: ask `while heap`.")
def until_it_breaks(heap, pairs):
    while True:
        count, pair = heapq.heappop(heap)
        if pairs[pair] == -count:
            return pair
        if pairs[pair] > 0:
            heapq.heappush(heap, (-pairs[pair], pair))

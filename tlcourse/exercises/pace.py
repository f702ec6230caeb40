"""Whether a learner's right answer is fast enough for a long run."""

import time
from collections.abc import Callable
from typing import Any

from tlcourse.exercises.messages import say
from tlcourse.exercises.running import preserve_randomness
from tlcourse.exercises.task import get

LIMIT = 1.5  # times the reference's seconds
ROUNDS = 3  # of each, in turn; the fastest counts, and a first one warms up
HOPELESS = 4  # times the limit: no further round is needed


def for_long_runs(id: str, piece: Any, probe: Callable[[Any], Any], *, limit: float = LIMIT) -> Any:
    """`piece`, or the reference of the exercise where `piece` is too slow; says so in a line.

    `probe(piece)` does a little of what the long run does much of, say one step of training; it is
    timed with both, several times. Too slow is more than `limit` times as long as the reference.
    The reference itself is handed back at once, and nothing is said. Raises Unknown, a KeyError
    that names the nearest id; nothing for what a learner wrote.
    """
    task = get(id)
    if piece is task.solution:
        return piece
    with preserve_randomness():
        try:
            times = _factor(probe, piece, task.solution, limit)
        except Exception as error:
            said = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            say("open", f"{id}: in a trial of the long run yours raised {said}",
                "The long run takes the reference.")  # fmt: skip
            return task.solution
    told = f"{id}: yours takes {times:.1f} times as long as the reference"
    if times > limit:
        say("open", f"{told}. It is right, but long runs would be long: they take the reference.")
        return task.solution
    say("solved", f"{told}: fast enough for the long run.")
    return piece


def _factor(probe: Callable[[Any], Any], piece: Any, reference: Any, limit: float) -> float:
    """How many times the reference's seconds `piece` takes."""
    ours, theirs = [], []
    for _ in range(1 + ROUNDS):
        ours.append(_seconds(probe, reference))
        theirs.append(_seconds(probe, piece))
        if theirs[-1] > HOPELESS * limit * max(ours):
            break
    if len(ours) > 1:
        del ours[0], theirs[0]
    return min(theirs) / max(min(ours), 1e-9)


def _seconds(probe: Callable[[Any], Any], piece: Any) -> float:
    start = time.perf_counter()
    probe(piece)
    return time.perf_counter() - start

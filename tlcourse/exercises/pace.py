"""Checks that a learner's correct answer is fast enough for a long run."""

import time
from collections.abc import Callable
from typing import Any

from tlcourse.exercises.messages import say
from tlcourse.exercises.running import preserve_randomness
from tlcourse.exercises.task import get

LIMIT = 1.5  # times the reference's seconds
ROUNDS = 3  # of each, in turn, after a warm-up; the fastest counts
HOPELESS = 4  # times the limit, at which the rounds end early


def for_long_runs(id: str, piece: Any, probe: Callable[[Any], Any], *, limit: float = LIMIT) -> Any:
    """`piece`, or the reference of the exercise if `piece` is too slow; prints which, and why.

    `probe(piece)` does a small part of the long run, such as one step of training; it is timed
    several times with both. Too slow is more than `limit` times as long as the reference. If
    `piece` is the reference, it is returned at once, without a message. Raises Unknown, a KeyError
    that names the nearest ids; errors of the learner's code are not raised.
    """
    task = get(id)
    if piece is task.solution:
        return piece
    with preserve_randomness():
        try:
            times = _factor(probe, piece, task.solution, limit)
        except Exception as error:
            raised = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            say("open", f"{id}: in a trial of the long run yours raised {raised}",
                "The long run uses the reference.")  # fmt: skip
            return task.solution
    line = f"{id}: yours takes {times:.1f} times as long as the reference"
    if times > limit:
        say("open", f"{line}. It is correct but slow, so long runs use the reference.")
        return task.solution
    say("solved", f"{line}: fast enough for the long run.")
    return piece


def _factor(probe: Callable[[Any], Any], piece: Any, reference: Any, limit: float) -> float:
    """The time that `piece` takes, as a multiple of the reference's."""
    reference_seconds, piece_seconds = [], []
    for _ in range(1 + ROUNDS):
        reference_seconds.append(_seconds(probe, reference))
        piece_seconds.append(_seconds(probe, piece))
        if piece_seconds[-1] > HOPELESS * limit * max(reference_seconds):
            break
    if len(reference_seconds) > 1:
        del reference_seconds[0], piece_seconds[0]
    return min(piece_seconds) / max(min(reference_seconds), 1e-9)


def _seconds(probe: Callable[[Any], Any], piece: Any) -> float:
    start = time.perf_counter()
    probe(piece)
    return time.perf_counter() - start

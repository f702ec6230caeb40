"""Measures of the exercises on word types: are two runs the same, also in another session?"""

import hashlib
from collections.abc import Callable

from tlcourse.exercises.variants import varying

SESSION = (
    "Each session of Python hashes words differently: `hash` returns another number, and a `set` "
    "of words has another order. Go through the types in the order of `sorted(set(words))` or "
    "`dict.fromkeys(words)`, and draw without `hash`."
)
UNSEEDED = "Draw with `random.Random(seed)`, not with a generator that nobody has seeded."


class Salted(str):
    """A text with another hash, as in another session of Python: a set of them is reordered."""

    def __hash__(self) -> int:
        return int.from_bytes(hashlib.blake2b(self.encode(), digest_size=7).digest())


def by_two_seeds(look: Callable) -> Callable:
    """The measure of whether `look(candidate, words, other, seed)` is the same for two seeds."""

    def measure(candidate, words, other, *seeds):
        return _compared(*(look(candidate, words, other, seed) for seed in seeds))

    return measure


def in_two_sessions(look: Callable) -> Callable:
    """The measure of whether `look(candidate, *arguments)` is the same in another session.

    It is "different" if both salted words and words with a mark in front, which leaves their order
    as it is, give another result: an answer may turn salted words into plain ones.
    """

    def measure(candidate, *arguments):
        def seen(change):
            lists = ([*map(change, each)] if isinstance(each, list) else each for each in arguments)
            return repr(look(candidate, *lists)).replace("~", "")

        here = seen(str)
        try:
            others = [seen(change) for change in (Salted, "~".__add__)]
        except Exception:
            return "the same"
        return "the same" if here in others else "different"

    return measure


def _compared(one, other):
    return "the same" if one == other else "different"


def types(count, each=1):
    """A list of `count` different words, `each` times over."""
    first = varying(0) % 10_000
    return [f"word{n}" for n in range(first, first + count)] * each

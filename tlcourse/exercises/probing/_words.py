"""Measures of the exercises on word types: are two runs the same, also in another session?"""

import hashlib
from collections.abc import Callable

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

    It is "the same" if the answer cannot take words of another class.
    """

    def measure(candidate, *arguments):
        salted = ([*map(Salted, each)] if isinstance(each, list) else each for each in arguments)
        try:
            other = look(candidate, *salted)
        except Exception:
            return "the same"
        return _compared(look(candidate, *arguments), other)

    return measure


def _compared(one, other):
    return "the same" if one == other else "different"


def types(count, each=1):
    """A list of `count` different words, `each` times over."""
    return [f"word{n}" for n in range(count)] * each

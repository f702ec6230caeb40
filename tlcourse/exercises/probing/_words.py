"""Help for the exercises on word types: words as they are hashed in another session."""

import hashlib
from typing import Self

SESSION = (
    "Each session of Python hashes words differently: `hash` gives another number, and a `set` of "
    "words has another order. Go through the types in the order of `sorted(set(words))` or "
    "`dict.fromkeys(words)`, and draw without `hash`."
)
UNSEEDED = "Draw with `random.Random(seed)`, not with a generator that nobody has seeded."


class Salted(str):
    """A text whose hash goes by a salt: Python salts the hash of texts anew in each session.

    So the order of a set of such words is that of another session, in this one.
    """

    salt: int

    def __new__(cls, text: str, salt: int = 0) -> Self:
        self = super().__new__(cls, text)
        self.salt = salt
        return self

    def __hash__(self) -> int:
        digest = hashlib.blake2b(f"{self.salt} {self}".encode(), digest_size=7).digest()
        return int.from_bytes(digest)


def in_two_sessions(look, *arguments):
    """What `look(*arguments)` gives with the words of each list hashed in two ways.

    What is no list is handed in as it is. Twice None where a solution cannot take words of another
    class, such as one that looks them up among those of NumPy.
    """
    gave = []
    for salt in (1, 2):
        salted = [
            [Salted(word, salt) for word in each] if isinstance(each, list) else each
            for each in arguments
        ]
        try:
            gave.append(look(*salted))
        except Exception:
            return None, None
    return tuple(gave)


def compared(one, other):
    """In words whether two results are the same."""
    return "the same" if one == other else "different"


def types(count, each=1):
    """So many different words, each as often as said."""
    return [f"word{n}" for n in range(count)] * each

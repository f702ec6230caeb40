"""Help for the exercises on word types: words as they are hashed in another session."""

import hashlib
from typing import Self


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


def some_of(words: list[str], types: int) -> str:
    """How many of the types these are, and the first three of them."""
    shown = [*words[:3], *["…"] * (len(words) > 3)]
    return f"{len(words)} of {types} types" + ": " * bool(words) + ", ".join(shown)


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

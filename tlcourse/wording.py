"""Words of messages: the name that was meant, counts, articles."""

import difflib
from collections.abc import Iterable


def nearest(word: str, names: Iterable[str]) -> str:
    """'; did you mean …?' with the name that is most like `word`; "" if none is."""
    bare = {name.lstrip("-"): name for name in names}
    near = difflib.get_close_matches(word.lstrip("-"), bare, n=1)
    return f"; did you mean {bare[near[0]]}?" if near else ""


def number_of(count: int, what: str) -> str:
    """Such as "1 step" and "1,500 steps"."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def article(name: str) -> str:
    """Such as "a list" and "an int"."""
    return f"a{'n' * (name[:1] in 'aeiou')} {name}"

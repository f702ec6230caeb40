"""Words of messages: the name that was meant, what looks like it, counts, articles."""

import difflib
import unicodedata
from collections.abc import Iterable


def nearest(word: str, names: Iterable[str]) -> str:
    """'; did you mean …?' with the name that is most like `word`; "" if none is."""
    bare = {name.lstrip("-"): name for name in names}
    near = difflib.get_close_matches(word.lstrip("-"), bare, n=1)
    return f"; did you mean {bare[near[0]]}?" if near else ""


def three_nearest(word: str, names: Iterable[str]) -> str:
    """The three names that are most like `word`, however little: "'a', 'b' or 'c'"."""
    *first, last = map(repr, difflib.get_close_matches(word, names, n=3, cutoff=0))
    return f"{', '.join(first)} or {last}" if first else last


def seen(text: str) -> str:
    """A text as the eye sees it: canonical forms of letters, nothing invisible, single spaces.

    Texts that look alike, but for case, give the same.
    """
    shown = unicodedata.normalize("NFKC", text)
    visible = (sign for sign in shown if unicodedata.category(sign) != "Cf")
    return " ".join("".join(visible).split())


def twin(word: str, names: Iterable[str]) -> str:
    """'; …' that tells `word` from one of `names` that looks like it; "" if none does.

    Both are spelled in ASCII, and a character that only one of them has is named.
    """
    other = next((name for name in names if name != word and seen(name) == seen(word)), None)
    if other is None:
        return ""
    odd = max(set(other) ^ set(word), default="")
    named = f", but one has U+{ord(odd):04X} {unicodedata.name(odd, '?')} in it" if odd else ""
    return f"; {other!a} and {word!a} look alike{named}"


def number_of(count: int, what: str) -> str:
    """Such as "1 step" and "1,500 steps"."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def article(name: str) -> str:
    """Such as "a list", "an int" and "an ndarray"."""
    return f"a{'n' * name.startswith((*'aeiou', 'nd'))} {name}"

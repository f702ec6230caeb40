"""What a model knows and what not, by the texts it learnt from: the last parts of its card."""

import re
from collections.abc import Sequence

SMALL = """\
- Small: it knows common words and the style of {read}, few facts, and invents the rest.
"""
HARDLY = """\
- Hardly trained: it has read {tokens:,} tokens, and knows little more than which are frequent.
"""
ENGLISH = """\
- English only. What its {texts} say wrongly or one-sidedly about people and groups, it has learnt;
  nothing was filtered. Do not let it speak to anyone unwatched.
- Text in WikiText's spacing and text as people write it are both at home: half of the articles were
  detokenised, and user text passes `tlcourse.bpe.normalise`. {strange} and the language of
  today are not.
"""
OTHER_TEXT = """\
- It learnt from {texts}, and knows nothing else: what is not in there it invents.
- Its language, its style, and what it says wrongly or one-sidedly about people and groups are those
  of that text; nothing was filtered. Do not let it speak to anyone unwatched.
- It may say passages of that text word for word: hand it on only where you may hand on the text.
"""
BOTH = """\
- It learnt from {read}, and from {texts}; what is not in there it invents.
- Of its language only that of {read} is known, English. What its texts say wrongly or
  one-sidedly about people and groups, it has learnt; nothing was filtered. Do not let it speak to
  anyone unwatched.
- It may say passages of {texts} word for word: hand it on only where you may hand that on.
"""
WINDOWS = (
    "- It read windows of {length} tokens; what lies farther apart it has never seen together."
)
NOTHING_OF_BIAS = (
    "What it thinks of groups of people was not measured: our sentences for that are English, and "
    "which language its text is in is not known (`tlcourse evaluate … --on pronouns` asks it all "
    "the same)."
)

LITTLE = 1_000_000  # tokens
SAMPLE = " (bundled sample)"  # what follows the name of a data set of which no more was there
DIGEST = re.compile(r"(.+) [0-9a-f]{16}")  # one's own text in a log: a name, and what it held
WIKIPEDIA = ("wikitext-2", "wikitext-2-raw", "wikitext-103", "wikipedia-standin")
BOOKS = "gutenberg"
LICENCE = "The weights: CC BY-SA 3.0, as the Wikipedia text they were trained on."
FREE = " The books among their texts are in the public domain in the USA."
OTHER_LICENCE = "The weights: not stated; it depends on the texts behind them."


def own_name(label: str) -> str | None:
    """What one's own text is called, by its label in a log; None for a data set."""
    found = DIGEST.fullmatch(label)
    return found[1] if found else None


def limits(legs: Sequence[dict]) -> str:
    """What the model knows and what not, by the texts of all its legs."""
    known, books = _known(legs), BOOKS in _labels(legs)
    read = "an encyclopaedia and old books" if books else "an encyclopaedia"
    small = SMALL.format(read=read)
    others = [_read(leg, known) for leg in legs if not set(leg["corpus"]) <= known]
    if others:
        kind = BOTH if known else OTHER_TEXT
        said = kind.format(texts="; ".join(dict.fromkeys(others)), read=read)
    else:
        texts, strange = ("articles and books", "Code") if books else ("articles", "Dialogue, code")
        said = small + ENGLISH.format(texts=texts, strange=strange)
    if (tokens := sum(leg["tokens"] for leg in legs)) < LITTLE:
        said = HARDLY.format(tokens=tokens) + said.removeprefix(small)
    windows = WINDOWS.format(length=legs[-1]["recipe"]["length"])
    return f"## Limits and biases\n\n{said}{windows}"


def _labels(legs: Sequence[dict]) -> set[str]:
    return {label for leg in legs for label in leg["corpus"]}


def _known(legs: Sequence[dict]) -> set[str]:
    """The data sets of which we know what they bring along: Wikipedia's, and books beside them."""
    return {*WIKIPEDIA, BOOKS} if _labels(legs) & set(WIKIPEDIA) else set()


def _read(leg: dict, known: set[str]) -> str:
    """The texts of a leg that are not known; if it had no others, how much of them it read.

    Such as "5,522 words of my.txt, read 1.4 times".
    """
    others = [own_name(label) or label for label in leg["corpus"] if label not in known]
    names, read = ", ".join(others), leg.get("read", {})
    if "words" not in read or len(others) < len(leg["corpus"]):
        return names
    times = leg["tokens"] / read["tokens"]
    often = f"read {times:.1f} times" if times >= 1 else f"of which it read {100 * times:.0f} %"
    return f"{read['words']:,} words of {names}, {often}"


def unmeasured_bias(legs: Sequence[dict]) -> str:
    """What is said where no bias was measured; nothing of a model that learnt from data sets."""
    own = all(own_name(label) for leg in legs for label in leg["corpus"])
    return NOTHING_OF_BIAS if own else ""


def licence(legs: Sequence[dict]) -> str:
    """What may be done with the weights, as far as it is known."""
    labels = _labels(legs)
    said = LICENCE + (FREE if BOOKS in labels else "")
    return f"## Licence\n\n{said if labels <= _known(legs) else OTHER_LICENCE}"

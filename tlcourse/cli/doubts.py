"""What may be wrong with texts and labels: what is refused, and lines for what is only odd."""

from __future__ import annotations

import shlex
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tlcourse.wording import nearest, number_of, seen, twin

if TYPE_CHECKING:
    from tlcourse.adaptation import Classifier, Scheme, tables
    from tlcourse.adaptation.classifier import Text
    from tlcourse.transformer import Transformer


def refuse_other_columns(table: tables.Table, columns: tables.Columns) -> None:
    """Raises ValueError for a column that a table lacks; it says how its own one is named."""
    asked = {"--text": columns.text, "--pair": columns.pair, "--label": columns.label}
    others = [name for name in table.columns if name not in asked.values()]
    for option, name in asked.items():
        if name is None or name in table.columns:
            continue
        alike = twin(name, table.columns)
        yours = f" {shlex.quote(others[0])}" if len(others) == 1 else nearest(name, others)
        raise ValueError(
            f"expected a column {name!r} in {table.path}, got {', '.join(table.columns)}"
            + (
                f"{alike}; retype that name in its first line"
                if alike
                else f"; its first line has to name the columns; name yours with {option}{yours}"
            )
        )


def refuse_two_sided(scheme: Scheme, body: Transformer, base: str) -> None:
    """Raises ValueError for a scheme that foretells the next word, of a model that sees it."""
    from tlcourse.adaptation import LanguageModelling

    if isinstance(scheme.extra_loss, LanguageModelling) and not body.config.causal:
        raise ValueError(
            f"expected a causal model for the scheme {scheme.name}, which foretells the next word, "
            f"got {base}, which sees it; give --model causal-small, or another --scheme"
        )


def of_labels(counts: Mapping[str, int], columns: tables.Columns) -> Iterator[str]:
    """Lines for labels that may be mistakes; raises ValueError if each has no more than one text.

    `counts` says how many texts each label has.
    """
    once = [name for name, count in counts.items() if count == 1]
    if len(once) == len(counts):
        raise ValueError(
            f"expected labels with several texts in column {columns.label!r}, got "
            f"{len(once)} labels with one text each; is {columns.label!r} the column of the labels "
            f"(--label), and {columns.text!r} that of the texts (--text)?"
        )
    if once:
        have = (
            "1 label has one text" if len(once) == 1 else f"{len(once)} labels have one text each"
        )
        yield f"{have}: {', '.join(once)}"
    same = [name for names in _alike(counts, str.casefold) for name in names]
    if same:
        yield f"labels that differ in case only: {', '.join(same)}"
    for first, *others in _alike(counts, seen):
        for other in others:
            told = twin(other, [first]).removeprefix("; ")
            yield f"the labels {told}; if they are one label, spell them identically"


def _alike(names: Iterable[str], key: Callable[[str], str]) -> list[list[str]]:
    """Those of the names that share a key with another, by key."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in names:
        found[key(name)].append(name)
    return [alike for alike in found.values() if len(alike) > 1]


def of_contradictions(examples: tables.Examples) -> Iterator[str]:
    """A line for texts that stand in a file more than once, with different labels."""
    rows: dict[Text, dict[str, int]] = defaultdict(dict)
    for text, label, line in zip(examples.texts, examples.labels, examples.lines, strict=True):
        rows[plain(text)].setdefault(label, line)
    several = [labels for labels in rows.values() if len(labels) > 1]
    if several:
        have = "1 text has" if len(several) == 1 else f"{len(several)} texts have"
        first = ", ".join(f"{label} in line {line}" for label, line in several[0].items())
        yield (
            f"{have} different labels in {examples.path.name}, the first {first}: the model can "
            "learn only one of them"
        )


def plain(text: Text) -> Text:
    """A text or a pair without its case and spacing: texts that give the same are the same."""
    from tlcourse.bpe import normalise

    if isinstance(text, str):
        return normalise(text).casefold()
    return tuple(normalise(part).casefold() for part in text)


def of_long_texts(classifier: Classifier, texts: Sequence[Text], file: str = "") -> Iterator[str]:
    """A line for texts that the model reads in windows, or of which it reads only the beginning."""
    from tlcourse.adaptation import WINDOWS, encode

    limit = classifier.body.config.max_length
    whole = [len(ids) for ids in encode(texts, classifier.tokenizer, sys.maxsize)]
    read = [len(ids) for ids in classifier.encode(texts)]
    long = sum(length > limit for length in whole)
    if long:
        single = isinstance(texts[0], str)
        what = number_of(len(whole), "text" if single else "pair")
        cut = sum(is_read < length for is_read, length in zip(read, whole, strict=True))
        how = "read in windows" if single else "only the beginning is read"
        if single and cut:
            how += f"; of {cut} not more than the first {WINDOWS} windows"
        yield (
            f"{long} of {what}{file and f' of {file}'} {'is' if long == 1 else 'are'} longer than "
            f"{limit} tokens: {how}"
        )


def of_learning(wrong: int, rows: int, counts: Mapping[str, int]) -> Iterator[str]:
    """A line for a model that gets half as much of its training texts wrong as a constant does."""
    if 2 * wrong > rows - max(counts.values()):
        yield (
            f"it has not learnt its training texts yet ({100 * wrong / rows:.1f} % of them wrong): "
            "give more --epochs"
        )

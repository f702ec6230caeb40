"""Lines on texts and labels that are allowed but may be mistakes."""

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from tlcourse.adaptation import tables
from tlcourse.adaptation.classifier import Classifier
from tlcourse.adaptation.examples import Text, encode
from tlcourse.adaptation.windows import WINDOWS
from tlcourse.bpe import normalise
from tlcourse.wording import number_of, seen, twin


def odd_labels(counts: Mapping[str, int]) -> Iterator[str]:
    """Yields lines on labels that may be mistakes; `counts`: the number of texts of each label."""
    once = [name for name, count in counts.items() if count == 1]
    if once:
        have = (
            "1 label has one text" if len(once) == 1 else f"{len(once)} labels have one text each"
        )
        yield f"{have}: {', '.join(once)}"
    same = [name for names in _alike(counts, str.casefold) for name in names]
    if same:
        yield f"labels that differ in case only: {', '.join(same)}"
    for first, *lookalikes in _alike(counts, seen):
        for lookalike in lookalikes:
            labels = twin(lookalike, [first]).removeprefix("; ")
            yield f"the labels {labels}; if they are one label, spell them identically"


def _alike(names: Iterable[str], key: Callable[[str], str]) -> list[list[str]]:
    """Returns groups of names that share a key."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in names:
        groups[key(name)].append(name)
    return [alike for alike in groups.values() if len(alike) > 1]


def contradictions(examples: tables.Examples) -> Iterator[str]:
    """Yields a line on texts that occur more than once in a file, with different labels."""
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


def repeated(train: tables.Examples, test: tables.Examples) -> Iterator[str]:
    """Yields a line on texts of the test that also occur in the training."""
    learnt = set(map(plain, train.texts))
    count = sum(plain(text) in learnt for text in test.texts)
    if count:
        yield (
            f"{count} of {len(test.texts)} test texts also occur in {train.path.name} (ignoring "
            "case and spacing), so the error on them says nothing about new texts"
        )


def plain(text: Text) -> Text:
    """Returns a text or a pair without case and spacing, for comparisons."""
    if isinstance(text, str):
        return normalise(text).casefold()
    first, second = (normalise(part).casefold() for part in text)
    return first, second


def long_texts(classifier: Classifier, texts: Sequence[Text], file: str = "") -> Iterator[str]:
    """Yields a line on texts that are read in windows, or of which only the beginning is read."""
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

"""Probing tasks: labels for words, pairs of words and whole sentences.

A task is made from tagged sentences: mappings (rows of a data set) or objects with the columns of
CoNLL-U, `forms`, `upos`, `xpos`, `feats`, `heads`, `deprels` and `misc`, with one entry per word.
Heads count words from 1, and the head of the root is 0; tasks count words from 0. `word_task`,
`pair_task` and `sentence_task` make further tasks from a function of a sentence, such as phrases,
semantic roles or question types.

Sources: Conneau et al. (2018, length, content), Hewitt & Liang (2019, part of speech and head),
Hewitt & Manning (2019, depth, distance), Tenney et al. (2019, the rest).
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from tlcourse.batching import generator_for
from tlcourse.probing.items import Sentence, Task, of, pair_task, sentence_task, word_task
from tlcourse.probing.trees import depths, distances

LENGTHS = (4, 8, 12, 16, 20, 25)  # the longest sentence of each bin except the last
FARTHEST = 8  # all depths, distances and positions from here on share one label


def column(sentences: Iterable[Sentence], name: str) -> Task:
    """The task of predicting a column: "upos", "xpos", "deprels", or a column of your own."""
    return word_task(name, sentences, lambda sentence: of(sentence, name))


def key(sentences: Iterable[Sentence], name: str) -> Task:
    """The task of predicting a key of `feats`, such as "Tense", for the words that have it."""
    return word_task(name, sentences, lambda sentence: _values(sentence, name))


def number(sentences: Iterable[Sentence]) -> Task:
    """The task of predicting the number of a noun, "Sing" or "Plur"; other words are left out.

    Verbs and pronouns also have a number; `key` with "Number" includes them.
    """

    def label(sentence: Sentence) -> list[str | None]:
        values = zip(of(sentence, "upos"), _values(sentence, "Number"), strict=True)
        return [
            value if tag == "NOUN" and value in ("Sing", "Plur") else None for tag, value in values
        ]

    return word_task("number", sentences, label)


def length(sentences: Iterable[Sentence]) -> Task:
    """The number of words of a sentence, in bins: up to 4, 8, 12, 16, 20, 25, and more."""

    def label(sentence: Sentence) -> str:
        bin_ = int(np.searchsorted(LENGTHS, len(of(sentence, "forms"))))
        low = LENGTHS[bin_ - 1] + 1 if bin_ else 1
        return f"{low:02d}-{LENGTHS[bin_]:02d}" if bin_ < len(LENGTHS) else f"{low:02d}+"

    return sentence_task("length", sentences, label)


def content(
    sentences: Sequence[Sentence], *, words: Iterable[str] | None = None, most: int = 50
) -> Task:
    """The one of `words` that a sentence contains, for sentences with exactly one of them.

    `words` are in lower case; for test data pass those of the training data, `set(task.labels)`.
    None takes the `most` most frequent words of at least four letters.
    """
    if words is None:
        counts = Counter(form for sentence in sentences for form in _lower(sentence))
        longer = [form for form in counts if form.isalpha() and len(form) > 3]
        words = sorted(longer, key=lambda form: (-counts[form], form))[:most]
    words = set(words)

    def label(sentence: Sentence) -> str | None:
        matches = _lower(sentence) & words
        return matches.pop() if len(matches) == 1 else None

    return sentence_task("content", sentences, label)


def position(sentences: Iterable[Sentence]) -> Task:
    """The position of a word in its sentence, from 0; all from FARTHEST on are one label."""
    return word_task(
        "position",
        sentences,
        lambda sentence: _up_to(np.arange(len(of(sentence, "forms"))), FARTHEST),
    )


def seen_before(sentences: Iterable[Sentence]) -> Task:
    """The task of telling whether a word has occurred before in its sentence, ignoring case.

    Only words that occur again are items, at their first occurrence ("new") and their second
    ("seen"). Both labels are equally frequent, so neither their share nor the word predicts them.
    """

    def label(sentence: Sentence) -> list[str | None]:
        forms = [form.lower() for form in of(sentence, "forms")]
        repeated = {form for form, count in Counter(forms).items() if count > 1}
        labels = ("new", "seen", None)
        return [
            labels[min(forms[:word].count(form), 2)] if form in repeated else None
            for word, form in enumerate(forms)
        ]

    return word_task("seen before", sentences, label)


def depth(sentences: Iterable[Sentence]) -> Task:
    """The number of arcs between a word and the root of its sentence."""
    return word_task("depth", sentences, lambda row: _up_to(depths(of(row, "heads")), FARTHEST))


def distance(sentences: Iterable[Sentence], *, seed: int = 0) -> Task:
    """The number of arcs between two words, for each word and another drawn at random."""

    def label(sentence: Sentence) -> Iterable[tuple[int, int, str]]:
        arcs = distances(of(sentence, "heads"))
        order = _draw(seed, len(arcs), len(arcs))
        pairs = [pair for pair in enumerate(order) if pair[0] != pair[1]]
        labels = _up_to(np.asarray([arcs[pair] for pair in pairs], dtype=int), FARTHEST)
        return [(int(a), int(b), name) for (a, b), name in zip(pairs, labels, strict=True)]

    return pair_task("distance", sentences, label)


def head(sentences: Iterable[Sentence]) -> Task:
    """The task of telling whether the second word is the head of the first.

    For each word with a head there are two items: "yes" with its head, and "no" with the word at
    the same distance on the other side. Words without such a word are left out, so the distance
    alone predicts nothing.
    """

    def label(sentence: Sentence) -> Iterable[tuple[int, int, str]]:
        heads = of(sentence, "heads")
        for word, above in enumerate(heads):
            mirrored = 2 * word - (above - 1)
            if above and 0 <= mirrored < len(heads):
                yield word, above - 1, "yes"
                yield word, mirrored, "no"

    return pair_task("head", sentences, label)


def relation(sentences: Iterable[Sentence]) -> Task:
    """The relation of a word to its head, given both (`column` with "deprels" gives one word)."""

    def label(sentence: Sentence) -> Iterable[tuple[int, int, str]]:
        for word, above in enumerate(of(sentence, "heads")):
            if above:
                yield word, above - 1, of(sentence, "deprels")[word]

    return pair_task("relation", sentences, label)


def _values(sentence: Sentence, name: str) -> list[str | None]:
    """The value of a key in each word's features, "A=x|B=y"; None for words without it."""
    words = (
        dict(pair.partition("=")[::2] for pair in cell.split("|")) for cell in of(sentence, "feats")
    )
    return [values.get(name) for values in words]


def _lower(sentence: Sentence) -> set[str]:
    return {form.lower() for form in of(sentence, "forms")}


def _up_to(numbers: Iterable[int], most: int) -> list[str]:
    return [str(number) if number < most else f"{most}+" for number in numbers]


def _draw(*numbers: int) -> np.ndarray:
    """A permutation whose length is the last number, determined by all the numbers."""
    return np.random.default_rng(generator_for(*numbers).initial_seed()).permutation(numbers[-1])

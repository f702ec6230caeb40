"""What a probe is asked: labels for words, pairs of words and whole sentences.

A task is made from tagged sentences: mappings (rows of a data set) or objects with the columns of
CoNLL-U, `forms`, `upos`, `xpos`, `feats`, `heads`, `deprels`, `misc`, an entry a word; heads count
words from 1, the root's is 0. Words of a task are counted from 0. `word_task`, `pair_task` and
`sentence_task` make all others from a function of a sentence: phrases, roles, question types.

Sources: Conneau et al. (2018, length, content), Hewitt & Liang (2019, part of speech and head),
Hewitt & Manning (2019, depth, distance), Tenney et al. (2019, the rest).
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from tlcourse.batching import generator_for
from tlcourse.probing.items import Sentence, Task, of, pair_task, sentence_task, word_task
from tlcourse.probing.trees import depths, distances

LENGTHS = (4, 8, 12, 16, 20, 25)  # the longest sentence of each bin but the last
FARTHEST = 8  # deeper, farther and later places are one label


def column(sentences: Iterable[Sentence], name: str) -> Task:
    """A column as it is: "upos", "xpos", "deprels", or one of your own, such as entity types."""
    return word_task(name, sentences, lambda sentence: of(sentence, name))


def key(sentences: Iterable[Sentence], name: str) -> Task:
    """The value of a key of `feats`, such as "Tense" or "Number", for words that have it."""
    return word_task(name, sentences, lambda sentence: _values(sentence, name))


def number(sentences: Iterable[Sentence]) -> Task:
    """Whether a noun is singular or plural ("Sing", "Plur"); other words and values are not asked.

    Verbs and pronouns have a number too, but what `key` "Number" asks of them is another question.
    """

    def label(sentence: Sentence) -> list[str | None]:
        values = zip(of(sentence, "upos"), _values(sentence, "Number"), strict=True)
        return [
            value if tag == "NOUN" and value in ("Sing", "Plur") else None for tag, value in values
        ]

    return word_task("number", sentences, label)


def length(sentences: Iterable[Sentence]) -> Task:
    """How many words a sentence has, in bins: up to 4, 8, 12, 16, 20, 25, and more."""

    def label(sentence: Sentence) -> str:
        place = int(np.searchsorted(LENGTHS, len(of(sentence, "forms"))))
        low = LENGTHS[place - 1] + 1 if place else 1
        return f"{low:02d}-{LENGTHS[place]:02d}" if place < len(LENGTHS) else f"{low:02d}+"

    return sentence_task("length", sentences, label)


def content(
    sentences: Sequence[Sentence], *, words: Iterable[str] | None = None, most: int = 50
) -> Task:
    """Which of some words is in a sentence, for sentences with just one of them.

    `words` in lower case, for test data those of the training data: `set(task.labels)`. None: the
    `most` most frequent of at least four letters.
    """
    if words is None:
        counts = Counter(form for sentence in sentences for form in _lower(sentence))
        longer = [form for form in counts if form.isalpha() and len(form) > 3]
        words = sorted(longer, key=lambda form: (-counts[form], form))[:most]
    words = set(words)

    def label(sentence: Sentence) -> str | None:
        found = _lower(sentence) & words
        return found.pop() if len(found) == 1 else None

    return sentence_task("content", sentences, label)


def position(sentences: Iterable[Sentence]) -> Task:
    """The place of a word in its sentence, from 0; from FARTHEST on they are one label."""
    return word_task(
        "position",
        sentences,
        lambda sentence: _up_to(np.arange(len(of(sentence, "forms"))), FARTHEST),
    )


def seen_before(sentences: Iterable[Sentence]) -> Task:
    """Whether a word has occurred earlier in its sentence, in upper or lower case.

    Asked are only words that occur again: their first place ("new") and their second ("seen"). So
    there are as many of each, and neither the label's share nor the word says which.
    """

    def label(sentence: Sentence) -> list[str | None]:
        forms = [form.lower() for form in of(sentence, "forms")]
        again = {form for form, count in Counter(forms).items() if count > 1}
        said = ("new", "seen", None)
        return [
            said[min(forms[:place].count(form), 2)] if form in again else None
            for place, form in enumerate(forms)
        ]

    return word_task("seen before", sentences, label)


def depth(sentences: Iterable[Sentence]) -> Task:
    """How many arcs a word is below the root of its sentence."""
    return word_task("depth", sentences, lambda each: _up_to(depths(of(each, "heads")), FARTHEST))


def distance(sentences: Iterable[Sentence], *, seed: int = 0) -> Task:
    """How many arcs lie between two words: for each word and another one, drawn at random."""

    def label(sentence: Sentence) -> Iterable[tuple[int, int, str]]:
        between = distances(of(sentence, "heads"))
        order = _draw(seed, len(between), len(between))
        pairs = [pair for pair in enumerate(order) if pair[0] != pair[1]]
        said = _up_to(np.asarray([between[pair] for pair in pairs], dtype=int), FARTHEST)
        return [(int(a), int(b), each) for (a, b), each in zip(pairs, said, strict=True)]

    return pair_task("distance", sentences, label)


def head(sentences: Iterable[Sentence]) -> Task:
    """Whether the second word is the head of the first.

    For each word with a head, "yes" with it, and "no" with the word as far away on its other side;
    words that have none there are passed over. So the distance alone says nothing.
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
    """The relation of a word to its head, both given (`column` "deprels" gives the word alone)."""

    def label(sentence: Sentence) -> Iterable[tuple[int, int, str]]:
        for word, above in enumerate(of(sentence, "heads")):
            if above:
                yield word, above - 1, of(sentence, "deprels")[word]

    return pair_task("relation", sentences, label)


def _values(sentence: Sentence, name: str) -> list[str | None]:
    """The value of a key in each word's features, "A=x|B=y"; None for words without it."""
    pairs = (
        dict(each.partition("=")[::2] for each in cell.split("|")) for cell in of(sentence, "feats")
    )
    return [each.get(name) for each in pairs]


def _lower(sentence: Sentence) -> set[str]:
    return {form.lower() for form in of(sentence, "forms")}


def _up_to(numbers: Iterable[int], most: int) -> list[str]:
    return [str(number) if number < most else f"{most}+" for number in numbers]


def _draw(*numbers: int) -> np.ndarray:
    """A permutation of as many as the last number says, by the numbers alone."""
    return np.random.default_rng(generator_for(*numbers).initial_seed()).permutation(numbers[-1])

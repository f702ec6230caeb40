"""Tasks as values: items to be told apart, with labels and groups; and with vectors, examples."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tlcourse.probing.features import Features

KINDS = {"word": 1, "pair": 2, "sentence": 0}  # how many words an item has
BETWEEN = "\t"  # the two forms in the group of a pair: no form has a tab

Sentence = Mapping[str, Any] | Any  # a row of a data set, or an object with its columns


@dataclass(frozen=True, eq=False)
class Task:
    """Items to be told apart: of each its sentence, its words, its label and its group.

    A group is what a control task gives one random label, and what the baseline of word types
    knows: the form of a word, the forms of a pair with a tab between them, the text of a sentence.
    """

    name: str
    kind: str  # "word", "pair" or "sentence"
    sentences: np.ndarray  # (items,)
    words: np.ndarray  # (items, 1), (items, 2) or (items, 0)
    labels: np.ndarray  # (items,) texts
    groups: np.ndarray  # (items,) texts

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, eq=False)
class Examples:
    """A task with the vectors of one layer: what probes and baselines take."""

    features: np.ndarray  # (items, width); a pair's two vectors side by side; a sentence's mean
    labels: np.ndarray  # (items,)
    groups: np.ndarray  # (items,)
    sentences: np.ndarray  # (items,) which to draw together when intervals are made
    kind: str = "word"  # that of the task


def examples(features: Features, task: Task, layer: int) -> Examples:
    """The vectors of a task's items; those of sentences that were left out are left out."""
    there = features.holds(task.sentences)
    sentences, words = task.sentences[there], task.words[there]
    states = features.layers[layer]
    if task.kind == "sentence":
        means = [features.sentence(i, layer).mean(axis=0, dtype=np.float32) for i in sentences]
        vectors = np.stack(means)
    else:
        rows = [features.rows(sentences, column) for column in words.T]
        vectors = np.concatenate([states[row] for row in rows], axis=1)
    return Examples(vectors, task.labels[there], task.groups[there], sentences, task.kind)


def of(sentence: Sentence, column: str) -> Sequence:
    """A column of a sentence: an entry a word."""
    return sentence[column] if isinstance(sentence, Mapping) else getattr(sentence, column)


def _task(name: str, kind: str, items: Iterable[tuple[int, tuple, str, str]]) -> Task:
    """From items (sentence, words, label, group); ValueError if there are none."""
    items = list(items)
    if not items:
        raise ValueError(f"expected sentences with something to tell for {name}, got none")
    sentences, words, labels, groups = zip(*items, strict=True)
    words = np.asarray(words, dtype=np.int64).reshape(len(items), KINDS[kind])
    return Task(name, kind, np.asarray(sentences), words, np.asarray(labels), np.asarray(groups))


def word_task(
    name: str,
    sentences: Iterable[Sentence],
    label: Callable[[Sentence], Sequence[str | None]],
) -> Task:
    """A label for each word; `label(sentence)` has one a word, None for words to be passed over."""
    return _task(
        name,
        "word",
        (
            (number, (place,), str(each), of(sentence, "forms")[place])
            for number, sentence in enumerate(sentences)
            for place, each in enumerate(label(sentence))
            if each is not None
        ),
    )


def pair_task(
    name: str,
    sentences: Iterable[Sentence],
    label: Callable[[Sentence], Iterable[tuple[int, int, str]]],
) -> Task:
    """A label for each pair; `label(sentence)` gives (word, other word, label)."""
    return _task(
        name,
        "pair",
        (
            (number, (one, other), each, BETWEEN.join([forms[one], forms[other]]))
            for number, sentence in enumerate(sentences)
            for forms in [of(sentence, "forms")]
            for one, other, each in label(sentence)
        ),
    )


def sentence_task(
    name: str, sentences: Iterable[Sentence], label: Callable[[Sentence], str | None]
) -> Task:
    """A label for each sentence; None for those to be passed over. TREC's questions are one."""
    return _task(
        name,
        "sentence",
        (
            (number, (), str(each), " ".join(of(sentence, "forms")))
            for number, sentence in enumerate(sentences)
            if (each := label(sentence)) is not None
        ),
    )

"""Probing tasks: items with labels and groups; with vectors they become examples."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tlcourse.probing.features import Features

KINDS = {"word": 1, "pair": 2, "sentence": 0}  # the number of words of an item
BETWEEN = "\t"  # separates the two forms in the group of a pair, as no form contains a tab

Sentence = Mapping[str, Any] | Any  # a row of a data set, or an object with its columns


@dataclass(frozen=True, eq=False)
class Task:
    """The items of a classification task: the sentence, words, label and group of each.

    The group is the form of a word, the two forms of a pair separated by a tab, or the text of a
    sentence. A control task gives all items of a group the same random label, and the baseline of
    word types predicts the label from the group.
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
    """The items of a task with the vectors of one layer: the input of probes and baselines."""

    features: np.ndarray  # (items, width); pairs: two vectors concatenated; sentences: their mean
    labels: np.ndarray  # (items,)
    groups: np.ndarray  # (items,)
    sentences: np.ndarray  # (items,): bootstrap intervals draw whole sentences
    kind: str = "word"  # the kind of the task


def examples(features: Features, task: Task, layer: int) -> Examples:
    """The examples of a task at one layer, without items in sentences that were left out."""
    kept = features.holds(task.sentences)
    sentences, words = task.sentences[kept], task.words[kept]
    states = features.layers[layer]
    if task.kind == "sentence":
        means = [features.sentence(i, layer).mean(axis=0, dtype=np.float32) for i in sentences]
        vectors = np.stack(means)
    else:
        rows = [features.rows(sentences, column) for column in words.T]
        vectors = np.concatenate([states[row] for row in rows], axis=1)
    return Examples(vectors, task.labels[kept], task.groups[kept], sentences, task.kind)


def of(sentence: Sentence, column: str) -> Sequence:
    """A column of a sentence, with one entry per word."""
    return sentence[column] if isinstance(sentence, Mapping) else getattr(sentence, column)


def _task(name: str, kind: str, items: Iterable[tuple[int, tuple, str, str]]) -> Task:
    """The task of these items (sentence, words, label, group); ValueError if there are none."""
    items = list(items)
    if not items:
        raise ValueError(f"expected sentences with a label for {name}, got none")
    sentences, words, labels, groups = zip(*items, strict=True)
    words = np.asarray(words, dtype=np.int64).reshape(len(items), KINDS[kind])
    return Task(name, kind, np.asarray(sentences), words, np.asarray(labels), np.asarray(groups))


def word_task(
    name: str, sentences: Iterable[Sentence], label: Callable[[Sentence], Sequence[str | None]]
) -> Task:
    """A task of words; `label(sentence)` returns a label for each word, None to leave it out."""
    return _task(
        name,
        "word",
        (
            (number, (word,), str(word_label), of(sentence, "forms")[word])
            for number, sentence in enumerate(sentences)
            for word, word_label in enumerate(label(sentence))
            if word_label is not None
        ),
    )


def pair_task(
    name: str,
    sentences: Iterable[Sentence],
    label: Callable[[Sentence], Iterable[tuple[int, int, str]]],
) -> Task:
    """A task of pairs; `label(sentence)` returns tuples (first word, second word, label)."""
    return _task(
        name,
        "pair",
        (
            (number, (first, second), pair_label, BETWEEN.join([forms[first], forms[second]]))
            for number, sentence in enumerate(sentences)
            for forms in [of(sentence, "forms")]
            for first, second, pair_label in label(sentence)
        ),
    )


def sentence_task(
    name: str, sentences: Iterable[Sentence], label: Callable[[Sentence], str | None]
) -> Task:
    """A task of sentences; `label(sentence)` returns a label, or None for one to leave out.

    TREC's question types are such a task.
    """
    return _task(
        name,
        "sentence",
        (
            (number, (), str(sentence_label), " ".join(of(sentence, "forms")))
            for number, sentence in enumerate(sentences)
            if (sentence_label := label(sentence)) is not None
        ),
    )

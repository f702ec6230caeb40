"""Spans of text: entities in tags, answers in paragraphs, and how many of them are right.

from tlcourse import spans

spans.entities(["B-person", "I-person", "O", "B-location"])
gold = [["B-person", "I-person", "O"]]
spans.entity_score(gold, [["B-person", "O", "O"]]).f1
spans.answer_f1("the Normans", ["Normans", "Norman people"])
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tlcourse.metrics import Interval

ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)


class Entity(NamedTuple):
    """An entity: its type, and its words from `start` up to, but not including, `end`."""

    kind: str
    start: int
    end: int


def to_bio(tags: Sequence[str]) -> list[str]:
    """The tags with B- wherever an entity begins.

    That repairs an I- tag that continues nothing, which a tagger may predict, and turns IOB1 (Tjong
    Kim Sang & Veenstra, 1999), where B- only separates neighbours of one type, into BIO.
    """
    fixed, before = [], "O"
    for tag in tags:
        begins = tag.startswith("I-") and before[2:] != tag[2:]
        fixed.append(f"B-{tag[2:]}" if begins else tag)
        before = tag
    return fixed


def entities(tags: Sequence[str]) -> list[Entity]:
    """The entities of a sentence, in order, of tags in BIO or IOB1.

    Raises ValueError for a tag that is neither O nor begins with B- or I-.
    """
    found: list[Entity] = []
    for place, tag in enumerate(to_bio(tags)):
        if tag != "O" and tag[:2] not in ("B-", "I-"):
            raise ValueError(f"expected the tags O, B-TYPE and I-TYPE, got {tag!r} at {place}")
        if tag.startswith("I-"):
            found[-1] = found[-1]._replace(end=place + 1)
        elif tag != "O":
            found.append(Entity(tag[2:], place, place + 1))
    return found


@dataclass(frozen=True)
class EntityScore:
    """Counts of entities in each sentence, (sentences, 3): right, predicted, and in the gold."""

    counts: np.ndarray

    @property
    def precision(self) -> float:
        """The share of the predicted entities that are right; 0 if none was predicted."""
        right, predicted, _ = self.counts.sum(axis=0)
        return float(right / predicted) if predicted else 0.0

    @property
    def recall(self) -> float:
        """The share of the gold entities that were found; 0 if there are none."""
        right, _, gold = self.counts.sum(axis=0)
        return float(right / gold) if gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; 0 if both are."""
        return _f1(self.counts.sum(axis=0))

    def interval(self, *, confidence: float = 0.95, draws: int = 1000, seed: int = 0) -> Interval:
        """F1 and its percentile bootstrap interval, over further sentences of the same kind."""
        generator = np.random.default_rng(seed)
        picks = generator.integers(len(self.counts), size=(draws, len(self.counts)))
        values = [_f1(self.counts[pick].sum(axis=0)) for pick in picks]
        low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
        return Interval(self.f1, float(low), float(high))


def _f1(counts: np.ndarray) -> float:
    right, predicted, gold = counts
    return float(2 * right / (predicted + gold)) if predicted + gold else 0.0


def entity_score(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], *, kind: str | None = None
) -> EntityScore:
    """Counts the entities of which type, first and last word are right (Tjong Kim Sang, 2002).

    `gold` and `predicted` are the tags of each sentence. With `kind` only entities of this type
    count. Raises ValueError if the numbers of sentences, or of the tags of one, differ.
    """
    if len(gold) != len(predicted) or not gold:
        raise ValueError(
            f"expected the tags of the same sentences, got {len(gold)} and {len(predicted)}"
        )
    rows = []
    for number, (right, guess) in enumerate(zip(gold, predicted, strict=True)):
        if len(right) != len(guess):
            raise ValueError(
                f"expected {len(right)} tags for sentence {number}, got {len(guess)}; predict one "
                "for every word"
            )
        true, guessed = (
            {entity for entity in entities(tags) if kind in (None, entity.kind)}
            for tags in (right, guess)
        )
        rows.append((len(true & guessed), len(guessed), len(true)))
    return EntityScore(np.array(rows))


def normalised_answer(text: str) -> str:
    """An answer as SQuAD compares it (Rajpurkar et al., 2016): words in lower case, no articles.

    Punctuation is removed, and white space collapsed.
    """
    return " ".join(ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split())


def exact_match(answer: str, gold: Sequence[str]) -> float:
    """1.0 if an answer equals one of the gold answers, normalised, else 0.0.

    No gold answers, or only an empty one, mean that the paragraph does not have the answer.
    """
    return _best(answer, gold, lambda a, b: float(a == b))


def answer_f1(answer: str, gold: Sequence[str]) -> float:
    """The F1 of the words that an answer shares with a gold answer; with the best of several.

    Where one of the two is empty, both must be (Rajpurkar et al., 2018).
    """
    return _best(answer, gold, _word_f1)


def _best(answer: str, gold: Sequence[str], score: Callable[[str, str], float]) -> float:
    texts = [normalised_answer(text) for text in gold] or [""]
    return max(score(normalised_answer(answer), text) for text in texts)


def _word_f1(first: str, second: str) -> float:
    ours, theirs = first.split(), second.split()
    if not (ours and theirs):
        return float(ours == theirs)
    shared = (Counter(ours) & Counter(theirs)).total()
    return 2 * shared / (len(ours) + len(theirs))

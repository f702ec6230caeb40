"""Generates sentences, and pairs of them that differ in the agreement of one verb."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from tlcourse.corpora.conllu import COLUMNS, Sentence, key_of
from tlcourse.corpora.treebank.derivation import Derivation
from tlcourse.corpora.treebank.nonsense import without_sense
from tlcourse.corpora.treebank.sentences import agreements, tree_of, with_leaves, written

if TYPE_CHECKING:
    import datasets

NAME, SOURCE = "treebank", "grammar of the course"
MOST_ATTRACTORS = 4
LONGEST = 40  # words; longer sentences are drawn again


class AgreementPair(NamedTuple):
    """Two sentences that differ in one verb: it agrees with its subject in `good` only.

    `verb` and `subject` are word numbers, counted from 1; the `attractors` nouns between them all
    have the other number.
    """

    good: Sentence
    bad: Sentence
    verb: int
    subject: int
    attractors: int


def generate(count: int, *, seed: int = 0) -> list[Sentence]:
    """`count` different sentences of the grammar; a larger count continues the same sequence.

    Raises ValueError if the count is negative.
    """
    _check(count)
    sentences = _distinct(random.Random(f"treebank {seed}"), f"{NAME}-{seed}")
    return [next(sentences) for _ in range(count)]


def _check(count: int) -> None:
    if count < 0:
        raise ValueError(f"expected a number of sentences of at least 0, got {count}")


def _distinct(chance: random.Random, name: str) -> Iterator[Sentence]:
    seen: set[str] = set()
    while True:
        sentence = written(Derivation(chance), f"{name}-{len(seen):05d}")
        if len(sentence.forms) <= LONGEST and sentence.text not in seen:
            seen.add(sentence.text)
            yield sentence


def splits(
    train: int = 2000, validation: int = 400, test: int = 400, *, seed: int = 0
) -> datasets.DatasetDict:
    """A data set of sentences with the columns of UD English EWT; no sentence is in two splits.

    `conllu.Sentence.of(row)` is the sentence of a row. Raises ValueError if a size is negative.
    """
    import datasets

    from tlcourse.corpora.splits import Splits

    sizes = {"train": train, "validation": validation, "test": test}
    _check(min(sizes.values()))
    rows = [sentence.row for sentence in generate(sum(sizes.values()), seed=seed)]
    result, first = Splits(), 0
    for split, size in sizes.items():
        part, first = rows[first : first + size], first + size
        result[split] = datasets.Dataset.from_dict({c: [row[c] for row in part] for c in COLUMNS})
        result[split].info.dataset_name, result[split].info.description = NAME, SOURCE
    return result


def agreement_pairs(
    count: int, *, attractors: int = 1, seed: int = 0, nonsense: bool = False
) -> list[AgreementPair]:
    """`count` different pairs with 0 to 4 attractors, nouns whose number is not the subject's.

    The attractors are the only nouns between subject and verb, in prepositional phrases and
    relative clauses (Linzen et al., 2016; Marvin & Linzen, 2018). Every second subject is plural.
    With `nonsense`, each pair is the nonsense version (Gulordava et al., 2018) of the pair at the
    same index without it. Raises ValueError for more attractors, or a negative count.
    """
    if attractors not in range(MOST_ATTRACTORS + 1):
        raise ValueError(f"expected 0 to {MOST_ATTRACTORS} attractors, got {attractors}")
    _check(count)
    chance, by_text = random.Random(f"agreement {attractors} {seed}"), {}
    while len(by_text) < count:
        number, other = ("sg", "pl") if len(by_text) % 2 == 0 else ("pl", "sg")
        derivation = Derivation(chance, "S.agree", n=number, m=other, k=attractors, t="pres")
        sentence = written(derivation, f"agreement-{attractors}-{seed}-{len(by_text):05d}")
        by_text.setdefault(sentence.text, sentence)
    sentences = by_text.values()
    return [_pair(without_sense(s, seed=seed) if nonsense else s) for s in sentences]


def _pair(good: Sentence) -> AgreementPair:
    """The pair of a sentence and the same with its main verb (or auxiliary) in the other number."""
    root = good.heads.index(0) + 1
    auxiliaries = [
        word
        for word, (head, tag) in enumerate(zip(good.heads, good.upos, strict=True), start=1)
        if head == root and tag == "AUX"
    ]
    finite = auxiliaries[0] if auxiliaries else root
    agreement = next(candidate for candidate in agreements(good) if candidate.verb == finite)
    columns = {name: list(getattr(good, name)) for name in ("forms", "xpos", "feats")}
    place = agreement.verb - 1
    columns["forms"][place] = agreement.other_form
    columns["xpos"][place] = {"VBZ": "VBP", "VBP": "VBZ"}[good.xpos[place]]
    columns["feats"][place] = swapped_number(good.feats[place])
    bad = replace(good, **{name: tuple(values) for name, values in columns.items()})
    tree = with_leaves(tree_of(good), bad.forms, bad.xpos)
    bad = replace(bad, comments=(good.comments[0], f"text = {bad.text}", f"tree = {tree}"))
    return AgreementPair(good, bad, agreement.verb, agreement.subject, agreement.attractors)


def swapped_number(feats: str) -> str:
    """Features with the grammatical number swapped."""
    number = key_of(feats, "Number")
    other = {"Sing": "Plur", "Plur": "Sing"}[number]
    return feats.replace(f"Number={number}", f"Number={other}")

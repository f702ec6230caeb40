"""CheckFailed ways to draw a dev split, each with the stage that finds it and its sentence."""

import random
from collections import Counter
from collections.abc import Iterator

import numpy as np


class Found(list):
    """(stage, sentence, function) of mistakes."""

    def mistake(self, stage, says):
        """Takes one; a decorator."""
        return lambda wrong: self.append((stage, says, wrong))


def mistakes(dev_split) -> Iterator[tuple]:
    """(stage, sentence, function) of each; `dev_split` is the reference."""
    for some in (_wrong_shares, _wrong_labels, _wrong_copies, _wrong_seeds):
        yield from some(dev_split)


def _wrong_shares(dev_split):
    found = Found()

    @found.mistake("a tenth", "These are the rows that stay in train; dev is the smaller part.")
    def the_other_side(texts, labels, fraction=0.1, seed=0):
        dev = set(dev_split(texts, labels, fraction, seed))
        return [row for row in range(len(texts)) if row not in dev]

    @found.mistake("a tenth", "It is a tenth whatever `fraction` says.")
    def always_a_tenth(texts, labels, fraction=0.1, seed=0):
        return dev_split(texts, labels, 0.1, seed)

    @found.mistake("every label", "A tenth was drawn of all rows together: draw for each label.")
    def not_stratified(texts, labels, fraction=0.1, seed=0):
        order = np.random.default_rng(seed).permutation(len(texts))
        return sorted(order[: round(fraction * len(texts))].tolist())

    @found.mistake(
        "every label", "Every label gave as many rows as the others: take a share of each."
    )
    def as_many_of_each(texts, labels, fraction=0.1, seed=0):
        kinds, dev = sorted(set(labels)), []
        each = round(fraction * len(texts))
        for place, label in enumerate(kinds):
            rows = [row for row in range(len(texts)) if labels[row] == label]
            count = each // len(kinds) + (place < each % len(kinds))
            dev += np.random.default_rng(seed).permutation(rows)[:count].tolist()
        return sorted(dev)

    @found.mistake("every label", "`int` cuts off; `round` goes to the nearest whole number.")
    def cut_off(texts, labels, fraction=0.1, seed=0):
        dev = []
        for label in sorted(set(labels)):
            rows = [row for row, each in enumerate(labels) if each == label]
            share = int(fraction * len(rows)) / len(rows)
            mine = dev_split([texts[row] for row in rows], [label] * len(rows), share, seed)
            dev += [rows[place] for place in mine]
        return sorted(dev)

    @found.mistake("every label", "A tenth of 3 rows is rounded to 0: such a label stays in train.")
    def at_least_one(texts, labels, fraction=0.1, seed=0):
        dev = dev_split(texts, labels, fraction, seed)
        counts = Counter(labels[row] for row in dev)
        return sorted(dev + [labels.index(label) for label in set(labels) if not counts[label]])

    return found


def _wrong_labels(dev_split):
    found = Found()

    @found.mistake(
        "repeated questions",
        "The label of a question is that of its first row, and its copies count as rows of that "
        "label.",
    )
    def by_the_last_label(texts, labels, fraction=0.1, seed=0):
        last = dict(zip(texts, labels, strict=True))
        return dev_split(texts, [last[text] for text in texts], fraction, seed)

    @found.mistake(
        "repeated questions", "The label of a question is that of its first row, and its"
    )
    def share_of_marked_rows(texts, labels, fraction=0.1, seed=0):
        first = dict(zip(reversed(texts), reversed(labels), strict=True))
        order = list(dict.fromkeys(texts))
        np.random.default_rng(seed).shuffle(order)
        dev = []
        for label in sorted(set(labels)):
            left = round(fraction * list(labels).count(label))
            for text in order:
                copies = [row for row, each in enumerate(texts) if each == text]
                if first[text] == label and len(copies) <= left:
                    dev, left = dev + copies, left - len(copies)
        return sorted(dev)

    @found.mistake(
        "repeated questions",
        "One question has two labels, and its copies were split: group by the text alone.",
    )
    def by_text_and_label(texts, labels, fraction=0.1, seed=0):
        marked = [f"{label} {text}" for text, label in zip(texts, labels, strict=True)]
        return dev_split(marked, labels, fraction, seed)

    return found


def _wrong_copies(dev_split):
    found = Found()

    @found.mistake("repeated questions", "Copies are texts that are equal as they stand:")
    def in_small_letters(texts, labels, fraction=0.1, seed=0):
        return dev_split([text.lower() for text in texts], labels, fraction, seed)

    @found.mistake(
        "repeated questions", "Rows were drawn: the copies of a question fall on both sides."
    )
    def by_rows(texts, labels, fraction=0.1, seed=0):
        generator, dev = np.random.default_rng(seed), []
        for label in sorted(set(labels)):
            rows = [row for row in range(len(texts)) if labels[row] == label]
            dev += generator.permutation(rows)[: round(fraction * len(rows))].tolist()
        return sorted(dev)

    @found.mistake(
        "repeated questions",
        "Pass over a group that does not fit, and go on with the next.",
    )
    def stops_early(texts, labels, fraction=0.1, seed=0):
        copies, draw, dev = Counter(texts), random.Random(seed), []
        for label in sorted(set(labels)):
            mine = {text for text, each in zip(texts, labels, strict=True) if each == label}
            left = round(fraction * list(labels).count(label))
            for text in draw.sample(sorted(mine), len(mine)):
                if copies[text] > left:
                    break
                dev += [row for row, each in enumerate(texts) if each == text]
                left -= copies[text]
        return sorted(set(dev))

    return found


def _wrong_seeds(dev_split):
    found = Found()

    @found.mistake(
        "the seed", "A set has another order in each session: go through `sorted(…)` of it."
    )
    def in_the_order_of_a_set(texts, labels, fraction=0.1, seed=0):
        place = {label: f"{number:03}" for number, label in enumerate(set(labels))}
        return dev_split(texts, [place[label] for label in labels], fraction, seed)

    @found.mistake("the seed", "The same rows come for every seed: is the order drawn?")
    def the_first_of_each(texts, labels, fraction=0.1, seed=0):
        return dev_split(texts, labels, fraction, 0)

    @found.mistake(
        "the seed", "The same seed gave two splits: make a generator of your own from it."
    )
    def no_seed(texts, labels, fraction=0.1, seed=0):
        return dev_split(texts, labels, fraction, np.random.randint(10**6))

    return found

"""Lesson 04: a dev split, stratified, with every repeated question on one side."""

import random
from collections import Counter

import numpy as np

from tlcourse.exercises.finetuning._split_mistakes import mistakes
from tlcourse.exercises.finetuning._splits import (
    DIFFERENCES,
    both_ends,
    different,
    how_many,
    lasting,
    of_a_small_label,
    off_by,
    on_both_sides,
    per_label,
    told_apart,
)
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="4.1",
    title="A dev split",
    difficulty=3,
    minutes=15,
    hints=(
        "first the groups: a dict from each text to its row numbers. Then, for each label, the "
        "list of its groups.",
        "`generator.permutation(len(groups))` is a random order of a label's groups. Go through it "
        "and count how many rows are still wanted.",
        "`wanted = round(fraction * rows)`; then, for each group in the random order: "
        "`if len(group) <= wanted: dev += group; wanted -= len(group)`.",
    ),
    imports="import random\nfrom collections import Counter, defaultdict\n\nimport numpy as np",
)


@task.reference
def dev_split(texts, labels, fraction=0.1, seed=0):
    """The row numbers of the dev split, sorted."""
    groups = {}  # text → its rows
    for row, text in enumerate(texts):
        groups.setdefault(text, []).append(row)
    by_label = {}  # label → its groups
    for group in groups.values():
        by_label.setdefault(labels[group[0]], []).append(group)
    generator, dev = np.random.default_rng(seed), []
    for label in sorted(by_label):
        wanted = round(fraction * sum(map(len, by_label[label])))
        for place in generator.permutation(len(by_label[label])):
            group = by_label[label][place]
            if len(group) <= wanted:
                dev += group
                wanted -= len(group)
    return sorted(dev)


@task.right
def by_texts(texts, labels, fraction=0.1, seed=0):
    times, first = Counter(texts), {}
    for text, label in zip(texts, labels, strict=True):
        first.setdefault(text, label)
    draw, chosen = random.Random(seed), set()
    for label in dict.fromkeys(first.values()):
        mine = [text for text in first if first[text] == label]
        left = round(fraction * sum(times[text] for text in mine))
        draw.shuffle(mine)
        for text in mine:
            if times[text] <= left:
                chosen.add(text)
                left -= times[text]
    return [row for row, text in enumerate(texts) if text in chosen]


@task.right
def by_random_keys(texts, labels, fraction=0.1, seed=0):
    known = list(dict.fromkeys(texts))
    key = dict(zip(known, np.random.default_rng(seed).random(len(known)), strict=True))
    label_of = dict(zip(reversed(texts), reversed(labels), strict=True))
    found = []
    for label in set(labels):
        rows = [row for row, text in enumerate(texts) if label_of[text] == label]
        left = round(fraction * len(rows))
        for text in sorted({texts[row] for row in rows}, key=key.get):
            copies = [row for row in rows if texts[row] == text]
            if len(copies) <= left:
                found, left = found + copies, left - len(copies)
    return np.sort(np.array(found, dtype=int))


@task.stage("a tenth")
def tenth(candidate):
    task.observe(
        candidate, how_many, 0.1, 0, gives=10, what="100 questions, none repeated: the rows in dev",
        likely="`fraction` says which share of the rows goes to dev.",
    )  # fmt: skip
    task.observe(
        candidate, how_many, 0.2, 0, gives=20, what="with `fraction=0.2`: the rows in dev",
        likely="`fraction` says which share of the rows goes to dev.",
    )  # fmt: skip
    task.observe(candidate, how_many, gives=10, what="without `fraction`: the rows in dev")


@task.stage("every label")
def every_label(candidate):
    for seed in range(3):
        task.observe(
            candidate, per_label, 0.1, seed, gives=[5, 3, 2],
            what="dev of 50, 30 and 20 questions with the labels A, B and C",
            likely="Each label gives a tenth of its own rows.",
        )  # fmt: skip
    task.observe(
        candidate, per_label, 0.16, 0, gives=[8, 5, 3],
        what="dev of 50, 30 and 20 questions with the labels A, B and C, fraction=0.16",
        likely="`round(fraction * rows of the label)` rows of each label.",
    )  # fmt: skip
    task.observe(
        candidate, of_a_small_label, 3, 0, gives=0, what="dev of a label with 3 questions",
        likely="A tenth of 3 rows is rounded to 0: such a label stays in train.",
    )  # fmt: skip


@task.stage("repeated questions")
def on_one_side(candidate):
    for conflict in (False, True):
        for seed in range(3):
            kind = "with another label" if conflict else "with the same label"
            task.observe(
                candidate, on_both_sides, seed, conflict, gives=[],
                what=f"questions that are repeated {kind}: those found on both sides",
                likely="A question and all its copies go to one side: draw texts, and not rows.",
            )  # fmt: skip
    for seed in range(8):
        task.observe(
            candidate, off_by, seed, gives=[True, True],
            what="whether each label gives its share where questions are repeated",
            likely="Three copies take three places in dev. Pass over a group that does not fit, "
            "and go on with the next.",
        )  # fmt: skip
    for seed in range(3):
        task.observe(
            candidate, off_by, seed, True, gives=[True, True],
            what="the same, where the second copy of some has another label",
            likely="A question and its copies have the label of the first of them.",
        )  # fmt: skip
    task.observe(
        candidate, told_apart, 3, gives=list(DIFFERENCES),
        what="differences by which two texts may be on two sides",
        likely="Copies are texts that are equal as they stand: change nothing in them.",
    )  # fmt: skip


@task.stage("the seed")
def the_seed(candidate):
    task.observe(
        candidate, different, 5, gives=3,
        what="five seeds, each twice: the different splits (3 stands for three or more)",
        likely="The split is a function of the seed and of nothing else.",
    )  # fmt: skip
    task.observe(
        candidate, both_ends, gives=True,
        what="whether rows of both halves of a label are drawn",
        likely="The order of the rows in the file must not matter: draw.",
    )  # fmt: skip
    task.observe(
        candidate, lasting, 0, gives=True, what="whether another session of Python gives the same",
        likely="A set has another order in each session: go through `sorted(…)` of it.",
    )  # fmt: skip


for stage, says, wrong in mistakes(dev_split):
    task.mistake(stage, says)(wrong)

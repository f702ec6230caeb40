"""Lesson 09: precision and recall of whole entities, as CoNLL-2003 counts them."""

import random

from tlcourse import spans
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

task = Exercise(
    __name__,
    number="9.2",
    title="F1 over entities",
    difficulty=3,
    importance=5,
    minutes=20,
    hints=(
        "First write a function that turns the tags of one sentence into a set of entities "
        "(type, start, end). A B- tag starts one; the I- tags behind it extend its end.",
        "Then loop over the sentences. Add up three numbers: the entities in both sets, those "
        "predicted, and those in the gold tags.",
        "F1 is 2 · right / (predicted + gold), which is the harmonic mean of precision and recall. "
        "If there is no entity on either side, return 0.",
    ),
    tolerance=1e-6,
)


@task.reference
def entity_f1(gold, predicted):
    """The F1 of the entities in lists of BIO tags, one list a sentence."""

    def entities(tags):
        found = []
        for place, tag in enumerate(tags):
            if tag.startswith("B-"):
                found.append((tag[2:], place, place + 1))
            elif tag.startswith("I-"):
                kind, start, _ = found.pop()
                found.append((kind, start, place + 1))
        return set(found)

    right = count = 0
    for true, guessed in zip(gold, predicted, strict=True):
        right += len(entities(true) & entities(guessed))
        count += len(entities(true)) + len(entities(guessed))
    return 2 * right / count if count else 0.0


@task.truth
def by_package(gold, predicted):
    return spans.entity_score(gold, predicted).f1


def drawn(generator, length):
    """Valid BIO tags of a sentence."""
    tags = []
    while len(tags) < length:
        kind = generator.choice(("PER", "LOC", None))
        more = generator.randrange(3)
        tags += ["O"] if kind is None else [f"B-{kind}", *[f"I-{kind}"] * more]
    return tags[:length]


def pairs():
    """30 random pairs of tags of four sentences; half of each prediction is copied."""
    generator = random.Random(varying(0))
    for _ in range(30):
        gold = [drawn(generator, generator.randrange(1, 9)) for _ in range(4)]
        guess = [tags if generator.random() < 0.5 else drawn(generator, len(tags)) for tags in gold]
        yield case("", gold, guess)


JOAN = ["B-PER", "I-PER", "O", "B-LOC", "O"]

task.stage(
    "all right, all wrong",
    case("a prediction that equals the gold tags", [JOAN], [JOAN]),
    case("a prediction without entities", [JOAN], [["O"] * 5]),
    hint="Return a number from 0 to 1.",
)
task.stage(
    "whole entities",
    case(
        "PER PER O LOC O, of which the prediction finds the place and half of the name",
        [JOAN],
        [["B-PER", "O", "O", "B-LOC", "O"]],
    ),
    hint="An entity is right only if its type, its first and its last word are right. Count "
    "entities, not tags.",
)
task.stage(
    "neighbours and types",
    case("two places side by side, read as one", [["B-LOC", "B-LOC"]], [["B-LOC", "I-LOC"]]),
    case("a place that is taken for a person", [["B-LOC", "O"]], [["B-PER", "O"]]),
    case("an entity at the very end", [["O", "B-LOC", "I-LOC"]], [["O", "B-LOC", "I-LOC"]]),
    hint="A B- tag always begins a new entity, and an entity may end with the sentence.",
)
task.stage(
    "several sentences",
    case(
        "one entity at the same place of two sentences, found in the second only",
        [["B-LOC"], ["B-LOC"]],
        [["O"], ["B-LOC"]],
    ),
    case(
        "ten entities in the first sentence, none of them found, and one in the second, found",
        [["B-LOC"] * 10, ["B-PER"]],
        [["O"] * 10, ["B-PER"]],
    ),
    hint="Compare sentence by sentence, add up the counts of all sentences, and compute F1 once at "
    "the end.",
)
task.stage(
    "no entities",
    case("two sentences without entities on either side", [["O"], ["O", "O"]], [["O"], ["O", "O"]]),
    hint="Without entities the division would be 0 / 0: return 0.",
)
task.stage("30 random predictions", *pairs(), hint="Which entities does each side have?")


def by_tags(gold, predicted):
    both = [pair for rows in zip(gold, predicted, strict=True) for pair in zip(*rows, strict=True)]
    right = sum(a == b != "O" for a, b in both)
    count = sum((a != "O") + (b != "O") for a, b in both)
    return 2 * right / count if count else 0.0


def mean_over_sentences(gold, predicted):
    scores = [entity_f1([a], [b]) for a, b in zip(gold, predicted, strict=True)]
    return sum(scores) / len(scores)


def accuracy(gold, predicted):
    both = [pair for rows in zip(gold, predicted, strict=True) for pair in zip(*rows, strict=True)]
    return sum(a == b for a, b in both) / len(both)


task.mistakes(
    (
        "This is the F1 of single tags. An entity with one missing word is wrong as a whole.",
        by_tags,
    ),
    (
        "This is the share of right tags, in which the many O count. Count entities.",
        accuracy,
    ),
    (
        "This is the mean of the sentences' F1, in which a sentence with one entity counts as much "
        "as one with ten. Add up the counts first.",
        mean_over_sentences,
    ),
)

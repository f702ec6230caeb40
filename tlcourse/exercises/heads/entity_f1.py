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
        kind = generator.choice(("PER", "LOC", "ORG", "PROD", None, None))
        more = generator.choice((0, 0, 1, 2, 5))
        tags += ["O"] if kind is None else [f"B-{kind}", *[f"I-{kind}"] * more]
    return tags[:length]


def pairs():
    """30 random pairs of tags of three sentences; predictions begin like the gold tags."""
    generator = random.Random(varying(0))
    for _ in range(30):
        gold = [drawn(generator, generator.randrange(11)) for _ in range(3)]
        kept = [generator.randrange(len(tags) + 1) for tags in gold]
        guess = [
            tags[:count] + drawn(generator, len(tags) - count)
            for tags, count in zip(gold, kept, strict=True)
        ]
        yield case(f"`entity_f1({gold}, {guess})`", gold, guess)


JOAN = ["B-PER", "I-PER", "O", "B-LOC", "O"]
LONG = ["B-ORG", "I-ORG", "I-ORG", "I-ORG", "I-ORG"]

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
    hint="An entity is right only if its type, its first and its last word are right. One of two "
    "gold entities is found here, and one of two predicted ones is right: 2 · 1 / (2 + 2).",
)
task.stage(
    "precision and recall",
    case("one of two entities, and nothing else", [["B-LOC", "B-PER", "O"]], [["B-LOC", "O", "O"]]),
    hint="The only predicted entity is right, and one of two gold ones is found: 2 · 1 / (1 + 2).",
)
task.stage(
    "neighbours, lengths and types",
    case(
        "two places side by side, read as one",
        [["B-LOC", "B-LOC"]],
        [["B-LOC", "I-LOC"]],
        hint="The gold tags have two entities of one word, the prediction one of two words. None "
        "is right.",
    ),
    case(
        "a place that is taken for a person",
        [["B-LOC", "O"]],
        [["B-PER", "O"]],
        hint="An entity is right only if its type is right, too.",
    ),
    case(
        "a product that is taken for a person",
        [["B-PROD", "O"]],
        [["B-PER", "O"]],
        hint="The type is all that follows `B-`, not its first letter alone.",
    ),
    case(
        "a product that is found",
        [["B-PROD", "O"]],
        [["B-PROD", "O"]],
        hint="Any text behind `B-` is a type: do not list the types in your code.",
    ),
    case(
        "a place that is found, behind a person who is not there",
        [["O", "B-LOC", "O"]],
        [["B-PER", "B-LOC", "O"]],
        hint="An entity is right wherever it stands among the others. Compare sets of entities.",
    ),
    case(
        "an entity at the very end",
        [["O", "B-LOC", "I-LOC"]],
        [["O", "B-LOC", "I-LOC"]],
        hint="An entity may end with the sentence.",
    ),
    case(
        "four of the five words of an entity",
        [LONG],
        [[*LONG[:4], "O"]],
        hint="An entity goes on for as long as I- tags follow, however many they are.",
    ),
)
task.stage(
    "several sentences",
    case(
        "ten entities in the first sentence, none of them found, and one in the second, found",
        [["B-LOC"] * 10, ["B-PER"]],
        [["O"] * 10, ["B-PER"]],
        hint="Add up the counts of all sentences, and compute F1 once at the end.",
    ),
    case(
        "one entity at the same place of two sentences, found in the second only",
        [["B-LOC"], ["B-LOC"]],
        [["O"], ["B-LOC"]],
        hint="Compare sentence by sentence: entities at the same place of two sentences differ.",
    ),
)
task.stage(
    "no entities",
    case("two sentences without entities on either side", [["O"], ["O", "O"]], [["O"], ["O", "O"]]),
    case("an empty sentence and one with an entity", [[], ["B-LOC"]], [[], ["B-LOC"]]),
    hint="A sentence without words has no entities. If neither side has any, F1 would be 0 / 0: "
    "return 0.",
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


def without_types(gold, predicted):
    gold, predicted = (
        [[tag if tag == "O" else tag[:2] for tag in row] for row in rows]
        for rows in (gold, predicted)
    )
    return entity_f1(gold, predicted)


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
    (
        "The types of the entities are not compared here: a place that is taken for a person is "
        "wrong.",
        without_types,
    ),
)

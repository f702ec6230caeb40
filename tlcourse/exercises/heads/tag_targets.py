"""Lesson 09: from one tag a word to one target a token."""

import random

from tlcourse.exercises.measures import integers
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

IGNORED = -100

task = Exercise(
    __name__,
    number="9.1",
    title="A target for each token",
    difficulty=2,
    importance=5,
    minutes=10,
    hints=(
        "Go through `word_of` from left to right and remember the word of the token before.",
        "A token is the first of its word if its word is not None and differs from the word of the "
        "token before. It gets `tags[word]`; all others get -100.",
    ),
    measure=integers,
)


@task.reference
def tag_targets(word_of, tags):
    """The tag of a word at its first token, -100 at all other tokens."""
    targets, before = [], None
    for word in word_of:
        first = word is not None and word != before
        targets.append(tags[word] if first else IGNORED)
        before = word
    return targets


@task.truth
def by_places(word_of, tags):
    targets = [IGNORED] * len(word_of)
    for word, tag in enumerate(tags):
        if word in word_of:
            targets[word_of.index(word)] = tag
    return targets


def sentences():
    """50 random sentences, some with special tokens around them, some cut off."""
    draw = random.Random(varying(0))
    for _ in range(50):
        tags = [draw.randrange(5) for _ in range(draw.randrange(1, 8))]
        word_of = [word for word in range(len(tags)) for _ in range(draw.randrange(1, 4))]
        word_of = word_of[: draw.randrange(1, len(word_of) + 1)]
        yield case("", draw.choice(([], [None])) + word_of + [None], tags)


task.stage(
    "one token a word",
    case("three words of one token each, with the tags 2, 0 and 1", [0, 1, 2], [2, 0, 1]),
    hint="Return a list with one number for each token.",
)
task.stage(
    "several tokens a word",
    case("word 0 in two tokens, word 1 in three, with the tags 3 and 0", [0, 0, 1, 1, 1], [3, 0]),
    hint="Only the first token of a word has its tag. The others get -100, which the loss ignores.",
)
task.stage(
    "special tokens",
    case("one word between two special tokens", [None, 0, 0, None], [4]),
    case("one word before a special token", [0, None], [0]),
    hint="A token that belongs to no word, whose entry is None, gets -100.",
)
task.stage(
    "one word and nothing else",
    case("a sentence of one token", [0], [3]),
    case("one word in two tokens, without special tokens", [0, 0], [3]),
    hint="No token stands before the first one, so it begins a word unless it is a special token.",
)
task.stage(
    "a sentence that was cut",
    case("the first two of three words", [0, 1, 1], [1, 2, 1]),
    hint="Words without tokens have no target: the result is as long as `word_of`.",
)
task.stage("50 random sentences", *sentences(), hint="Compare `word_of`, `tags` and your result.")


def before_the_first(word_of, tags):
    return [
        tags[word] if word is not None and word != word_of[place - 1] else IGNORED
        for place, word in enumerate(word_of)
    ]


task.mistakes(
    (
        "Every token has its word's tag here. The evaluation counts words, so a long word would "
        "count several times in the loss.",
        lambda word_of, tags: [IGNORED if word is None else tags[word] for word in word_of],
    ),
    (
        "The tag stands at the last token of each word, but the lesson reads the prediction at the "
        "first one.",
        lambda word_of, tags: tag_targets(word_of[::-1], tags)[::-1],
    ),
    (
        "Ignored tokens have the target 0 here, which is the number of a tag: use -100.",
        lambda word_of, tags: [max(0, target) for target in tag_targets(word_of, tags)],
    ),
    (
        "The first token is compared with the last one here, because `word_of[-1]` is the last "
        "entry: nothing stands before the first token.",
        before_the_first,
    ),
)

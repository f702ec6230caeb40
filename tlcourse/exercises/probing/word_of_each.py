"""Lesson 07: which word each token belongs to, with two bugs at the border to find."""

import random

from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying


def as_given(tokens, words):
    """The code of the lesson: two bugs, one at the end of a word and one at its beginning."""
    numbers = []
    for span in tokens:
        start, found = span[0], None
        for number, (word_start, word_end) in enumerate(words):
            if found is None and word_start <= start <= word_end:
                found = number
        numbers.append(found)
    return numbers


task = Exercise(
    __name__,
    number="7.1",
    title="Find the bugs: which word a token belongs to",
    difficulty=2,
    importance=3,
    minutes=10,
    hints=(
        "Draw it: write the numbers of the characters under `the dog`. Which of them belong to the "
        "word `the`, and which to the token ` dog`? Does the code as given agree?",
        "The first bug: a span ends *before* its second number, as in `text[start:end]`. The word "
        "(0, 3) has no character 3.",
        "The second bug shows when the first is fixed: ` dog` starts at the space, which is in no "
        "word. Its start alone cannot tell where it belongs, so use the end of its span, too.",
        "Two spans share `min(end, word_end) - max(start, word_start)` characters, or none if this "
        "is 0 or less, as for an empty token such as (1, 1).",
    ),
    given=as_given,
)


@task.reference
def word_of_each(tokens, words):
    """For each token, the index of the first word that it shares a character with, or None."""
    numbers = []
    for start, end in tokens:
        found = None
        for number, (word_start, word_end) in enumerate(words):
            shared = min(end, word_end) - max(start, word_start)
            if found is None and shared > 0:
                found = number
        numbers.append(found)
    return numbers


@task.truth
def by_character(tokens, words):
    owner = {place: number for number, span in enumerate(words) for place in range(*span)}
    owners = ([owner[place] for place in range(*span) if place in owner] for span in tokens)
    return [min(numbers, default=None) for numbers in owners]


def placed(pieces, words):
    """A case of tokens, one piece of a text each, and of words in this text, in their order."""
    text, tokens, spans = "", [], []
    for piece in pieces:
        tokens.append((len(text), len(text) + len(piece)))
        text += piece
    for word in words:
        start = text.index(word, spans[-1][1] if spans else 0)
        spans.append((start, start + len(word)))
    return case(f"tokens {pieces} at {tokens}, words {words} at {spans}", tokens, spans)


def sentences():
    """100 random sentences, cut into tokens at random places."""
    draw = random.Random(varying(7))
    for _ in range(100):
        length, words = 0, []
        for _ in range(draw.randrange(1, 6)):
            start = length + len(draw.choice(("", " ", " ", "  ")))
            length = start + draw.randrange(1, 5)
            words.append((start, length))
        cuts = sorted(draw.sample(range(1, length), draw.randrange(length)))
        yield case("", [*zip([0, *cuts], [*cuts, length], strict=True)], words)


task.stage(
    "the end of a word",
    placed(["fi", "sh", "."], ["fish", "."]),
    hint="Return one number for each token, the index of its word.",
)
task.stage(
    "a space at the border",
    placed([" the", "  dog", "s"], ["the", "dogs"]),
    placed(["the ", "dog"], ["the", "dog"]),
    hint="A space is part of the token but of no word, so neither the first nor the last character "
    "tells. Compare the characters that token and word share.",
)
task.stage(
    "in no word",
    placed(["the", " ", " dog", "\n"], ["the", "dog"]),
    placed(["d", "", "og"], ["dog"]),
    hint="The result for a token that shares no character with any word is None. An empty token "
    "never shares one, even inside a word.",
)
task.stage(
    "in two words",
    placed([" don't", "!"], ["do", "n't", "!"]),
    hint="A token that shares characters with several words belongs to the first of them.",
)
task.stage("100 random sentences", *sentences(), hint="Which characters do token and word share?")


def by_shared(hit):
    """The first word for which `hit(start, end, word_start, word_end)`, or else None."""
    return lambda tokens, words: [
        next((number for number, word in enumerate(words) if hit(*token, *word)), None)
        for token in tokens
    ]


task.mistakes(
    (
        "The end of a span is not part of it: the word (0, 4) has the characters 0 to 3, and the "
        "next word may begin at 4. So use `<`, not `<=`.",
        by_shared(lambda a, b, start, end: a <= end and start <= b),
    ),
    (
        "Word 0 is a word like the others, but `if number` and `or` treat 0 like None: compare "
        "with `is None`.",
        lambda *spans: [number or None for number in word_of_each(*spans)],
    ),
    (
        "Only the first character of each token is compared, which may be a space: compare the "
        "whole span of the token.",
        by_shared(lambda a, b, start, end: start <= a < end),
    ),
)

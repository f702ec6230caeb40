"""Lesson 07: which word each token belongs to, with two bugs at the border to be found.

The true answer is counted out, character by character.
"""

import random

from tlcourse.exercises.task import Exercise


def as_given(tokens, words):
    """What the lesson hands out: two bugs, one at the end of a word and one at its beginning."""
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
    minutes=10,
    hints=(
        "draw it: write the numbers of the characters under `the dog`. Which of them belong "
        "to the word `the`, and which to the token ` dog`? Does the code as given agree?",
        "the first bug: a span ends *before* its second number, as in `text[start:end]`. The word "
        "(0, 3) has no character 3.",
        "the second bug shows when the first is mended: ` dog` starts on the space, which is in no "
        "word. Its start alone cannot tell where it belongs; use the end of its span, too.",
        "two spans share `min(end, word_end) - max(start, word_start)` characters (0 or less: "
        "none).",
    ),
    given=as_given,
)


@task.reference
def word_of_each(tokens, words):
    """For each token the number of the first word it shares a character with, or None."""
    numbers = []
    for start, end in tokens:
        found = None
        for number, (word_start, word_end) in enumerate(words):
            shared = min(end, word_end) - max(start, word_start)
            if found is None and shared > 0:
                found = number
        numbers.append(found)
    return numbers


@task.right
def by_owner_of_each_character(tokens, words):
    owner = {place: n for n, span in enumerate(words) for place in range(*span)}
    owned = [[owner[place] for place in range(*span) if place in owner] for span in tokens]
    return [numbers[0] if numbers else None for numbers in owned]


@task.right
def by_walking_along(tokens, words):
    numbers, at = [], 0
    for start, end in tokens:
        while at < len(words) and words[at][1] <= start:
            at += 1
        hit = at < len(words) and start < end and words[at][0] < end
        numbers.append(at if hit else None)
    return numbers


def placed(pieces, words):
    """The spans of pieces that follow one another, and those of the words in their text."""
    text, tokens, spans = "", [], []
    for piece in pieces:
        tokens.append((len(text), len(text) + len(piece)))
        text += piece
    for word in words:
        start = text.index(word, spans[-1][1] if spans else 0)
        spans.append((start, start + len(word)))
    return tokens, spans


def expect(candidate, pieces, words, gives, likely):
    """Raises CheckFailed unless the candidate gives these numbers."""
    tokens, spans = placed(pieces, words)
    what = f"tokens {pieces} at {tokens}, words {words} at {spans}:"
    task.probe(candidate, tokens, spans, gives=gives, what=what, likely=likely)


@task.stage("the end of a word")
def border(candidate):
    likely = "One number for each token: that of its word, counted from 0."
    expect(candidate, ["dog"], ["dog"], [0], likely)
    expect(candidate, ["fi", "sh", "."], ["fish", "."], [0, 0, 1], likely)


@task.stage("a space at the border")
def space(candidate):
    likely = "A space is in the token and in no word. Go by the characters that they share."
    expect(candidate, ["the", " dog"], ["the", "dog"], [0, 1], likely)
    expect(candidate, [" the", "  dog", "s"], ["the", "dogs"], [0, 1, 1], likely)
    expect(candidate, ["the ", "dog"], ["the", "dog"], [0, 1], likely)


@task.stage("in no word")
def nowhere(candidate):
    likely = "A token that shares no character with any word gets None."
    expect(candidate, ["the", " ", " dog", "\n"], ["the", "dog"], [0, None, 1, None], likely)
    expect(candidate, ["", "the", " dog"], ["the", "dog"], [None, 0, 1], likely)
    expect(candidate, ["d", "", "og"], ["dog"], [0, None, 0], likely)
    expect(candidate, ["..."], [], [None], likely)


@task.stage("in two words")
def two(candidate):
    likely = "A token that shares characters with several words gets the first of them."
    expect(candidate, ["I", " don", "'t"], ["I", "do", "n't"], [0, 1, 2], likely)
    expect(candidate, [" don't", "!"], ["do", "n't", "!"], [0, 2], likely)


def counted(text, tokens, words):
    """The true answer, by marking in a copy of the text whose each character is."""
    marks = [None] * len(text)
    for number, (start, end) in enumerate(words):
        marks[start:end] = [number] * (end - start)
    shared = [[mark for mark in marks[start:end] if mark is not None] for start, end in tokens]
    return [min(numbers, default=None) for numbers in shared]


@task.stage("100 random sentences")
def sentences(candidate):
    draw = random.Random(7)
    for _ in range(100):
        text, words = "", []
        for _ in range(draw.randrange(1, 6)):
            text += draw.choice(("", " ", " ", "  "))
            words.append((len(text), len(text) + draw.randrange(1, 5)))
            text += "abcd"[: words[-1][1] - words[-1][0]]
        cuts = sorted(draw.sample(range(1, len(text)), draw.randrange(len(text))))
        tokens = list(zip([0, *cuts], [*cuts, len(text)], strict=True))
        task.probe(
            candidate, tokens, words, gives=counted(text, tokens, words),
            what=f"tokens {tokens}, words {words}:", likely="Which characters do they share?",
        )  # fmt: skip


def by_shared(hit, none=None):
    """The first word for which `hit(start, end, word_start, word_end)`, else `none`."""

    def candidate(tokens, words):
        found = [[n for n, word in enumerate(words) if hit(*span, *word)] for span in tokens]
        return [numbers[0] if numbers else none for numbers in found]

    return candidate


LAST_IS_OUT = (
    "The end of a span is not part of it: the word (0, 4) has the characters 0 to 3, and 4 is the "
    "first one of the next word. So `<`, not `<=`."
)
STARTS_OUTSIDE = (
    "` dog` starts on the space, which is in no word. So neither its start nor the whole of it "
    "lies in a word. Ask whether the two share a character."
)
ONE_MORE = (
    "Not every token begins with a space: start + 1 is then the second character, or already in "
    "the next word."
)
LAST_TELLS = (
    "The last character does not tell either: it can be a space. Ask whether the two share a "
    "character, whichever it is."
)
NEXT_WORD = (
    "That is the word that comes next. A token without a character of it, a space alone or an "
    "empty one, belongs to no word: None."
)
EMPTY = (
    "An empty token shares no character, also where it stands inside a word: count the characters "
    "that both have, `min(end, word_end) - max(start, word_start)`."
)
LAST_OF_TWO = "It shares characters with two words; of these the first is wanted."
ZERO = "Word 0 is a word like the others, but `if number` and `or` take 0 for nothing: `is None`."
for stage, says, wrong in (
    ("the end of a word", LAST_IS_OUT, by_shared(lambda a, b, start, end: start <= a <= end)),
    ("the end of a word", LAST_IS_OUT, by_shared(lambda a, b, start, end: a <= end and start <= b)),
    ("the end of a word", LAST_IS_OUT, by_shared(lambda a, b, start, end: a <= end and start < b)),
    ("the end of a word", ONE_MORE, by_shared(lambda a, b, start, end: start <= a + 1 < end)),
    ("the end of a word", ZERO, lambda *spans: [n or None for n in word_of_each(*spans)]),
    ("a space at the border", STARTS_OUTSIDE, by_shared(lambda a, b, start, end: start <= a < end)),
    ("a space at the border", STARTS_OUTSIDE,
     by_shared(lambda a, b, start, end: start <= a and b <= end)),
    ("a space at the border", LAST_TELLS, by_shared(lambda a, b, start, end: start < b <= end)),
    ("in no word", NEXT_WORD, by_shared(lambda a, b, start, end: a < end)),
    ("in no word", EMPTY, by_shared(lambda a, b, start, end: a < end and start < b)),
    ("in no word", "The place of such a token stays in the list, with None in it.",
     lambda *spans: [n for n in word_of_each(*spans) if n is not None]),
    ("in no word", "It is None for no word, not -1, which in Python means the last one.",
     by_shared(lambda a, b, start, end: a < end and start < b, none=-1)),
):  # fmt: skip
    task.mistake(stage, says)(wrong)


@task.mistake("in two words", LAST_OF_TWO)
def last_word_wins(tokens, words):
    numbers = [None] * len(tokens)
    for place, (start, end) in enumerate(tokens):
        for number, (word_start, word_end) in enumerate(words):
            if start < end and start < word_end and word_start < end:
                numbers[place] = number
    return numbers

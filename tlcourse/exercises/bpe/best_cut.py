"""Lesson 01b: the most probable cut of a word, as a Unigram tokenizer makes it."""

import math
import random

from tlcourse.exercises.expect import CheckFailed, expect_unchanged, short
from tlcourse.exercises.task import Exercise, case

task = Exercise(
    __name__,
    number="1b.2",
    title="The most probable cut",
    difficulty=4,
    importance=2,
    minutes=20,
    hints=(
        "The best cut of a word ends with some token. What is before that token is a shorter "
        "word, and it must be cut in the best way, too.",
        "Go through the ends 1, 2, ... of the word. For each end remember two things: the best sum "
        "of scores up to there, and where the last token of that cut begins. `best = [(0.0, 0)]` "
        "is the beginning, for end 0.",
        "For an end: `max((best[start][0] + scores[word[start:end]], start) for start in "
        "range(end) if word[start:end] in scores)`. At last walk back from the end of the word, "
        "from start to start, and turn the list round.",
    ),
    imports="import math\nfrom functools import cache",
)


@task.reference
def best_cut(word, scores):
    """The cut of `word` into tokens whose `scores`, log-probabilities, have the highest sum."""
    best = [(0.0, 0)]  # for each end: the sum up to there, and where its last token begins
    for end in range(1, len(word) + 1):
        found = (
            (best[start][0] + scores[word[start:end]], start)
            for start in range(end)
            if word[start:end] in scores
        )
        best.append(max(found))
    tokens, end = [], len(word)
    while end:
        start = best[end][1]
        tokens.append(word[start:end])
        end = start
    return tokens[::-1]


def cuts(word, scores):
    """All cuts of a word into tokens that have a score."""
    if not word:
        return [[]]
    ends = [end for end in range(1, len(word) + 1) if word[:end] in scores]
    return [[word[:end], *rest] for end in ends for rest in cuts(word[end:], scores)]


@task.truth
def best_of_all_cuts(word, scores):
    return max(cuts(word, scores), key=lambda tokens: sum(map(scores.get, tokens)))


def total(candidate, word, scores):
    """The score of the candidate's cut, because of two cuts with the same score either is right."""
    tokens = expect_unchanged(candidate, word, scores)
    if tokens not in cuts(word, scores):
        due = f"tokens of {short(scores)} in a row"
        raise CheckFailed(check=f"the cut of {word!r}", yours=short(tokens), expected=due)
    return sum(scores[token] for token in tokens)


def logs(**probabilities):
    return {token: math.log(p) for token, p in probabilities.items()}


def random_word(draw):
    word = "".join(draw.choices("ab", k=draw.randrange(1, 9)))
    longer = {word[i:j] for i in range(len(word)) for j in range(i + 2, min(i + 4, len(word)) + 1)}
    scores = {token: -6 * draw.random() for token in ["a", "b", *sorted(longer)]}
    highest = sum(map(scores.get, best_of_all_cuts(word, scores)))
    what = f"the sum of the scores of the cut of {word!r} with {short(scores)}"
    return case(what, word, scores, expected=highest)


def likeliest(word, hint, **probabilities):
    what = f"the cut of {word!r} with the probabilities {probabilities}"
    return case(what, word, logs(**probabilities), hint=hint)


task.stage(
    "one way to cut",
    likeliest("ab", "", a=0.5, b=0.5),
    likeliest("", "It has no token.", a=1.0),
    likeliest("abc", "ab has 0.4, a and b together only 0.2 × 0.2.", a=0.2, b=0.2, c=0.2, ab=0.4),
)
task.stage(
    "the highest product wins",
    likeliest(
        "abcd",
        "`abc` is the longest and the likeliest token, but leaves a rare `d` behind: choose the "
        "highest product of the whole cut.",
        **dict(a=0.1, b=0.1, c=0.1, d=0.001, abc=0.2, ab=0.1, cd=0.1),
    ),
    likeliest(
        "abc", "`a`, `bc` has 0.004; `ab`, `c` only 0.002.", a=0.1, b=0.1, c=0.1, ab=0.02, bc=0.04
    ),
)


task.stage(
    "100 random words, against all their cuts",
    *(random_word(draw) for draw in [random.Random(4)] for _ in range(100)),
    measure=total,
    tolerance=1e-9,
)
task.stage(
    "a word of 60 letters",
    case("the tokens of 60 times a", "a" * 60, logs(a=0.1, aa=0.02), expected=["aa"] * 30),
)


task.mistakes(
    (
        "The tokens came from the last to the first: turn the list round.",
        lambda word, scores: best_cut(word, scores)[::-1],
    ),
    (
        "Logarithms are negative: the *highest* sum is the likeliest cut.",
        lambda word, scores: best_cut(word, {token: -score for token, score in scores.items()}),
    ),
)

"""Lesson 01b: the most probable cut of a word, as a Unigram tokenizer makes it."""

import itertools
import math
import random

from tlcourse.exercises.expect import CheckFailed, expect_type, expect_unchanged, short
from tlcourse.exercises.task import Exercise, case


def cut(candidate, word, scores):
    """The tokens, a list of strings."""
    got = expect_unchanged(candidate, word, scores)
    what = f"{word!r} with {len(scores)} tokens"
    expect_type(got, list, what, "The tokens, in order.")
    if not all(isinstance(token, str) for token in got):
        raise CheckFailed(check=what, yours=short(got), expected="a list of strings")
    return got


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
    measure=cut,
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


@task.truth
def best_of_all_cuts(word, scores):
    """Every way to cut the word is tried."""
    cuts = [[]] if not word else []
    for marks in itertools.product((False, True), repeat=max(len(word) - 1, 0)) if word else ():
        places = [0, *(i + 1 for i, mark in enumerate(marks) if mark), len(word)]
        cuts.append([word[a:b] for a, b in itertools.pairwise(places)])
    known = [tokens for tokens in cuts if set(tokens) <= set(scores)]
    return max(known, key=lambda tokens: sum(map(scores.get, tokens)))


def total(candidate, word, scores):
    """The score of the candidate's cut: of two cuts with the same one either is right."""
    tokens = cut(candidate, word, scores)
    if "".join(tokens) != word or not set(tokens) <= set(scores):
        due = f"tokens of {short(scores)} in a row"
        raise CheckFailed(check=f"the cut of {word!r}", yours=short(tokens), expected=due)
    return sum(scores[token] for token in tokens)


def logs(**probabilities):
    return {token: math.log(p) for token, p in probabilities.items()}


def random_scores(draw):
    word = "".join(draw.choices("ab", k=draw.randrange(1, 9)))
    longer = {word[i:j] for i in range(len(word)) for j in range(i + 2, min(i + 4, len(word)) + 1)}
    return word, {token: -6 * draw.random() for token in ["a", "b", *sorted(longer)]}


def likeliest(word, hint, **probabilities):
    what = f"the cut of {word!r} with the probabilities {probabilities}"
    return case(what, word, logs(**probabilities), hint=hint)


task.stage(
    "one way to cut",
    likeliest("ab", "", a=0.5, b=0.5),
    likeliest("", "It has no token.", a=1.0),
    likeliest("aa", "A token may occur twice.", a=1.0),
    likeliest("abc", "ab has 0.4, a and b together only 0.2 × 0.2.", a=0.2, b=0.2, c=0.2, ab=0.4),
)
task.stage(
    "the highest product wins",
    likeliest("abc", "`a` times `b` is more than `ab`.", a=0.3, b=0.1, c=0.3, ab=0.01),
    likeliest(
        "abcd",
        "`abc` looks best, but leaves a rare `d` behind.",
        **dict(a=0.1, b=0.1, c=0.1, d=0.001, abc=0.2, ab=0.1, cd=0.1),
    ),
    likeliest(
        "abc", "`a`, `bc` has 0.004; `ab`, `c` only 0.002.", a=0.1, b=0.1, c=0.1, ab=0.02, bc=0.04
    ),
)


@task.stage("100 random words, against all their cuts")
def random_words(candidate):
    draw = random.Random(4)
    for _ in range(100):
        word, scores = random_scores(draw)
        right = sum(map(scores.get, best_of_all_cuts(word, scores)))
        what = f"the sum of the scores of the cut of {word!r} with {short(scores)}"
        task.compare(candidate, what, word, scores, expected=right, measure=total, tolerance=1e-9)


task.stage(
    "a word of 60 letters",
    case(
        "the tokens of 60 times a, sorted",
        "a" * 60,
        logs(a=0.1, aa=0.02, b=0.001),
        expected=["aa"] * 30,
        measure=lambda *asked: sorted(cut(*asked)),
    ),
)


def walks(choose):
    """From left to right, the end that `choose(word, start, ends, scores)` gives."""

    def best_cut(word, scores):
        tokens, start = [], 0
        while start < len(word):
            ends = [e for e in range(start + 1, len(word) + 1) if word[start:e] in scores]
            end = choose(word, start, ends, scores)
            tokens.append(word[start:end])
            start = end
        return tokens

    return best_cut


task.mistakes(
    (
        "Not the longest token: the highest product of all.",
        walks(lambda word, start, ends, scores: ends[-1]),
    ),
    (
        "Not the likeliest token at each place: the highest product of the whole cut.",
        walks(lambda word, start, ends, scores: max(ends, key=lambda e: scores[word[start:e]])),
    ),
    (
        "The tokens came from the last to the first: turn the list round.",
        lambda word, scores: best_cut(word, scores)[::-1],
    ),
    (
        "Logarithms are negative: the *highest* sum is the likeliest cut.",
        lambda word, scores: best_cut(word, {token: -score for token, score in scores.items()}),
    ),
)

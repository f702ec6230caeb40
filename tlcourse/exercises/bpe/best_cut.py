"""Lesson 01b: the most probable cut of a word, as a Unigram tokenizer makes it."""

import itertools
import math
import random
from functools import cache

from tlcourse.exercises.expect import CheckFailed, expect_type, expect_unchanged, short
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="1b.2",
    title="The most probable cut",
    difficulty=4,
    minutes=20,
    hints=(
        "the best cut of a word ends with some token. What is before that token is a shorter "
        "word, and it must be cut in the best way, too.",
        "go through the ends 1, 2, ... of the word. For each end remember two things: the best sum "
        "of scores up to there, and where the last token of that cut begins. `best = [(0.0, 0)]` "
        "is the beginning, for end 0.",
        "for an end: `max((best[start][0] + scores[word[start:end]], start) for start in "
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


@task.right
def by_recursion(word, scores):
    @cache
    def rest(start):
        if start == len(word):
            return 0.0, ()
        options = []
        for end in range(start + 1, len(word) + 1):
            if (token := word[start:end]) in scores:
                total, tokens = rest(end)
                options.append((scores[token] + total, (token, *tokens)))
        return max(options)

    return list(rest(0)[1])


@task.right
def with_whole_lists(word, scores):
    cuts = {0: (0.0, [])}
    for end in range(1, len(word) + 1):
        for start, (total, tokens) in list(cuts.items()):
            token = word[start:end]
            if token in scores:
                new = total + scores[token], [*tokens, token]
                cuts[end] = max(cuts.get(end, new), new)
    return cuts[len(word)][1]


def logs(**probabilities):
    return {token: math.log(p) for token, p in probabilities.items()}


def cut(candidate, word, scores):
    got = expect_unchanged(candidate, word, scores)
    expect_type(got, list, f"{word!r} with {len(scores)} tokens", "The tokens, in order.")
    if not all(isinstance(token, str) for token in got):
        raise CheckFailed(f"{word!r} gave {short(got)}; expected a list of strings.")
    return got


@task.stage("one way to cut")
def only_way(candidate):
    for word, scores, right, what, likely in (
        ("ab", logs(a=0.5, b=0.5), ["a", "b"], "`ab` with the tokens a, b", ""),
        ("", logs(a=1.0), [], "an empty word", "It has no token."),
        ("aa", logs(a=1.0), ["a", "a"], "`aa` with the token a", "A token may occur twice."),
        (
            "abc", logs(a=0.2, b=0.2, c=0.2, ab=0.4), ["ab", "c"], "`abc`, where ab is likelier",
            "ab has 0.4, a and b together only 0.2 times 0.2.",
        ),
    ):  # fmt: skip
        task.observe(candidate, cut, word, scores, gives=right, what=what, likely=likely)


@task.stage("the highest product wins")
def product_wins(candidate):
    for word, scores, right, what, likely in (
        (
            "abc", logs(a=0.3, b=0.1, c=0.3, ab=0.01), ["a", "b", "c"],
            "`abc`, where ab is rare", "a times b is more than ab: the longer token loses.",
        ),
        (
            "abcd", logs(a=0.1, b=0.1, c=0.1, d=0.001, abc=0.2, ab=0.1, cd=0.1), ["ab", "cd"],
            "`abcd` with the tokens abc, ab, cd", "abc looks best, but leaves a rare d behind.",
        ),
        (
            "abc", logs(a=0.1, b=0.1, c=0.1, ab=0.02, bc=0.04), ["a", "bc"],
            "`abc` with the tokens ab, bc", "a, bc has 0.004; ab, c only 0.002.",
        ),
    ):  # fmt: skip
        task.observe(candidate, cut, word, scores, gives=right, what=what, likely=likely)


def total_of(candidate, word, scores):
    """The score of the candidate's cut: of two cuts with the same one either is right."""
    tokens = cut(candidate, word, scores)
    if "".join(tokens) != word or not set(tokens) <= set(scores):
        raise CheckFailed(f"{word!r} gave {short(tokens)}; expected tokens of {short(scores)} in a row.")
    return sum(scores[token] for token in tokens)


def all_cuts(word):
    for marks in itertools.product((False, True), repeat=len(word) - 1):
        places = [0, *(i + 1 for i, mark in enumerate(marks) if mark), len(word)]
        yield [word[a:b] for a, b in itertools.pairwise(places)]


@task.stage("100 random words, against all their cuts")
def random_words(candidate):
    draw = random.Random(4)
    for _ in range(100):
        word = "".join(draw.choices("ab", k=draw.randrange(1, 9)))
        tokens = {word[i:j] for i in range(len(word)) for j in range(i + 2, i + 5)} & set(
            "".join(each) for n in (2, 3, 4) for each in itertools.product("ab", repeat=n)
        )
        scores = {token: -6 * draw.random() for token in ["a", "b", *sorted(tokens)]}
        known = [each for each in all_cuts(word) if set(each) <= set(scores)]
        right = max(sum(scores[token] for token in tokens) for tokens in known)
        what = f"the sum of the scores of the cut of {word!r} with {short(scores)}"
        task.observe(candidate, total_of, word, scores, gives=right, what=what, tolerance=1e-9)


@task.stage("a word of 60 letters")
def long_word(candidate):
    scores = logs(a=0.1, aa=0.02, b=0.001)
    got = cut(candidate, "a" * 60, scores)
    if sorted(got) != ["aa"] * 30:
        raise CheckFailed(f"60 times a gave {short(got)}; expected 30 times aa.")


@task.mistake("the highest product wins", "Not the longest token: the highest product of all.")
def longest_match(word, scores):
    tokens, start = [], 0
    while start < len(word):
        end = next(e for e in range(len(word), start, -1) if word[start:e] in scores)
        tokens.append(word[start:end])
        start = end
    return tokens


@task.mistake(
    "the highest product wins",
    "Not the likeliest token at each place: the highest product of the whole cut.",
)
def likeliest_next(word, scores):
    tokens, start = [], 0
    while start < len(word):
        ends = [e for e in range(start + 1, len(word) + 1) if word[start:e] in scores]
        end = max(ends, key=lambda e: scores[word[start:e]])
        tokens.append(word[start:end])
        start = end
    return tokens


@task.mistake(
    "the highest product wins",
    "Add the scores of all tokens of a cut: this is the one with the likeliest last token.",
)
def last_token_only(word, scores):
    best = [(0.0, 0)]
    for end in range(1, len(word) + 1):
        starts = [s for s in range(end) if word[s:end] in scores]
        best.append(max((scores[word[s:end]], s) for s in starts))
    tokens, end = [], len(word)
    while end:
        tokens.append(word[best[end][1] : end])
        end = best[end][1]
    return tokens[::-1]


@task.mistake("one way to cut", "The tokens came from the last to the first: turn the list round.")
def backwards(word, scores):
    return best_cut(word, scores)[::-1]


@task.mistake("one way to cut", "Logarithms are negative: the *highest* sum is the likeliest cut.")
def lowest(word, scores):
    return best_cut(word, {token: -score for token, score in scores.items()})

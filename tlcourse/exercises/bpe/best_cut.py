"""Lesson 01b: the most probable cut of a word, as a Unigram tokenizer makes it."""

import math
import random

from tlcourse.exercises.expect import expect_unchanged, short
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

task = Exercise(
    __name__,
    number="1b.2",
    title="The most probable cut",
    difficulty=4,
    importance=2,
    minutes=20,
    hints=(
        "The best cut of a word ends with some token. The part before that token is a shorter "
        "word, which must itself be cut in the best way.",
        "Go through the ends 1, 2, ... of the word. For each end, store the best sum of scores up "
        "to it, and where the last token of that cut begins. Start with `best = [(0.0, 0)]` for "
        "end 0.",
        "The entry for an end is `max((best[start][0] + scores[word[start:end]], start) for start "
        "in range(end) if word[start:end] in scores)`. Finally, walk back from the end of the "
        "word, from start to start, and reverse the list of tokens.",
    ),
    imports="import math\nfrom functools import cache",
)


@task.reference
def best_cut(word, scores):
    """Returns the tokens of `word` whose `scores`, which are log-probabilities, sum highest."""
    best = [(0.0, 0)]  # for each end: the sum up to it, and where its last token begins
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
    """Returns all cuts of a word into tokens that have a score."""
    if not word:
        return [[]]
    ends = [end for end in range(1, len(word) + 1) if word[:end] in scores]
    return [[word[:end], *rest] for end in ends for rest in cuts(word[end:], scores)]


@task.truth
def best_of_all_cuts(word, scores):
    return max(cuts(word, scores), key=lambda tokens: sum(map(scores.get, tokens)))


def likeliest(word, hint, **probabilities):
    what = f"the cut of {word!r} with the probabilities {probabilities}"
    scores = {token: math.log(p) for token, p in probabilities.items()}
    return case(what, word, scores, hint=hint)


def random_word(draw):
    word = "".join(draw.choices("ab", k=draw.randrange(1, 9)))
    longer = {word[i:j] for i in range(len(word)) for j in range(i + 2, min(i + 4, len(word)) + 1)}
    scores = {token: -6 * draw.random() for token in ["a", "b", *sorted(longer)]}
    what = f"the sorted tokens of the cut of {word!r} with {short(scores)}"
    return case(what, word, scores, expected=sorted(best_of_all_cuts(word, scores)))


task.stage(
    "one way to cut",
    likeliest("", "An empty word has no tokens.", a=1.0),
    likeliest(
        "abc",
        "The token ab has probability 0.4, but a and b together have only 0.2 × 0.2.",
        **dict(a=0.2, b=0.2, c=0.2, ab=0.4),
    ),
)
task.stage(
    "the highest product wins",
    likeliest(
        "abcd",
        "`abc` is the longest and most probable token, but it leaves the rare `d` behind. Choose "
        "the highest product over the whole cut.",
        **dict(a=0.1, b=0.1, c=0.1, d=0.001, abc=0.2, ab=0.1, cd=0.1),
    ),
    likeliest(
        "abc",
        "The cut `a`, `bc` has probability 0.004, but `ab`, `c` has only 0.002.",
        **dict(a=0.1, b=0.1, c=0.1, ab=0.02, bc=0.04),
    ),
)
draw = random.Random(varying(4))
task.stage(
    "100 random words, against all their cuts",
    *(random_word(draw) for _ in range(100)),
    measure=lambda *given: sorted(expect_unchanged(*given)),  # tokens in another order score alike
)
LONG = {"a": -2.3, "aa": -3.9, "a" * 20: -38.0}
task.stage(
    "a word of 60 letters",
    case("the tokens of 60 times a", "a" * 60, LONG, expected=["a" * 20] * 3),
    hint="A token may have any length: three tokens of 20 letters cover the word.",
)


def one_token_at_a_time(word, scores):
    """Takes the longest token that fits."""
    ends = [end for end in range(1, len(word) + 1) if word[:end] in scores]
    return [word[: ends[-1]], *one_token_at_a_time(word[ends[-1] :], scores)] if ends else []


task.mistakes(
    (
        "The tokens are in reverse order, from the last to the first: reverse the list.",
        lambda word, scores: best_cut(word, scores)[::-1],
    ),
    (
        "This cut has the lowest sum of all, but log-probabilities are negative, so the most "
        "probable cut has the highest: add the scores, take the `max`, and try every start, also "
        "0.",
        lambda word, scores: best_cut(word, {token: -score for token, score in scores.items()}),
    ),
    (
        "This code decides on one token at a time and never compares the sums of different cuts: "
        "store the best sum for each end of the word.",
        one_token_at_a_time,
    ),
)

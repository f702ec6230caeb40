"""Lesson 01: merge one pair of tokens in a list."""

import random

from tlcourse import bpe
from tlcourse.exercises.expect import CheckFailed, expect_unchanged
from tlcourse.exercises.task import Exercise, case

task = Exercise(
    __name__,
    number="1.2",
    title="Merge one pair",
    difficulty=2,
    importance=5,
    minutes=10,
    hints=(
        "When a pair has just been merged, at which token do you go on?",
        "Walk through `tokens` with an index that you move yourself, not with `for`.",
        "Where the pair occurs, append the new token and move on by two; elsewhere append the "
        "token and move on by one.",
        "`tuple(tokens[i : i + 2]) == tuple(pair)` is true exactly where the pair occurs; at the "
        "last token the slice has length one, so nothing can go wrong.",
    ),
    imports="from itertools import pairwise",
)
task.reference(bpe.merge_pair)


@task.truth
def by_string(tokens, pair, new_token):
    """Letters only: Python's `replace` goes from left to right, too."""
    marked = "".join(tokens).replace("".join(pair), "\0")
    return [new_token if each == "\0" else each for each in marked]


def new_list(candidate, tokens, *rest):
    """The merged list; raises CheckFailed if it is the list that was given."""
    got = expect_unchanged(candidate, tokens, *rest)
    if got is tokens:
        why = "Build a new list."
        raise CheckFailed(check="the result", yours="the list that was given", why=why)
    return got


def merged(text, pair, new="X", hint=""):
    return case("", list(text), tuple(pair), new, hint=hint)


SLICE = (
    "Is the pair found? A slice of `tokens` is a list and never equals `pair`, a tuple: "
    "`tuple(...)` makes the slice one, too."
)
draw = random.Random(1)
task.stage(
    "a new list",
    merged("train", "xy", "xy"),
    merged("", "xy", "xy"),
    merged("train", "ai", "ai", SLICE),
    merged("train", "ai", "X", "Put in `new_token`, whatever it looks like."),
    hint="There is nothing to merge here: return a new list of the same tokens.",
    measure=new_list,
)
task.stage(
    "no token used twice",
    *(merged("a" * count, "aa", "aa") for count in (3, 4, 5)),
    merged("bacb", "ab", "ab", "Only `a` with `b` directly to its right is a pair."),
    merged("abb", "ab", "a", "What was just merged is not looked at again."),
    hint="From the left, use no token twice: is a merged pair's second half skipped?",
)
ZERO = "0 is a token like any other: do not take it for the lack of one."
TUPLE = "`tokens` may be a tuple: compare and join so that its kind does not matter."
task.stage(
    "200 random lists",
    *(
        merged("".join(draw.choices("abc", k=draw.randrange(12))), draw.choices("abc", k=2))
        for _ in range(200)
    ),
    case("", [0, 7, 0, 0], (7, 0), 0, expected=[0, 0, 0], hint=ZERO),
    case("", ("r", "a", "i"), ("a", "i"), "ai", expected=["r", "ai"], hint=TUPLE),
)


def keeps_the_second_half(tokens, pair, new_token):
    neighbours = zip(tokens, [*tokens[1:], None], strict=True)
    return [new_token if neighbour == tuple(pair) else neighbour[0] for neighbour in neighbours]


def looks_past_the_end(tokens, pair, new_token):
    merged, i = [], 0
    while i < len(tokens):
        fits = tokens[i] == pair[0] and tokens[i + 1] == pair[1]
        merged.append(new_token if fits else tokens[i])
        i += 2 if fits else 1
    return merged


def first_pair_only(tokens, pair, new_token):
    for i in range(len(tokens) - 1):
        if (tokens[i], tokens[i + 1]) == pair:
            return tokens[:i] + [new_token] + tokens[i + 2 :]
    return list(tokens)


task.mistakes(
    (
        "Does your loop lose the last token, which has no right neighbour?",
        lambda *asked: keeps_the_second_half(*asked)[:-1],
    ),
    ("The second half of a merged pair is still there: skip it.", keeps_the_second_half),
    (
        "Go from left to right: here the last pair was merged first.",
        lambda tokens, pair, new: bpe.merge_pair(tokens[::-1], pair[::-1], new)[::-1],
    ),
    ("Only the first pair was merged: go on after it.", first_pair_only),
    (
        "The last token has no right neighbour: ask `i + 1 < len(tokens)` before you look there.",
        looks_past_the_end,
    ),
)

"""Lesson 01: merge one pair of tokens in a list."""

import random

from tlcourse import bpe
from tlcourse.exercises.expect import CheckFailed, expect_unchanged
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

task = Exercise(
    __name__,
    number="1.2",
    title="Merge one pair",
    difficulty=2,
    importance=5,
    minutes=10,
    hints=(
        "When you have just merged a pair, at which token do you continue?",
        "Walk through `tokens` with an index that you increase yourself, not with `for`.",
        "Where the pair occurs, append the new token and increase the index by two. Elsewhere, "
        "append the token and increase the index by one.",
        "`tuple(tokens[i : i + 2]) == tuple(pair)` is true exactly where the pair occurs. At the "
        "last token the slice has length one, so no index is out of range.",
    ),
    imports="from itertools import pairwise",
)
task.reference(bpe.merge_pair)


@task.truth
def by_string(tokens, pair, new_token):
    """Merges letters with Python's `replace`, which goes from left to right, too."""
    marked = "".join(tokens).replace("".join(pair), "\0")
    return [new_token if each == "\0" else each for each in marked]


def new_list(candidate, tokens, *rest):
    """Returns the merged list; raises CheckFailed if it is the list that was given."""
    got = expect_unchanged(candidate, tokens, *rest)
    if got is tokens:
        why = "Build a new list."
        raise CheckFailed(check="the result", yours="the list that was given", why=why)
    return got


def merged(text, pair, new="X", hint=""):
    return case("", list(text), tuple(pair), new, hint=hint)


draw = random.Random(varying(1))
task.stage(
    "a new list",
    merged("train", "xy", "xy"),
    merged(
        "train",
        "ai",
        "ai",
        "Is the pair found? A slice of `tokens` is a list, which never equals `pair`, a tuple: "
        "convert the slice with `tuple(...)`.",
    ),
    merged("train", "ai", "X", "Insert `new_token`, whatever it looks like."),
    hint="There is nothing to merge here: return a new list of the same tokens.",
    measure=new_list,
)
task.stage(
    "no token used twice",
    merged("aaaa", "aa", "aa"),
    merged("aaa", "aa", "aa"),
    merged("bacb", "ab", "ab", "Only `a` with `b` directly to its right is a pair."),
    merged("abb", "ab", "a", "Do not merge a token again that has just been merged."),
    hint="Go through the whole list from left to right, and use no token twice.",
)
JOINED = "`a bc` spells the same, but it is another pair: compare the tokens one by one."
ZERO = "0 is a token like any other: do not treat it as a missing token."
TUPLE = "`tokens` may be a tuple: compare and join in a way that works for lists and tuples."
task.stage(
    "200 random lists",
    *(
        merged("".join(draw.choices("abc", k=draw.randrange(12))), draw.choices("abc", k=2))
        for _ in range(200)
    ),
    case("", ["a", "bc"], ("ab", "c"), "abc", expected=["a", "bc"], hint=JOINED),
    case("", [0, 7, 0, 0], (7, 0), 0, expected=[0, 0, 0], hint=ZERO),
    case("", ("r", "a", "i"), ("a", "i"), "ai", expected=["r", "ai"], hint=TUPLE),
)


def keeps_the_second_half(tokens, pair, new_token):
    neighbours = zip(tokens, [*tokens[1:], None], strict=True)
    return [new_token if neighbour == tuple(pair) else neighbour[0] for neighbour in neighbours]


def first_pair_only(tokens, pair, new_token):
    for i in range(len(tokens) - 1):
        if (tokens[i], tokens[i + 1]) == pair:
            return tokens[:i] + [new_token] + tokens[i + 2 :]
    return list(tokens)


task.mistakes(
    (
        "This code loses the last token, because it has no right neighbour: append it, too.",
        lambda *given: keeps_the_second_half(*given)[:-1],
    ),
    ("The second half of a merged pair is still there: skip it.", keeps_the_second_half),
    ("This code merges only the first pair: go on after it to the end.", first_pair_only),
    (
        "This code merges from right to left: begin with the first token.",
        lambda tokens, pair, new: bpe.merge_pair(tokens[::-1], pair[::-1], new)[::-1],
    ),
    (
        "The last token has no right neighbour, but this code looks for it at `tokens[i + 1]`: "
        "first check that `i + 1 < len(tokens)`.",
        lambda tokens, pair, new: [(tokens[i], tokens[i + 1]) for i in range(len(tokens))],
    ),
)

"""Lesson 01: merge one pair of tokens in a list."""

import random
from itertools import pairwise

from tlcourse import bpe
from tlcourse.exercises.expect import CheckFailed, expect_type
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="1.2",
    title="Merge one pair",
    difficulty=2,
    minutes=10,
    hints=(
        "when a pair has just been merged, at which token do you go on?",
        "walk through `tokens` with an index that you move yourself, not with `for`.",
        "where the pair occurs, append the new token and move on by two; elsewhere append the "
        "token and move on by one.",
        "`tuple(tokens[i : i + 2]) == tuple(pair)` is true exactly where the pair occurs; at the "
        "last token the slice has length one, so nothing can go wrong.",
    ),
    imports="from itertools import pairwise",
)
task.reference(bpe.merge_pair)
TRAIN = list("train")


@task.right
def by_stack(tokens, pair, new_token):
    merged, open_ = [], False
    for token in tokens:
        if open_ and (merged[-1], token) == pair:
            merged[-1], open_ = new_token, False
        else:
            merged.append(token)
            open_ = True
    return merged


@task.right
def by_recursion(tokens, pair, new_token):
    if not tokens:
        return []
    if tuple(tokens[:2]) == pair:
        return [new_token, *by_recursion(tokens[2:], pair, new_token)]
    return [tokens[0], *by_recursion(tokens[1:], pair, new_token)]


NOTHING = "Nothing was merged, and the pair is there."
SLICE = (
    "Do you compare a slice of `tokens`, a list, with `pair`, a tuple? They are never equal: "
    "`tuple(...)` makes the slice one, too."
)


def left_alone(candidate):
    """Why a pair was left alone, if it was: a slice of a tuple is one, as the pair is."""
    try:
        if candidate(list(TRAIN), ("a", "i"), "ai") != TRAIN:
            return ""
        return SLICE if "ai" in candidate(tuple(TRAIN), ("a", "i"), "ai") else NOTHING
    except Exception:
        return NOTHING


@task.stage("a new list")
def new_list(candidate):
    what = "`t r a i n` with pair `({}, {})`"
    absent = what.format("x", "y")
    task.probe(candidate, TRAIN, ("x", "y"), "xy", gives=TRAIN, what=absent)
    expect_type(candidate(list(TRAIN), ("x", "y"), "xy"), list, absent)
    task.probe(candidate, [], ("x", "y"), "xy", gives=[], what="an empty list")
    merged, there = ["t", "r", "ai", "n"], what.format("a", "i")
    likely = left_alone(candidate)
    task.probe(candidate, TRAIN, ("a", "i"), "ai", gives=merged, what=there, likely=likely)
    task.probe(
        candidate, TRAIN, ("a", "i"), "X", gives=["t", "r", "X", "n"],
        what=f"{there} and new token `X`", likely="Put in `new_token`, whatever it looks like.",
    )  # fmt: skip
    expect_type(candidate(tuple(TRAIN), ("x", "y"), "xy"), list, absent)
    if candidate(same := list(TRAIN), ("x", "y"), "xy") is same:
        raise CheckFailed(f"{absent}: the list that was given came back; expected a new one.")


@task.stage("no token used twice")
def once(candidate):
    for count in (3, 4, 5):
        right = ["aa"] * (count // 2) + ["a"] * (count % 2)
        what = f"`{' '.join('a' * count)}` with pair `(a, a)`"
        likely = "From the left, use no token twice: is a merged pair's second half skipped?"
        task.probe(
            candidate, ["a"] * count, ("a", "a"), "aa", gives=right, what=what, likely=likely
        )
    task.probe(
        candidate, list("bacb"), ("a", "b"), "ab", gives=list("bacb"),
        what="`b a c b` with pair `(a, b)`",
        likely="Only `a` with `b` directly to its right is a pair.",
    )  # fmt: skip
    task.probe(
        candidate, list("abb"), ("a", "b"), "a", gives=["a", "b"],
        what="`a b b` with pair `(a, b)` and new token `a`",
        likely="What was just merged is not looked at again.",
    )  # fmt: skip


@task.stage("200 random lists")
def many(candidate):
    draw = random.Random(1)
    for _ in range(200):
        text, pair = "".join(draw.choices("abc", k=draw.randrange(12))), draw.choices("abc", k=2)
        right = list(text.replace("".join(pair), "X"))  # Python replaces left to right, too
        what = f"`{' '.join(text)}` with pair `({', '.join(pair)})`"
        task.probe(candidate, list(text), tuple(pair), "X", gives=right, what=what)
    what = "numbers: `7 300 12 7 300` with pair `(7, 300)`"
    numbers = [7, 300, 12, 7, 300]
    task.probe(candidate, numbers, (7, 300), 301, gives=[301, 12, 301], what=what)
    task.probe(
        candidate, [0, 7, 0, 0], (7, 0), 0, gives=[0, 0, 0],
        what="the tokens [0, 7, 0, 0] with pair (7, 0) and new token 0",
        likely="0 is a token like any other: do not take it for the lack of one.",
    )  # fmt: skip
    task.probe(
        candidate, ("r", "a", "i"), ("a", "i"), "ai", gives=["r", "ai"],
        what="the tuple `('r', 'a', 'i')` with pair `(a, i)`",
        likely="`tokens` may be a tuple: compare and join so that its kind does not matter.",
    )  # fmt: skip


@task.mistake("a new list", "your function changed argument 1")
def changes_its_input(tokens, pair, new_token):
    for i in range(len(tokens) - 1, 0, -1):
        if (tokens[i - 1], tokens[i]) == pair:
            tokens[i - 1 : i + 1] = [new_token]
    return tokens


@task.mistake(
    "a new list",
    "Nothing is to be merged there; does your loop lose the last token, which has no right "
    "neighbour?",
)
def loses_the_last(tokens, pair, new_token):
    return [new_token if each == pair else each[0] for each in pairwise(tokens)]


@task.mistake(
    "a new list",
    "It kept the `i` that went into `ai`: does your loop skip the second half of a pair that it "
    "has just merged?",
)
def keeps_the_second_half(tokens, pair, new_token):
    after = [*tokens[1:], None]
    return [new_token if (a, b) == pair else a for a, b in zip(tokens, after, strict=False)]


@task.mistake("no token used twice", "Go from left to right: here the last pair was merged first.")
def from_the_right(tokens, pair, new_token):
    return bpe.merge_pair(tokens[::-1], pair[::-1], new_token)[::-1]


@task.mistake("no token used twice", "Only the first pair was merged; go on after it.")
def first_pair_only(tokens, pair, new_token):
    for i in range(len(tokens) - 1):
        if (tokens[i], tokens[i + 1]) == pair:
            return tokens[:i] + [new_token] + tokens[i + 2 :]
    return list(tokens)


@task.mistake(
    "no token used twice", "A pair has an order: only `a` with `b` directly to its right is a pair."
)
def either_order(tokens, pair, new_token):
    merged, i = [], 0
    while i < len(tokens):
        hit = i < len(tokens) - 1 and set(tokens[i : i + 2]) == set(pair)
        merged.append(new_token if hit else tokens[i])
        i += 2 if hit else 1
    return merged


@task.mistake(
    "no token used twice",
    "The last token has no right neighbour: ask `i + 1 < len(tokens)` before you look there.",
)
def no_guard_at_the_end(tokens, pair, new_token):
    merged, i = [], 0
    while i < len(tokens):
        hit = tokens[i] == pair[0] and tokens[i + 1] == pair[1]
        merged.append(new_token if hit else tokens[i])
        i += 2 if hit else 1
    return merged

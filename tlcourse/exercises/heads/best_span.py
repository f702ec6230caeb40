"""Lesson 09: the best legal span, given a score for every first and every last token."""

import random

import torch

from tlcourse.adaptation import span_reader
from tlcourse.exercises.expect import expect_unchanged
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying


def places(candidate, first, last, longest):
    """The two places as numbers of Python; if the pair is as good as the truth's, the truth's."""
    got = expect_unchanged(candidate, first, last, longest)
    if not isinstance(got, list | tuple | torch.Tensor):
        return got
    got, best = tuple(map(int, got)), by_table(first, last, longest)
    if len(got) == 2 and 0 <= got[0] <= got[1] < min(got[0] + longest, len(first)):
        ties = first[got[0]] + last[got[1]] == first[best[0]] + last[best[1]]
        return best if ties else got
    return got


task = Exercise(
    __name__,
    number="9.4",
    title="The best legal span",
    difficulty=3,
    importance=4,
    minutes=15,
    hints=(
        "Two loops do it: over all first places i, and over the last places j from i to "
        "i + longest - 1. Keep the pair with the largest sum `first[i] + last[j]`.",
        "Mind the end: j is at most `len(first) - 1`.",
        "Without loops: `first[:, None] + last[None, :]` is the table of all sums. "
        "`torch.ones_like(sums).triu().tril(longest - 1)` marks the legal ones.",
    ),
    imports="import torch",
    measure=places,
)


@task.reference
def best_span(first, last, longest):
    """The places (i, j) with the largest first[i] + last[j], where i <= j < i + longest."""
    best, found = -float("inf"), (0, 0)
    for i in range(len(first)):
        for j in range(i, min(i + longest, len(last))):
            score = (first[i] + last[j]).item()
            if score > best:
                best, found = score, (i, j)
    return found


@task.truth
def by_table(first, last, longest):
    return span_reader.best_span(first, last, longest=longest)[:2]


def drawn():
    """30 cases of random scores, in quarters, so that their sums are exact."""
    generator = random.Random(varying(0))
    for number in range(30):
        length, longest = 2 + number % 9, 1 + number % 4
        first, last = ([generator.randrange(-20, 21) / 4 for _ in range(length)] for _ in range(2))
        what = f"`best_span(torch.tensor({first}), torch.tensor({last}), {longest})`"
        yield case(what, torch.tensor(first), torch.tensor(last), longest)


def scores(*values):
    return torch.tensor(values, dtype=torch.float32)


task.stage(
    "two clear ends",
    case(
        "first token at place 1, last at place 3",
        *(scores(0, 5, 0, 0), scores(0, 0, 0, 5), 4),
        hint="Return the first and the last place, (1, 3). Places count from 0, and both ends "
        "belong to the span.",
    ),
    case(
        "one token, at place 2",
        *(scores(0, 0, 5), scores(0, 0, 5), 3),
        hint="A span may have one token, so that i and j are equal.",
    ),
)
task.stage(
    "not backwards",
    case(
        "the best last token stands before the best first one",
        *(scores(0, 0, 5, 1), scores(5, 0, 0, 1), 4),
    ),
    hint="A span must not end before it begins: search for the best *pair*, not for each end "
    "alone.",
)
task.stage(
    "not too long",
    case(
        "the best ends are five tokens apart, and a span has at most 2",
        *(scores(9, 0, 0, 3, 1, -1), scores(0, 0.5, 0, 1, 0, 9), 2),
        hint="A span from i to j has j - i + 1 tokens, here at most 2. Which of these spans has "
        "the largest sum?",
    ),
    case(
        "at most 1 token",
        *(scores(2, -1, 0, -2, 1.25), scores(-3, -2, 1.25, -2, 0.25), 1),
        hint="Each place alone is a span of one token. The best one has the largest sum "
        "`first[i] + last[i]`.",
    ),
)
task.stage(
    "only negative scores",
    case(
        "scores below zero",
        *(scores(-3, -1, -2), scores(-5, -9, -4), 3),
        hint="All sums are negative here. Neither the start of the search nor an illegal pair may "
        "beat them.",
    ),
    case(
        "scores below -10,000, as pads have",
        *(scores(-10003, -10001, -10002), scores(-10005, -10009, -10004), 3),
        hint="Scores may be as low as these: use minus infinity for the start of a search and for "
        "illegal pairs.",
    ),
)
task.stage(
    "many places",
    case(
        "100 places: the best first tokens are at the end, the best last ones at the beginning",
        *(torch.arange(100.0), (torch.arange(100) == 37) * 5.0 - torch.arange(100), 4),
    ),
    hint="Compare all legal pairs. The best one need not have a first or a last token whose own "
    "score is among the highest.",
)
task.stage("30 random scores", *drawn(), hint="Compare all legal pairs.")


def each_alone(first, last, longest):
    return int(first.argmax()), int(last.argmax())


def first_then_last(first, last, longest):
    i = int(first.argmax())
    return i, i + int(last[i : i + longest].argmax())


task.mistakes(
    ("Each end is chosen alone here, so the span may run backwards.", each_alone),
    (
        "The first token is chosen alone, and the last one after it. Another first token with a "
        "lower score may make the better pair.",
        first_then_last,
    ),
    (
        "The span may have one token too many here: with `longest` tokens, the last place is at "
        "most i + longest - 1.",
        lambda first, last, longest: best_span(first, last, longest + 1),
    ),
    (
        "The span may have one token too few here: with `longest` tokens, the last place may be "
        "i + longest - 1.",
        lambda first, last, longest: best_span(first, last, longest - 1),
    ),
)

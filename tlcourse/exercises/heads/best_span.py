"""Lesson 09: the best legal span, given a score for every first and every last token."""

import torch

from tlcourse.adaptation import span_reader
from tlcourse.exercises.expect import expect_unchanged
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

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


def places(candidate, first, last, longest):
    """The two places as numbers of Python."""
    got = expect_unchanged(candidate, first, last, longest)
    return tuple(map(int, got)) if isinstance(got, list | tuple | torch.Tensor) else got


def drawn(length, longest, seed):
    generator = torch.Generator().manual_seed(varying(seed))
    return (*torch.randn(2, length, generator=generator), longest)


def scores(*values):
    return torch.tensor(values, dtype=torch.float32)


task.stage(
    "two clear ends",
    case(
        "first token at place 1, last at place 3",
        *(scores(0, 5, 0, 0), scores(0, 0, 0, 5), 4),
    ),
    case("one token, at place 2", scores(0, 0, 5), scores(0, 0, 5), 3),
    hint="Return two numbers, the first and the last place.",
    measure=places,
)
task.stage(
    "not backwards",
    case(
        "the best last token stands before the best first one",
        *(scores(0, 0, 5, 1), scores(5, 0, 0, 1), 4),
    ),
    hint="A span must not end before it begins: search for the best *pair*, not for each end "
    "alone.",
    measure=places,
)
task.stage(
    "not too long",
    case(
        "the best ends are five tokens apart, and a span has at most 2",
        *(scores(9, 0, 0, 3, 1, 0), scores(0, 0, 0, 1, 0, 9), 2),
    ),
    case("at most 1 token", *drawn(6, 1, 3)),
    hint="A span from i to j has j - i + 1 tokens.",
    measure=places,
)
task.stage(
    "only negative scores",
    case("scores below zero", scores(-3, -1, -2), scores(-5, -9, -4), 3),
    hint="Start with minus infinity, not with 0.",
    measure=places,
)
task.stage(
    "30 random scores",
    *(case("", *drawn(2 + seed % 9, 1 + seed % 4, 10 + seed)) for seed in range(30)),
    hint="Compare all legal pairs.",
    measure=places,
)


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
)

"""Lesson 09: two texts as one input, with separators, token types, and a limit."""

import random

from tlcourse.bpe import Frame
from tlcourse.exercises.expect import expect_unchanged
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

task = Exercise(
    __name__,
    number="9.5",
    title="Two texts as one input",
    difficulty=3,
    importance=4,
    minutes=15,
    hints=(
        "Count the special tokens first: `len(frame.before) + len(frame.between) + "
        "len(frame.behind)`. The two texts share what is left of `longest`.",
        "While both together are too long, drop the last token of the longer one; of equally long "
        "ones, of the second. Work on copies, such as `first = list(first)`.",
        "The types are 0 up to and including `between`, then 1. Join lists with `+`, and turn "
        "tuples into lists with `list`.",
    ),
)


@task.reference
def pair_input(first, second, frame, longest):
    """The ids of a pair and its types: 0 up to the separator, 1 behind it."""
    first, second = list(first), list(second)
    room = longest - len(frame.before) - len(frame.between) - len(frame.behind)
    while len(first) + len(second) > room:
        longer = first if len(first) > len(second) else second
        longer.pop()
    one = [*frame.before, *first, *frame.between]
    two = [*second, *frame.behind]
    return one + two, [0] * len(one) + [1] * len(two)


@task.truth
def by_lengths(first, second, frame, longest):
    """The same by arithmetic: each text has its share, and what the other one leaves."""
    room = longest - frame.size - len(frame.between)
    of_second = min(len(second), max(room // 2, room - len(first)))
    of_first = min(len(first), room - of_second)
    ids = frame.around(list(first)[:of_first], list(second)[:of_second])
    border = len(frame.before) + of_first + len(frame.between)
    return ids, [int(place >= border) for place in range(len(ids))]


def both(candidate, *arguments):
    """The two lists; tuples and other sequences count as lists."""
    got = expect_unchanged(candidate, *arguments)
    if isinstance(got, list | tuple) and len(got) == 2:
        return [list(part) if hasattr(part, "__iter__") else part for part in got]
    return got


def expected(*arguments):
    return list(by_lengths(*arguments))


OURS = Frame((), (2,), (3,))  # a <sep> b <cls>
BERT = Frame((101,), (102,), (102,))  # [CLS] a [SEP] b [SEP]


def drawn():
    """40 random pairs, with a frame of the course or of BERT."""
    generator = random.Random(varying(0))
    for _ in range(40):
        first, second = (
            [generator.randrange(10, 99) for _ in range(generator.randrange(1, 12))]
            for _ in range(2)
        )
        yield case("", first, second, generator.choice((OURS, BERT)), generator.randrange(6, 30))


task.stage(
    "ids",
    case("the ids of [7, 8] and [9] in a frame of BERT", [7, 8], [9], BERT, 20),
    hint="The order is before, first text, between, second text, behind.",
    measure=lambda candidate, *given: both(candidate, *given)[0],
    expected=lambda *given: expected(*given)[0],
)
task.stage(
    "types",
    case("the types of [7, 8] and [9] in a frame of BERT", [7, 8], [9], BERT, 20),
    case("the types of [7, 8] and [9] in our frame", [7, 8], [9], OURS, 20),
    hint="The first separator still has type 0, the end type 1.",
    measure=lambda candidate, *given: both(candidate, *given)[1],
    expected=lambda *given: expected(*given)[1],
)
task.stage(
    "a long second text",
    case("2 and 9 tokens, at most 8 in all", [5, 6], [*range(10, 19)], OURS, 8),
    case("exactly as long as allowed", [5, 6], [10, 11], BERT, 7),
    hint="Cut only what does not fit, at the end of the longer text. Special tokens count too.",
    measure=both,
    expected=expected,
)
task.stage(
    "two long texts",
    case("6 and 9 tokens, at most 10 in all", [*range(30, 36)], [*range(10, 19)], OURS, 10),
    case("9 and 2 tokens, at most 8 in all", [*range(10, 19)], [5, 6], OURS, 8),
    case("4 and 4 tokens, at most 9 in all", [1, 2, 3, 4], [5, 6, 7, 8], OURS, 9),
    hint="Drop one token at a time, always from the text that is longer then; from the second if "
    "they are equally long.",
    measure=both,
    expected=expected,
)
task.stage(
    "40 random pairs",
    *drawn(),
    hint="Count ids and types; both have the same length.",
    measure=both,
    expected=expected,
)


def cut_at_the_end(first, second, frame, longest):
    ids, types = pair_input(first, second, frame, 10**6)
    return ids[:longest], types[:longest]


def cut_second(first, second, frame, longest):
    room = longest - frame.size - len(frame.between) - len(first)
    return pair_input(first, second[: max(0, room)], frame, 10**6)


def types_from_separator(first, second, frame, longest):
    ids, types = pair_input(first, second, frame, longest)
    border = types.index(1) - len(frame.between)
    return ids, [int(place >= border) for place in range(len(ids))]


task.mistakes(
    (
        "The joined input is cut at its end, so the last special token is lost: cut the texts "
        "before you join them.",
        cut_at_the_end,
    ),
    (
        "Only the second text is cut here. If the first is the longer one, cut the first.",
        cut_second,
    ),
    (
        "The separator belongs to the first text, so its type is 0.",
        types_from_separator,
    ),
)

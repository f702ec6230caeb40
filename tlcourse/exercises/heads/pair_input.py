"""Lesson 09: two texts as one input, with separators, token types, and a limit."""

import random

from tlcourse.bpe import Frame
from tlcourse.exercises.measures import list_by_list
from tlcourse.exercises.task import Exercise
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


OURS = Frame((), (2,), (3,))  # a <sep> b <cls>
BERT = Frame((101,), (102,), (102,))  # [CLS] a [SEP] b [SEP]
ROBERTA = Frame((0,), (2, 2), (2,))  # <s> a </s></s> b </s>
WIDE = Frame((101, 104), (102, 105), (102, 103))
BARE = Frame()
both = list_by_list(("ids", "types"), by_lengths)


def drawn():
    """40 random pairs with different frames."""
    generator = random.Random(varying(0))
    for _ in range(40):
        first, second = (
            [generator.randrange(10, 99) for _ in range(generator.randrange(12))] for _ in range(2)
        )
        frame = generator.choice((OURS, BERT, ROBERTA, WIDE, BARE))
        longest = generator.randrange(6, 30)
        what = f"`pair_input({first}, {second}, {frame}, {longest})`"
        yield from both(what, first, second, frame, longest)


two = [7, 8], [9]
ids, types = zip(
    both("[7, 8] and [9] in a frame of BERT", *two, BERT, 20),
    both("[7, 8] and [9] in our frame", *two, OURS, 20),
    both("[7, 8] and [9] in a frame with two ids at each place", *two, WIDE, 20),
    both("[7, 8] and [9] in a frame without ids", *two, BARE, 20),
    strict=True,
)
task.stage(
    "ids",
    *ids,
    hint="The order is before, first text, between, second text, behind. Each part of the frame "
    "may have none, one or several ids, and all of them are needed.",
)
task.stage(
    "types",
    *types,
    hint="All ids up to and including those of `between` have type 0, all after it have type 1.",
)
task.stage(
    "a long second text",
    *both("texts of 2 and 9 tokens, at most 8 in all", [15, 16], [*range(20, 29)], OURS, 8),
    *both("a pair that is exactly as long as allowed", [15, 16], [20, 21], BERT, 7),
    *both("texts of 2 and 9 tokens, at most 12 in all", [15, 16], [*range(20, 29)], WIDE, 12),
    hint="Cut only what does not fit, at the end of the longer text. Special tokens count too, all "
    "that the frame has.",
)
task.stage(
    "two long texts",
    *both(
        "texts of 6 and 9 tokens, at most 10 in all", [*range(30, 36)], [*range(10, 19)], OURS, 10
    ),
    *both("texts of 9 and 2 tokens, at most 8 in all", [*range(10, 19)], [35, 36], OURS, 8),
    *both("texts of 4 and 4 tokens, at most 9 in all", [11, 12, 13, 14], [25, 26, 27, 28], OURS, 9),
    hint="Drop one token at a time, always from the text that is longer then; from the second if "
    "they are equally long.",
)
task.stage(
    "empty texts",
    *both("an empty second text", [7, 8], [], BERT, 20),
    *both("an empty first text", [], [7, 8], BERT, 20),
    *both("texts of 5 and 0 tokens, at most 6 in all", [*range(10, 15)], [], BERT, 6),
    hint="Either text may be empty. The special tokens stay, and the other text may still have to "
    "be cut.",
)
task.stage("40 random pairs", *drawn())


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

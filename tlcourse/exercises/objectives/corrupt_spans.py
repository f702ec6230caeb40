"""Lesson 10: T5's span corruption of one text (Raffel et al., 2020)."""

import random
import re

from tlcourse.exercises.expect import expect_unchanged
from tlcourse.exercises.measures import list_by_list
from tlcourse.exercises.pretraining._common import several
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

task = Exercise(
    __name__,
    number="10.3",
    title="Span corruption",
    difficulty=4,
    importance=5,
    minutes=20,
    hints=(
        "Go through the tokens from left to right. What happens to a token that is not hidden, to "
        "the first token of a span, and to its other tokens?",
        "A token that is not hidden goes to the source only. A hidden one goes to the target only. "
        "The first token of a span needs a sentinel before it, in the source and in the target.",
        "A hidden token is the first of its span if it is the first of the text, or if the token "
        "before it is not hidden: `place == 0 or not hidden[place - 1]`.",
        "Count the spans: begin with `sentinel = first_sentinel`, and add 1 after each span has "
        "got its sentinel. At the end, `sentinel` is the one that closes the target.",
    ),
    imports="import itertools",
)


@task.reference
def corrupt_spans(tokens, hidden, first_sentinel):
    """The text with a sentinel for each hidden span, and the spans behind their sentinels."""
    source, target, sentinel = [], [], first_sentinel
    for place, token in enumerate(tokens):
        if not hidden[place]:
            source.append(token)
            continue
        if place == 0 or not hidden[place - 1]:
            source.append(sentinel)
            target.append(sentinel)
            sentinel += 1
        target.append(token)
    return source, [*target, sentinel]


@task.truth
def by_search(tokens, hidden, first_sentinel):
    """The same with the spans found by a regular expression."""
    source, target, end = [], [], 0
    spans = [span.span() for span in re.finditer("1+", "".join("01"[each] for each in hidden))]
    for number, (start, stop) in enumerate(spans):
        source += [*tokens[end:start], first_sentinel + number]
        target += [first_sentinel + number, *tokens[start:stop]]
        end = stop
    return source + tokens[end:], [*target, first_sentinel + len(spans)]


both = list_by_list(("source", "target"), by_search)


def lengths(candidate, *given):
    """How long the source and the target are."""
    return [len(part) for part in several(expect_unchanged(candidate, *given), "source", "target")]


def given(shown, first_sentinel=100, first_token=11):
    """The arguments for a text such as "..##.": `#` is a hidden token; all ids are different."""
    tokens = [*range(first_token, first_token + len(shown))]
    return tokens, [each == "#" for each in shown], first_sentinel


def of(shown, **changes):
    """Two cases, source and target, that the message describes by the call's arguments."""
    tokens, hidden, first = given(shown, **changes)
    spans = ", ".join(map(str, [token for token, hide in zip(tokens, hidden, strict=True) if hide]))
    what = f"tokens {tokens}, of which {spans or 'none'} are hidden, first_sentinel={first}"
    return both(what, tokens, hidden, first)


def drawn():
    """30 random texts, in which ids repeat, with other sentinels each time."""
    generator = random.Random(varying(0))
    for _ in range(30):
        length, share = generator.randrange(1, 20), generator.choice((0.15, 0.5, 0.85))
        tokens = [generator.choice((0, 7, 8, 9, 150, 9999)) for _ in range(length)]
        hidden = [generator.random() < share for _ in tokens]
        first = generator.choice((20, 100, 8192))
        what = f"`corrupt_spans({tokens}, {hidden}, {first})`"
        yield from both(what, tokens, hidden, first)


sources, targets = zip(of("..##..."), of("..###..#."), of("..#.#.##."), strict=True)
task.stage(
    "lengths",
    case(
        "the lengths of source and target for 10 tokens, 4 of them hidden in 2 spans",
        *given("..###...#."),
        expected=[8, 7],
    ),
    case(
        "the lengths for 20 tokens, 6 of them hidden in 3 spans",
        *given("...##......###...#.."),
        expected=[17, 10],
    ),
    measure=lengths,
    hint="With n tokens, of which h are hidden in k spans, the source has n - h + k: what is left, "
    "and a sentinel for each span. The target has h + k + 1: the spans, a sentinel before each, "
    "and one at the end.",
)
task.stage(
    "source",
    *sources,
    hint="In the source one sentinel stands for each span, however long it is. Sentinel i is "
    "`first_sentinel + i`, counted from the left.",
)
task.stage(
    "target",
    *targets,
    hint="The target has each sentinel followed by the tokens of its span, and ends with the next "
    "sentinel, which is not in the source.",
)
task.stage(
    "beginning and end",
    *of("##..#."),
    *of("..#..##"),
    *of("#...#"),
    *of("##.###"),
    hint="A span may begin or end the text. Before the first token there is no other (`hidden[-1]` "
    "is the last one), and after the last there is none that would end a span.",
)
task.stage(
    "none and all",
    *of("...."),
    *of("###"),
    *of("#"),
    *both("a text without tokens, first_sentinel=100", [], [], 100),
    hint="Without hidden tokens the source is the text, and the target only sentinel 0. If all "
    "tokens are hidden, they are one span.",
)
task.stage(
    "other ids",
    *of("..##.#", first_sentinel=8192),
    *both(
        "tokens [7, 8, 7, 8, 8, 7], of which the second, third and fifth are hidden",
        *([7, 8, 7, 8, 8, 7], [False, True, True, False, True, False], 20),
    ),
    *both(
        "tokens [950, 0, 7, 0, 0], of which the second and fourth are hidden, first_sentinel=900",
        *([950, 0, 7, 0, 0], [False, True, False, True, False], 900),
    ),
    *drawn(),
    hint="Sentinels begin at `first_sentinel`. A token may occur several times, and its id may be "
    "0 or larger than a sentinel's, so `hidden` and not the id says where a span is.",
)


def sentinel_each(tokens, hidden, first_sentinel):
    source, target, sentinel = [], [], first_sentinel
    for token, hide in zip(tokens, hidden, strict=True):
        source.append(sentinel if hide else token)
        target += [sentinel, token] * hide
        sentinel += hide
    return source, [*target, sentinel]


def renumbered(number):
    """The reference with `number(i)` for the number i of every sentinel; the ids stay."""

    def wrong(tokens, hidden, first_sentinel):
        ids = [first_sentinel + i for i in range(len(tokens) + 2)]
        new = {old: first_sentinel + number(i) for i, old in enumerate(ids)}
        parts = corrupt_spans(tokens, hidden, first_sentinel)
        return tuple([new.get(token, token) for token in part] for part in parts)

    return wrong


def only_spans(tokens, hidden, first_sentinel):
    source, _ = corrupt_spans(tokens, hidden, first_sentinel)
    return source, [token for token, hide in zip(tokens, hidden, strict=True) if hide]


def without_first(tokens, hidden, first_sentinel):
    """Compares each place with the one before, which for the first place is the last."""
    starts = [hide and not hidden[place - 1] for place, hide in enumerate(hidden)]
    source, target, sentinel = [], [], first_sentinel
    for token, hide, start in zip(tokens, hidden, starts, strict=True):
        source += [sentinel] * start + [token] * (not hide)
        target += [sentinel] * start + [token] * hide
        sentinel += start
    return source, [*target, sentinel]


task.mistakes(
    (
        "Every hidden token gets a sentinel of its own here. A run of hidden tokens is one span, "
        "which has one sentinel.",
        sentinel_each,
    ),
    (
        "The last sentinel of the target is missing. It tells the model that the last span is "
        "complete, and that there is no other.",
        lambda *given: (corrupt_spans(*given)[0], corrupt_spans(*given)[1][:-1]),
    ),
    (
        "The target has no sentinels, so it does not say where in the text a span belongs. Put "
        "each sentinel before its span, and one more at the end.",
        only_spans,
    ),
    (
        "All spans have the same sentinel here, as with `<mask>`. Give each span the next one: "
        "`first_sentinel + i`.",
        renumbered(lambda i: 0),
    ),
    (
        "The sentinels count down here, as the ids in T5's own vocabulary do. Here sentinel i is "
        "`first_sentinel + i`.",
        renumbered(lambda i: -i),
    ),
    (
        "A span at the beginning of the text has lost its sentinel if the last token is hidden, "
        "too: `hidden[-1]` is the last token's.",
        without_first,
    ),
)

"""Lesson 01: cut a text at its special tokens."""

import random
import re

from tlcourse.exercises.task import Exercise, case

task = Exercise(
    __name__,
    number="1.6",
    title="Split at special tokens",
    difficulty=2,
    importance=2,
    minutes=8,
    hints=(
        "`re.split` keeps what it splits at if the pattern is in brackets: "
        "`re.split('(b)', 'abc')` is `['a', 'b', 'c']`.",
        "`'|'.join(map(re.escape, specials))` is a pattern for any of them: `re.escape` takes "
        "away the meaning that characters such as `|` have in a pattern.",
        "Filter out the empty parts at the end; and if there are no specials, there is nothing to "
        "split at.",
    ),
    imports="import re\n\nimport regex",
)


@task.reference
def split_specials(text, specials):
    """The parts of `text` in order: each special token alone, and the text between them."""
    if not specials:
        return [text] if text else []
    pattern = "(" + "|".join(map(re.escape, specials)) + ")"
    return [part for part in re.split(pattern, text) if part]


@task.truth
def letter_by_letter(text, specials):
    """Without patterns: at each letter, whether a special token begins there."""
    found, held = [], ""
    while text:
        special = next((each for each in specials if text.startswith(each)), "")
        if special:
            found += [held, special]
        held = "" if special else held + text[0]
        text = text[len(special) or 1 :]
    return [part for part in [*found, held] if part]


def at_eos(text, hint):
    return case("", text, ["<eos>"], hint=hint)


draw = random.Random(3)
MANY = ["<cls>", "<|end|>", "[SEP]", "a.b"]
PIECES = ["<s>", "</s>", "<|x|>", "x <", "s> \n", "é|"]
task.stage(
    "one special token",
    at_eos("Hi <eos>you", "Three parts, which joined give the text back."),
    at_eos("Hi", "Nothing to split at: one part."),
    at_eos("a<eos>b<eos>c", "It occurs twice."),
)
task.stage(
    "no empty parts, no specials",
    at_eos("<eos>", "Leave out empty parts."),
    at_eos("<eos> <eos>", "A space is not nothing: leave out parts that are empty, and no others."),
    case("", "a b", [], hint="Without specials the text is one part."),
)
task.stage(
    "any special tokens",
    case("", "<cls>x[SEP]y", MANY),
    case("", "x|<|end|>", MANY),
    hint="`|`, `.` and `[ ]` have a meaning in a pattern: `re.escape` takes it away.",
)
task.stage(
    "100 random texts",
    *(case("", "".join(draw.choices(PIECES, k=draw.randrange(6))), PIECES[:3]) for _ in range(100)),
)


task.mistakes(
    (
        "The special token is gone: a group, `(...)`, in the pattern keeps it.",
        lambda text, specials: [p for p in text.split((specials or ["\0"])[0]) if p],
    ),
    (
        "Without specials the pattern `()` fits everywhere: ask first whether there are any.",
        lambda text, specials: split_specials(text, specials) if specials else [*text],
    ),
    (
        "Only the first special was looked for.",
        lambda text, specials: split_specials(text, specials[:1]),
    ),
)

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
        "`re.split` keeps the separators if the pattern is in brackets: `re.split('(b)', 'abc')` "
        "is `['a', 'b', 'c']`.",
        "`'|'.join(map(re.escape, specials))` is a pattern that matches any of them. `re.escape` "
        "removes the special meaning of characters such as `|`.",
        "Filter out the empty parts at the end. If there are no specials, there is nothing to "
        "split at.",
    ),
    imports="import re\n\nimport regex",
)


@task.reference
def split_specials(text, specials):
    """Returns the parts of `text` in order: each special token, and the text between them."""
    if not specials:
        return [text] if text else []
    pattern = "(" + "|".join(map(re.escape, specials)) + ")"
    return [part for part in re.split(pattern, text) if part]


@task.truth
def letter_by_letter(text, specials):
    """Looks at each letter, without patterns, for a special token that begins there."""
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
    at_eos("Hi", "There is nothing to split at, so the text is one part."),
    at_eos(
        "a<eos>b<eos>c",
        "It occurs twice, and remains as a part of its own, so that the parts together are the "
        "text. A group, `(...)`, in the pattern keeps it.",
    ),
)
task.stage(
    "no empty parts, no specials",
    at_eos("<eos> <eos>", "A space is not empty: remove only the parts that are empty."),
    case("", "a b", [], hint="Without specials the text is one part: check that first."),
)
task.stage(
    "any special tokens",
    case("", "<cls>x[SEP]y", MANY),
    case("", "x|<|end|>", MANY),
    hint="Each of the specials counts. `|`, `.` and `[ ]` have a meaning in a pattern, which "
    "`re.escape` removes.",
)
task.stage(
    "100 random texts",
    *(case("", "".join(draw.choices(PIECES, k=draw.randrange(6))), PIECES[:3]) for _ in range(100)),
)

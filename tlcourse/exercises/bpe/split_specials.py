"""Lesson 01: cut a text at its special tokens."""

import random
import re

from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

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


draw = random.Random(varying(3))
MANY = ["[SEP]", "<cls>", "<|end|>", "a.b"]
PIECES = ["<s>", "</s>", "<|x|>", "x <", "s> \n", "é|"]
task.stage(
    "one special token",
    at_eos("Hi", "There is nothing to split at, so the text is one part."),
    at_eos(
        "a<eos>b<eos>c",
        "It occurs twice, and remains as a part of its own, so that the parts together are the "
        "text.",
    ),
)
task.stage(
    "no empty parts, no specials",
    at_eos("<eos> <eos>", "A space is not empty: remove only the parts that are empty."),
    case("", "a b", [], hint="Without specials the text is one part."),
)
task.stage(
    "any special tokens",
    case("", "<cls>x[SEP]y", MANY),
    case("", "axb|<|end|>", MANY),
    hint="Each of the specials counts, and each stands for itself, letter by letter.",
)
task.stage(
    "100 random texts",
    *(case("", "".join(draw.choices(PIECES, k=draw.randrange(6))), PIECES[:3]) for _ in range(100)),
)
task.mistakes(
    (
        "The special token is gone, because `split` drops what it splits at: put the pattern in "
        "brackets, `(…)`.",
        lambda text, specials: [p for p in split_specials(text, specials) if p not in specials],
    ),
    (
        "Without specials the pattern `()` matches between any two letters: if there are none, "
        "return the text as one part.",
        lambda text, specials: split_specials(text, specials) if specials else [*text],
    ),
    (
        "This code looks for the first of the specials only: join all of them with `|`.",
        lambda text, specials: split_specials(text, specials[:1]),
    ),
    (
        "`|`, `.` and `[ ]` have a meaning in a pattern, and this code inserts them as they are: "
        "apply `re.escape` to each special token.",
        lambda text, specials: [
            part for part in re.split(f"({'|'.join(specials) or '^$'})", text) if part
        ],
    ),
)

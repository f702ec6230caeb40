"""Lesson 01: cut a text at its special tokens."""

import random
import re

from tlcourse.exercises.expect import expect_type, expect_unchanged, short
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="1.6",
    title="Split at special tokens",
    difficulty=2,
    minutes=8,
    hints=(
        "`re.split` keeps what it splits at if the pattern is in brackets: "
        "`re.split('(b)', 'abc')` is `['a', 'b', 'c']`.",
        "`'|'.join(map(re.escape, specials))` is a pattern for any of them: `re.escape` takes "
        "away the meaning that characters such as `|` have in a pattern.",
        "filter out the empty parts at the end; and if there are no specials, there is nothing to "
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


@task.right
def by_search(text, specials):
    parts = []
    while places := [(text.index(each), each) for each in specials if each in text]:
        start, special = min(places)
        parts += [text[:start], special]
        text = text[start + len(special) :]
    return [part for part in [*parts, text] if part]


@task.right
def letter_by_letter(text, specials):
    parts, held, i = [], "", 0
    while i < len(text):
        found = next((each for each in specials if text.startswith(each, i)), "")
        if found:
            parts += [held, found] if held else [found]
            held, i = "", i + len(found)
        else:
            held, i = held + text[i], i + 1
    return [*parts, held] if held else parts


def parts_of(candidate, text, specials):
    got = expect_unchanged(candidate, text, specials)
    expect_type(got, list, f"{text!r} with {short(specials)}")
    return got


@task.stage("one special token")
def one(candidate):
    for text, right, what, likely in (
        (
            "Hi <eos>you", ["Hi ", "<eos>", "you"], "'Hi <eos>you' with ['<eos>']",
            "Three parts, which joined give the text back.",
        ),
        ("Hi", ["Hi"], "'Hi' with ['<eos>']", "Nothing to split at: one part."),
        (
            "a<eos>b<eos>c", ["a", "<eos>", "b", "<eos>", "c"], "'a<eos>b<eos>c' with ['<eos>']",
            "It occurs twice.",
        ),
        ("Hi < eos >", ["Hi < eos >"], "'Hi < eos >' with ['<eos>']", "That is another text."),
    ):  # fmt: skip
        task.observe(candidate, parts_of, text, ["<eos>"], gives=right, what=what, likely=likely)


@task.stage("no empty parts, no specials")
def empty(candidate):
    for text, specials, right, likely in (
        ("<eos>", ["<eos>"], ["<eos>"], "Leave out empty parts."),
        ("a<eos><eos>", ["<eos>"], ["a", "<eos>", "<eos>"], "Between the two there is nothing."),
        (
            "<eos> <eos>",
            ["<eos>"],
            ["<eos>", " ", "<eos>"],
            "A space is not nothing: leave out parts that are empty (`if part`), and no others.",
        ),
        ("", ["<eos>"], [], "An empty text has no part."),
        ("a b", [], ["a b"], "Without specials the text is one part."),
    ):
        task.observe(
            candidate, parts_of, text, specials, gives=right,
            what=f"{text!r} with {specials}", likely=likely,
        )  # fmt: skip


@task.stage("any special tokens")
def several(candidate):
    many = ["<cls>", "<|end|>", "[SEP]", "a.b"]
    for text, right, likely in (
        ("<cls>x[SEP]y", ["<cls>", "x", "[SEP]", "y"], "There may be several specials."),
        ("x|<|end|>", ["x|", "<|end|>"], "`|` has a meaning in a pattern: `re.escape` takes it."),
        ("aXb SEP", ["aXb SEP"], "`.` and `[ ]` have a meaning in a pattern: `re.escape`."),
    ):
        task.observe(
            candidate, parts_of, text, many, gives=right, what=f"{text!r} with {many}",
            likely=likely,
        )  # fmt: skip


@task.stage("100 random texts")
def random_texts(candidate):
    draw, specials = random.Random(3), ["<s>", "</s>", "<|x|>"]
    for _ in range(100):
        right = []
        for _ in range(draw.randrange(6)):
            plain = not right or right[-1] in specials
            choice = draw.choice([*specials, "x <", "s> \n", "é|"] if plain else specials)
            right.append(choice)
        text = "".join(right)
        task.observe(candidate, parts_of, text, specials, gives=right, what=repr(text))


@task.mistake(
    "one special token", "The special token is gone: a group, `(...)`, in the pattern keeps it."
)
def drops_them(text, specials):
    return [part for part in text.split(specials[0]) if part] if specials else [text]


@task.mistake("no empty parts, no specials", "A space is not nothing")
def drops_white_space(text, specials):
    return [part for part in split_specials(text, specials) if part.strip()]


@task.mistake("one special token", "Only the first place was split at; it occurs twice.")
def once_only(text, specials):
    for special in specials:
        if special in text:
            return [part for part in text.partition(special) if part]
    return [text] if text else []


@task.mistake("no empty parts, no specials", "Leave out empty parts.")
def keeps_empty_parts(text, specials):
    return re.split("(" + "|".join(map(re.escape, specials)) + ")", text)


@task.mistake(
    "no empty parts, no specials",
    "Without specials the pattern `()` fits everywhere: ask first whether there are any.",
)
def empty_pattern(text, specials):
    return [p for p in re.split("(" + "|".join(map(re.escape, specials)) + ")", text) if p]


@task.mistake(
    "any special tokens", "Signs such as `|` have a meaning in a pattern: `re.escape` the specials."
)
def not_escaped(text, specials):
    pattern = "(" + "|".join(specials) + ")"
    return [part for part in re.split(pattern, text) if part] if specials else [text]


@task.mistake("any special tokens", "Only the first special was looked for.")
def the_first_special_only(text, specials):
    return split_specials(text, specials[:1])

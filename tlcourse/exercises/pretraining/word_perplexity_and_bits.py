"""Lesson 03b: from nats to numbers that can be compared."""

import math
import random

import numpy as np

from tlcourse.exercises.expect import CheckFailed, expect_unchanged, real_number, short
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="3b.4",
    title="From nats to numbers that can be compared",
    difficulty=2,
    minutes=10,
    hints=(
        "both begin with the sum of all nats; they differ in what it is divided by.",
        "perplexity is e to the power of the nats for each word or line end; for bits, ask how "
        "many nats one bit is, and how many bytes an é has.",
        "words are `len(text.split())` and line ends `text.count('\\n')`; a bit is "
        "`math.log(2)` nats, and bytes are `len(text.encode('utf-8'))`.",
    ),
    imports="import math\nimport torch",
)


@task.reference
def word_perplexity_and_bits(nats, text):
    """The nats of each token of `text` to (word perplexity, bits per byte)."""
    total = sum(nats)
    words = len(text.split()) + text.count("\n")
    return math.exp(total / words), total / math.log(2) / len(text.encode("utf-8"))


@task.right
def by_bits(nats, text):
    bits = math.fsum(nats) / math.log(2)
    units = text.replace("\n", " \u23ce ").split()
    return 2 ** (bits / len(units)), bits / sum(len(char.encode()) for char in text)


@task.right
def by_numpy(nats, text):
    words = sum(len(line.split()) + 1 for line in text.split("\n")) - 1
    total = np.sum(nats)
    return np.exp(total / words), total / (np.log(2) * len(bytes(text, "utf-8")))


def converted(candidate, nats, text):
    """(word perplexity, bits per byte), as floats."""
    got = expect_unchanged(candidate, nats, text)
    pair = isinstance(got, tuple | list) or getattr(got, "shape", None) == (2,)
    numbers = [real_number(value) for value in got] if pair else []
    if len(numbers) != 2 or None in numbers:
        raise CheckFailed(
            f"expected two numbers, `return word_perplexity, bits_per_byte`; got {short(got)}."
        )
    return numbers[0], numbers[1]


def perplexity(candidate, nats, text):
    """The first of the two."""
    return converted(candidate, nats, text)[0]


def bits_a_byte(candidate, nats, text):
    """The second of the two."""
    return converted(candidate, nats, text)[1]


@task.stage("two numbers")
def two_numbers(candidate):
    # A model that is certain of every token: perplexity 1, and no bit is needed.
    task.observe(
        candidate, converted, [0.0, 0.0, 0.0], "one two\n", gives=(1.0, 0.0), tolerance=1e-5,
        what="a model that is sure and right, 0 nats a token",
        likely="First the perplexity, an exp, and exp(0) is 1; then the bits, of which it needs "
        "none.",
    )  # fmt: skip


@task.stage("words and line ends")
def word_units(candidate):
    text, nats = "the tokenizer tokenizes\n", [2.0, 1.0, 3.0, 0.5, 1.0, 0.5]
    task.observe(
        candidate, perplexity, nats, text, gives=math.exp(2.0), tolerance=1e-5,
        what=f"word perplexity of {text!r}, 6 tokens with 8 nats in all",
    )  # fmt: skip
    for text, units, likely in (
        (
            " a\n\n b  c\n", 6,
            "White space only separates words: 3 words and 3 line ends, the empty line's as well.",
        ),
        (
            "a\nb c", 4,
            "The last line has no `\\n`: count the characters `\\n`, not the lines.",
        ),
        (
            "yes - it's a dog's.\n", 6,
            "A word is whatever stands between white space, -, ' and . included: 5 words, 1 line "
            "end.",
        ),
        (
            "a\tb\r\nc\u2028d\n", 6,
            "A tab, \\r and \\u2028 are white space and part two words as a blank does: 4 words. "
            "But none of them is the character `\\n`, of which there are 2.",
        ),
    ):  # fmt: skip
        what = f"word perplexity of {text!r}, {units} nats"
        task.observe(
            candidate, perplexity, [1.0] * units, text, gives=math.e, what=what, likely=likely,
            tolerance=1e-5,
        )  # fmt: skip


@task.stage("bits and bytes")
def bits(candidate):
    text = "naïve café\n"
    task.observe(
        candidate, bits_a_byte, [math.log(2)] * 26, text, gives=2.0, tolerance=1e-5,
        what=f"bits per byte of {text!r}, 13 bytes and 26 bits",
    )  # fmt: skip


@task.stage("twenty texts")
def twenty(candidate):
    draw = random.Random(3)
    for _ in range(20):
        words = ["".join(draw.choices("abcdé½m²'-.", k=draw.randrange(1, 9))) for _ in range(12)]
        text = "".join(
            word + draw.choice([" ", "\n", "\t", "\r\n"]) for word in words
        ) + draw.choice(["", "\n"])
        nats = [draw.expovariate(0.3) for _ in range(draw.randrange(1, 60))]
        units = len(text.replace("\n", " ⏎ ").split())
        right = (math.prod(math.exp(each / units) for each in nats),)
        right += (sum(each / 0.6931471805599453 for each in nats) / len(bytes(text, "utf-8")),)
        what = f"{len(nats)} tokens of {short(text, 60)}"
        task.observe(candidate, converted, nats, text, gives=right, what=what, tolerance=1e-4)


def perplexity_as(change):
    """A candidate whose bits are right; `change(nats, text)` is its word perplexity."""

    def function(nats, text):
        return change(nats, text), word_perplexity_and_bits(nats, text)[1]

    return function


def divided_by(count):
    """A candidate that divides by `count(text)` words and line ends; its bits are right."""
    return perplexity_as(lambda nats, text: math.exp(sum(nats) / count(text)))


def bits_as(change):
    """A candidate whose perplexity is right; `change(bits, text)` are its bits per byte."""

    def function(nats, text):
        perplexity, bits = word_perplexity_and_bits(nats, text)
        return perplexity, change(bits, text)

    return function


def units_of(text):
    """How many words and line ends."""
    return len(text.split()) + text.count("\n")


for says, wrong in (
    (
        "That is the token perplexity: 6 tokens. Divide by what a reader counts, 3 words and 1 "
        "line end, however many tokens the words were cut into.",
        perplexity_as(lambda nats, text: math.exp(sum(nats) / len(nats))),
    ),
    (
        "The line end is missing: it is predicted, too, and counts as one.",
        divided_by(lambda text: len(text.split())),
    ),
    (
        "One too many is counted: behind the last line end `split('\\n')` and `re.split` leave an "
        "empty piece, which is neither a word nor a line end.",
        divided_by(lambda text: len(text.split()) + len(text.split("\n"))),
    ),
    (
        "The sum of all nats is divided once, by the words.",
        perplexity_as(lambda nats, text: math.exp(sum(nats) / len(nats) / units_of(text))),
    ),
    (
        "First add up the nats and divide; exp comes last.",
        perplexity_as(lambda nats, text: sum(map(math.exp, nats)) / units_of(text)),
    ),
    (
        "Nats belong to exp; 2 to the power belongs to bits.",
        perplexity_as(lambda nats, text: 2 ** (sum(nats) / units_of(text))),
    ),
):
    task.mistake("words and line ends", says)(wrong)

for says, change in (
    ("These are nats a byte; a bit is ln 2 = 0.693 nats.", lambda bits, _: bits * math.log(2)),
    (
        "These are bits a character: ï and é have two bytes each, see `text.encode()`.",
        lambda bits, text: bits * len(text.encode()) / len(text),
    ),
    (
        "Divide by ln 2 to get bits from nats, do not multiply.",
        lambda bits, _: bits * math.log(2) ** 2,
    ),
    (
        "The line end is a byte, too: all of the text counts, 13 bytes.",
        lambda bits, text: bits * len(text.encode()) / len(text.strip().encode()),
    ),
    (
        "The nats became bits already; no division by 8 is due: it is bits *per byte*.",
        lambda bits, _: bits / 8,
    ),
    (
        "The text is counted in bytes already: 8 bits a byte are not asked about here.",
        lambda bits, _: bits * 8,
    ),
    (
        "These are the bits of the whole text; divide by its bytes.",
        lambda bits, text: bits * len(text.encode()),
    ),
):
    task.mistake("bits and bytes", says)(bits_as(change))


@task.mistake("bits and bytes", "These are bits a token; divide by the bytes of the text.")
def bits_a_token(nats, text):
    return word_perplexity_and_bits(nats, text)[0], sum(nats) / math.log(2) / len(nats)

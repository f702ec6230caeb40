"""Lesson 03b: from nats to numbers that can be compared."""

import math
import random

from tlcourse.exercises.expect import expect_unchanged, short
from tlcourse.exercises.pretraining._common import number, several
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying


def converted(candidate, nats, text):
    """(word perplexity, bits per byte), as floats."""
    got = expect_unchanged(candidate, nats, text)
    got = list(got) if getattr(got, "shape", None) == (2,) else got
    perplexity, bits = several(got, "word_perplexity", "bits_per_byte")
    return number(perplexity, "the word perplexity"), number(bits, "the bits per byte")


task = Exercise(
    __name__,
    number="3b.4",
    title="From nats to numbers that can be compared",
    difficulty=2,
    importance=3,
    minutes=10,
    hints=(
        "Both start from the sum of all nats and divide it, but by different counts.",
        "The perplexity is e to the power of the nats per word or line end. For the bits: how many "
        "nats is one bit, and how many bytes does an é have?",
        "Words are `len(text.split())` and line ends `text.count('\\n')`; a bit is "
        "`math.log(2)` nats, and bytes are `len(text.encode('utf-8'))`.",
    ),
    imports="import math\nimport torch",
    measure=converted,
    tolerance=1e-5,
)


@task.reference
def word_perplexity_and_bits(nats, text):
    """(word perplexity, bits per byte) of a text, from the nats of each of its tokens."""
    total = sum(nats)
    words = len(text.split()) + text.count("\n")
    return math.exp(total / words), total / math.log(2) / len(text.encode("utf-8"))


@task.truth
def token_by_token(nats, text):
    units = len(text.replace("\n", " ⏎ ").split())
    bits = sum(each / 0.6931471805599453 for each in nats)
    return math.prod(math.exp(each / units) for each in nats), bits / len(bytes(text, "utf-8"))


def twenty_texts():
    """Cases with random words, white space and nats."""
    draw = random.Random(varying(3))
    for _ in range(20):
        words = ["".join(draw.choices("abcdé½m²'-.", k=draw.randrange(1, 9))) for _ in range(12)]
        text = "".join(word + draw.choice([" ", "\n", "\t", "\r\n"]) for word in words)
        text += draw.choice(["", "\n"])
        nats = [draw.expovariate(0.3) for _ in range(draw.randrange(1, 60))]
        yield case(
            f"(word perplexity, bits per byte): {len(nats)} tokens, {short(text, 60)}", nats, text
        )


task.stage(
    "two numbers",
    case(
        "(word perplexity, bits per byte) of a model that is certain and right, 0 nats per token",
        *([0.0, 0.0, 0.0], "one two\n"),
    ),
    hint="Return the perplexity first, here exp(0) = 1, and then the bits, of which this model "
    "needs none.",
)
WHITE = "yes - it's a\tdog's\r\n\u2028cat.\n"
task.stage(
    "words and line ends",
    case(
        "the word perplexity of 'the tokenizer tokenizes\\n', 6 tokens with 8 nats in all",
        *([2.0, 1.0, 3.0, 0.5, 1.0, 0.5], "the tokenizer tokenizes\n"),
        expected=math.exp(2.0),
        hint="Divide by what a reader counts, 3 words and 1 line end: 2 nats per unit, exp(2).",
    ),
    case(
        f"the word perplexity of {WHITE!r}, 8 nats",
        *([1.0] * 8, WHITE),
        expected=math.e,
        hint="A word is whatever stands between white space, including -, ' and the full stop: "
        "there are 6. A tab, \\r and \\u2028 are white space, too, but only `\\n` is a line end, "
        "and there are 2.",
    ),
    measure=lambda *given: converted(*given)[0],
)
task.stage(
    "bits and bytes",
    case(
        "the bits per byte of 'naïve café\\n', 13 bytes and 26 bits",
        *([math.log(2)] * 26, "naïve café\n"),
        expected=2.0,
    ),
    measure=lambda *given: converted(*given)[1],
    hint="A bit is ln 2 = 0.693 nats. Divide all bits by all bytes, of which the line end is one.",
)
task.stage(
    "twenty texts",
    *twenty_texts(),
    tolerance=1e-4,
    hint="`nats` has one entry per token: divide the sum of all of them.",
)


def divided_by(count):
    """An answer that divides by `count(text)` words and line ends; its bits are right."""
    right = word_perplexity_and_bits
    return lambda nats, text: (math.exp(sum(nats) / count(text)), right(nats, text)[1])


def bits_per_character(nats, text):
    perplexity, bits = word_perplexity_and_bits(nats, text)
    return perplexity, bits * len(text.encode()) / len(text)


task.mistakes(
    (
        "This is the perplexity per token: divide by the number of words and line ends, however "
        "many tokens they were cut into.",
        lambda nats, text: divided_by(lambda _: len(nats))(nats, text),
    ),
    (
        "This code counts one too many, because `split('\\n')` leaves an empty piece behind the "
        "last line end: use `text.count('\\n')`.",
        divided_by(lambda text: len(text.split()) + len(text.split("\n"))),
    ),
    (
        "These are bits per character, but ï and é have two bytes each: divide by "
        "`len(text.encode())`.",
        bits_per_character,
    ),
)

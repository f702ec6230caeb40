"""Lesson 03b: from nats to numbers that can be compared."""

import math
import random

from tlcourse.exercises.expect import expect_unchanged, short
from tlcourse.exercises.pretraining._common import number, several
from tlcourse.exercises.task import Exercise, case


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
        "Both begin with the sum of all nats; they differ in what it is divided by.",
        "Perplexity is e to the power of the nats for each word or line end; for bits, ask how "
        "many nats one bit is, and how many bytes an é has.",
        "Words are `len(text.split())` and line ends `text.count('\\n')`; a bit is "
        "`math.log(2)` nats, and bytes are `len(text.encode('utf-8'))`.",
    ),
    imports="import math\nimport torch",
    measure=converted,
    tolerance=1e-5,
)


@task.reference
def word_perplexity_and_bits(nats, text):
    """The nats of each token of `text` to (word perplexity, bits per byte)."""
    total = sum(nats)
    words = len(text.split()) + text.count("\n")
    return math.exp(total / words), total / math.log(2) / len(text.encode("utf-8"))


@task.truth
def token_by_token(nats, text):
    units = len(text.replace("\n", " ⏎ ").split())
    bits = sum(each / 0.6931471805599453 for each in nats)
    return math.prod(math.exp(each / units) for each in nats), bits / len(bytes(text, "utf-8"))


def units(text, count, hint):
    """A case of one nat for each of `count` words and line ends."""
    what = f"the word perplexity of {text!r}, {count} nats"
    return case(what, [1.0] * count, text, expected=math.e, hint=hint)


def twenty_texts():
    """Cases of random words, white space and nats."""
    draw = random.Random(3)
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
        "(word perplexity, bits per byte) of a model that is sure and right, 0 nats a token",
        *([0.0, 0.0, 0.0], "one two\n"),
    ),
    hint="First comes the perplexity, an exp, and exp(0) is 1; then come the bits, of which such a "
    "model needs none.",
)
task.stage(
    "words and line ends",
    case(
        "the word perplexity of 'the tokenizer tokenizes\\n', 6 tokens with 8 nats in all",
        *([2.0, 1.0, 3.0, 0.5, 1.0, 0.5], "the tokenizer tokenizes\n"),
        expected=math.exp(2.0),
        hint="There are 4 units, 3 words and 1 line end, so 2 nats a unit: exp(2).",
    ),
    units(
        " a\n\n b  c\n",
        6,
        "White space only separates words: 3 words and 3 line ends, the empty line's as well.",
    ),
    units(
        "yes - it's a dog's.\n",
        6,
        "A word is whatever stands between white space, -, ' and . included: 5 words, 1 line end.",
    ),
    units(
        "a\tb\r\nc\u2028d\n",
        6,
        "A tab, \\r and \\u2028 are white space and part two words as a blank does: 4 words. But "
        "none of them is the character `\\n`, of which there are 2.",
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
    hint="A bit is ln 2 = 0.693 nats. Divide all bits by all bytes, the line end's included.",
)
task.stage(
    "twenty texts",
    *twenty_texts(),
    tolerance=1e-4,
    hint="`nats` has one entry a token, and the sum of all of them is what you divide.",
)


def perplexity_as(change):
    """An answer whose bits are right; `change(nats, text)` is its word perplexity."""
    return lambda nats, text: (change(nats, text), word_perplexity_and_bits(nats, text)[1])


def divided_by(count):
    """An answer that divides by `count(text)` words and line ends; its bits are right."""
    return perplexity_as(lambda nats, text: math.exp(sum(nats) / count(text)))


def bits_as(change):
    """An answer whose perplexity is right; `change(bits, text)` are its bits per byte."""

    def answer(nats, text):
        perplexity, bits = word_perplexity_and_bits(nats, text)
        return perplexity, change(bits, text)

    return answer


task.mistakes(
    (
        "This is the token perplexity, of 6 tokens. Divide by what a reader counts, 3 words and 1 "
        "line end, however many tokens the words were cut into.",
        perplexity_as(lambda nats, text: math.exp(sum(nats) / len(nats))),
    ),
    (
        "One too many is counted: behind the last line end `split('\\n')` and `re.split` leave an "
        "empty piece, which is neither a word nor a line end.",
        divided_by(lambda text: len(text.split()) + len(text.split("\n"))),
    ),
    (
        "These are bits a character: ï and é have two bytes each, see `text.encode()`.",
        bits_as(lambda bits, text: bits * len(text.encode()) / len(text)),
    ),
)

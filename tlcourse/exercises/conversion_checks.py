"""The checks of lesson 03's perplexities and bits, a function for each stage."""

import math
import random

from tlcourse.exercises.expect import Wrong, expect_close, short
from tlcourse.exercises.expect import expect_unchanged as call
from tlcourse.exercises.schedule_checks import real_number


def _converted(candidate, nats: list[float], text: str) -> tuple[float, float]:
    got = call(candidate, nats, text)
    pair = isinstance(got, tuple | list) or getattr(got, "shape", None) == (2,)
    numbers = [real_number(value) for value in got] if pair else []
    if len(numbers) != 2 or None in numbers:
        raise Wrong(
            f"expected two numbers, `return word_perplexity, bits_per_byte`; got {short(got)}."
        )
    return numbers[0], numbers[1]


def _mistake(got: float, *known: tuple[float, str]) -> str:
    """What is said of the number that `got` is."""
    return next((text for value, text in known if math.isclose(got, value, rel_tol=1e-6)), "")


def kinds(candidate) -> None:
    # A model that is certain of every token: perplexity 1, and no bit is needed.
    got = _converted(candidate, [0.0, 0.0, 0.0], "one two\n")
    likely = "First the perplexity, an exp, and exp(0) is 1; then the bits, of which it needs none."
    expect_close(got, (1.0, 0.0), "a model that is sure and right, 0 nats a token", likely)


def words(candidate) -> None:
    text, nats = "the tokenizer tokenizes\n", [2.0, 1.0, 3.0, 0.5, 1.0, 0.5]
    got, total = _converted(candidate, nats, text)[0], sum(nats)
    likely = _mistake(
        got,
        (
            math.exp(total / len(nats)),
            "That is the token perplexity: 6 tokens. Divide by what a reader counts, 3 words and "
            "1 line end, however many tokens the words were cut into.",
        ),
        (math.exp(total / 3), "The line end is missing: it is predicted, too, and counts as one."),
        (
            math.exp(total / 5),
            "One too many is counted: behind the last line end `split('\\n')` and `re.split` leave "
            "an empty piece, which is neither a word nor a line end.",
        ),
        (math.exp(total / len(nats) / 4), "The sum of all nats is divided once, by the words."),
        (sum(map(math.exp, nats)) / 4, "First add up the nats and divide; exp comes last."),
        (2 ** (total / 4), "Nats belong to exp; 2 to the power belongs to bits."),
    )
    what = f"word perplexity of {text!r}, 6 tokens with 8 nats in all"
    expect_close(got, math.exp(2.0), what, likely)
    text = " a\n\n b  c\n"
    got = _converted(candidate, [1.0] * 6, text)[0]
    likely = "White space only separates words: 3 words and 3 line ends, the empty line's as well."
    expect_close(got, math.e, f"word perplexity of {text!r}, 6 nats", likely)
    text = "a\nb c"
    got = _converted(candidate, [1.0] * 4, text)[0]
    likely = "The last line has no `\\n`: count the characters `\\n`, not the lines."
    expect_close(got, math.e, f"word perplexity of {text!r}, 4 nats", likely)
    _white_space(candidate)


def _white_space(candidate) -> None:
    """Texts with punctuation, and with white space that is neither a blank nor a line end."""
    text = "yes - it's a dog's.\n"
    got = _converted(candidate, [1.0] * 6, text)[0]
    likely = (
        "A word is whatever stands between white space, -, ' and . included: 5 words, 1 line end."
    )
    expect_close(got, math.e, f"word perplexity of {text!r}, 6 nats", likely)
    text = "a\tb\r\nc\u2028d\n"
    got = _converted(candidate, [1.0] * 6, text)[0]
    likely = (
        "A tab, \\r and \\u2028 are white space and part two words as a blank does: 4 words. "
        "But none of them is the character `\\n`, of which there are 2."
    )
    expect_close(got, math.e, f"word perplexity of {text!r}, 6 nats", likely)


def bits(candidate) -> None:
    text, nats = "naïve café\n", [math.log(2)] * 26
    got, size = _converted(candidate, nats, text)[1], len(text.encode("utf-8"))
    characters = "These are bits a character: ï and é have two bytes each, see `text.encode()`."
    likely = _mistake(
        got,
        (26 * math.log(2) / size, "These are nats a byte; a bit is ln 2 = 0.693 nats."),
        (26 / len(text), characters),
        (26 * math.log(2) ** 2 / size, "Divide by ln 2 to get bits from nats, do not multiply."),
        (26 / len(nats), "These are bits a token; divide by the bytes of the text."),
        (26 / (size - 1), "The line end is a byte, too: all of the text counts, 13 bytes."),
        (2 / 8, "The nats became bits already; no division by 8 is due: it is bits *per byte*."),
        (2 * 8, "The text is counted in bytes already: 8 bits a byte are not asked about here."),
        (26, "These are the bits of the whole text; divide by its bytes."),
    )
    expect_close(got, 2.0, f"bits per byte of {text!r}, 13 bytes and 26 bits", likely)


def whole(candidate) -> None:
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
        got = _converted(candidate, nats, text)
        expect_close(got, right, f"{len(nats)} tokens of {short(text, 60)}", tolerance=1e-4)

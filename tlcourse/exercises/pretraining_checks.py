"""The checks of lesson 03's exercises, a function for each stage."""

import math
import random

import torch
from torch import Tensor

from tlcourse.bpe import SPECIALS
from tlcourse.exercises.expect import Wrong, expect_close, expect_equal, expect_shape, short
from tlcourse.exercises.expect import expect_unchanged as call
from tlcourse.exercises.schedule_checks import real_number

MASK = SPECIALS.index("<mask>")


def _masked(candidate, tokens, draw, kind, noise) -> tuple[Tensor, Tensor]:
    got = call(candidate, tokens, draw, kind, noise)
    if not isinstance(got, tuple | list) or len(got) != 2:
        raise Wrong(f"expected two tensors, `return corrupted, chosen`; got {short(got)}.")
    return got[0], got[1]


def _drawings(shape: tuple[int, int], seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    draw, kind = (torch.rand(shape, generator=generator) for _ in range(2))
    return draw, kind, torch.randint(1000, 2000, shape, generator=generator)


def mask_shape(candidate) -> None:
    tokens = torch.arange(6, 30).view(4, 6)
    drawn = _drawings((4, 6))
    corrupted, chosen = _masked(candidate, tokens, *drawn)
    expect_shape(corrupted, (4, 6), "the corrupted tokens of 4 windows of 6")
    expect_shape(chosen, (4, 6), "the chosen positions of 4 windows of 6")
    if chosen.dtype != torch.bool:
        said = f"`chosen` is {chosen.dtype}; expected a boolean mask, True = to predict."
        swapped = " The first of the two is one: `return corrupted, chosen`, in this order."
        raise Wrong(said + (swapped if corrupted.dtype == torch.bool else ""))
    if corrupted.dtype != torch.int64:
        raise Wrong(f"the corrupted tokens are {corrupted.dtype}; expected ids, torch.int64.")
    again = _masked(candidate, tokens, *drawn)
    if not (again[0].equal(corrupted) and again[1].equal(chosen)):
        raise Wrong("the same arguments gave two answers: draw nothing, use `draw` and `kind`.")


def mask_choice(candidate) -> None:
    tokens = torch.full((1, 4), 70)
    draw = torch.tensor([[0.10, 0.20, 0.149, 0.90]])
    _, chosen = _masked(candidate, tokens, draw, torch.zeros(1, 4), tokens + 1)
    right = [[True, False, True, False]]
    likely = "A token is chosen where `draw` is below 0.15."
    if chosen.tolist() == [[False, True, False, True]]:
        likely = "These are the 85 % that are to be left alone: chosen is where `draw` < 0.15."
    expect_equal(chosen.tolist(), right, "draw = [0.10, 0.20, 0.149, 0.90]: `chosen`", likely)
    border = torch.full((1, 4), 0.15, dtype=torch.float64)
    _, chosen = _masked(candidate, tokens, border, torch.zeros(1, 4), tokens + 1)
    expect_equal(chosen.tolist(), [[False] * 4], "draw = 0.15: `chosen`", "Below is `<`.")
    kind = torch.tensor([[0.10, 0.79, 0.85, 0.95]])
    corrupted, _ = _masked(candidate, tokens, torch.ones(1, 4), kind, tokens + 1)
    what = "four tokens 70, draw = 1 everywhere, so nothing is chosen: corrupted"
    likely = "`kind` concerns chosen positions only: combine the conditions with `&`."
    expect_equal(corrupted.tolist(), tokens.tolist(), what, likely)
    tokens = torch.tensor([[0, 1, 2, 3, 4, 5, 6, 300]])
    draw = torch.zeros(1, 8)
    for name, value in (("kind = 0", 0.0), ("kind = 0.95", 0.95)):
        corrupted, chosen = _masked(candidate, tokens, draw, draw + value, draw.long() + 77)
        special = chosen[0, :6] | (corrupted[0, :6] != tokens[0, :6])
        if special.any():
            spoilt = ", ".join(s for s, hit in zip(SPECIALS, special.tolist(), strict=True) if hit)
            raise Wrong(
                f"with draw = 0 everywhere and {name}, the specials {spoilt} were chosen or "
                "changed. Only ordinary tokens may be: ids from 6 on."
            )
        got, what = chosen[0, 6:].tolist(), "ids 6 and 300 with draw = 0: `chosen`"
        expect_equal(got, [True, True], what, "Both are ordinary; 6 is the first that is.")


def mask_kinds(candidate) -> None:
    tokens = torch.full((1, 4), 70)
    chosen_all, noise = torch.zeros(1, 4), torch.tensor([[81, 82, 83, 84]])
    kind = torch.tensor([[0.10, 0.79, 0.85, 0.95]])
    corrupted, chosen = _masked(candidate, tokens, chosen_all, kind, noise)
    got, likely = corrupted[0].tolist(), ""
    if got == [MASK] * 4:
        likely = "All became <mask>: 20 % of the chosen tokens must not."
    elif got[2:] == [83, 70]:
        likely = "Between 0.8 and 0.9 the token stays, from 0.9 on it is swapped: the other way."
    elif got[:2] != [MASK, MASK]:
        likely = f"Below 0.8 it is <mask>, id {MASK}."
    elif got[2] == 83:
        likely = "Between 0.8 and 0.9 the token stays as it is."
    elif got[3] == 70:
        likely = "From 0.9 on, the random token of `noise` at the same position stands there."
    what = "four chosen tokens 70, noise 81 to 84, kind = [0.10, 0.79, 0.85, 0.95]: corrupted"
    expect_equal(got, [MASK, MASK, 70, 84], what, likely)
    likely = "A chosen token that stays as it is must still be predicted: that is what it is for."
    expect_equal(chosen.tolist(), [[True] * 4], "the same four: `chosen`", likely)
    kind = torch.tensor([[0.8, 0.8, 0.8, 0.9]], dtype=torch.float64)
    corrupted, _ = _masked(candidate, tokens, chosen_all, kind, noise)
    likely = "Below 0.8 is `kind < 0.8`, 0.9 or higher is `kind >= 0.9`."
    what = "the same four with kind = [0.8, 0.8, 0.8, 0.9]: corrupted"
    expect_equal(corrupted.tolist(), [[70, 70, 70, 84]], what, likely)


def mask_whole(candidate) -> None:
    generator = torch.Generator().manual_seed(5)
    tokens = torch.randint(900, (40, 50), generator=generator) // 3
    draw, kind, noise = _drawings((40, 50), seed=6)
    corrupted, chosen = _masked(candidate, tokens, draw, kind, noise)
    for row in range(40):
        for place in range(50):
            at = (row, place)
            old = new = int(tokens[at])
            asked = old > 5 and float(draw[at]) < 0.15
            if asked and float(kind[at]) < 0.8:
                new = MASK
            elif asked and float(kind[at]) >= 0.9:
                new = int(noise[at])
            came = (int(corrupted[at]), bool(chosen[at]))
            expect_equal(came, (new, asked), f"token {old} at {at} of a batch: (corrupted, chosen)")


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


def convert_kinds(candidate) -> None:
    # A model that is certain of every token: perplexity 1, and no bit is needed.
    got = _converted(candidate, [0.0, 0.0, 0.0], "one two\n")
    likely = "First the perplexity, an exp, and exp(0) is 1; then the bits, of which it needs none."
    expect_close(got, (1.0, 0.0), "a model that is sure and right, 0 nats a token", likely)


def convert_words(candidate) -> None:
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
        "A tab, \\r and \\u2028 are white space and part two words as a blank does: 4 words. But none "
        "of them is the character `\\n`, of which there are 2."
    )
    expect_close(got, math.e, f"word perplexity of {text!r}, 6 nats", likely)


def convert_bits(candidate) -> None:
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


def convert_whole(candidate) -> None:
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

"""The page's tokenizer gives what the package's gives, for texts of every kind."""

import random
import unicodedata

import pytest

from tests.page.node import answers, needed
from tlcourse import checkpoints, files
from tlcourse.bpe import Tokenizer, normalise, pre_tokenise

pytestmark = needed
FILE = checkpoints.folder_of("causal-small") / "tokenizer.json"
BLANKS = [*"\t\n\v\f\r \x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2009\u2028\u2029\u202f\u205f\u3000"]
NO_BLANKS = [*"\ufeff\u200b\u200c\u200d\u2060\u180e\x00\x07\x1b\x7f\xad"]
PIECES = [
    *["The", "train", "don't", "we'll", "I'd", "they've", "John's", "'tis", "CAN'T", "o'clock"],
    *["café", "cafe\u0301", "naïve", "Å", "A\u030a", "\u212b", "ﬁne", "ﬀ"],
    *["\u0301", "e\u0301\u0302"],
    *["‘so’", "“so”", "1914–18", "—", "…", "«oui»", "100%", "$5.00", "x²", "½", "Ⅻ", "٣٤", "१२"],
    *["東京", "がぎ", "ﾊﾝｶｸ", "한국", "\u1112\u1161\u11ab"],
    *["مرحبا", "שלום", "ไทย", "हिन्दी", "Ελλάδα"],
    *["🦙", "👩‍👩‍👧", "🇫🇷", "👍🏽", "❤️", "𝒜", "𐍈", "\U000e0001", "\ue000", "\uffff", "\U0010ffff"],
    *["<eos>", "<mask>", "<pad", "<script>alert(1)</script>", "&amp;", "a\\b", "```", "__", "~!@#"],
    *["Donaudampfschifffahrtsgesellschaft" * 8, "a" * 300, "1" * 40, "!" * 50, " " * 9, "\n\n\n"],
    *BLANKS,
    *NO_BLANKS,
]


def lines() -> list[str]:
    """500 varied lines: 150 of the samples, the others put together at random."""
    found = []
    for path in ("wikitext/wiki.train.tokens", "trec/train_5500.label"):
        text = files.bundled(f"data/samples/{path}").read_text(encoding="utf-8")
        found += [line for line in text.splitlines() if line.strip()][:75]
    draw = random.Random(0)
    while len(found) < 500:
        pieces = draw.choices(PIECES, k=draw.randint(1, 12))
        found.append(draw.choice(["", " ", "  "]).join(pieces))
    return found


def signs() -> list[str]:
    """Every assigned sign up to U+3100 between letters, digits and spaces, 64 in a line."""
    codes = [c for c in map(chr, range(0x3100)) if unicodedata.category(c) not in ("Cn", "Cs")]
    each = [f"a{sign}b 1{sign} {sign}{sign} " for sign in codes]
    return ["".join(each[start : start + 64]) for start in range(0, len(each), 64)]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.load(FILE)


@pytest.fixture(scope="module")
def asked(tokenizer: Tokenizer) -> dict:
    draw = random.Random(1)
    count = tokenizer.vocabulary_size
    sequences = [[draw.randrange(count) for _ in range(12)] for _ in range(100)]
    sequences += [[draw.randrange(262) for _ in range(12)] for _ in range(200)]  # torn characters
    sequences += [tokenizer.encode(text) for text in ("\ufeffa", "👩‍👩‍👧", "a\x00b", "")]
    return {"file": str(FILE), "texts": [*lines(), *signs()], "sequences": sequences}


@pytest.fixture(scope="module")
def answered(asked: dict, tmp_path_factory: pytest.TempPathFactory) -> dict:
    return answers("tokens.mjs", tmp_path_factory.mktemp("tokens"), asked)


def test_500_varied_lines_have_the_packages_tokens(
    asked: dict, answered: dict, tokenizer: Tokenizer
) -> None:
    for text, found in zip(asked["texts"], answered["texts"], strict=True):
        normal = normalise(text)
        assert found["normal"] == normal, ascii(text)
        assert found["words"] == pre_tokenise(text), ascii(text)
        assert found["ids"] == tokenizer.encode(text), ascii(text)
        assert found["normalIds"] == tokenizer.encode(normal), ascii(text)
        assert found["special"] == tokenizer.encode(text, allow_special=True), ascii(text)


def test_ids_have_the_packages_text(asked: dict, answered: dict, tokenizer: Tokenizer) -> None:
    for ids, found in zip(asked["sequences"], answered["sequences"], strict=True):
        assert found["text"] == tokenizer.decode(ids)
        assert found["tokens"] == tokenizer.tokens(ids)

"""Lesson 01: the tokenizer, text to ids and back."""

import random
from functools import cache

from tlcourse import bpe
from tlcourse.bpe import byte_symbols, pre_tokenise
from tlcourse.exercises.bpe.encode_pre_token import encode_pre_token, vocabulary
from tlcourse.exercises.bpe.split_specials import split_specials
from tlcourse.exercises.expect import CheckFailed, expect_type, short
from tlcourse.exercises.task import Exercise, case

task = Exercise(
    __name__,
    number="1.7",
    title="The tokenizer",
    difficulty=3,
    importance=4,
    minutes=30,
    hints=(
        "For one pre-token: its UTF-8 bytes, their symbols, `encode_pre_token`, and then the id of "
        "each token that is left.",
        "`encode`: with `allow_special`, the parts are `split_specials(text, self.specials)`, and "
        "a part that is a special gives one id. Every other part is cut by `pre_tokenise`.",
        "`decode`: turn `vocabulary` round (id → symbol) and `self.symbols` too (symbol → byte); "
        "collect the bytes of all ids in one `bytearray`, and decode them once, at the end, with "
        '`errors="replace"`.',
    ),
    imports="import re\n\nimport regex\n\nfrom tlcourse.bpe import pre_tokenise",
    builds_on=("bpe.byte_symbols", "bpe.encode_pre_token", "bpe.split_specials"),
)


@task.reference
class Tokenizer:
    """Byte-level BPE: text to ids and back."""

    def __init__(self, vocabulary, merges, specials):
        self.vocabulary = vocabulary
        self.merges = [((left, right), left + right) for left, right in merges]
        self.specials = specials
        self.symbols = byte_symbols()
        self.seen = {}  # pre-token → its ids

    def encode(self, text, allow_special=False):
        ids = []
        for part in split_specials(text, self.specials) if allow_special else [text]:
            if allow_special and part in self.specials:
                ids.append(self.vocabulary[part])
            else:
                for word in pre_tokenise(part):
                    ids += self.ids_of(word)
        return ids

    def ids_of(self, word):
        if word not in self.seen:
            symbols = [self.symbols[byte] for byte in word.encode("utf-8")]
            tokens = encode_pre_token(symbols, self.merges)
            self.seen[word] = [self.vocabulary[token] for token in tokens]
        return self.seen[word]

    def decode(self, ids):
        symbol_of = {number: symbol for symbol, number in self.vocabulary.items()}
        byte_of = {symbol: byte for byte, symbol in self.symbols.items()}
        data = bytearray()
        for symbol in (symbol_of[number] for number in ids):
            if symbol in self.specials:
                data += symbol.encode("utf-8")
            else:
                data += bytes(byte_of[character] for character in symbol)
        return data.decode("utf-8", errors="replace")


SPECIALS = ["<eos>", "<end of text>"]
MERGES = [("Ġ", "t"), ("h", "e"), ("Ġt", "he"), ("a", "b"), ("Â", "½")]


@cache
def id_of():
    """A vocabulary whose ids are in no order, specials among them."""
    symbols = [*SPECIALS, *byte_symbols().values(), *("".join(pair) for pair in MERGES), "a2"]
    return dict(zip(symbols, random.Random(1).sample(range(1000), len(symbols)), strict=True))


def built(candidate, merges=MERGES):
    return candidate(dict(id_of()), list(merges), list(SPECIALS))


def encoded(candidate, text, merges=MERGES, allow_special=False):
    """The symbols of the ids that the candidate makes of one text, or of several in turn."""
    tokenizer, symbol_of = built(candidate, merges), {n: s for s, n in id_of().items()}
    found = []
    for part in [text] if isinstance(text, str) else text:
        allowed = {"allow_special": True} if allow_special else {}
        got = tokenizer.encode(part, **allowed)
        expect_type(got, list, f"`encode({part!r})`", "A list of numbers.")
        if not all(type(number) is int and number in symbol_of for number in got):
            due = "ids: numbers that `vocabulary` gives"
            raise CheckFailed(check=f"`encode({part!r})`", yours=short(got), expected=due)
        found.append([symbol_of[number] for number in got])
    return found[0] if isinstance(text, str) else found


def decoded(candidate, symbols):
    """The text that the candidate makes of the ids of these symbols."""
    got = built(candidate).decode([id_of()[symbol] for symbol in symbols])
    expect_type(got, str, f"`decode` of the ids of {symbols}")
    return got


def special(text, symbols, hint, allowed=True):
    what = f"`encode({text!r}{', allow_special=True' if allowed else ''})`"
    return case(what, text, MERGES, allowed, expected=symbols, hint=hint)


WITHOUT = {"ab": ["a", "b"], "a b": ["a", "Ġ", "b"], "½": ["Â", "½"], "": []}
MERGED = (
    ("he", ["he"], "`h e` is a merge of this vocabulary."),
    (" the the", ["Ġthe", "Ġthe"], "Merges build on merges: Ġ t, h e, then Ġt he."),
    ("a'b'd", [*"a'b'd"], "Merges stay inside pre-tokens: cut the text by `pre_tokenise` first."),
    ("½ ab", ["Â½", "Ġ", "ab"], "The two bytes of ½ are merged, too."),
)
DECODED = (
    (["Ġthe", "Ġt", "he"], " the the", "Each symbol is one or more bytes; Ġ is the space."),
    (["Â", "½", "Â½"], "½½", "Join the bytes of all ids first, then decode them as UTF-8."),
    (["a", "Â"], "a\ufffd", 'Half a character is no error: decode with `errors="replace"`.'),
    (["a", "<eos>"], "a<eos>", "A special token is its own text."),
    (["<end of text>"], "<end of text>", "A special token is its own text, not byte symbols."),
    ([], "", "No ids, no text."),
)
task.stage(
    "bytes to ids",
    *(
        case(f"`encode({text!r})` without merges", text, (), expected=symbols)
        for text, symbols in WITHOUT.items()
    ),
    measure=encoded,
    hint="Each byte of the UTF-8 text has its symbol, and each symbol its id.",
)
task.stage(
    "merges, inside pre-tokens",
    *(
        case(f"`encode({text!r})` with the merges {MERGES}", text, expected=symbols, hint=hint)
        for text, symbols, hint in MERGED
    ),
    case(
        "`encode('2b')` and then `encode('a2b')` with the merge `a 2`",
        ["2b", "a2b"],
        [("a", "2")],
        expected=[["2", "b"], ["a", "2", "b"]],
        hint="Merges stay inside pre-tokens, and each text is encoded on its own.",
    ),
    measure=encoded,
)
task.stage(
    "special tokens",
    special("a<eos>", ["a", "<eos>"], "With `allow_special=True` it becomes one id."),
    special(
        "a<eos>",
        ["a", *"<eos>"],
        "What a user types is text: without `allow_special` no special token may come of it.",
        allowed=False,
    ),
    special("<end of text>", ["<end of text>"], "Look the special up in `vocabulary`."),
    special(" the<eos> the", ["Ġthe", "<eos>", "Ġthe"], "Between specials, text is text."),
    measure=encoded,
)
task.stage(
    "ids to text",
    *(
        case(f"`decode` of the ids of {symbols}", symbols, expected=text, hint=hint)
        for symbols, text, hint in DECODED
    ),
    measure=decoded,
)


@task.stage("a trained vocabulary, against the library")
def against_the_library(candidate):
    ours, library = vocabulary()
    merges = [(ours.strings[a], ours.strings[b]) for (a, b), _ in ours.merges]
    ids = {symbol: number for number, symbol in enumerate(ours.strings)}
    mine = candidate(ids, merges, list(bpe.SPECIALS))
    for text in (
        "trainers in the rain restrained a banana; isn't it naïve?  2½ m² 😀\n\tand  so on ",
        "<cls>the terrain<eos>नमस्ते 👩‍👩‍👧\u202e\x00<mask>",
    ):
        for allowed in (False, True):
            library.encode_special_tokens = not allowed
            right = library.encode(text).ids
            task.compare(
                mine.encode, f"`encode({text!r}, {allowed})`", text, allowed, expected=right
            )
            task.compare(mine.decode, f"`decode` of the ids of {text!r}", right, expected=text)


class Characters(Tokenizer):
    def ids_of(self, word):
        tokens = encode_pre_token([self.symbols[ord(c)] for c in word], self.merges)
        return [self.vocabulary[token] for token in tokens]


class OnlyBytes(Tokenizer):
    def ids_of(self, word):
        return [self.vocabulary[byte_symbols()[byte]] for byte in word.encode()]


class SymbolsJoined(Tokenizer):
    def decode(self, ids):
        symbol_of = {number: symbol for symbol, number in self.vocabulary.items()}
        return "".join(symbol_of[number] for number in ids)


task.mistakes(
    ("Encode to UTF-8 first: `ord` gives a character's number, not its bytes.", Characters),
    ("Are the merges used? This is one id for each byte.", OnlyBytes),
    ("A symbol is not yet text: Ġ stands for the space.", SymbolsJoined),
)

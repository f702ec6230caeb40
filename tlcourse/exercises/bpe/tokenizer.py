"""Lesson 01: the tokenizer, from text to ids and back."""

import random
from functools import cache

from tlcourse import bpe
from tlcourse.bpe import byte_symbols, pre_tokenise
from tlcourse.exercises.bpe.encode_pre_token import encode_pre_token, vocabulary
from tlcourse.exercises.bpe.split_specials import split_specials
from tlcourse.exercises.expect import expect_type
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

task = Exercise(
    __name__,
    number="1.7",
    title="The tokenizer",
    difficulty=3,
    importance=4,
    minutes=30,
    hints=(
        "For one pre-token, take its UTF-8 bytes, look up their symbols, call `encode_pre_token`, "
        "and look up the id of each resulting token.",
        "In `encode` with `allow_special`, the parts are `split_specials(text, self.specials)`, "
        "and a part that is a special token becomes one id. `pre_tokenise` cuts all other parts.",
        "In `decode`, invert `vocabulary` (id → symbol) and `self.symbols` (symbol → byte). "
        "Collect the bytes of all ids in one `bytearray`, and decode them once, at the end, with "
        '`errors="replace"`.',
    ),
    imports="import re\n\nimport regex\n\nfrom tlcourse.bpe import pre_tokenise",
    builds_on=("bpe.byte_symbols", "bpe.encode_pre_token", "bpe.split_specials"),
)


@task.reference
class Tokenizer:
    """Byte-level BPE, from text to ids and back."""

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


SPECIALS = ["<eos>", "[end of text]"]
MERGES = [("Ġ", "t"), ("h", "e"), ("Ġt", "he"), ("a", "b"), ("Â", "½"), ("a", "2")]


@cache
def id_of():
    """Returns a vocabulary with special tokens, whose ids are in no order."""
    symbols = [*SPECIALS, *byte_symbols().values(), *("".join(pair) for pair in MERGES)]
    return dict(
        zip(symbols, random.Random(varying(1)).sample(range(1000), len(symbols)), strict=True)
    )


def built(candidate, merges=MERGES):
    return candidate(dict(id_of()), list(merges), list(SPECIALS))


def encoded(candidate, text, merges, *allowed):
    """Returns the symbols of the ids into which the candidate encodes a text."""
    ids = built(candidate, merges).encode(text, *allowed)
    expect_type(ids, list, f"`encode({text!r})`", "Return a list of ids.")
    symbol_of = {number: symbol for symbol, number in id_of().items()}
    return [symbol_of.get(number, f"{number!r}, which is no id") for number in ids]


def decoded(candidate, symbols):
    """Returns the text into which the candidate decodes the ids of these symbols."""
    return built(candidate).decode([id_of()[symbol] for symbol in symbols])


def encodes(text, symbols, hint, merges=MERGES, allowed=()):
    what = f"`encode({', '.join(map(repr, [text, *allowed]))})` with the merges {merges}"
    return case(what, text, merges, *allowed, expected=symbols, hint=hint)


def decodes(symbols, text, hint):
    return case(f"`decode` of the ids of {symbols}", symbols, expected=text, hint=hint)


BYTES = "Encode the text as UTF-8 first. Each byte has a symbol, and each symbol an id."
LISTED = "Only what is in `specials` is special: in `vocabulary`, ¼ is the symbol of one byte."
TYPED = "What a user types is text, which without `allow_special` never becomes a special token."
task.stage(
    "bytes to ids",
    encodes("a b", ["a", "Ġ", "b"], BYTES, merges=[]),
    encodes("½", ["Â", "½"], BYTES, merges=[]),
    measure=encoded,
)
task.stage(
    "merges, inside pre-tokens",
    encodes(" the the", ["Ġthe"] * 2, "Merges build on merges: first Ġ t and h e, then Ġt he."),
    encodes("a2b", [*"a2b"], "No merge crosses two pre-tokens: cut with `pre_tokenise` first."),
    measure=encoded,
)
task.stage(
    "special tokens",
    encodes("a<eos>", ["a", "<eos>"], "With `allow_special` it becomes one id.", allowed=[True]),
    encodes("a<eos>", ["a", *"<eos>"], TYPED),
    encodes(SPECIALS[1], SPECIALS[1:], "Look its id up in `vocabulary`.", allowed=[True]),
    encodes("¼<eos>", ["Â", "¼", "<eos>"], LISTED, allowed=[True]),
    measure=encoded,
)
task.stage(
    "ids to text",
    decodes(["Ġthe", "he"], " thehe", "Each symbol stands for one or more bytes; Ġ is the space."),
    decodes(["Â", "½", "Â½"], "½½", "The character ½ is two bytes, Â and ½, in UTF-8."),
    decodes(["a", "Â"], "a\ufffd", 'Part of a character must not raise: use `errors="replace"`.'),
    decodes(["a", SPECIALS[1]], "a[end of text]", "A special token is its own text, not bytes."),
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
            what = f"`encode({text!r}, {allowed})`"
            task.compare(mine.encode, what, text, allowed, expected=right)
            task.compare(mine.decode, f"`decode` of the ids of {text!r}", right, expected=text)


class Characters(Tokenizer):
    def ids_of(self, word):
        symbols = [self.symbols[ord(character)] for character in word]
        return [self.vocabulary[token] for token in encode_pre_token(symbols, self.merges)]


class AlwaysSpecial(Tokenizer):
    def encode(self, text, allow_special=False):
        return super().encode(text, allow_special=True)


class IdById(Tokenizer):
    def decode(self, ids):
        return "".join(Tokenizer.decode(self, [number]) for number in ids)


task.mistakes(
    (
        "`ord` gives a character's number, not its bytes: loop over `word.encode('utf-8')`.",
        Characters,
    ),
    (
        "This code looks for special tokens although `allow_special` is False: pass the whole text "
        "to `pre_tokenise` then.",
        AlwaysSpecial,
    ),
    (
        "This code decodes each id alone, but the bytes of a character may be spread over several "
        "ids: join the bytes of all ids first.",
        IdById,
    ),
)

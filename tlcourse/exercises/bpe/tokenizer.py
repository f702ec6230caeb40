"""Lesson 01: the tokenizer, text to ids and back."""

from tlcourse import bpe
from tlcourse.bpe import byte_symbols, pre_tokenise
from tlcourse.exercises.bpe._vocabularies import MERGES, decoded, encoded, trained, twice
from tlcourse.exercises.bpe.encode_pre_token import encode_pre_token
from tlcourse.exercises.bpe.split_specials import split_specials
from tlcourse.exercises.expect import CheckFailed, short
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="1.7",
    title="The tokenizer",
    difficulty=3,
    minutes=30,
    hints=(
        "for one pre-token: its UTF-8 bytes, their symbols, `encode_pre_token`, and then the id of "
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


@task.right
class AllAtOnce(Tokenizer):
    def encode(self, text, allow_special=False):
        if allow_special:
            parts = split_specials(text, self.specials)
            each = [[self.vocabulary[p]] if p in self.specials else self.encode(p) for p in parts]
            return sum(each, [])
        words = [[self.symbols[b] for b in word.encode()] for word in pre_tokenise(text)]
        return [self.vocabulary[t] for word in words for t in encode_pre_token(word, self.merges)]

    def decode(self, ids):
        names, byte_of = list(self.vocabulary), {s: bytes([b]) for b, s in byte_symbols().items()}
        names.sort(key=self.vocabulary.get)
        table = dict(zip(sorted(self.vocabulary.values()), names, strict=True))
        found = (
            table[n].encode() if table[n] in self.specials else b"".join(map(byte_of.get, table[n]))
            for n in ids
        )
        return b"".join(found).decode(errors="replace")


@task.right
class ThroughTables(Tokenizer):
    def __init__(self, vocabulary, merges, specials):
        self.special_ids = {special: vocabulary[special] for special in specials}
        self.numbers, self.symbols = vocabulary, byte_symbols()
        self.pieces = {}
        self.learnt = [(pair, "".join(pair)) for pair in merges]
        byte_of = {symbol: byte for byte, symbol in self.symbols.items()}
        for symbol, number in vocabulary.items():
            plain = symbol in self.special_ids
            self.pieces[number] = symbol.encode() if plain else bytes(byte_of[c] for c in symbol)

    def encode(self, text, allow_special=False):
        ids, specials = [], list(self.special_ids) if allow_special else []
        for part in split_specials(text, specials):
            if part in specials:
                ids.append(self.special_ids[part])
                continue
            for word in pre_tokenise(part):
                tokens = encode_pre_token([self.symbols[b] for b in word.encode()], self.learnt)
                ids.extend(self.numbers[token] for token in tokens)
        return ids

    def decode(self, ids):
        return b"".join(self.pieces[number] for number in ids).decode("utf-8", "replace")


@task.stage("bytes to ids")
def bytes_to_ids(candidate):
    for text, right in (("ab", ["a", "b"]), ("a b", ["a", "Ġ", "b"]), ("½", ["Â", "½"]), ("", [])):
        task.observe(
            candidate, encoded, text, (), gives=right, what=f"`encode({text!r})` without merges",
            likely="Each byte of the UTF-8 text has its symbol, and each symbol its id.",
        )  # fmt: skip


@task.stage("merges, inside pre-tokens")
def merged(candidate):
    for text, right, likely in (
        ("he", ["he"], "`h e` is a merge of this vocabulary."),
        (" the the", ["Ġthe", "Ġthe"], "Merges build on merges: Ġ t, h e, then Ġt he."),
        (
            "a'b'd", ["a", "'", "b", "'", "d"],
            "Merges stay inside pre-tokens: cut the text by `pre_tokenise` first.",
        ),
        ("½ ab", ["Â½", "Ġ", "ab"], "The two bytes of ½ are merged, too."),
    ):  # fmt: skip
        what = f"`encode({text!r})` with the merges {MERGES}"
        task.observe(candidate, encoded, text, MERGES, gives=right, what=what, likely=likely)
    what = "`encode('2b')` and then `encode('a2b')` with the merge `a 2`"
    task.observe(candidate, twice, gives=[["2", "b"], ["a", "2", "b"]], what=what)


@task.stage("special tokens")
def special(candidate):
    for text, allowed, right, likely in (
        ("a<eos>", True, ["a", "<eos>"], "With `allow_special=True` it becomes one id."),
        (
            "a<eos>", False, ["a", *"<eos>"],
            "What a user types is text: without `allow_special` no special token may come of it.",
        ),
        ("<end of text>", True, ["<end of text>"], "Look the special up in `vocabulary`."),
        (" the<eos> the", True, ["Ġthe", "<eos>", "Ġthe"], "Between specials, text is text."),
    ):  # fmt: skip
        what = f"`encode({text!r}{', allow_special=True' if allowed else ''})`"
        task.observe(
            candidate, encoded, text, MERGES, allowed, gives=right, what=what, likely=likely
        )


@task.stage("ids to text")
def back(candidate):
    for symbols, right, likely in (
        (["Ġthe", "Ġt", "he"], " the the", "Each symbol is one or more bytes; Ġ is the space."),
        (["Â", "½", "Â½"], "½½", "Join the bytes of all ids first, then decode them as UTF-8."),
        (["a", "Â"], "a\ufffd", 'Half a character is no error: decode with `errors="replace"`.'),
        (["a", "<eos>"], "a<eos>", "A special token is its own text."),
        (["<end of text>"], "<end of text>", "A special token is its own text, not byte symbols."),
        ([], "", "No ids, no text."),
    ):
        what = f"`decode` of the ids of {symbols}"
        task.observe(candidate, decoded, symbols, gives=right, what=what, likely=likely)


@task.stage("a trained vocabulary, against the library")
def against_the_library(candidate):
    ours, library = trained()
    merges = [(ours.strings[a], ours.strings[b]) for (a, b), _ in ours.merges]
    ids = {symbol: number for number, symbol in enumerate(ours.strings)}
    mine = candidate(ids, merges, list(bpe.SPECIALS))
    for text in (
        "trainers in the rain restrained a banana; isn't it naïve?  2½ m² 😀\n\tand  so on ",
        "<cls>the terrain<eos>नमस्ते 👩‍👩‍👧\u202e\x00<mask>",
    ):
        for allowed in (False, True):
            library.encode_special_tokens = not allowed
            got, right = mine.encode(text, allow_special=allowed), library.encode(text).ids
            if got != right:
                raise CheckFailed(f"`encode({text!r}, {allowed})` gave {short(got)}; expected {right}.")
            if mine.decode(got) != text:
                raise CheckFailed(f"the ids of {text!r} came back as {mine.decode(got)!r}.")


@task.mistake(
    "bytes to ids", "Encode to UTF-8 first: `ord` gives a character's number, not its bytes."
)
class Characters(Tokenizer):
    def ids_of(self, word):
        tokens = encode_pre_token([self.symbols[ord(c)] for c in word], self.merges)
        return [self.vocabulary[token] for token in tokens]


@task.mistake("bytes to ids", "expected ids: numbers that `vocabulary` gives")
class Symbols(Tokenizer):
    def ids_of(self, word):
        return encode_pre_token([byte_symbols()[b] for b in word.encode()], self.merges)


@task.mistake("merges, inside pre-tokens", "Merges stay inside pre-tokens")
class Uncut(Tokenizer):
    def encode(self, text, allow_special=False):
        return self.ids_of(text)


@task.mistake("merges, inside pre-tokens", "Are the merges used? This is one id for each byte.")
class OnlyBytes(Tokenizer):
    def ids_of(self, word):
        return [self.vocabulary[byte_symbols()[byte]] for byte in word.encode()]


@task.mistake(
    "special tokens",
    "What a user types is text: without `allow_special` no special token may come of it.",
)
class ObeysTheUser(Tokenizer):
    def encode(self, text, allow_special=False):
        return super().encode(text, allow_special=True)


@task.mistake("special tokens", "With `allow_special=True` it becomes one id.")
class KnowsNoSpecials(Tokenizer):
    def encode(self, text, allow_special=False):
        return super().encode(text)


@task.mistake("ids to text", "Join the bytes of all ids first, then decode them as UTF-8.")
class EachAlone(Tokenizer):
    def decode(self, ids):
        return "".join(super(EachAlone, self).decode([number]) for number in ids)


@task.mistake("ids to text", 'Half a character is no error: decode with `errors="replace"`.')
class Strict(Tokenizer):
    def decode(self, ids):
        symbol_of = {number: symbol for symbol, number in self.vocabulary.items()}
        byte_of = {symbol: byte for byte, symbol in byte_symbols().items()}
        return bytes(byte_of[c] for number in ids for c in symbol_of[number]).decode("utf-8")


@task.mistake("ids to text", "A symbol is not yet text: Ġ stands for the space.")
class SymbolsJoined(Tokenizer):
    def decode(self, ids):
        symbol_of = {number: symbol for symbol, number in self.vocabulary.items()}
        return "".join(symbol_of[number] for number in ids)

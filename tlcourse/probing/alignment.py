"""Which tokens a word is made of: the words of a text, and a tokenizer that cuts it elsewhere.

A treebank cuts "don't" into "do" and "n't", a tokenizer perhaps into " don" and "'t". The two are
brought together by the characters they cover: every token that shares a character with a word
belongs to it. So a token may belong to two words, and always belongs to all it covers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tokenizers import Tokenizer as Tokenizers

from tlcourse.bpe import EOS, LibraryTokenizer, Tokenizer, normalise

Spans = Sequence[tuple[int, int]]  # [first, last + 1) of each, in order
Words = Sequence[str] | tuple[str, Spans]  # words, or a text and where its words are in it


@dataclass(frozen=True)
class Aligned:
    """A sentence as a model reads it, and where its words are in that.

    `spans` has for each word the places [first, last + 1) of its tokens in `tokens`.
    """

    tokens: list[int]
    spans: list[tuple[int, int]]


def align(
    tokenizer: Any,
    sentences: Sequence[Words],
    *,
    space_after: Sequence[Sequence[bool]] | None = None,
) -> list[Aligned]:
    """The ids of each sentence, and each word's place in them.

    A sentence is a list of words, written with a space after each, or where `space_after` says so;
    or a tuple of its text and the characters [first, last + 1) of each word in it. Our `Tokenizer`
    gets the text in the normaliser's form and after `<eos>`, as in pretraining; that of a released
    model, a fast tokenizer of `transformers`, or one of the `tokenizers` library, gets it as it is
    and adds its own specials.
    Raises ValueError that names the sentence: for one without words, a word without a sign, flags
    that are not one a word, a word that the tokenizer drops.
    """
    if space_after is not None and len(space_after) != len(sentences):
        raise ValueError(
            f"expected a list of flags for each of {len(sentences)} sentences, got "
            f"{len(space_after)}"
        )
    ours = isinstance(tokenizer, Tokenizer)
    library = _library(tokenizer)
    placed = []
    for number, words in enumerate(sentences):
        try:
            text, spans = _placed(words, None if space_after is None else space_after[number])
        except ValueError as error:
            raise ValueError(f"sentence {number}: {error}") from None
        placed.append(normalised(text, spans) if ours else (text, spans))
    aligned = []
    for number, encoding in enumerate(library.encode_batch([text for text, _ in placed])):
        special = encoding.special_tokens_mask
        offsets = [(0, 0) if special[i] else pair for i, pair in enumerate(encoding.offsets)]
        tokens = list(encoding.ids)
        if ours:
            tokens, offsets = [EOS, *tokens], [(0, 0), *offsets]
        text, spans = placed[number]
        aligned.append(Aligned(tokens, covering(offsets, spans)))
        if (0, 0) in aligned[-1].spans:
            first, end = spans[aligned[-1].spans.index((0, 0))]
            raise ValueError(
                f"sentence {number}: expected a token for each word, but the tokenizer drops "
                f"{text[first:end]!r}; leave the word out, or the sentence"
            )
    return aligned


def written(
    words: Sequence[str], space_after: Sequence[bool] | None = None
) -> tuple[str, list[tuple[int, int]]]:
    """The text of a sentence of words, and the characters [first, last + 1) of each in it."""
    text, spans = "", []
    for word, space in zip(words, space_after or [True] * len(words), strict=True):
        spans.append((len(text), len(text) + len(word)))
        text += word + " " * bool(space)
    return text, spans


def normalised(text: str, spans: Spans) -> tuple[str, list[tuple[int, int]]]:
    """A text in the normaliser's form, and where its words are in that.

    The form may have more or fewer characters ("…" becomes "...", an accent joins its letter), so a
    place in it is the length of the form of everything before. A word that melts into the one
    before, a lone accent, shares that one's last character.
    """
    form, found = normalise(text), []
    for first, end in spans:
        first, end = (len(normalise(text[:place])) for place in (first, end))
        while first < end and form[first].isspace():
            first += 1
        found.append((min(first, end - 1), end))
    return form, found


def covering(tokens: Spans, words: Spans) -> list[tuple[int, int]]:
    """For each word the places [first, last + 1) of the tokens that share a character with it.

    Both are characters [first, last + 1) of the text, in order; (0, 0) is a token of no text, and
    in the answer a word without a token.
    """
    found, start = [], 0
    for first, end in words:
        while start < len(tokens) and tokens[start][1] <= first:
            start += 1
        stop = start
        while stop < len(tokens) and tokens[stop][0] < end and tokens[stop] != (0, 0):
            stop += 1
        found.append((start, stop) if stop > start else (0, 0))
    return found


def _placed(words: Words, spaces: Sequence[bool] | None) -> tuple[str, Spans]:
    """The text and spans of a sentence, checked."""
    if isinstance(words, tuple) and len(words) == 2 and not isinstance(words[1], str):
        if spaces is not None:
            raise ValueError("expected no flags beside a text and its spans")
        text, spans = words
        words = [text[first:end] for first, end in spans]
    else:
        if spaces is not None and len(spaces) != len(words):
            raise ValueError(
                f"expected a flag for each of its {len(words)} words, got {len(spaces)}"
            )
        text, spans = written(words, spaces) if not isinstance(words, str) else (words, [])
    if not spans:
        raise ValueError(f"expected a list of at least one word, got {words!r}")
    blank = [word for word in words if not word.split()]
    if blank:
        raise ValueError(f"expected words with a sign in them, got {blank[0]!r}")
    return text, spans


def _library(tokenizer: Any) -> Any:
    if isinstance(tokenizer, Tokenizer | LibraryTokenizer):
        return tokenizer.to_library()
    library = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not hasattr(library, "encode_batch"):
        raise ValueError(
            "expected a tokenizer of tlcourse.bpe, of the tokenizers library, or a fast one of "
            f"transformers, got a {type(tokenizer).__name__}"
        )
    library = Tokenizers.from_str(library.to_str())  # the caller's keeps its settings
    library.no_truncation()
    library.no_padding()
    return library

"""Aligning the words of a text with the tokens of a tokenizer that splits it differently.

A treebank splits "don't" into "do" and "n't", a tokenizer perhaps into " don" and "'t". They are
aligned by characters: every token that shares a character with a word belongs to the word. So a
token that overlaps two words belongs to both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tokenizers import Tokenizer as Tokenizers

from tlcourse.bpe import EOS, LibraryTokenizer, Tokenizer, normalise

Spans = Sequence[tuple[int, int]]  # [first, last + 1) of each word or token, in order
Words = Sequence[str] | tuple[str, Spans]  # words, or a text and the spans of its words


@dataclass(frozen=True)
class Aligned:
    """The ids of a sentence, and for each word the positions [first, last + 1) of its tokens."""

    tokens: list[int]
    spans: list[tuple[int, int]]


def align(
    tokenizer: Any,
    sentences: Sequence[Words],
    *,
    space_after: Sequence[Sequence[bool]] | None = None,
) -> list[Aligned]:
    """The ids of each sentence, and the positions of each word's tokens among them.

    A sentence is a list of words, joined with a space after each word (or after those for which
    `space_after` is True), or a tuple of its text and the characters [first, last + 1) of each
    word. Our `Tokenizer` gets the normalised text after `<eos>`, as in pretraining; the tokenizer
    of a released model, a fast tokenizer of `transformers` or one of the `tokenizers` library gets
    the text unchanged and adds its own special tokens.

    Raises ValueError, with the number of the sentence, if it has no words, a blank word, another
    number of flags than words, or a word that the tokenizer drops.
    """
    if space_after is not None and len(space_after) != len(sentences):
        raise ValueError(
            f"expected a list of flags for each of {len(sentences)} sentences, got "
            f"{len(space_after)}"
        )
    ours = isinstance(tokenizer, Tokenizer)
    library = _library(tokenizer)
    texts = []
    for number, words in enumerate(sentences):
        try:
            text, spans = _checked(words, None if space_after is None else space_after[number])
        except ValueError as error:
            raise ValueError(f"sentence {number}: {error}") from None
        texts.append(normalised(text, spans) if ours else (text, spans))
    aligned = []
    for number, encoding in enumerate(library.encode_batch([text for text, _ in texts])):
        special = encoding.special_tokens_mask
        offsets = [(0, 0) if special[i] else pair for i, pair in enumerate(encoding.offsets)]
        tokens = list(encoding.ids)
        if ours:
            tokens, offsets = [EOS, *tokens], [(0, 0), *offsets]
        text, spans = texts[number]
        aligned.append(Aligned(tokens, covering(offsets, spans)))
        if (0, 0) in aligned[-1].spans:
            first, end = spans[aligned[-1].spans.index((0, 0))]
            raise ValueError(
                f"sentence {number}: expected a token for each word, but the tokenizer drops "
                f"{text[first:end]!r}; leave out the word or the sentence"
            )
    return aligned


def written(
    words: Sequence[str], space_after: Sequence[bool] | None = None
) -> tuple[str, list[tuple[int, int]]]:
    """The text of a sentence, and the characters [first, last + 1) of each of its words."""
    text, spans = "", []
    for word, space in zip(words, space_after or [True] * len(words), strict=True):
        spans.append((len(text), len(text) + len(word)))
        text += word + " " * bool(space)
    return text, spans


def normalised(text: str, spans: Spans) -> tuple[str, list[tuple[int, int]]]:
    """The normalised text, and the characters [first, last + 1) of its words in it.

    Normalisation may change the number of characters ("…" becomes "...", an accent is merged with
    its letter), so a position is the length of everything before it, normalised. A word that is
    merged into the word before, such as a lone accent, shares the last character of that word.
    """
    form, new_spans = normalise(text), []
    for first, end in spans:
        first, end = (len(normalise(text[:boundary])) for boundary in (first, end))
        while first < end and form[first].isspace():
            first += 1
        new_spans.append((min(first, end - 1), end))
    return form, new_spans


def covering(tokens: Spans, words: Spans) -> list[tuple[int, int]]:
    """For each word, the positions [first, last + 1) of the tokens that share a character with it.

    `tokens` and `words` are characters [first, last + 1) of the text, in order. A special token is
    (0, 0); a word without a token gets (0, 0).
    """
    positions, start = [], 0
    for first, end in words:
        while start < len(tokens) and tokens[start][1] <= first:
            start += 1
        stop = start
        while stop < len(tokens) and tokens[stop][0] < end and tokens[stop] != (0, 0):
            stop += 1
        positions.append((start, stop) if stop > start else (0, 0))
    return positions


def _checked(words: Words, spaces: Sequence[bool] | None) -> tuple[str, Spans]:
    """The text and spans of a sentence; raises ValueError for what `align` refuses."""
    if isinstance(words, tuple) and len(words) == 2 and not isinstance(words[1], str):
        if spaces is not None:
            raise ValueError("expected no flags for a text with spans, got some; leave them out")
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
        raise ValueError(f"expected words with a visible character, got {blank[0]!r}")
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
    library = Tokenizers.from_str(library.to_str())  # a copy: the caller's keeps its settings
    library.no_truncation()
    library.no_padding()
    return library

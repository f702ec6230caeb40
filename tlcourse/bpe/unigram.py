"""Training a Unigram vocabulary (Kudo, 2018) with the `tokenizers` library and suitable seeds."""

import json
from collections.abc import Iterable, Iterator

import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

from tlcourse.bpe.text import SPECIALS, UNK, base_symbols, byte_symbols, pre_tokenise

_AGAIN, _FIRST = "\0", "\x01"  # marks after a pre-token; neither is the symbol of a byte
_SPARE = 0.15  # share of additional entries, to make up for those that contain _FIRST


def _marked(texts: Iterable[str]) -> Iterator[str]:
    """Each text in byte symbols, with a mark after each of its pre-tokens.

    The library's trainer takes as seeds the strings that are followed by at least two different
    characters, and leaves out those that contain "\\0". With a pre-tokenizer it sees each distinct
    pre-token once, so ` and` is no seed if nothing ever follows it, and neither is ` ,`. In running
    text, where the first copy of a pre-token has another mark than later copies, every pre-token
    that occurs twice is a seed, and seeds are ranked by their frequency in the text.
    """
    symbols, seen = byte_symbols(), set()
    for text in texts:
        marked = ""
        for pre_token in pre_tokenise(text):
            marked += "".join(symbols[byte] for byte in pre_token.encode("utf-8"))
            marked += _AGAIN if pre_token in seen else _FIRST
            seen.add(pre_token)
        yield marked


def _scores(texts: Iterable[str], entries: int) -> dict[str, float]:
    """The log-probabilities learnt by the library from marked texts, bytes and marks included."""
    trainer = trainers.UnigramTrainer(
        vocab_size=entries,
        special_tokens=list(SPECIALS),
        unk_token=SPECIALS[UNK],
        initial_alphabet=[*byte_symbols().values(), _AGAIN, _FIRST],
        show_progress=False,
    )
    trained = tokenizers.Tokenizer(models.Unigram())
    trained.train_from_iterator(_marked(texts), trainer)
    scores = dict(json.loads(trained.to_str())["model"]["vocab"])
    if None in scores.values():
        raise ValueError("expected texts to learn from, got none, or only empty ones")
    return scores


def train_unigram(texts: Iterable[str], vocabulary_size: int) -> tokenizers.Tokenizer:
    """Learns a Unigram vocabulary of `vocabulary_size` entries, specials and bytes included.

    A small text may give fewer entries. The first 262 ids are those of `Tokenizer`, so decoding
    restores any string; a special token spelled out in a text is read as ordinary characters.
    Raises TypeError for a single string, and ValueError for fewer than 262 entries or no text.
    """
    base = base_symbols()
    if isinstance(texts, str):
        raise TypeError("expected a list (or any iterable) of texts, got one string; write [text]")
    if vocabulary_size < len(base):
        raise ValueError(
            f"expected a vocabulary of at least {len(base)} entries "
            f"({len(SPECIALS)} specials and 256 bytes), got {vocabulary_size}"
        )
    scores = _scores(texts, vocabulary_size + int(_SPARE * vocabulary_size))
    longer = [s for s in scores if s not in base and _AGAIN not in s and _FIRST not in s]
    longer.sort(key=scores.__getitem__, reverse=True)
    kept = [*base, *longer[: vocabulary_size - len(base)]]
    library = tokenizers.Tokenizer(models.Unigram([(s, scores[s]) for s in kept], unk_id=UNK))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    library.add_special_tokens(list(SPECIALS))
    library.encode_special_tokens = True
    return library

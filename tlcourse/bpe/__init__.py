"""Byte-pair encoding from scratch: text to pre-tokens to bytes to merges.

    from tlcourse.bpe import Tokenizer, normalise

    tokenizer = Tokenizer.train(texts, vocabulary_size=700)
    ids = tokenizer.encode(normalise("Who wrote it?"))
    tokenizer.tokens(ids), tokenizer.decode(ids)
    tokenizer.save("tokenizer.json")        # the format of the library `tokenizers`
    Tokenizer.load("tokenizer.json")

`train_textbook`, `train_counted` and `train` are the same trainer, each quicker than the one
before; `train_unigram` is the other way to a vocabulary.
"""

from tlcourse.bpe.text import (
    SPECIALS,
    base_symbols,
    byte_ids,
    byte_symbols,
    detokenise,
    normalise,
    pre_tokenise,
    to_ids,
)
from tlcourse.bpe.tokenizer import Tokenizer
from tlcourse.bpe.trainers import (
    count_words,
    merge_pair,
    train,
    train_counted,
    train_textbook,
)
from tlcourse.bpe.unigram import train_unigram

__all__ = [
    "SPECIALS",
    "Tokenizer",
    "base_symbols",
    "byte_ids",
    "byte_symbols",
    "count_words",
    "detokenise",
    "merge_pair",
    "normalise",
    "pre_tokenise",
    "to_ids",
    "train",
    "train_counted",
    "train_textbook",
    "train_unigram",
]

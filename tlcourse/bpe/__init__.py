"""Byte-pair encoding from scratch: text to pre-tokens to bytes to merges.

    from tlcourse.bpe import EOS, Tokenizer, normalise

    tokenizer = Tokenizer.train(["the rain on the trains", "in the rain"], vocabulary_size=270)
    ids = [*tokenizer.encode(normalise("The train — in the “rain”.")), EOS]
    tokenizer.decode(ids)                       # ' The train - in the "rain".<eos>'
    tokenizer.save("tokenizer.json")            # in the format of the `tokenizers` library
    Tokenizer.load("tokenizer.json")

`train_naive`, `train_counted` and `train` learn the same merges, each faster than the one before;
`train_unigram` learns a Unigram vocabulary. PAD, UNK, CLS, SEP, MASK and EOS are the ids of the
SPECIALS, the same in every vocabulary. `LibraryTokenizer` is the tokenizer of a released model,
with the same methods; `load_tokenizer` reads either.
"""

from tlcourse.bpe.frame import Frame
from tlcourse.bpe.library import LibraryTokenizer, load_tokenizer
from tlcourse.bpe.text import (
    CLS,
    EOS,
    MASK,
    PAD,
    SEP,
    SPECIALS,
    UNK,
    base_symbols,
    byte_ids,
    byte_symbols,
    detokenise,
    normalise,
    pre_tokenise,
    to_ids,
)
from tlcourse.bpe.tokenizer import Tokenizer
from tlcourse.bpe.trainers import count_words, merge_pair, train, train_counted, train_naive
from tlcourse.bpe.unigram import train_unigram

__all__ = [
    "CLS",
    "EOS",
    "MASK",
    "PAD",
    "SEP",
    "SPECIALS",
    "UNK",
    "Frame",
    "LibraryTokenizer",
    "Tokenizer",
    "base_symbols",
    "byte_ids",
    "byte_symbols",
    "count_words",
    "detokenise",
    "load_tokenizer",
    "merge_pair",
    "normalise",
    "pre_tokenise",
    "to_ids",
    "train",
    "train_counted",
    "train_naive",
    "train_unigram",
]

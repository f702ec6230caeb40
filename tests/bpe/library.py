"""The `tokenizers` library as ground truth, fed the same pre-tokens as our trainers."""

import json
from collections.abc import Sequence

import tokenizers
from tokenizers import models, pre_tokenizers, trainers

from tlcourse import files
from tlcourse.bpe import SPECIALS, Tokenizer


def sample_lines() -> list[str]:
    """The bundled encyclopaedic prose, 29 kB, line by line."""
    path = files.bundled("data/samples/wikitext/wiki.train.tokens")
    return path.read_text(encoding="utf-8").splitlines(keepends=True)


def trained(texts: Sequence[str], vocabulary_size: int, cut: bool = True) -> tokenizers.Tokenizer:
    """A vocabulary trained by the library; `cut=False` takes each text as one pre-token."""
    library = tokenizers.Tokenizer(models.BPE())
    if cut:
        library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary_size,
        special_tokens=list(SPECIALS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    library.train_from_iterator(texts, trainer)
    return library


def merges_of(tokenizer: Tokenizer) -> list[tuple[str, str]]:
    """Our merges as the strings that a `tokenizer.json` spells them with."""
    return [(tokenizer.strings[a], tokenizer.strings[b]) for (a, b), _ in tokenizer.merges]


def assert_same(tokenizer: Tokenizer, library: tokenizers.Tokenizer) -> None:
    """Every merge in the same order, every string with the same id."""
    model = json.loads(library.to_str())["model"]
    assert merges_of(tokenizer) == [tuple(pair) for pair in model["merges"]]
    assert model["vocab"] == {string: i for i, string in enumerate(tokenizer.strings)}

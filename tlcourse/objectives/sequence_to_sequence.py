"""Objectives of an encoder-decoder: the encoder reads a corrupted text, the decoder restores it."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

import torch
from torch import Generator, Tensor
from torch.nn.utils.rnn import pad_sequence

from tlcourse.bpe import EOS, MASK, PAD
from tlcourse.objectives import corruption
from tlcourse.objectives.losses import sequence_to_sequence_loss
from tlcourse.objectives.objective import Batch
from tlcourse.transformer import Config, EncoderDecoder, Transformer

NOISES = ("masking", "deletion", "infilling", "permutation", "rotation", "shuffle")


class _SequenceToSequence:
    """What all these objectives share: the model, its loss, and its encoder as the body."""

    extra: ClassVar[int] = 0

    def model(self, config: Config, attention: str = "sdpa") -> EncoderDecoder:
        """Returns an encoder and a decoder, both of the shape `config`."""
        return EncoderDecoder(config, attention)

    def loss(self, model: EncoderDecoder, batch: Batch) -> tuple[Tensor, int]:
        """Returns `sequence_to_sequence_loss` of (source, target)."""
        return sequence_to_sequence_loss(model, *batch)

    def body(self, model: EncoderDecoder) -> Transformer:
        """Returns the encoder."""
        return model.encoder


@dataclass(frozen=True)
class SpanCorruption(_SequenceToSequence):
    """The objective of T5: write the hidden spans (`corrupt_spans`); an `Objective`.

    A batch is the sources and the targets; targets start with `<eos>`, which is not predicted. The
    model has `sentinels` more ids than the tokenizer. The defaults are those of Raffel et al.
    (2020): 15 % of the tokens, in spans of 3 tokens on average, and 100 sentinels.
    """

    probability: float = 0.15
    mean_length: float = 3.0
    sentinels: int = 100

    def model(self, config: Config, attention: str = "sdpa") -> EncoderDecoder:
        """Returns an encoder-decoder that has the sentinels after the ids of `config`."""
        ids = config.vocabulary_size + self.sentinels
        return EncoderDecoder(replace(config, vocabulary_size=ids), attention)

    def batch(self, tokens: Tensor, generator: Generator, vocabulary_size: int) -> Batch:
        """Returns (source, target), both without padding.

        Raises ValueError for windows so long that they need more sentinels than there are.
        """
        _, spans = corruption.span_counts(
            tokens.shape[1], probability=self.probability, mean_length=self.mean_length
        )
        if spans >= self.sentinels:
            raise ValueError(
                f"expected at least {spans + 1} sentinels for {tokens.shape[1]} tokens, got "
                f"{self.sentinels}; use more sentinels or shorter windows"
            )
        source, target = corruption.corrupt_spans(
            tokens,
            generator,
            vocabulary_size,
            probability=self.probability,
            mean_length=self.mean_length,
        )
        return source, _after(EOS, target)


@dataclass(frozen=True)
class Denoising(_SequenceToSequence):
    """Write the whole text, given a copy with noise: an `Objective`.

    `noises` are names out of NOISES, applied in that order. `probability` is the share of tokens
    that masking, deletion and infilling change. "permutation" needs `ends_sentence`, which says for
    each id of the vocabulary whether it ends a sentence (`sentence_ends`). A batch is the sources,
    padded at the end, and the targets, which start with `<eos>`. `bart` and
    `denoising_autoencoder` return the choices of two papers.
    """

    sentinels: ClassVar[int] = 0
    noises: tuple[str, ...] = ("infilling",)
    probability: float = 0.3
    ends_sentence: tuple[bool, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        for noise in self.noises:
            if noise not in NOISES:
                raise ValueError(f"expected a noise out of {', '.join(NOISES)}, got {noise!r}")
        if "permutation" in self.noises and not self.ends_sentence:
            raise ValueError(
                "expected ends_sentence, because permutation needs to know where sentences end, "
                "got none; make it with sentence_ends(tokenizer)"
            )

    def batch(self, tokens: Tensor, generator: Generator, vocabulary_size: int) -> Batch:
        """Returns (source, target)."""
        rate, ends = self.probability, torch.tensor(self.ends_sentence)
        functions: dict[str, Callable[[Tensor, Generator], Tensor]] = {
            "masking": partial(corruption.hide_tokens, probability=rate),
            "deletion": partial(corruption.delete_tokens, probability=rate),
            "infilling": partial(corruption.infill, probability=rate),
            "permutation": partial(corruption.permute_sentences, ends_sentence=ends),
            "rotation": corruption.rotate_text,
            "shuffle": corruption.shuffle_locally,
        }
        sources = []
        for row in tokens:
            for noise in self.noises:
                row = functions[noise](row, generator)
            sources.append(row)
        return pad_sequence(sources, batch_first=True, padding_value=PAD), _after(EOS, tokens)


def bart(ends_sentence: tuple[bool, ...]) -> Denoising:
    """BART's choice: sentences in random order, then spans of 30 % of the tokens (Lewis et al.,
    2020, section 5.1).
    """
    return Denoising(("permutation", "infilling"), 0.3, ends_sentence)


def denoising_autoencoder() -> Denoising:
    """Word dropout of 10 %, then a local shuffle (Hill et al., 2016; Lample et al., 2018)."""
    return Denoising(("deletion", "shuffle"), 0.1)


@dataclass(frozen=True)
class MASS(_SequenceToSequence):
    """Write the contiguous half of the text that the encoder does not see: an `Objective`.

    A batch is the sources (batch, length) and the targets, the hidden half after a `<mask>`. The
    decoder sees only the hidden half, as in Song et al. (2019), but not at which positions it is;
    the masks in the source tell it.
    """

    sentinels: ClassVar[int] = 0

    def batch(self, tokens: Tensor, generator: Generator, vocabulary_size: int) -> Batch:
        """Returns (source, target)."""
        source, chosen = corruption.mask_half(tokens, generator, vocabulary_size)
        return source, _after(MASK, tokens[chosen].view(len(tokens), -1))


def _after(start: int, tokens: Tensor) -> Tensor:
    """The rows with the id `start` before them."""
    return torch.cat([torch.full((len(tokens), 1), start), tokens], dim=1)

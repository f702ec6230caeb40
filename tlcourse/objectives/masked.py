"""Masked-token prediction: hidden tokens are predicted from both sides; four choices of masks."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import torch
from torch import Generator, Tensor

from tlcourse.objectives import corruption
from tlcourse.objectives.losses import masked_loss
from tlcourse.objectives.objective import Batch
from tlcourse.transformer import Config, Transformer


@dataclass(frozen=True)
class Masked:
    """The objective of BERT and RoBERTa, with new masks for each batch: an `Objective`.

    A batch is the corrupted tokens, the tokens, and which positions to predict, each (batch,
    length). `probability` is that of a token to be chosen (Devlin et al., 2019; Liu et al., 2019).
    """

    probability: float = 0.15
    extra: ClassVar[int] = 0
    sentinels: ClassVar[int] = 0

    def model(self, config: Config, attention: str = "sdpa") -> Transformer:
        """Returns a bidirectional Transformer."""
        return Transformer(replace(config, causal=False), attention)

    def batch(self, tokens: Tensor, generator: Generator, vocabulary_size: int) -> Batch:
        """Returns (corrupted, tokens, chosen), see `mask_tokens`."""
        corrupted, chosen = corruption.mask_tokens(
            tokens, generator, vocabulary_size, probability=self.probability
        )
        return corrupted, tokens, chosen

    def loss(self, model: Transformer, batch: Batch) -> tuple[Tensor, int]:
        """Returns `masked_loss` over the chosen positions."""
        corrupted, tokens, chosen = batch
        return masked_loss(model, corrupted, tokens, chosen=chosen)

    def body(self, model: Transformer) -> Transformer:
        """Returns the model."""
        return model


@dataclass(frozen=True)
class StaticMasked(Masked):
    """`Masked`, but a window that comes back has the same masks again (`static_masks`).

    It differs from `Masked` only if windows come back. `TokenFile.windows` starts each epoch at a
    new offset, so its windows hardly ever do.
    """

    seed: int = 0

    def batch(self, tokens: Tensor, generator: Generator, vocabulary_size: int) -> Batch:
        """Returns (corrupted, tokens, chosen); the generator is not used."""
        corrupted, chosen = corruption.static_masks(
            tokens, vocabulary_size, probability=self.probability, seed=self.seed
        )
        return corrupted, tokens, chosen


@dataclass(frozen=True)
class WholeWordMasked(Masked):
    """`Masked`, but all tokens of a word are hidden together (`mask_words`).

    `begins_word` says for each id of the vocabulary whether it begins a word (`word_starts`).
    """

    begins_word: tuple[bool, ...] = field(default=(), repr=False)

    def batch(self, tokens: Tensor, generator: Generator, vocabulary_size: int) -> Batch:
        """Returns (corrupted, tokens, chosen).

        Raises ValueError if `begins_word` is not about the vocabulary.
        """
        if len(self.begins_word) != vocabulary_size:
            raise ValueError(
                f"expected begins_word for {vocabulary_size} ids, got {len(self.begins_word)}; "
                "make it with word_starts(tokenizer)"
            )
        corrupted, chosen = corruption.mask_words(
            tokens, generator, torch.tensor(self.begins_word), probability=self.probability
        )
        return corrupted, tokens, chosen


@dataclass(frozen=True)
class SpanMasked(Masked):
    """`Masked`, but spans of tokens are hidden (`mask_spans`): SpanBERT without its second loss.

    Joshi et al. (2020) also predict each token of a span from the two tokens around the span.
    """

    def batch(self, tokens: Tensor, generator: Generator, vocabulary_size: int) -> Batch:
        """Returns (corrupted, tokens, chosen)."""
        corrupted, chosen = corruption.mask_spans(
            tokens, generator, vocabulary_size, probability=self.probability
        )
        return corrupted, tokens, chosen

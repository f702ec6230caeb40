"""The bidirectional language model: every token is predicted from its left, and from its right."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Generator, Tensor

from tlcourse.objectives.losses import language_model_loss
from tlcourse.objectives.objective import Batch
from tlcourse.recurrent import BiLSTM, BiLSTMConfig
from tlcourse.transformer import Config


@dataclass(frozen=True)
class BidirectionalLM:
    """The objective of ELMo (Peters et al., 2018): an `Objective`.

    A batch is the windows (batch, length + 1). All tokens but the first are targets of the forward
    model, and all but the last are targets of the backward model.
    """

    extra: ClassVar[int] = 1
    sentinels: ClassVar[int] = 0

    def model(self, config: Config, attention: str = "sdpa") -> BiLSTM:
        """Returns a `BiLSTM`, which has no attention; its units are half of the width.

        It takes the fields of `config` that it knows: vocabulary, width, layers, maximal length and
        dropout. For other sizes, use `BiLSTM(BiLSTMConfig(...))`.
        """
        shape = BiLSTMConfig(
            config.vocabulary_size,
            config.width,
            units=(config.width // 2,) * config.layers,
            max_length=config.max_length,
            dropout=config.dropout,
        )
        return BiLSTM(shape)

    def batch(self, tokens: Tensor, generator: Generator, vocabulary_size: int) -> Batch:
        """Returns the windows (batch, length + 1) as they are."""
        return (tokens,)

    def loss(self, model: BiLSTM, batch: Batch) -> tuple[Tensor, int]:
        """Returns the nats of the windows and of the mirrored windows, and how many tokens.

        Tokens outside the vocabulary, which a `CharacterEmbedding` can read, are predicted as 0,
        the unknown word.
        """
        (tokens,) = batch
        known = tokens.where(tokens < model.config.vocabulary_size, 0)
        nats = torch.zeros((), device=tokens.device)
        for lm, read, due in (
            (model.forward_lm, tokens, known),
            (model.backward_lm, tokens.flip(1), known.flip(1)),
        ):
            hidden = lm.hidden(read[:, :-1]).flatten(0, 1)
            nats = nats + language_model_loss(lm, hidden, due[:, 1:].flatten())
        return nats, 2 * known[:, 1:].numel()

    def body(self, model: BiLSTM) -> BiLSTM:
        """Returns the model."""
        return model

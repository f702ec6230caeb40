"""The bidirectional language model: every token is predicted from its left, and from its right."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Generator, Tensor

from tlcourse.objectives.losses import causal_loss
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
        """Returns the sum of `causal_loss` over the windows and over the mirrored windows."""
        (tokens,) = batch
        nats, targets = causal_loss(model.forward_lm, tokens)
        others, count = causal_loss(model.backward_lm, tokens.flip(1))
        return nats + others, targets + count

    def body(self, model: BiLSTM) -> BiLSTM:
        """Returns the model."""
        return model

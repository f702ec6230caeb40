"""Next-token prediction: every token is predicted from those before it."""

from dataclasses import dataclass, replace
from typing import ClassVar

from torch import Generator, Tensor

from tlcourse.objectives.losses import causal_loss
from tlcourse.objectives.objective import Batch
from tlcourse.transformer import Config, Transformer


@dataclass(frozen=True)
class NextToken:
    """The objective of GPT (Radford et al., 2018): an `Objective`.

    A batch is the windows (batch, length + 1). Each token but the first is a target.
    """

    extra: ClassVar[int] = 1
    sentinels: ClassVar[int] = 0

    def model(self, config: Config, attention: str = "sdpa") -> Transformer:
        """Returns a causal Transformer."""
        return Transformer(replace(config, causal=True), attention)

    def batch(self, tokens: Tensor, generator: Generator, vocabulary_size: int) -> Batch:
        """Returns the windows (batch, length + 1) as they are."""
        return (tokens,)

    def loss(self, model: Transformer, batch: Batch) -> tuple[Tensor, int]:
        """Returns `causal_loss`."""
        return causal_loss(model, *batch)

    def body(self, model: Transformer) -> Transformer:
        """Returns the model."""
        return model

"""What every objective of this package is: a value that makes a model, its batches and its loss."""

from typing import Any, ClassVar, Protocol

from torch import Generator, Tensor

from tlcourse.objectives.heads import WithHead
from tlcourse.recurrent import LSTM, BiLSTM
from tlcourse.transformer import Config, EncoderDecoder, Transformer, XLNet

Batch = tuple[Tensor, ...]
Model = Transformer | EncoderDecoder | WithHead | XLNet | LSTM | BiLSTM


class Objective(Protocol):
    """A pretraining objective: a frozen dataclass, whose fields are its settings.

    Two objectives with the same settings are equal, and `repr` shows the settings. The four methods
    are pure functions of the settings and of their arguments.
    """

    extra: ClassVar[int]  # tokens that a window needs beyond the length of the model's input

    @property
    def sentinels(self) -> int:
        """The number of ids that the model has after those of the tokenizer."""
        ...

    def model(self, config: Config, attention: str = "sdpa") -> Model:
        """Returns a new model of the shape `config`, which this objective trains.

        The objective decides whether the model is causal, whether it has a decoder and which heads
        it has. `attention` is the kernel, "sdpa" or "explicit".
        """
        ...

    def batch(self, tokens: Tensor, generator: Generator, vocabulary_size: int) -> Batch:
        """Returns the tensors of a training step, each (batch, ...).

        `tokens` are windows (batch, length + extra) of running text, `generator` gives all random
        numbers, and `vocabulary_size` is that of the text's tokenizer.
        """
        ...

    def loss(self, model: Any, batch: Batch) -> tuple[Tensor, int]:
        """Returns the sum of nats over the targets of the batch, and the number of targets."""
        ...

    def body(self, model: Any) -> Transformer | XLNet | BiLSTM:
        """Returns the part of a trained model that is adapted to tasks and evaluated."""
        ...

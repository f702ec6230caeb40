"""The shapes and dropout rates of LSTM language models as plain configurations."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar


@dataclass(frozen=True)
class LSTMConfig:
    """The shape of an `LSTM`; the default has as many parameters as the shipped Transformers.

    The dropout rates are those of AWD-LSTM (Merity et al., 2018), which a classifier keeps, too.
    Raises ValueError for a size below 1, no layer, and a rate outside of 0 to 1.
    """

    # What the configuration of a Transformer says, and is fixed here.
    causal: ClassVar[bool] = True
    token_types: ClassVar[int] = 0
    head_transform: ClassVar[bool] = False
    norm_first: ClassVar[bool] = False

    vocabulary_size: int = 8192
    width: int = 256  # of the embedding, which is the head as well, and of the last layer's states
    units: tuple[int, ...] = (576, 576)  # of each layer
    max_length: int = 256  # tokens that a classifier reads at once; the layers have no limit
    weight_drop: float = 0.0  # of the weights between a layer's steps
    embedding_dropout: float = 0.0  # of whole words
    input_dropout: float = 0.0  # of the features of the embeddings
    dropout: float = 0.0  # of the features between layers
    output_dropout: float = 0.0  # of the features of the last layer

    def __post_init__(self) -> None:
        object.__setattr__(self, "units", tuple(self.units))  # JSON has lists
        sizes = {f"units of layer {layer}": size for layer, size in enumerate(self.units)}
        sizes |= {name: getattr(self, name) for name in ("vocabulary_size", "width", "max_length")}
        for name, size in (sizes | {"layers": self.layers}).items():
            if size < 1:
                raise ValueError(f"{name}: expected at least 1, got {size}")
        for name in DROPOUTS:
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name}: expected a rate from 0 to 1, got {getattr(self, name)}")

    @property
    def layers(self) -> int:
        """The number of layers."""
        return len(self.units)

    @property
    def widths(self) -> tuple[int, ...]:
        """The widths of the states: those of the embeddings and of each layer."""
        return (self.width, *self.units[:-1], self.width)


DROPOUTS = ("weight_drop", "embedding_dropout", "input_dropout", "dropout", "output_dropout")


@dataclass(frozen=True)
class BiLSTMConfig(LSTMConfig):
    """The shape of a `BiLSTM`: half of the `width` is each direction's, `units` are of each.

    Raises ValueError for an odd width, too.
    """

    causal: ClassVar[bool] = False
    width: int = 512
    units: tuple[int, ...] = (256, 256)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width % 2:
            raise ValueError(f"expected an even width, half for each direction, got {self.width}")

    @property
    def widths(self) -> tuple[int, ...]:
        """The widths of the states, in both directions together."""
        return (self.width, *(2 * units for units in self.units[:-1]), self.width)


def awd_lstm(**changes: Any) -> LSTMConfig:
    """AWD-LSTM for WikiText-2 (Merity et al., 2018; 33.5M parameters); `changes` replace fields.

    ULMFiT has these layers, too, with another vocabulary and other rates (Howard & Ruder, 2018).
    """
    shape = LSTMConfig(33_278, width=400, units=(1150, 1150, 400), weight_drop=0.5)
    rates = {"embedding_dropout": 0.1, "input_dropout": 0.65, "dropout": 0.3, "output_dropout": 0.4}
    return replace(shape, **rates | changes)

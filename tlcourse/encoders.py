"""Encoders without recurrence or attention that adapt to tasks as a `Transformer` does.

    import torch
    from tlcourse.encoders import CNN, BagOfWords, CNNConfig

    model = CNN(CNNConfig(vocabulary_size=300, width=30))
    tokens = torch.randint(300, (2, 9))
    model.hidden(tokens)                                # (2, 9, 30), a row's states are all equal

Each computes one vector of a text, the mean of its words' vectors or the best match of each filter,
and returns it as the state of every position. So `adaptation.Classifier` reads it with any pooling;
for a tagger, who needs a state for each word, they are of no use. They have no pretraining, and are
not saved in checkpoints.

Sources: Iyyer et al. (2015, deep averaging network); Kim (2014, CNN).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True)
class EncoderConfig:
    """What both encoders have; raises ValueError for a size below 1."""

    # What the configuration of a Transformer says, and is fixed here.
    causal: ClassVar[bool] = False
    token_types: ClassVar[int] = 0
    head_transform: ClassVar[bool] = False
    norm_first: ClassVar[bool] = False

    vocabulary_size: int = 8192
    width: int = 300  # of the embeddings and of the vector of a text
    max_length: int = 256  # tokens that a classifier reads at once; the encoders have no limit

    def __post_init__(self) -> None:
        for name in ("vocabulary_size", "width", "max_length"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: expected at least 1, got {getattr(self, name)}")

    @property
    def layers(self) -> int:
        """The number of layers after the embeddings."""
        return 1

    @property
    def widths(self) -> tuple[int, ...]:
        """The widths of the states: those of the embeddings and of each layer."""
        return (self.width,) * (self.layers + 1)


@dataclass(frozen=True)
class BagOfWordsConfig(EncoderConfig):
    """The shape of a `BagOfWords`; raises ValueError for a negative depth or a rate above 1, too.

    `depth` is the number of hidden layers after the mean; without any, the classifier is linear in
    the mean. In training, each token is left out of the mean with the probability `word_dropout`.
    """

    depth: int = 2
    word_dropout: float = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.depth < 0 or not 0 <= self.word_dropout < 1:
            raise ValueError(
                "expected a depth of at least 0 and a word_dropout from 0 to below 1, got "
                f"{self.depth} and {self.word_dropout}"
            )

    @property
    def layers(self) -> int:
        """The mean, and the hidden layers."""
        return 1 + self.depth


@dataclass(frozen=True)
class CNNConfig(EncoderConfig):
    """The shape of a `CNN`: each kernel size has width / len(kernels) filters, with 300 Kim's 100.

    Raises ValueError for no kernel, a kernel below 1, and a width that the kernels do not divide.
    """

    kernels: tuple[int, ...] = (3, 4, 5)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "kernels", tuple(self.kernels))
        if not self.kernels or min(self.kernels) < 1 or self.width % len(self.kernels):
            raise ValueError(
                "expected kernel sizes of at least 1 whose number divides the width, got "
                f"{self.kernels} and {self.width}"
            )


class Mean(nn.Module):
    """The mean of a text's tokens; in training, tokens are left out with a probability `dropout`.

    A text of which nothing would be left keeps all of its tokens.
    """

    def __init__(self, dropout: float):
        super().__init__()
        self.dropout = dropout

    def forward(self, x: Tensor, padding_mask: Tensor) -> Tensor:
        """(batch, length, width) to (batch, width)."""
        kept = padding_mask
        if self.training:
            kept = kept & (torch.rand(x.shape[:2], device=x.device) >= self.dropout)
            kept = torch.where(kept.any(dim=1, keepdim=True), kept, padding_mask)
        weights = kept[:, :, None].to(x.dtype)
        return (x * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)


class Hidden(nn.Module):
    """A hidden layer on the vector of a text: a linear layer and ReLU."""

    def __init__(self, width: int):
        super().__init__()
        self.linear = nn.Linear(width, width)
        nn.init.kaiming_normal_(self.linear.weight, nonlinearity="relu")
        nn.init.zeros_(self.linear.bias)

    def forward(self, x: Tensor, padding_mask: Tensor) -> Tensor:
        """(batch, width) to the same."""
        return self.linear(x).relu()


class Convolutions(nn.Module):
    """The largest match of each filter with the windows of a text, after ReLU.

    Around a text there are zeros, so that each token is in the middle of a window of each size.
    """

    def __init__(self, width: int, kernels: Sequence[int]):
        super().__init__()
        self.convolutions: Sequence[nn.Conv1d] = nn.ModuleList(  # type: ignore[assignment]
            nn.Conv1d(width, width // len(kernels), size) for size in kernels
        )

    def forward(self, x: Tensor, padding_mask: Tensor) -> Tensor:
        """(batch, length, width) to (batch, width)."""
        pads = ~padding_mask[:, None]
        x = x.transpose(1, 2).masked_fill(pads, 0.0)  # (batch, width, length)
        found = []
        for convolution in self.convolutions:
            beyond = convolution.kernel_size[0] - 1
            fits = convolution(F.pad(x, (beyond // 2, beyond - beyond // 2))).relu()
            found.append(fits.masked_fill(pads, 0.0).amax(dim=2))
        return torch.cat(found, dim=1)


class Encoder(nn.Module):
    """Token ids to the vector of a text, by `blocks`; a base of the encoders.

    Embeddings have a mean square of 0.01, as in Kim (2014), who drew from ±0.25, nearly.
    """

    def __init__(self, config: EncoderConfig, blocks: Sequence[nn.Module]):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocabulary_size, config.width)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.blocks: Sequence[nn.Module] = nn.ModuleList(blocks)  # type: ignore[assignment]

    def hidden_states(self, tokens: Tensor, padding_mask: Tensor | None = None) -> list[Tensor]:
        """(batch, length) ids to the embeddings and the vector after each layer, at each position.

        They are (batch, length, width). `padding_mask` is boolean, (batch, length), True = token;
        None if there is no padding.
        """
        mask = torch.ones_like(tokens, dtype=torch.bool) if padding_mask is None else padding_mask
        x = self.embedding(tokens)
        states = [x]
        for block in self.blocks:
            x = block(x, mask)
            states.append(x[:, None].expand(-1, tokens.shape[1], -1))
        return states

    def hidden(self, tokens: Tensor, padding_mask: Tensor | None = None) -> Tensor:
        """(batch, length) ids to the vector of each text, (batch, length, width)."""
        return self.hidden_states(tokens, padding_mask)[-1]

    def hidden_at(
        self, tokens: Tensor, padding_mask: Tensor | None = None, *, at: Tensor
    ) -> Tensor:
        """The vector of each text, (batch, width), since it is that of every position."""
        return self.hidden(tokens, padding_mask)[:, 0]

    def forward(self, tokens: Tensor, padding_mask: Tensor | None = None) -> Tensor:
        """(batch, length) ids to the vector of each text, (batch, width)."""
        return self.hidden(tokens, padding_mask)[:, 0]

    def set_attention(self, kernel: str) -> None:
        """Does nothing, because the model has no attention."""


class BagOfWords(Encoder):
    """A deep averaging network: the mean of the embeddings, then hidden layers.

    The order of the words has no effect (Iyyer et al., 2015).
    """

    def __init__(self, config: BagOfWordsConfig):
        hidden = [Hidden(config.width) for _ in range(config.depth)]
        super().__init__(config, [Mean(config.word_dropout), *hidden])


class CNN(Encoder):
    """Convolutions of several kernel sizes over the embeddings, and their maximum (Kim, 2014).

    Each filter looks for one pattern of as many neighbouring tokens as its kernel is wide; where in
    the text it occurs has no effect.
    """

    def __init__(self, config: CNNConfig):
        super().__init__(config, [Convolutions(config.width, config.kernels)])

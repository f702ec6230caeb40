"""A Transformer with further layers, for objectives that predict more than tokens."""

from torch import nn

from tlcourse.transformer import Block, Config, Transformer


class WithHead(nn.Module):
    """A `body`, a Transformer; subclasses add layers that read its states.

    It has what optimizers and the training engine use of a Transformer.
    """

    def __init__(self, body: Transformer):
        super().__init__()
        self.body = body

    @property
    def config(self) -> Config:
        """The configuration of the body."""
        return self.body.config

    @property
    def blocks(self) -> list[Block]:
        """The blocks of the body."""
        return list(self.body.blocks)

    def set_attention(self, kernel: str) -> None:
        """Sets the kernel of every layer, as `Transformer.set_attention` does."""
        self.body.set_attention(kernel)


def linear(inputs: int, outputs: int) -> nn.Linear:
    """A linear layer whose weights start as those of a Transformer: N(0, 0.02), and no bias."""
    layer = nn.Linear(inputs, outputs)
    nn.init.normal_(layer.weight, std=0.02)
    nn.init.zeros_(layer.bias)
    return layer

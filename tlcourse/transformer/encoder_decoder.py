"""An encoder-decoder Transformer of the course's own blocks (Vaswani et al., 2017)."""

from dataclasses import replace

from torch import Tensor, nn

from tlcourse.transformer.config import Config
from tlcourse.transformer.model import Block, Transformer


class EncoderDecoder(nn.Module):
    """A bidirectional encoder reads the source; a causal decoder attends to its states and writes
    the target.

    Source, target and output layer share one embedding matrix (Raffel et al., 2020). The
    configuration makes it BART (Lewis et al., 2020) or two stacks of the course's own blocks.
    `config` is the shape of each stack, and `attention` is the kernel, as for `Transformer`.
    """

    def __init__(self, config: Config, attention: str = "sdpa"):
        super().__init__()
        self.config = replace(config, causal=True, cross_attention=True)
        reads = replace(config, causal=False, cross_attention=False)
        reads = replace(reads, head_transform=False, head_bias=False)  # the head is the decoder's
        self.encoder = Transformer(reads, attention)
        self.decoder = Transformer(self.config, attention)
        self.decoder.embedding = self.encoder.embedding

    @property
    def blocks(self) -> list[Block]:
        """The blocks of the encoder, then those of the decoder."""
        return [*self.encoder.blocks, *self.decoder.blocks]

    @property
    def output_layer(self) -> tuple[Tensor, Tensor | None]:
        """The matrix (vocabulary, width) of the head and the bias of the logits."""
        return self.decoder.output_layer

    def transformed(self, hidden_states: Tensor) -> Tensor:
        """(..., width) to (..., width): the input of the output layer."""
        return self.decoder.transformed(hidden_states)

    def logits(self, hidden_states: Tensor) -> Tensor:
        """(..., width) hidden states of the decoder to (..., vocabulary) logits."""
        return self.decoder.logits(hidden_states)

    def set_attention(self, kernel: str) -> None:
        """Sets the kernel of every layer of both stacks, as `Transformer.set_attention` does."""
        self.encoder.set_attention(kernel)
        self.decoder.set_attention(kernel)

    def encode(self, source: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """(batch, source length) ids to the states (batch, source length, width) of the encoder."""
        return self.encoder.hidden(source, source_mask)

    def hidden(
        self, tokens: Tensor, *, source: Tensor, source_mask: Tensor | None = None
    ) -> Tensor:
        """(batch, length) ids of the target to (batch, length, width), after the last norm.

        `source` is ids (batch, source length); `source_mask` is True where there is a token.
        """
        states = self.encode(source, source_mask)
        return self.decoder.hidden(tokens, source=states, source_mask=source_mask)

    def forward(
        self, tokens: Tensor, *, source: Tensor, source_mask: Tensor | None = None
    ) -> Tensor:
        """(batch, length) ids of the target to (batch, length, vocabulary) logits."""
        return self.logits(self.hidden(tokens, source=source, source_mask=source_mask))

"""An encoder-decoder Transformer of the course's own blocks (Vaswani et al., 2017)."""

from dataclasses import asdict, replace
from typing import NamedTuple

from torch import Tensor, nn

from tlcourse.transformer.config import Config
from tlcourse.transformer.model import Block, Transformer

NOT_SHAPE = {"causal", "cross_attention", "head_transform", "head_bias", "dropout"}


class Initialised(NamedTuple):
    """The names of the parameters of `EncoderDecoder.from_models`, by where they come from.

    `loaded` and `new` are the names in the new model, which together has them all. `left_out` are
    those of the two old models that it has no place for, with "encoder." or "decoder." in front.
    """

    loaded: tuple[str, ...]
    new: tuple[str, ...]
    left_out: tuple[str, ...]
    sizes: dict[str, int]  # the number of numbers in each

    def __str__(self) -> str:
        """Three lines: how many parameters were loaded, are new, and were left out."""
        lines = []
        for name, names in zip(self._fields, self[:3], strict=False):
            numbers = sum(self.sizes[each] for each in names)
            words = {"left_out": "left out"}.get(name, name)
            lines.append(f"{words:8} {len(names):3} tensors, {numbers / 1e6:5.2f}M numbers")
        return "\n".join(lines)


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

    @classmethod
    def from_models(
        cls, encoder: Transformer, decoder: Transformer, attention: str = "sdpa"
    ) -> "tuple[EncoderDecoder, Initialised]":
        """An encoder-decoder with copies of the weights of two models, and where each comes from.

        The blocks and the norm of each stack are those of `encoder` and of `decoder`; the shared
        embedding and the head are the decoder's (Rothe et al., 2020). Cross-attention and its norms
        are new; the output layers of cross-attention start at zero, so that the logits are at first
        those of `decoder`, if that is causal. Raises ValueError if the models have different
        shapes, token types, or cross-attention.
        """
        shapes = [_shape(model) for model in (encoder, decoder)]
        if differing := [name for name in shapes[0] if shapes[0][name] != shapes[1][name]]:
            pairs = ", ".join(f"{n} {shapes[0][n]} and {shapes[1][n]}" for n in differing)
            raise ValueError(
                f"expected an encoder and a decoder of the same shape, got {pairs}; choose two "
                "models that differ only in what they were trained on"
            )
        for name, model in (("encoder", encoder), ("decoder", decoder)):
            if model.types is not None or model.config.cross_attention:
                raise ValueError(
                    f"expected {name}: a model without token types and cross-attention, got "
                    f"{model.config}; choose another"
                )
        both = cls(decoder.config, attention)
        for block in both.decoder.blocks:
            assert block.cross_attention is not None
            nn.init.zeros_(block.cross_attention.output.weight)
        old = {f"decoder.{name}": value for name, value in decoder.state_dict().items()}
        old |= {f"encoder.{name}": value for name, value in encoder.state_dict().items()}
        mine = dict(both.named_parameters())  # the shared embedding is "encoder.embedding.weight"
        shared, second = "encoder.embedding.weight", "decoder.embedding.weight"
        sizes = {name: value.numel() for name, value in [*old.items(), *mine.items()]}
        found = {name: value for name, value in old.items() if name in mine}
        both.load_state_dict(found | {shared: old[second], second: old[second]}, strict=False)
        return both, Initialised(
            loaded=tuple(second if name == shared else name for name in mine if name in found),
            new=tuple(name for name in mine if name not in found),
            left_out=tuple(shared if name == second else name for name in old if name not in found),
            sizes=sizes,
        )

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


def _shape(model: Transformer) -> dict[str, int | float | bool | str]:
    """The fields of a configuration in which the two stacks have to agree."""
    return {name: value for name, value in asdict(model.config).items() if name not in NOT_SHAPE}

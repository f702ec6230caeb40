"""Replaced-token detection: which tokens did a small generator put into the text? (ELECTRA)"""

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from tlcourse.bpe import MASK, PAD
from tlcourse.objectives import corruption
from tlcourse.objectives.heads import WithHead, linear
from tlcourse.objectives.losses import with_second_loss
from tlcourse.objectives.objective import Batch
from tlcourse.transformer import ACTIVATIONS, Block, Config, Transformer


class Electra(WithHead):
    """ELECTRA: a discriminator of the shape `config`, which is the body, and a smaller generator.

    Both are bidirectional and share the token embeddings. The generator has `share` of the heads,
    of the width and of the feed-forward layer; linear layers lead from the embeddings to its width
    and from its states back to the width of the embeddings, which are its output layer (Clark et
    al., 2020, share the embeddings, too).
    """

    def __init__(self, config: Config, attention: str = "sdpa", *, share: float = 0.25):
        shape = replace(config, causal=False, head_transform=False, head_bias=False)
        super().__init__(Transformer(shape, attention))
        heads = max(1, round(share * config.heads))
        small = replace(
            shape,
            heads=heads,
            width=heads * (config.width // config.heads),
            feed_forward=max(1, round(share * config.feed_forward)),
        )
        self.generator = Transformer(small, attention)
        project = linear(config.width, small.width)
        self.generator.embedding = nn.Sequential(  # type: ignore[assignment]
            self.body.embedding, project
        )
        self.back = linear(small.width, config.width)
        self.dense, self.detector = linear(config.width, config.width), linear(config.width, 1)

    @property
    def blocks(self) -> list[Block]:
        """The blocks of the discriminator, then those of the generator."""
        return [*self.body.blocks, *self.generator.blocks]

    def set_attention(self, kernel: str) -> None:
        """Sets the kernel of every layer of both, as `Transformer.set_attention` does."""
        self.body.set_attention(kernel)
        self.generator.set_attention(kernel)

    def generator_logits(self, tokens: Tensor, chosen: Tensor) -> Tensor:
        """Masked tokens (batch, length) to logits (count, vocabulary) at the chosen positions."""
        hidden = self.generator.hidden(tokens)[chosen]
        return F.linear(self.back(hidden), self.body.embedding.weight)

    def detector_logits(self, tokens: Tensor, padding_mask: Tensor | None = None) -> Tensor:
        """(batch, length) ids to a logit for each, above 0 = replaced."""
        activation = ACTIVATIONS[self.config.activation]
        hidden = self.body.hidden(tokens, padding_mask)
        return self.detector(activation(self.dense(hidden))).squeeze(-1)


@dataclass(frozen=True)
class ReplacedTokens:
    """The objective of ELECTRA: an `Objective`, whose body is the discriminator.

    A batch is the masked tokens, the tokens, which positions are masked, and a uniform draw for
    each position, all (batch, length). The generator predicts the masked tokens. One token for each
    is sampled from its prediction with the draw, and the discriminator says for every position
    whether the token is the original one. A sampled token that equals the original counts as
    original. The sampling has no gradient, so the generator learns only to predict.

    The loss is the generator's mean over masked tokens plus `weight` times the discriminator's mean
    over all tokens. `generator_share` is the generator's share of the width (Clark et al., 2020).
    """

    probability: float = 0.15
    weight: float = 50.0
    generator_share: float = 0.25
    extra: ClassVar[int] = 0
    sentinels: ClassVar[int] = 0

    def model(self, config: Config, attention: str = "sdpa") -> Electra:
        """Returns a discriminator of the shape `config` with its generator."""
        return Electra(config, attention, share=self.generator_share)

    def batch(self, tokens: Tensor, generator: Generator, vocabulary_size: int) -> Batch:
        """Returns (masked, tokens, chosen, draws); every chosen token becomes `<mask>`."""
        _, chosen = corruption.mask_tokens(
            tokens, generator, vocabulary_size, probability=self.probability
        )
        draws = torch.rand(tokens.shape, generator=generator)
        return tokens.masked_fill(chosen, MASK), tokens, chosen, draws

    def loss(self, model: Electra, batch: Batch) -> tuple[Tensor, int]:
        """Returns the sum of both losses, times the number of masked tokens, and that number."""
        masked, tokens, chosen, draws = batch
        logits = model.generator_logits(masked, chosen).float()
        nats = F.cross_entropy(logits, tokens[chosen], reduction="sum")
        replaced = tokens.clone()
        replaced[chosen] = sample(logits.detach(), draws[chosen])
        mask = tokens != PAD
        found = detection_loss(
            model.detector_logits(replaced, mask), replaced != tokens, padding_mask=mask
        )
        return with_second_loss((nats, len(logits)), found, weight=self.weight)

    def body(self, model: Electra) -> Transformer:
        """Returns the discriminator without its head."""
        return model.body


def sample(logits: Tensor, draws: Tensor) -> Tensor:
    """Ids (count,) sampled from softmax(logits), (count, vocabulary), with uniform draws (count,).

    The id is the first at which the cumulative probability exceeds the draw (inverse transform
    sampling), so the result is a function of its arguments.
    """
    cumulative = logits.softmax(dim=-1).cumsum(dim=-1)
    targets = draws[:, None] * cumulative[:, -1:]  # rounding: the last sum is not exactly 1
    found = torch.searchsorted(cumulative, targets, right=True).squeeze(1)
    return found.clamp(max=logits.shape[1] - 1)


def detection_loss(
    logits: Tensor, replaced: Tensor, *, padding_mask: Tensor | None = None
) -> tuple[Tensor, int]:
    """The binary loss of logits (batch, length) over all tokens, as (nats, targets).

    `replaced` (batch, length) is True for tokens that are not the original ones. `padding_mask`
    (batch, length), True = token, leaves padding out of the sum and of the number.
    """
    real = torch.ones_like(replaced) if padding_mask is None else padding_mask
    nats = F.binary_cross_entropy_with_logits(
        logits[real].float(), replaced[real].float(), reduction="sum"
    )
    return nats, int(real.sum())

"""Permutation language modelling: the last tokens of a random order, given those before them."""

from dataclasses import dataclass, fields
from typing import ClassVar

import torch
from torch import Generator, Tensor
from torch.nn import functional as F

from tlcourse.objectives.objective import Batch
from tlcourse.transformer import Config, RelativeConfig, XLNet


def permutation_loss(
    model: XLNet, tokens: Tensor, order: Tensor, *, predicted: int | None = None
) -> tuple[Tensor, int]:
    """The sum of nats of the last tokens of each order, given those before them, and their number.

    `tokens` and `order` are (batch, length); `predicted` is the number of targets in each row, from
    1 to the length. None: a sixth of the length, at least one, because the first tokens of an order
    have little to be predicted from (Yang et al., 2019, section 2.3). If all are predicted, this is
    the negative logarithm of the probability of the text under that order.
    """
    length = tokens.shape[1]
    count = max(1, length // 6) if predicted is None else predicted
    if not 1 <= count <= length:
        raise ValueError(f"expected 1 to {length} predicted positions, got {count}")
    at = order[:, length - count :]
    logits, _ = model(tokens, order=order, at=at)
    targets = tokens.gather(1, at)
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum"), at.numel()


@dataclass(frozen=True)
class PermutationLM:
    """The objective of XLNet, permutation language modelling: an `Objective`.

    A batch is the tokens and a factorisation order for each row, both (batch, length), drawn
    uniformly from all orders. Of each order the last 1/`k` of the positions are targets, at least
    one; any token may be a target. With k = 1 all are. Yang et al. (2019, section 2.3) use k = 6;
    they also take spans of tokens as targets and keep a memory of the segment before, which are
    left out here. Raises ValueError for a k below 1.

    The body is the XLNet itself. Called without an order it has the content stream alone, in which
    every position sees all tokens, so a `Classifier` adapts it as any bidirectional model. What is
    specific to `Transformer` is refused: prefixes, and saving the classifier.
    """

    k: int = 6
    extra: ClassVar[int] = 0
    sentinels: ClassVar[int] = 0

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError(f"expected a k of at least 1, got {self.k}; 1 predicts every token")

    def model(self, config: Config, attention: str = "sdpa") -> XLNet:
        """Returns an `XLNet` without a memory; it has one kernel, so `attention` has no effect.

        It takes those fields of `config` that a `RelativeConfig` has, too; positions, norms and
        the order of layer and norm are always those of an XLNet.
        """
        known = {field.name for field in fields(Config)} - {"causal"}
        shared = [field.name for field in fields(RelativeConfig) if field.name in known]
        shape = {name: getattr(config, name) for name in shared}
        return XLNet(RelativeConfig(**shape, causal=False, memory_length=0))

    def batch(self, tokens: Tensor, generator: Generator, vocabulary_size: int) -> Batch:
        """Returns (tokens, order); the rows of the order are random permutations."""
        return tokens, torch.rand(tokens.shape, generator=generator).argsort(dim=1)

    def loss(self, model: XLNet, batch: Batch) -> tuple[Tensor, int]:
        """Returns `permutation_loss` over the last 1/k of each order."""
        tokens, order = batch
        return permutation_loss(model, tokens, order, predicted=max(1, tokens.shape[1] // self.k))

    def body(self, model: XLNet) -> XLNet:
        """Returns the model."""
        return model

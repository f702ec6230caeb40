"""One model with several attention masks: prefix LM, UniLM's four masks, GPT-BERT's two kinds."""

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from tlcourse.objectives import corruption
from tlcourse.objectives.losses import hybrid_loss, masked_loss
from tlcourse.objectives.masked import Masked
from tlcourse.objectives.next_token import NextToken
from tlcourse.objectives.objective import Batch
from tlcourse.transformer import Transformer, causal_mask


@dataclass(frozen=True)
class PrefixLM(NextToken):
    """Next-token prediction after a prefix that is read from both sides: an `Objective`.

    A batch is the inputs, the targets, which positions to predict, each (batch, length), and the
    lengths of the prefixes (batch,), drawn uniformly from 1 to length - 1. The last token of a
    prefix predicts the first token after it. No token of the prefix is a target, since the prefix
    sees itself, so on average half the tokens are targets (Liu et al., 2018; Raffel et al., 2020,
    section 3.2.1).
    """

    def batch(self, tokens: Tensor, generator: Generator, vocabulary_size: int) -> Batch:
        """Returns (inputs, targets, chosen, prefix)."""
        inputs, targets = tokens[:, :-1], tokens[:, 1:]
        prefix = _prefixes(inputs, generator)
        chosen = torch.arange(inputs.shape[1]) >= prefix[:, None] - 1
        return inputs, targets, chosen, prefix

    def loss(self, model: Transformer, batch: Batch) -> tuple[Tensor, int]:
        """Returns `hybrid_loss` over the tokens after the prefixes."""
        inputs, targets, chosen, prefix = batch
        return hybrid_loss(model, inputs, targets, chosen=chosen, causal=prefix)


@dataclass(frozen=True)
class UniLM(Masked):
    """Masked-token prediction under four attention masks in turn: an `Objective`.

    Of each six rows, two are read from both sides, two have a prefix that is read from both sides,
    one is read from left to right and one from right to left (Dong et al., 2019, section 2.3). A
    batch is the corrupted tokens, the tokens, which positions to predict, each (batch, length), and
    the masks (batch, length, length), True where a position (row) may attend to another (column). A
    hidden token is predicted at its own position under all four masks. Positions are those of the
    text, whatever the direction. A prefix has from 1 to length - 1 tokens; the authors have two
    segments there, which are marked by token types.
    """

    def batch(self, tokens: Tensor, generator: Generator, vocabulary_size: int) -> Batch:
        """Returns (corrupted, tokens, chosen, masks).

        The rows are in turn from left to right, from both sides, with a prefix, from right to left,
        from both sides, with a prefix.
        """
        corrupted, chosen = corruption.mask_tokens(
            tokens, generator, vocabulary_size, probability=self.probability
        )
        length = tokens.shape[1]
        prefix = _prefixes(tokens, generator)
        prefix[0::3], prefix[1::3] = 0, length
        past = causal_mask(length)
        masks = past | (torch.arange(length) < prefix[:, None])[:, None]
        masks[3::6] = past.T
        return corrupted, tokens, chosen, masks

    def loss(self, model: Transformer, batch: Batch) -> tuple[Tensor, int]:
        """Returns `masked_loss` over the chosen positions."""
        corrupted, tokens, chosen, masks = batch
        return masked_loss(model, corrupted, tokens, chosen=chosen, causal=masks)


@dataclass(frozen=True)
class Hybrid(NextToken):
    """Next tokens in some rows, masked next tokens in the others: an `Objective`.

    A share `causal_share` of the rows is read from left to right and predicts every token; the
    others are read from both sides and predict tokens that are hidden with the `probability`. A
    batch is the inputs, the targets, which positions to predict, each (batch, length), and which
    rows are causal (batch,). Source: Charpentier & Samuel (2024, GPT-BERT).
    """

    probability: float = 0.15
    causal_share: float = 0.5

    def batch(self, tokens: Tensor, generator: Generator, vocabulary_size: int) -> Batch:
        """Returns (inputs, targets, chosen, causal)."""
        inputs, targets, chosen = corruption.hide_next_tokens(
            tokens, generator, vocabulary_size, probability=self.probability
        )
        # Causal rows are spread evenly over the batch: 0.5 is every second row.
        quota = (torch.arange(len(tokens) + 1) * self.causal_share).floor()
        causal = quota[1:] > quota[:-1]
        inputs[causal], chosen[causal] = tokens[causal, :-1], True
        return inputs, targets, chosen, causal

    def loss(self, model: Transformer, batch: Batch) -> tuple[Tensor, int]:
        """Returns `hybrid_loss` over the chosen positions."""
        inputs, targets, chosen, causal = batch
        return hybrid_loss(model, inputs, targets, chosen=chosen, causal=causal)


def _prefixes(inputs: Tensor, generator: Generator) -> Tensor:
    """Lengths of prefixes (batch,) of the inputs (batch, length), from 1 to length - 1."""
    return torch.randint(1, inputs.shape[1], (len(inputs),), generator=generator)

"""Objectives about pairs of segments: do they belong together, in which order, which comes next?

The segments are the halves of a window of running text. They have equal lengths, because otherwise
a length could give the answer away.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Generator, Tensor
from torch.nn import functional as F

from tlcourse.bpe import CLS, SEP
from tlcourse.objectives import corruption
from tlcourse.objectives.heads import WithHead, linear
from tlcourse.objectives.losses import language_model_loss, with_second_loss
from tlcourse.objectives.objective import Batch
from tlcourse.transformer import Config, Transformer


class PairModel(WithHead):
    """A bidirectional Transformer and BERT's classifier of pairs.

    The classifier reads the state of `<cls>`, the first token, through a linear layer and tanh (the
    pooler), and then has one logit for each of two classes (Devlin et al., 2019).
    """

    def __init__(self, config: Config, attention: str = "sdpa"):
        super().__init__(Transformer(replace(config, causal=False), attention))
        self.pooler = linear(config.width, config.width)
        self.classifier = linear(config.width, 2)

    def hidden(self, tokens: Tensor) -> Tensor:
        """(batch, length) ids of pairs to (batch, length, width).

        If the model has token types, they are 0 up to the first `<sep>`, and 1 after it.
        """
        types = None
        if self.body.types is not None:
            separator = (tokens == SEP).long()
            types = (separator.cumsum(1) - separator).clamp(max=1)
        return self.body.hidden(tokens, types=types)

    def pair_logits(self, hidden_states: Tensor) -> Tensor:
        """(batch, length, width), the states of pairs, to logits (batch, 2)."""
        return self.classifier(self.pooler(hidden_states[:, 0]).tanh())


@dataclass(frozen=True)
class _Pairs:
    """What NSP and SOP share: masked tokens and a label for each pair."""

    probability: float = 0.15
    extra: ClassVar[int] = 0
    sentinels: ClassVar[int] = 0

    def model(self, config: Config, attention: str = "sdpa") -> PairModel:
        """Returns a bidirectional Transformer with a classifier of pairs."""
        return PairModel(config, attention)

    def pairs(self, tokens: Tensor, generator: Generator) -> tuple[Tensor, Tensor, Tensor]:
        """Returns first segments, second segments and labels (batch,), 0 = as in the text."""
        raise NotImplementedError

    def batch(self, tokens: Tensor, generator: Generator, vocabulary_size: int) -> Batch:
        """Returns (corrupted, pairs, chosen, labels).

        The first three are (batch, at most length), with rows `<cls> first <sep> second <sep>`.
        """
        first, second, labels = self.pairs(tokens, generator)
        cls, sep = (torch.full((len(tokens), 1), number) for number in (CLS, SEP))
        pairs = torch.cat([cls, first, sep, second, sep], dim=1)
        corrupted, chosen = corruption.mask_tokens(
            pairs, generator, vocabulary_size, probability=self.probability
        )
        return corrupted, pairs, chosen, labels

    def loss(self, model: PairModel, batch: Batch) -> tuple[Tensor, int]:
        """Returns the mean of the masked tokens plus that of the labels, times the targets.

        The targets are the masked tokens; if `probability` is 0, they are the labels, and the loss
        is that of the labels alone.
        """
        corrupted, pairs, chosen, labels = batch
        hidden = model.hidden(corrupted)
        logits = model.pair_logits(hidden)
        of_pairs = F.cross_entropy(logits.float(), labels, reduction="sum"), len(labels)
        if self.probability == 0:
            return of_pairs
        nats = language_model_loss(model.body, hidden[chosen], pairs[chosen])
        return with_second_loss((nats, int(chosen.sum())), of_pairs)

    def body(self, model: PairModel) -> Transformer:
        """Returns the Transformer without the classifier."""
        return model.body


@dataclass(frozen=True)
class NextSentence(_Pairs):
    """BERT's objective: masked tokens, and does the second segment follow the first? (NSP)

    With a probability of 0.5 the second half of a window is replaced by that of another row (label
    1). Source: Devlin et al. (2019). An `Objective`; `probability` is that of a token to be masked.
    """

    def pairs(self, tokens: Tensor, generator: Generator) -> tuple[Tensor, Tensor, Tensor]:
        """Returns first segments, second segments and labels (batch,), 1 = from another row.

        Raises ValueError for a batch of one row.
        """
        rows = len(tokens)
        if rows < 2:
            raise ValueError(f"expected at least 2 rows, to take segments of others, got {rows}")
        first, second = _segments(tokens)
        labels = torch.randint(2, (rows,), generator=generator)
        away = torch.randint(1, rows, (rows,), generator=generator)
        return first, second[(torch.arange(rows) + labels * away) % rows], labels


@dataclass(frozen=True)
class SentenceOrder(_Pairs):
    """ALBERT's objective: masked tokens, and are the segments in their order? (SOP)

    With a probability of 0.5 the halves of a window are swapped (label 1), so that their topic
    cannot give the answer away (Lan et al., 2020). An `Objective`; `probability` is that of a token
    to be masked.
    """

    def pairs(self, tokens: Tensor, generator: Generator) -> tuple[Tensor, Tensor, Tensor]:
        """Returns first segments, second segments and labels (batch,), 1 = swapped."""
        first, second = _segments(tokens)
        labels = torch.randint(2, (len(tokens),), generator=generator)
        swapped = labels.bool()[:, None]
        return (
            torch.where(swapped, second, first),
            torch.where(swapped, first, second),
            labels,
        )


class SegmentModel(WithHead):
    """A bidirectional Transformer, and a linear layer for each of the two roles of a segment."""

    def __init__(self, config: Config, attention: str = "sdpa"):
        super().__init__(Transformer(replace(config, causal=False), attention))
        self.first = linear(config.width, config.width)
        self.second = linear(config.width, config.width)

    def scores(self, first: Tensor, second: Tensor) -> Tensor:
        """Segments (batch, length) and (candidates, length) to dot products (batch, candidates).

        A segment's vector is the mean of its states after the linear layer of its role.
        """
        vectors = self.first(self.body.hidden(first).mean(dim=1))
        candidates = self.second(self.body.hidden(second).mean(dim=1))
        return vectors @ candidates.T


@dataclass(frozen=True)
class QuickThoughts:
    """Which of the batch's second halves follows this first half? An `Objective`.

    A batch is the first and the second segments, each (batch, length // 2). The loss is that of the
    right candidate under a softmax over the dot products with all second segments of the batch, so
    more rows make it harder. Logeswaran & Lee (2018) train two encoders; here the two roles share a
    body and differ in a linear layer.
    """

    extra: ClassVar[int] = 0
    sentinels: ClassVar[int] = 0

    def model(self, config: Config, attention: str = "sdpa") -> SegmentModel:
        """Returns a bidirectional Transformer with a linear layer for each role."""
        return SegmentModel(config, attention)

    def batch(self, tokens: Tensor, generator: Generator, vocabulary_size: int) -> Batch:
        """Returns (first, second); nothing is drawn."""
        half = tokens.shape[1] // 2
        return tokens[:, :half], tokens[:, half : 2 * half]

    def loss(self, model: SegmentModel, batch: Batch) -> tuple[Tensor, int]:
        """Returns the nats of the right candidates; the targets are the rows."""
        scores = model.scores(*batch).float()
        right = torch.arange(len(scores), device=scores.device)
        return F.cross_entropy(scores, right, reduction="sum"), len(scores)

    def body(self, model: SegmentModel) -> Transformer:
        """Returns the Transformer without the linear layers."""
        return model.body


def _segments(tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Two neighbouring segments of equal length; with `<cls>` and two `<sep>` they fit the window.

    Raises ValueError for windows of fewer than 5 tokens.
    """
    half = (tokens.shape[1] - 3) // 2
    if half < 1:
        raise ValueError(f"expected windows of at least 5 tokens, got {tokens.shape[1]}")
    return tokens[:, :half], tokens[:, half : 2 * half]

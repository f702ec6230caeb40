"""Exact, memory-efficient losses of language models: causal, masked, hybrid, sequence to sequence.

Every loss returns `(nats, targets)`, the sum of negative log-likelihoods and their number, so that
sums over micro-batches and machines can be divided by one global count.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from tlcourse.bpe import PAD
from tlcourse.recurrent import LSTM
from tlcourse.transformer import EncoderDecoder, Transformer

ROWS = 64  # products have a multiple of this many rows, as oneDNN compiles each new shape


class _ChunkedCrossEntropy(torch.autograd.Function):
    """Cross-entropy over a vocabulary that never holds the logits of the whole batch.

    The forward pass computes the gradients of each chunk while it has the chunk's logits, and keeps
    them instead of the logits: (targets, width) floats, not (targets, vocabulary).
    """

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, chunk: int
    ) -> Tensor:
        precise = torch.promote_types(hidden.dtype, torch.float32)
        total = hidden.new_zeros((), dtype=precise)
        d_hidden, d_weight = torch.empty_like(hidden), torch.zeros_like(weight, dtype=precise)
        d_bias = None if bias is None else torch.zeros_like(bias)
        for start in range(0, len(targets), chunk):
            part, labels = hidden[start : start + chunk], targets[start : start + chunk]
            count, extra = len(labels), -len(labels) % ROWS
            part = F.pad(part, (0, 0, 0, extra))
            logits = F.linear(part, weight, None if bias is None else bias.to(weight.dtype))
            nats, slope = _nats_and_slope(logits, F.pad(labels, (0, extra)))
            slope[count:] = 0.0
            total += nats[:count].sum()
            if d_bias is not None:
                d_bias += slope.sum(dim=0, dtype=precise)
            d_hidden[start : start + chunk] = (slope @ weight)[:count]
            d_weight += slope.T @ part
        d_weight = d_weight.to(weight.dtype)
        ctx.save_for_backward(d_hidden, d_weight, d_bias)
        return total

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        d_hidden, d_weight, d_bias = ctx.saved_tensors
        d_bias = None if d_bias is None else d_bias * upstream
        scaled = (d_hidden * upstream).to(d_hidden.dtype), (d_weight * upstream)
        return *scaled, d_bias, None, None


def _nats_and_slope(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """The nats of the targets (count,) and d nats / d logits, given logits (count, vocabulary).

    On the CPU, softmax always sums in float32; elsewhere half precision is converted first.
    """
    rows = torch.arange(len(targets), device=targets.device)
    precise = torch.promote_types(logits.dtype, torch.float32)
    slope = logits.softmax(-1, dtype=None if logits.device.type == "cpu" else precise)
    nats = -slope[rows, targets].to(precise).log()
    zero = nats.isinf()  # the probability was rounded to 0
    if zero.any():
        wide = logits[zero].to(precise)
        nats[zero] = wide.logsumexp(-1) - wide.gather(1, targets[zero, None]).squeeze(1)
    slope[rows, targets] -= 1.0  # probabilities - one-hot
    return nats, slope.to(logits.dtype)


def cross_entropy(
    hidden_states: Tensor,
    targets: Tensor,
    weight: Tensor,
    *,
    bias: Tensor | None = None,
    chunk: int = 1024,
) -> Tensor:
    """The sum of nats of `targets` (count,) under softmax(h W^T + b), with exact gradients.

    `hidden_states` is h (count, width), `weight` W (vocabulary, width) and `bias` b (vocabulary,).
    Holds the logits of `chunk` targets at a time. Under autocast the products run in its precision.
    """
    kind = hidden_states.device.type
    if torch.is_autocast_enabled(kind):
        precision = torch.get_autocast_dtype(kind)
        hidden_states, weight = hidden_states.to(precision), weight.to(precision)
    with torch.autocast(kind, enabled=False):
        return _ChunkedCrossEntropy.apply(hidden_states, weight, bias, targets, chunk)


def language_model_loss(
    model: Transformer | EncoderDecoder | LSTM, hidden_states: Tensor, targets: Tensor
) -> Tensor:
    """The sum of nats of `targets` (count,), given hidden states (count, width) before the head."""
    weight, bias = model.output_layer
    return cross_entropy(model.transformed(hidden_states), targets, weight, bias=bias)


def causal_loss(model: Transformer | LSTM, tokens: Tensor) -> tuple[Tensor, int]:
    """The next-token loss of windows (batch, length + 1): each token predicts the next.

    Raises ValueError for a bidirectional model, because it would see its own targets.
    """
    if not model.config.causal:
        raise ValueError("causal_loss needs a causal model; this one sees its own targets")
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    hidden = model.hidden(inputs).flatten(0, 1)
    return language_model_loss(model, hidden, targets.flatten()), targets.numel()


def masked_loss(
    model: Transformer,
    corrupted: Tensor,
    tokens: Tensor,
    *,
    chosen: Tensor | None = None,
    causal: Tensor | None = None,
) -> tuple[Tensor, int]:
    """The loss of the chosen positions (None: all), as (nats, targets).

    `corrupted`, `tokens` and `chosen` are (batch, length). Logits are computed for the chosen
    positions only. `causal` says what each row may attend to, see
    `Transformer.hidden_states`. Raises ValueError for a causal model.
    """
    if model.config.causal:
        raise ValueError("masked_loss needs a bidirectional model (causal=False)")
    chosen = torch.ones_like(tokens, dtype=torch.bool) if chosen is None else chosen
    # A model of one's own, as in lesson 03, need not take `causal`.
    masks = {} if causal is None else {"causal": causal}
    hidden = model.hidden(corrupted, **masks)[chosen]
    return language_model_loss(model, hidden, tokens[chosen]), len(hidden)


def hybrid_loss(
    model: Transformer,
    inputs: Tensor,
    targets: Tensor,
    *,
    chosen: Tensor | None = None,
    causal: Tensor | None = None,
) -> tuple[Tensor, int]:
    """The loss of a model that reads some rows causally and others from both sides.

    `inputs`, `targets` and `chosen` (None: all) are (batch, length); `causal` (batch,) is True for
    rows that attend only to the past, or the number of tokens at the beginning of each row that see
    one another (None: all rows as in the configuration). Position i always predicts token i + 1, so
    both kinds of rows share the head (Charpentier & Samuel, 2024, GPT-BERT). Returns (nats,
    targets).
    """
    chosen = torch.ones_like(targets, dtype=torch.bool) if chosen is None else chosen
    hidden = model.hidden(inputs, causal=causal)[chosen]
    return language_model_loss(model, hidden, targets[chosen]), len(hidden)


def sequence_to_sequence_loss(
    model: EncoderDecoder, source: Tensor, target: Tensor
) -> tuple[Tensor, int]:
    """The next-token loss of targets (batch, length + 1), given sources (batch, source length).

    Each token of the target predicts the next, given the target so far and the whole source
    (Sutskever et al., 2014). Both are padded with `<pad>` at the end; padding is neither read in
    the source nor predicted in the target. Returns (nats, targets).
    """
    inputs, targets = target[:, :-1], target[:, 1:]
    chosen = targets != PAD
    hidden = model.hidden(inputs, source=source, source_mask=source != PAD)[chosen]
    return language_model_loss(model, hidden, targets[chosen]), len(hidden)


def with_second_loss(
    first: tuple[Tensor, int], second: tuple[Tensor, int], *, weight: float = 1.0
) -> tuple[Tensor, int]:
    """The sum of two losses that have different numbers of targets, as (nats, targets).

    Both arguments are (nats, targets). Divided by its targets, the result is the mean of the first
    loss plus `weight` times the mean of the second; the targets are those of the first.
    """
    (nats, targets), (others, other_targets) = first, second
    return nats + weight * others * targets / max(other_targets, 1), targets

"""The harm that a change inside a model does: its loss on ordinary sentences."""

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import functional as F

from tlcourse import device
from tlcourse.batching import pad
from tlcourse.bpe import PAD
from tlcourse.device import Compute
from tlcourse.probing.alignment import Words, align
from tlcourse.transformer import Transformer


@torch.no_grad()
def nats_per_token(
    model: Transformer,
    tokenizer: Any,
    sentences: Sequence[Words],
    *,
    compute: Compute | None = None,
) -> float:
    """The loss of a causal model on sentences as in `align`, each read on its own after `<eos>`.

    Call it inside `removing` or `steering` to measure what they change. Raises ValueError without
    sentences.
    """
    if not sentences:
        raise ValueError("expected at least one sentence for the loss, got none")
    compute = device.choose() if compute is None else compute
    tokens, mask = pad([each.tokens for each in align(tokenizer, sentences)], PAD)
    tokens, mask = tokens.to(compute.device), mask.to(compute.device)
    logits = model(tokens[:, :-1], mask[:, :-1]).float()
    nats = F.cross_entropy(logits.transpose(1, 2), tokens[:, 1:], reduction="none")
    return nats[mask[:, 1:]].mean().item()

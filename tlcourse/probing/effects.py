"""What a change inside a model does to it: to agreement, and to the loss on ordinary sentences."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch.nn import functional as F

from tlcourse import device
from tlcourse.batching import pad
from tlcourse.bpe import PAD
from tlcourse.device import Compute
from tlcourse.evaluation import accuracies, sentence_scores
from tlcourse.probing.alignment import Words, align
from tlcourse.transformer import Transformer


@torch.no_grad()
def agreement_and_loss(
    model: Transformer,
    tokenizer: Any,
    pairs: Sequence[tuple[str, str]],
    sentences: Sequence[Words],
    *,
    compute: Compute | None = None,
) -> tuple[float, float]:
    """The share of pairs whose first sentence is likelier, and the nats per token of `sentences`.

    A tie counts as wrong. The `sentences` are as in `align`, each read on its own after `<eos>`.
    Call it inside `removing` or `steering` to measure what they change. Raises ValueError without
    pairs or without sentences.
    """
    if not sentences:
        raise ValueError("expected at least one sentence for the loss, got none")
    compute = device.choose() if compute is None else compute
    score = partial(sentence_scores, model, tokenizer, compute=compute)
    (accuracy,) = accuracies(score, [(good, bad, "all") for good, bad in pairs]).values()
    tokens, mask = pad([each.tokens for each in align(tokenizer, sentences)], PAD)
    tokens, mask = tokens.to(compute.device), mask.to(compute.device)
    logits = model(tokens[:, :-1], mask[:, :-1]).float()
    nats = F.cross_entropy(logits.transpose(1, 2), tokens[:, 1:], reduction="none")
    return accuracy.share, nats[mask[:, 1:]].mean().item()

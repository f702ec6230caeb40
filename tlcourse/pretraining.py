"""Pretraining: causal or masked, Muon and AdamW, from a token file to a decayed model."""

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from tlcourse import objectives
from tlcourse.batching import TokenFile, generator_for
from tlcourse.device import Compute
from tlcourse.training import train, warmup_stable_decay
from tlcourse.transformer import Transformer


def optimizers_for(model: Transformer, rate: float = 3e-3, muon_rate: float = 0.01) -> list:
    """Muon for the matrices inside the blocks, AdamW for all else (Jordan et al., 2024).

    `muon_rate` is scaled by 0.2 times the root of the matrix's longer side, so that its updates
    are as large as AdamW's (Liu et al., 2025).
    """
    matrices = [p for p in model.blocks.parameters() if p.ndim == 2]
    inside = {id(p) for p in matrices}
    others = [p for p in model.parameters() if id(p) not in inside]
    fused = all(p.device.type in ("cpu", "cuda") for p in others)
    return [
        torch.optim.Muon(
            matrices, lr=muon_rate, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"
        ),
        torch.optim.AdamW(others, lr=rate, betas=(0.9, 0.95), weight_decay=0.0, fused=fused),
    ]


def batches(
    file: TokenFile, objective: str, seed: int, batch: int, length: int, vocabulary_size: int
) -> Callable[[int], tuple[Tensor, ...]]:
    """The function from a step to its batch, masks included."""

    def causal(step: int) -> tuple[Tensor, ...]:
        return (file.windows(seed, step, batch, length + 1),)

    def masked(step: int) -> tuple[Tensor, ...]:
        tokens = file.windows(seed, step, batch, length)
        corrupted, chosen = objectives.mask_tokens(
            tokens, generator_for(seed, step, 1), vocabulary_size
        )
        return corrupted, tokens, chosen

    return {"causal": causal, "masked": masked}[objective]


def loss_of(model: Transformer, batch: tuple[Tensor, ...]) -> tuple[Tensor, int]:
    """The causal or the masked loss, by the model's kind."""
    if model.config.causal:
        return objectives.causal_loss(model, *batch)
    return objectives.masked_loss(model, *batch)

"""From a token file to a decayed model: the recipe, the optimizers, the run."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from tlcourse import objectives
from tlcourse.batching import TokenFile, generator_for
from tlcourse.device import Compute
from tlcourse.pretraining.muon import Muon
from tlcourse.training import train, warmup_stable_decay
from tlcourse.transformer import Config, Transformer


@dataclass(frozen=True)
class Recipe:
    """How to train: what a run needs to know besides model, data and budget."""

    batch: int = 64  # windows a step
    length: int = 128  # tokens a window
    rate: float = 3e-3  # AdamW: embeddings, norms, biases
    muon_rate: float = 0.01  # Muon: matrices inside the blocks
    warmup: int = 100  # steps
    decay: float = 0.4  # the last share of the steps, linearly to 0
    seed: int = 0


def optimizers_for(
    model: Transformer, recipe: Recipe, precision: torch.dtype = torch.float32
) -> list[torch.optim.Optimizer]:
    """Muon for the matrices inside the blocks, AdamW for all else (Jordan et al., 2024).

    Muon works in bfloat16 if that is the `precision` of the run, else in float32.
    """
    matrices = [p for p in model.blocks.parameters() if p.ndim == 2]
    inside = {id(p) for p in matrices}
    others = [p for p in model.parameters() if id(p) not in inside]
    return [
        Muon(matrices, recipe.muon_rate, precision),
        torch.optim.AdamW(others, lr=recipe.rate, betas=(0.9, 0.95), weight_decay=0.0, fused=True),
    ]


def batches(file: TokenFile, config: Config, recipe: Recipe) -> Callable[[int], tuple[Tensor, ...]]:
    """The function from a step to its batch; for a bidirectional model, masks included."""

    def causal(step: int) -> tuple[Tensor, ...]:
        return (file.windows(recipe.seed, step, recipe.batch, recipe.length + 1),)

    def masked(step: int) -> tuple[Tensor, ...]:
        tokens = file.windows(recipe.seed, step, recipe.batch, recipe.length)
        generator = generator_for(recipe.seed, step, 1)
        corrupted, chosen = objectives.mask_tokens(tokens, generator, config.vocabulary_size)
        return corrupted, tokens, chosen

    return causal if config.causal else masked


def loss_of(model: Transformer, batch: tuple[Tensor, ...]) -> tuple[Tensor, int]:
    """The causal or the masked loss, by the model's kind."""
    if model.config.causal:
        return objectives.causal_loss(model, *batch)
    return objectives.masked_loss(model, *batch)


def pretrain(
    model: Transformer,
    file: TokenFile,
    tokens: int,
    compute: Compute,
    recipe: Recipe,
    folder: Path | None = None,
    on_step: Iterable[Callable[[dict], None]] = (),
) -> list[dict]:
    """Trains `model` in place on `tokens` tokens, ending decayed; returns the engine's history.

    With a `folder` the run is resumable. Raises ValueError if the budget is less than one step.
    """
    per_step = recipe.batch * recipe.length
    steps = tokens // per_step
    if steps < 1:
        raise ValueError(
            f"expected a budget of at least one step ({per_step} tokens), got {tokens}"
        )
    model.to(compute.device).set_attention(compute.attention)
    if compute.compiles and steps > 500:  # compilation takes about half a minute
        for block in model.blocks:
            block.compile()
    return train(
        model,
        loss_of,
        batches(file, model.config, recipe),
        steps,
        optimizers_for(model, recipe, compute.precision),
        warmup_stable_decay(steps, min(recipe.warmup, steps // 4 + 1), recipe.decay),
        compute,
        recipe.seed,
        folder=folder,
        settings={**asdict(model.config), **asdict(recipe), "tokens": tokens, "file": len(file)},
        on_step=on_step,
    )

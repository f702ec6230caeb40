"""Induction heads, which continue A B … A with B: how to find them, and how one forms in training.

Source: Olsson et al. (2022), "In-context Learning and Induction Heads", where the loss of large
models drops as their induction heads form; Reddy (2024) shows the same in models as small as ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from tlcourse import device, training
from tlcourse.batching import generator_for
from tlcourse.bpe import SPECIALS
from tlcourse.device import Compute
from tlcourse.looking.texts import as_array, read
from tlcourse.objectives import causal_loss
from tlcourse.transformer import Config, Transformer, record

NEWBORN = Config(vocabulary_size=64, width=64, layers=2, heads=2, feed_forward=64, max_length=48)
BATCH, HELD_OUT, WARM_UP = 32, 64, 20
MUON_RATE, RATE = 0.02, 3e-3  # learning rates of the matrices in the blocks and of the rest


def induction_of(attention: Tensor | np.ndarray, length: int) -> np.ndarray:
    """The attention to the token after the previous occurrence of the query's: (...,), from 0 to 1.

    `attention` is (..., queries, keys), of a text that is a sequence of `length` different tokens
    repeated once. Averages, over the second half, the weight from position q to q - length + 1: not
    on the same token, which is `length` positions back, but on its successor. Raises ValueError for
    another shape.
    """
    weights = as_array(attention)
    if weights.ndim < 2 or weights.shape[-2:] != (2 * length, 2 * length):
        raise ValueError(
            f"expected attention over {length} tokens and their repetition, (..., {2 * length}, "
            f"{2 * length}), got {weights.shape}"
        )
    queries = np.arange(length, 2 * length)
    return weights[..., queries, queries - length + 1].mean(axis=-1)


def induction_score(
    model: Transformer,
    *,
    ids: Sequence[int] | None = None,
    length: int = 32,
    count: int = 16,
    seed: int = 0,
    compute: Compute | None = None,
) -> np.ndarray:
    """`induction_of` on repeated random tokens: (layers, heads), the mean over `count` texts.

    The tokens are random, so that only the repetition can predict the next one. They are drawn
    without replacement from `ids`, by default from all but the special tokens. Raises ValueError if
    there are fewer than `length` of them.
    """
    settings = {"ids": ids, "length": length, "count": count, "seed": seed}
    texts = repeated_tokens(model.config.vocabulary_size, **settings)
    total = 0.0
    with record(model) as seen:
        for _ in read(model, texts, compute):
            layers = [weights[..., -2 * length :].float() for weights in seen.attention]
            scores = [induction_of(weights, length).sum(axis=0) for weights in layers]
            total = total + np.stack(scores)
    return total / count


def repeated_tokens(
    vocabulary_size: int,
    *,
    ids: Sequence[int] | None = None,
    length: int = 32,
    count: int = 16,
    seed: int = 0,
) -> Tensor:
    """Ids (count, 2 * length): each row has `length` different random tokens, then the same again.

    See `induction_score` for the arguments and what is raised.
    """
    chosen = torch.as_tensor(range(len(SPECIALS), vocabulary_size) if ids is None else list(ids))
    if len(set(chosen.tolist())) < max(length, 1) or len(set(chosen.tolist())) < len(chosen):
        raise ValueError(
            f"expected at least {length} different ids to draw from, got {len(chosen)}; "
            "draw shorter texts"
        )
    generator = generator_for(seed, 1)
    rows = [torch.randperm(len(chosen), generator=generator)[:length] for _ in range(count)]
    return chosen[torch.stack(rows)].repeat(1, 2)


@dataclass(frozen=True, eq=False)
class Birth:
    """Measurements during training; entry i of each array is after `steps[i]` optimizer steps."""

    steps: np.ndarray  # (measurements,)
    repeated: np.ndarray  # (measurements,) loss in nats per token where the text repeats itself
    new: np.ndarray  # (measurements,) loss where it does not, so that the next token is random
    scores: np.ndarray  # (measurements, layers, heads) of `induction_score`
    model: Transformer


def repeating(config: Config, count: int, *seed: int) -> tuple[Tensor, Tensor]:
    """Random texts that repeat themselves: ids (count, max_length + 1) and a mask of that shape.

    The mask is True where the token can be predicted. Each text repeats its first part two to three
    times; the length of that part, from a third to half of the text, is random, so that no fixed
    distance predicts the next token. The first token of the repetition cannot be predicted, because
    nothing announces it.
    """
    generator, length = generator_for(*seed), config.max_length + 1
    shape = (count, length)
    ids = torch.randint(len(SPECIALS), config.vocabulary_size, shape, generator=generator)
    period = torch.randint(length // 3, length // 2 + 1, (count, 1), generator=generator)
    position = torch.arange(length)
    return ids.gather(1, position % period), position > period


def birth(
    config: Config = NEWBORN,
    *,
    steps: int = 300,
    every: int = 10,
    seed: int = 0,
    compute: Compute | None = None,
) -> Birth:
    """Trains a causal model on texts that repeat themselves, and measures it each `every` steps.

    The next token is random until the text repeats itself. From there on it can be predicted by
    finding the previous occurrence of the current token and copying the token after it. That takes
    two layers: a head that attends to the previous token and, in a later layer, an induction head.
    For a long time nothing seems to happen, then the loss on the repeated tokens drops suddenly.
    """
    compute = device.choose() if compute is None else compute
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Transformer(config, compute.attention).to(compute.device)
    held_out = [part.to(compute.device) for part in repeating(config, HELD_OUT, seed, 0, 1)]
    length, measurements = config.max_length // 3, []

    def measure(steps_done: int) -> None:
        losses = _losses(model.eval(), *held_out)
        scores = induction_score(model, length=length, compute=compute)
        measurements.append((steps_done, *losses, scores))
        model.train()

    def after(record: dict) -> None:
        if (record["step"] + 1) % every == 0:
            measure(record["step"] + 1)

    measure(0)
    training.train(
        model,
        lambda model, batch: causal_loss(model, *batch),
        lambda step: repeating(config, BATCH, seed, step)[:1],
        steps=steps,
        optimizers=_optimizers(model),
        schedule=lambda step: min(1.0, (step + 1) / WARM_UP),
        compute=compute,
        on_step=[after],
    )
    return Birth(*(np.array(column) for column in zip(*measurements, strict=True)), model)


def _optimizers(model: Transformer) -> list[torch.optim.Optimizer]:
    """Muon for the matrices in the blocks, where it shortens the training; AdamW for the rest."""
    matrices = [parameter for parameter in model.blocks.parameters() if parameter.ndim == 2]
    in_muon = set(map(id, matrices))
    rest = [parameter for parameter in model.parameters() if id(parameter) not in in_muon]
    muon = torch.optim.Muon(matrices, lr=MUON_RATE, weight_decay=0.0)
    return [muon, torch.optim.AdamW(rest, lr=RATE, fused=True)]


@torch.no_grad()
def _losses(model: Transformer, ids: Tensor, repeated: Tensor) -> tuple[float, float]:
    """The losses, in nats per token, on repeated tokens (mask True) and on new ones."""
    nats = F.cross_entropy(model(ids[:, :-1]).mT, ids[:, 1:], reduction="none")
    repeated = repeated[:, 1:]
    return float(nats[repeated].mean()), float(nats[~repeated].mean())

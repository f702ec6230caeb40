"""Induction heads: A B … A → B. How to find them, and how to see one come into being.

Source: Olsson et al. (2022), "In-context Learning and Induction Heads", who saw the loss of large
models bend where their induction heads came; Reddy (2024) sees the same in models as small as ours.
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
MUON_RATE, RATE = 0.02, 3e-3  # of the matrices in the blocks, and of all else


def induction_of(attention: Tensor | np.ndarray, length: int) -> np.ndarray:
    """How much attention goes to the token after an earlier occurrence: (...,), from 0 to 1.

    `attention` is (..., queries, keys), of a text that says `length` different tokens twice. The
    mean over the second half of the weight from place q to place q - length + 1: not on the same
    token, which is `length` back, but on the one after it. Raises ValueError for another shape.
    """
    weights = as_array(attention)
    if weights.ndim < 2 or weights.shape[-2:] != (2 * length, 2 * length):
        raise ValueError(
            f"expected attention over {length} tokens said twice, (..., {2 * length}, "
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
    """`induction_of` on random tokens said twice: (layers, heads), the mean over `count` texts.

    Random tokens, so that nothing but the repetition tells what comes next. They are drawn without
    repetition from `ids`, all but the specials unless given. Raises ValueError when there are
    fewer than `length`.
    """
    texts = said_twice(model.config.vocabulary_size, ids=ids, length=length, count=count, seed=seed)
    total = 0.0
    with record(model) as seen:
        for _ in read(model, texts, compute):
            layers = [each[..., -2 * length :].float() for each in seen.attention]
            scores = [induction_of(each, length).sum(axis=0) for each in layers]
            total = total + np.stack(scores)
    return total / count


def said_twice(
    vocabulary_size: int,
    *,
    ids: Sequence[int] | None = None,
    length: int = 32,
    count: int = 16,
    seed: int = 0,
) -> Tensor:
    """(count, 2 * length) ids: different random tokens, and the same ones again.

    See `induction_score` for the arguments.
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
    """What was seen of a training; entry i of each array is after `steps[i]` optimizer steps."""

    steps: np.ndarray  # (looks,)
    repeated: np.ndarray  # (looks,) loss, in nats a token, where the text repeats itself
    new: np.ndarray  # (looks,) and where it does not, so that nobody can know what comes
    scores: np.ndarray  # (looks, layers, heads) of `induction_score`
    model: Transformer


def repeating(config: Config, count: int, *seed: int) -> tuple[Tensor, Tensor]:
    """Random texts that repeat themselves: ids (count, max_length + 1), and where one can know it.

    Each says a part of its own two to three times; how long that is, from a third of the text to
    half of it, is drawn, so that no fixed distance says what comes next. The first token of the
    repetition cannot be known: nothing yet says that it begins.
    """
    generator, length = generator_for(*seed), config.max_length + 1
    shape = (count, length)
    ids = torch.randint(len(SPECIALS), config.vocabulary_size, shape, generator=generator)
    period = torch.randint(length // 3, length // 2 + 1, (count, 1), generator=generator)
    place = torch.arange(length)
    return ids.gather(1, place % period), place > period


def birth(
    config: Config = NEWBORN,
    *,
    steps: int = 300,
    every: int = 10,
    seed: int = 0,
    compute: Compute | None = None,
) -> Birth:
    """Trains a causal model on texts that repeat themselves; looks at it `every` so many steps.

    What comes next is random until the text repeats itself, and known from there on, to who looks
    for the last place where the token stood and says what came after it. That takes two layers: a
    head that looks at the previous token, and behind it an induction head. For long nothing seems
    to happen, then the loss of what is known falls at once.
    """
    compute = device.choose() if compute is None else compute
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Transformer(config, compute.attention).to(compute.device)
    held_out = [part.to(compute.device) for part in repeating(config, HELD_OUT, seed, 0, 1)]
    length, looks = config.max_length // 3, []

    def look(steps_done: int) -> None:
        losses = _losses(model.eval(), *held_out)
        scores = induction_score(model, length=length, compute=compute)
        looks.append((steps_done, *losses, scores))
        model.train()

    def after(record: dict) -> None:
        if (record["step"] + 1) % every == 0:
            look(record["step"] + 1)

    look(0)
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
    return Birth(*(np.array(each) for each in zip(*looks, strict=True)), model)


def _optimizers(model: Transformer) -> list[torch.optim.Optimizer]:
    """Muon for the matrices in the blocks, which brings the birth forward; AdamW for all else."""
    matrices = [p for p in model.blocks.parameters() if p.ndim == 2]
    known = set(map(id, matrices))
    rest = [p for p in model.parameters() if id(p) not in known]
    muon = torch.optim.Muon(matrices, lr=MUON_RATE, weight_decay=0.0)
    return [muon, torch.optim.AdamW(rest, lr=RATE, fused=True)]


@torch.no_grad()
def _losses(model: Transformer, ids: Tensor, known: Tensor) -> tuple[float, float]:
    """Nats a token where the next one is known, and where it is new."""
    nats = F.cross_entropy(model(ids[:, :-1]).mT, ids[:, 1:], reduction="none")
    known = known[:, 1:]
    return float(nats[known].mean()), float(nats[~known].mean())

"""The birth of an induction head: a tiny model is trained, and looked at on the way.

Source: Olsson et al. (2022), who saw the loss of large models bend where their induction heads
came; Reddy (2024) sees the same in models of this size.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from tlcourse import device
from tlcourse.batching import generator_for
from tlcourse.bpe import SPECIALS
from tlcourse.device import Compute
from tlcourse.looking.induction import induction_score
from tlcourse.objectives import causal_loss
from tlcourse.training import train
from tlcourse.transformer import Config, Transformer

NEWBORN = Config(vocabulary_size=64, width=64, layers=2, heads=2, feed_forward=64, max_length=64)
BATCH, HELD_OUT, RATE, WARM_UP = 32, 64, 3e-3, 20


@dataclass(frozen=True, eq=False)
class Birth:
    """What was seen of a training; entry i of each array is after `steps[i]` optimizer steps."""

    steps: np.ndarray  # (looks,)
    repeated: np.ndarray  # (looks,) loss, in nats a token, where the text repeats itself
    new: np.ndarray  # (looks,) and where it does not, so that nobody can know what comes
    scores: np.ndarray  # (looks, layers, heads) of `induction_score`
    model: Transformer


def repeating(config: Config, count: int, *seed: int) -> tuple[Tensor, Tensor]:
    """Random texts that repeat themselves: ids (count, max_length + 1), and where they do so.

    Each says a part of its own again and again; how long that is, from an eighth of the text to
    half of it, is drawn, so that no fixed distance says what comes next.
    """
    generator, length = generator_for(*seed), config.max_length + 1
    shape = (count, length)
    ids = torch.randint(len(SPECIALS), config.vocabulary_size, shape, generator=generator)
    period = torch.randint(length // 8, length // 2 + 1, (count, 1), generator=generator)
    place = torch.arange(length)
    return ids.gather(1, place % period), place >= period


def birth(
    config: Config = NEWBORN,
    *,
    steps: int = 1000,
    every: int = 25,
    seed: int = 0,
    compute: Compute | None = None,
) -> Birth:
    """Trains a causal model on texts that repeat themselves; looks at it `every` so many steps.

    What comes next is random until the text repeats itself, and known from there on, to who looks
    for the last place where the token stood and says what came after it. That takes two layers: a
    head that looks at the previous token, and behind it an induction head.
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
    train(
        model,
        lambda model, batch: causal_loss(model, *batch),
        lambda step: repeating(config, BATCH, seed, step)[:1],
        steps=steps,
        optimizers=[torch.optim.AdamW(model.parameters(), lr=RATE, fused=True)],
        schedule=lambda step: min(1.0, (step + 1) / WARM_UP),
        compute=compute,
        on_step=[after],
    )
    return Birth(*(np.array(each) for each in zip(*looks, strict=True)), model)


@torch.no_grad()
def _losses(model: Transformer, ids: Tensor, known: Tensor) -> tuple[float, float]:
    """Nats a token where the next one is known, and where it is new."""
    nats = F.cross_entropy(model(ids[:, :-1]).mT, ids[:, 1:], reduction="none")
    known = known[:, 1:]
    return float(nats[known].mean()), float(nats[~known].mean())

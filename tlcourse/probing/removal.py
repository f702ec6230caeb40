"""Does a model use what a probe reads? Directions found, taken out, and added.

A direction is a row of unit length, (width,), of a layer's space; several are (count, width),
orthonormal. Layers count as in `Features`: 0 is the embeddings, k what block k gives. Sources:
Ravfogel et al. (2020, iterative null-space projection); Marks & Tegmark (2023, class means);
Elazar et al. (2021, random directions as the control); Turner et al. (2023, steering).
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tlcourse.metrics import Interval, mean_interval
from tlcourse.probing.fitting import Probe, names_of
from tlcourse.probing.probes import linear_probe
from tlcourse.transformer import Transformer

SMALL = 1e-6  # of the largest: what is below is no direction of its own


def orthonormal(rows: np.ndarray) -> np.ndarray:
    """An orthonormal basis, (count, width), of all that the rows (n, width) span."""
    _, sizes, basis = np.linalg.svd(np.asarray(rows, dtype=np.float64), full_matrices=False)
    return basis[sizes > SMALL * max(sizes[0], 1e-30)]


def mean_directions(features: np.ndarray, labels: Iterable[str]) -> np.ndarray:
    """The directions in which the classes' means differ, one fewer than classes.

    For two classes that is the mass-mean direction, from the first in the alphabet to the second.
    """
    labels = np.asarray(list(labels))
    names = names_of(labels)
    means = np.stack([features[labels == name].mean(axis=0, dtype=np.float64) for name in names])
    found = orthonormal(means[1:] - means[0])
    return found * np.sign(found[0] @ (means[-1] - means[0])) if len(names) == 2 else found


def probe_directions(probe: Probe) -> np.ndarray:
    """The directions that a linear probe reads, in the space of the vectors it is given.

    A change common to all logits changes no probability, so there is one fewer than labels.
    """
    standardise, head = probe.module
    weight = (head.weight / standardise.scale).detach().cpu().double().numpy()
    return orthonormal(weight - weight.mean(axis=0))


def remove(features: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """(items, width) without the directions (count, width): projected onto what is left."""
    vectors = np.asarray(features, dtype=np.float32)
    rows = np.asarray(directions, dtype=np.float32)
    return vectors - (vectors @ rows.T) @ rows


@dataclass(frozen=True, eq=False)
class NullSpace:
    """What iterative null-space projection found."""

    directions: np.ndarray  # (count, width), orthonormal
    accuracies: tuple[float, ...]  # of each round's probe on its own training data


def null_space(
    features: np.ndarray,
    labels: Iterable[str],
    *,
    rounds: int = 20,
    margin: float = 0.01,
    fit: Callable[..., Probe] = linear_probe,
    **settings: Any,
) -> NullSpace:
    """Directions without which no linear probe is left (Ravfogel et al., 2020).

    Fits a linear probe, projects its directions out, fits again on what is left; until a probe's
    accuracy is within `margin` of the majority's share, or the rounds are over. That last probe's
    directions are not taken.
    """
    labels = np.asarray(list(labels))
    chance = max(np.unique(labels, return_counts=True)[1]) / len(labels)
    found, accuracies = np.empty((0, features.shape[1])), []
    for _ in range(rounds):
        left = remove(features, found)
        probe = fit(left, labels, **settings)
        accuracies.append(probe.judge(left, labels).accuracy)
        if accuracies[-1] <= chance + margin:
            break
        found = orthonormal(np.concatenate([found, remove(probe_directions(probe), found)]))
        if len(found) == features.shape[1]:
            break
    return NullSpace(found, tuple(accuracies))


def random_directions(count: int, width: int, *, seed: int = 0) -> np.ndarray:
    """(count, width) orthonormal directions that mean nothing: the control of every removal."""
    if not 0 < count <= width:
        raise ValueError(f"expected 1 to {width} directions, got {count}")
    rows = np.random.default_rng(seed).standard_normal((count, width))
    return np.linalg.qr(rows.T)[0].T


@contextlib.contextmanager
def changing(model: Transformer, change: Callable[[Tensor], Tensor], layer: int) -> Iterator[None]:
    """Inside the block what `layer` gives, (batch, length, width), passes through `change`.

    So do all later layers see it. Blocks may be nested. Raises ValueError for a layer that is not
    there.
    """
    if not 0 <= layer <= len(model.blocks):
        raise ValueError(f"expected a layer from 0 to {len(model.blocks)}, got {layer}")
    if layer == 0:
        hook = model.blocks[0].register_forward_pre_hook(
            lambda _, inputs: (change(inputs[0]), *inputs[1:])
        )
    else:
        hook = model.blocks[layer - 1].register_forward_hook(lambda *seen: change(seen[-1]))
    try:
        yield
    finally:
        hook.remove()


def removing(
    model: Transformer, directions: np.ndarray, layer: int, *, mean: np.ndarray | None = None
) -> contextlib.AbstractContextManager:
    """Inside the block the directions (count, width) are projected out of what a layer gives.

    With `mean` (width,), the layer's mean over words, every word keeps the mean's part along them:
    then only what tells words apart is taken, not what they have in common.
    """

    def change(x: Tensor) -> Tensor:
        rows = torch.as_tensor(directions, dtype=torch.float32, device=x.device)
        middle = torch.zeros(rows.shape[1]) if mean is None else torch.as_tensor(mean)
        along = (x.float() - middle.to(rows)) @ rows.T
        return (x.float() - along @ rows).to(x.dtype)

    return changing(model, change, layer)


def steering(
    model: Transformer, direction: np.ndarray, layer: int, *, strength: float = 1.0
) -> contextlib.AbstractContextManager:
    """Inside the block `strength` times the direction (width,) is added at every position."""

    def change(x: Tensor) -> Tensor:
        return x + strength * torch.as_tensor(direction).to(x)

    return changing(model, change, layer)


@dataclass(frozen=True)
class Removal:
    """What a judge says without some directions, and without as many random ones."""

    name: str
    count: int  # directions
    intact: float
    without: float
    random: Interval  # over draws of random directions


@torch.no_grad()
def judge_removals(
    judge: Callable[[], float],
    directions: Mapping[str, np.ndarray],
    removal: Callable[[np.ndarray], contextlib.AbstractContextManager],
    *,
    draws: int = 5,
) -> list[Removal]:
    """What `judge()` says as things are, without each set of directions, and without random ones.

    `removal(directions)` is the block to judge in: `lambda rows: removing(model, rows, 3)`. Random
    directions are of the same number, drawn `draws` times. A judge may be a loss or an accuracy.
    """
    intact, found = float(judge()), []

    def without(rows: np.ndarray) -> float:
        with removal(rows):
            return float(judge())

    for name, rows in directions.items():
        drawn = [random_directions(*rows.shape, seed=seed) for seed in range(draws)]
        control = mean_interval([without(each) for each in drawn])
        found.append(Removal(name, len(rows), intact, without(rows), control))
    return found

"""Does a model use what a probe reads? Directions found, taken out, and added.

A direction is a row of unit length, (width,), of a layer's space; several are (count, width),
orthonormal. Layers count as in `Features`: 0 is the embeddings, k what block k gives. Sources:
Ravfogel et al. (2020, iterative null-space projection); Marks & Tegmark (2023, class means);
Elazar et al. (2021, random directions as the control); Turner et al. (2023, steering).
"""

import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tlcourse.probing.baselines import majority
from tlcourse.probing.fitting import Probe, names_of
from tlcourse.probing.probes import linear_probe
from tlcourse.transformer import Transformer, changing

SMALL = 1e-6  # of the largest: what is below is no direction of its own


def orthonormal(rows: np.ndarray) -> np.ndarray:
    """An orthonormal basis, (count, width), of all that the rows (n, width) span."""
    _, sizes, basis = np.linalg.svd(np.asarray(rows, dtype=np.float64), full_matrices=False)
    return basis[sizes > SMALL * max(sizes[0], 1e-30)]


def mean_directions(
    features: np.ndarray, labels: Iterable[str], *, between: tuple[str, str] | None = None
) -> np.ndarray:
    """The directions in which the classes' means differ, one fewer than classes.

    With `between=("Sing", "Plur")` only items of these two labels count, and the one direction
    points from the first mean to the second: steering by it adds plural. Without, two classes are
    taken in the order of the alphabet; of the directions of more classes the signs mean nothing.
    Raises ValueError for a label that no item has, and for fewer than two.
    """
    labels = np.asarray(list(labels))
    if between is not None:
        missing = sorted(set(between) - set(labels.tolist()))
        if missing or len(set(between)) != 2:
            raise ValueError(
                f"expected two labels out of {names_of(labels)[:8]}, got {list(between)}"
            )
        chosen = np.isin(labels, between)
        features, labels = features[chosen], labels[chosen]
    names = names_of(labels) if between is None else list(between)
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
    accuracies: tuple[float, ...]  # of each round's probe: held out if given, else in training


def null_space(
    features: np.ndarray,
    labels: Iterable[str],
    *,
    rounds: int = 20,
    margin: float = 0.01,
    held_out: tuple[np.ndarray, Iterable[str]] | None = None,
    fit: Callable[..., Probe] = linear_probe,
    **settings: Any,
) -> NullSpace:
    """Directions without which no linear probe is left (Ravfogel et al., 2020).

    Fits a linear probe, projects its directions out, fits again on what is left; until a probe's
    accuracy is within `margin` of what the most frequent label gets, or the rounds are over. That
    last probe's directions are not taken. Both are judged on `held_out`, vectors and labels that no
    probe is fitted on. Without it they are judged on the training data, where a probe of many
    units stays above chance by what it remembers, so that more directions go than say the label.
    """
    labels = np.asarray(list(labels))
    asked, right = (features, labels) if held_out is None else held_out
    right = np.asarray(list(right))
    chance = majority(labels).judge(right, right).accuracy
    found, accuracies = np.empty((0, features.shape[1])), []
    for _ in range(rounds):
        left = remove(features, found)
        probe = fit(left, labels, **settings)
        accuracies.append(probe.judge(remove(asked, found), right).accuracy)
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
class Draws:
    """What a judge says without random directions, a value a draw.

    That is what a removal is to be seen beside: where it falls among the values. An interval of
    their mean would shrink with the number of draws.
    """

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean of the values."""
        return float(np.mean(self.values))

    @property
    def lowest(self) -> float:
        """The smallest value."""
        return min(self.values)

    @property
    def highest(self) -> float:
        """The largest value."""
        return max(self.values)


@dataclass(frozen=True)
class Removal:
    """What a judge says without some directions, and without as many random ones."""

    name: str
    count: int  # directions
    intact: float
    without: float
    random: Draws


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
        control = Draws(tuple(without(each) for each in drawn))
        found.append(Removal(name, len(rows), intact, without(rows), control))
    return found

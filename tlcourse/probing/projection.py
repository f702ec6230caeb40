"""Projection: finding directions, removing or adding them, to see whether a model uses them.

A direction is a vector of unit length, (width,), in the space of a layer; several are (count,
width), orthonormal. Layers count as in `Features`: 0 is the embeddings, k the output of block k.
Sources: Ravfogel et al. (2020, iterative null-space projection); Marks & Tegmark (2023, class
means); Elazar et al. (2021, random directions as the control); Turner et al. (2023, steering).
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
from tlcourse.transformer import Transformer, intervening

SMALL = 1e-6  # singular values below this share of the largest count as 0


def orthonormal(rows: np.ndarray) -> np.ndarray:
    """An orthonormal basis, (count, width), of the space spanned by the rows (n, width)."""
    _, sizes, basis = np.linalg.svd(np.asarray(rows, dtype=np.float64), full_matrices=False)
    return basis[sizes > SMALL * max(sizes[0], 1e-30)]


def mean_directions(
    features: np.ndarray, labels: Iterable[str], *, between: tuple[str, str] | None = None
) -> np.ndarray:
    """The directions in which the class means differ, one fewer than there are classes.

    With `between=("Sing", "Plur")` only items of these two labels count, and the single direction
    points from the first mean to the second, so that steering along it adds plural. Without it, two
    classes are taken in alphabetical order; with more classes the signs have no meaning. Raises
    ValueError for a label that no item has, and for fewer than two labels.
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
    directions = orthonormal(means[1:] - means[0])
    if len(names) == 2:
        return directions * np.sign(directions[0] @ (means[-1] - means[0]))
    return directions


def probe_directions(probe: Probe) -> np.ndarray:
    """The directions on which the predictions of a linear probe depend, in the space of its inputs.

    A change common to all logits changes no probability, so there is one fewer than labels.
    """
    standardise, head = probe.module
    weight = (head.weight / standardise.scale).detach().cpu().double().numpy()
    return orthonormal(weight - weight.mean(axis=0))


def remove(features: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """The vectors (items, width) with the directions (count, width) projected out."""
    vectors = np.asarray(features, dtype=np.float32)
    rows = np.asarray(directions, dtype=np.float32)
    return vectors - (vectors @ rows.T) @ rows


@dataclass(frozen=True, eq=False)
class NullSpace:
    """The result of iterative null-space projection."""

    directions: np.ndarray  # (count, width), orthonormal
    accuracies: tuple[float, ...]  # of each round's probe, on held-out data if given


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
    """The directions whose removal leaves nothing for a linear probe (Ravfogel et al., 2020).

    Fits a linear probe, projects its directions out and repeats, until the accuracy of a probe is
    within `margin` of the majority label's or `rounds` are done. The directions of that last probe
    are not included. Both accuracies are measured on `held_out`, vectors and labels on which no
    probe is fitted, or else on the training data. There a probe of many units stays above chance by
    memorising, so that more directions are removed than encode the label.
    """
    labels = np.asarray(list(labels))
    test_features, test_labels = (features, labels) if held_out is None else held_out
    test_labels = np.asarray(list(test_labels))
    chance = majority(labels).judge(test_labels, test_labels).accuracy
    directions, accuracies = np.empty((0, features.shape[1])), []
    for _ in range(rounds):
        probe = fit(remove(features, directions), labels, **settings)
        accuracies.append(probe.judge(remove(test_features, directions), test_labels).accuracy)
        if accuracies[-1] <= chance + margin:
            break
        further = remove(probe_directions(probe), directions)
        directions = orthonormal(np.concatenate([directions, further]))
        if len(directions) == features.shape[1]:
            break
    return NullSpace(directions, tuple(accuracies))


def random_directions(count: int, width: int, *, seed: int = 0) -> np.ndarray:
    """Random orthonormal directions, (count, width): the control of every removal."""
    if not 0 < count <= width:
        raise ValueError(f"expected 1 to {width} directions, got {count}")
    rows = np.random.default_rng(seed).standard_normal((count, width))
    return np.linalg.qr(rows.T)[0].T


def removing(
    model: Transformer,
    directions: np.ndarray,
    layer: int,
    *,
    mean: np.ndarray | None = None,
    by: Callable[[Tensor, Tensor], Tensor] | None = None,
) -> contextlib.AbstractContextManager:
    """A context in which the directions (count, width) are projected out of a layer's output.

    With `mean` (width,), the mean of the layer over words, every word keeps the mean's component
    along the directions, so that only the differences between words are removed. `by(states,
    directions)`, if given, does the removing: it gets float32 tensors, (..., width) and (count,
    width), and the directions need not be orthonormal.
    """

    def change(x: Tensor) -> Tensor:
        rows = torch.as_tensor(directions, dtype=torch.float32, device=x.device)
        centre = torch.zeros(rows.shape[1]) if mean is None else torch.as_tensor(mean)
        centre, states = centre.to(rows), x.float()
        if by is not None:
            return (centre + by(states - centre, rows)).to(x.dtype)
        return (states - (states - centre) @ rows.T @ rows).to(x.dtype)

    return intervening(model, change, layer)


def steering(
    model: Transformer, direction: np.ndarray, layer: int, *, strength: float = 1.0
) -> contextlib.AbstractContextManager:
    """A context in which `strength` times the direction (width,) is added at every position."""

    def change(x: Tensor) -> Tensor:
        return x + strength * torch.as_tensor(direction).to(x)

    return intervening(model, change, layer)


@dataclass(frozen=True)
class Draws:
    """The values of `judge()` without random directions, one per draw.

    Compare the value of a removal with these values themselves: an interval of their mean would
    shrink with the number of draws.
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
    """The value of `judge()` without some directions, and without as many random ones."""

    name: str
    count: int  # the number of directions
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
    """`judge()` intact, without each set of directions, and without random directions.

    `removal(directions)` returns the context in which `judge` is called, for example
    `lambda rows: removing(model, rows, 3)`. `judge` returns a loss or an accuracy. For each set, as
    many random directions are drawn, `draws` times.
    """
    intact, removals = float(judge()), []

    def without(rows: np.ndarray) -> float:
        with removal(rows):
            return float(judge())

    for name, rows in directions.items():
        random = [random_directions(*rows.shape, seed=seed) for seed in range(draws)]
        control = Draws(tuple(map(without, random)))
        removals.append(Removal(name, len(rows), intact, without(rows), control))
    return removals

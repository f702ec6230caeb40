"""How a probe is trained, and what it says afterwards: labels, nats, what it got right."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tlcourse import device, training
from tlcourse.batching import generator_for
from tlcourse.device import Compute
from tlcourse.metrics import Interval, bootstrap_interval
from tlcourse.training import warmup_stable_decay

ROWS_AT_A_TIME = 8192
BATCH_SIZE = 1024
LEAST_STEPS = 300  # however few items there are

Vectors = np.ndarray | Sequence[np.ndarray]  # (items, width), or several of them, a layer each


@dataclass(frozen=True, eq=False)
class Judgement:
    """What a probe or a baseline said of each item, and whether that is right."""

    predictions: np.ndarray  # (items,) labels
    correct: np.ndarray  # (items,) True or False

    @classmethod
    def of(cls, predictions: Iterable, labels: Iterable) -> "Judgement":
        """From the labels that were said and those that are right; ValueError for no items."""
        predictions, labels = np.asarray(predictions), np.asarray(labels)
        if predictions.shape != labels.shape or not len(labels):
            raise ValueError(
                f"expected at least one item and as many predictions as labels, got "
                f"{len(predictions)} and {len(labels)}"
            )
        return cls(predictions, predictions == labels)

    def among(self, chosen: np.ndarray) -> "Judgement":
        """The same of some items, (items,) True or False; ValueError for none."""
        if not chosen.any():
            raise ValueError(f"expected at least one of {len(chosen)} items to be chosen, got none")
        return Judgement(self.predictions[chosen], self.correct[chosen])

    @property
    def accuracy(self) -> float:
        """The share of items that are right."""
        return float(self.correct.mean())

    def interval(self, sentences: Sequence[int] | None = None) -> Interval:
        """The accuracy and its 95 % bootstrap interval; whole `sentences` are drawn if given."""
        return bootstrap_interval(self.correct, groups=sentences)

    def above(self, other: "Judgement", sentences: Sequence[int] | None = None) -> Interval:
        """How much more accurate this is than `other` on the same items, with the interval."""
        gain = self.correct.astype(float) - other.correct
        return bootstrap_interval(gain, groups=sentences)


class Probe:
    """A fitted classifier of vectors. `module` maps vectors, as they are, to logits of `labels`."""

    def __init__(self, module: nn.Module, labels: list[str], history: list[dict] | None = None):
        self.module, self.labels = module, labels
        self.history = history or []

    @torch.no_grad()
    def logits(self, features: Vectors) -> np.ndarray:
        """(items, labels) in float32."""
        place = next(iter(self.module.state_dict().values())).device
        count = len(features if isinstance(features, np.ndarray) else features[0])
        parts = [
            self.module(gather(features, np.arange(i, min(i + ROWS_AT_A_TIME, count))).to(place))
            for i in range(0, count, ROWS_AT_A_TIME)
        ]
        return torch.cat(parts).cpu().numpy()

    def predict(self, features: Vectors) -> np.ndarray:
        """(items,) the likeliest label of each."""
        return np.asarray(self.labels)[self.logits(features).argmax(axis=1)]

    def judge(self, features: Vectors, labels: Iterable[str]) -> Judgement:
        """What it says of each item against what is right; a label it never met counts as wrong."""
        return Judgement.of(self.predict(features), labels)

    def nats(self, features: Vectors, labels: Iterable[str]) -> np.ndarray:
        """(items,) -ln p(label); ValueError for a label it never met: give `names` when fitting."""
        targets = numbers_of(labels, self.labels)
        scores = torch.from_numpy(self.logits(features))
        return F.cross_entropy(scores, targets, reduction="none").numpy()


class Standardise(nn.Module):
    """(items, ...) vectors minus their mean, divided by their standard deviation, each unit."""

    def __init__(self, features: np.ndarray):
        super().__init__()
        mean, scale = moments(features)
        self.register_buffer("mean", torch.from_numpy(mean).float())
        self.register_buffer("scale", torch.from_numpy(scale).float())

    def forward(self, x: Tensor) -> Tensor:
        return (x - self.mean) / self.scale


def moments(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean and standard deviation of each column, (width,) in float64; 1 where it is 0."""
    total = square = 0.0
    middle = features[:ROWS_AT_A_TIME].mean(axis=0, dtype=np.float64)  # against cancellation
    for start in range(0, len(features), ROWS_AT_A_TIME):
        part = features[start : start + ROWS_AT_A_TIME].astype(np.float64) - middle
        total, square = total + part.sum(axis=0), square + (part**2).sum(axis=0)
    mean = total / len(features)
    scale = np.sqrt(np.maximum(square / len(features) - mean**2, 0.0))
    return middle + mean, np.where(scale > 1e-6, scale, 1.0)


def gather(features: Vectors, rows: np.ndarray) -> Tensor:
    """(rows, width) in float32; (rows, layers, width) where there are several layers."""
    if isinstance(features, np.ndarray):
        return torch.from_numpy(np.asarray(features[rows], dtype=np.float32))
    return torch.stack([gather(layer, rows) for layer in features], dim=1)


def names_of(labels: Iterable[str], names: Iterable[str] | None = None) -> list[str]:
    """The labels a probe tells apart: `names`, or all there are, sorted; ValueError below two."""
    found = sorted(set(labels if names is None else names))
    if len(found) < 2:
        raise ValueError(f"expected at least two labels to tell apart, got {found}")
    return [str(name) for name in found]


def numbers_of(labels: Iterable[str], names: Sequence[str]) -> Tensor:
    """(items,) the place of each label among `names`; ValueError for one that is not there."""
    places = {name: number for number, name in enumerate(names)}
    labels = [str(label) for label in labels]
    unknown = sorted(set(labels) - set(places))
    if unknown:
        raise ValueError(
            f"expected labels out of {list(names)[:8]}, got also {unknown[:8]}; give names= all "
            "labels when fitting"
        )
    return torch.tensor([places[label] for label in labels])


def fit(
    module: nn.Module,
    features: Vectors,
    targets: Tensor,
    *,
    penalty: Callable[[nn.Module], Tensor],
    learning_rate: float,
    epochs: int,
    seed: int = 0,
    compute: Compute | None = None,
) -> list[dict]:
    """Trains a probe in place through the one engine, in float32; returns the engine's history.

    Minimises the sum of nats of all items plus `penalty(module)`, by Adam in batches of BATCH_SIZE
    items for `epochs`, at least LEAST_STEPS steps; the learning rate falls linearly to 0.
    """
    items, size = len(targets), min(BATCH_SIZE, len(targets))
    per_epoch = -(-items // size)
    steps = max(epochs * per_epoch, LEAST_STEPS)
    compute = device.choose() if compute is None else compute
    order = {}

    def batch(step: int) -> tuple[Tensor, Tensor]:
        epoch, place = divmod(step, per_epoch)
        if epoch not in order:
            order.clear()
            order[epoch] = torch.randperm(items, generator=generator_for(seed, epoch)).numpy()
        rows = np.sort(order[epoch][place * size : (place + 1) * size])
        return gather(features, rows), targets[rows]

    def loss(probe: nn.Module, part: tuple[Tensor, ...]) -> tuple[Tensor, int]:
        vectors, right = part
        nats = F.cross_entropy(probe(vectors), right, reduction="sum")
        return nats + penalty(probe) * (len(right) / items), len(right)

    optimizer = torch.optim.Adam(module.parameters(), lr=learning_rate)
    return training.train(
        module, loss, batch,
        steps=steps, optimizers=[optimizer], seed=seed, clip=float("inf"),
        schedule=warmup_stable_decay(steps, warmup=0, decay=1.0),
        compute=replace(compute, precision=torch.float32),
    )  # fmt: skip

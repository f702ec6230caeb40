"""Training a probe, and its predictions, losses and accuracy."""

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
LEAST_STEPS = 300  # also with very few items

Vectors = np.ndarray | Sequence[np.ndarray]  # (items, width), or one such array per layer


@dataclass(frozen=True, eq=False)
class Judgement:
    """The predictions of a probe or a baseline, and which of them are correct."""

    predictions: np.ndarray  # (items,) labels
    correct: np.ndarray  # (items,) True or False

    @classmethod
    def of(cls, predictions: Iterable, labels: Iterable) -> "Judgement":
        """Compares predictions with as many labels; ValueError if numbers differ or are 0."""
        predictions, labels = np.asarray(predictions), np.asarray(labels)
        if predictions.shape != labels.shape or not len(labels):
            raise ValueError(
                f"expected at least one item and as many predictions as labels, got "
                f"{len(predictions)} and {len(labels)}"
            )
        return cls(predictions, predictions == labels)

    def among(self, chosen: np.ndarray) -> "Judgement":
        """The judgement of the items where `chosen` (items,) is True; ValueError for none."""
        if not chosen.any():
            raise ValueError(f"expected at least one of {len(chosen)} items to be chosen, got none")
        return Judgement(self.predictions[chosen], self.correct[chosen])

    @property
    def accuracy(self) -> float:
        """The share of correct predictions."""
        return float(self.correct.mean())

    def interval(self, sentences: Sequence[int] | None = None) -> Interval:
        """The accuracy with its 95 % bootstrap interval, over `sentences` if these are given."""
        return bootstrap_interval(self.correct, groups=sentences)

    def above(self, other: "Judgement", sentences: Sequence[int] | None = None) -> Interval:
        """The accuracy minus that of `other` on the same items, with its 95 % interval."""
        gain = self.correct.astype(float) - other.correct
        return bootstrap_interval(gain, groups=sentences)


class Probe:
    """A fitted classifier; `module` maps vectors (items, width) to the logits of `labels`."""

    def __init__(self, module: nn.Module, labels: list[str], history: list[dict] | None = None):
        self.module, self.labels = module, labels
        self.history = history or []

    @torch.no_grad()
    def logits(self, features: Vectors) -> np.ndarray:
        """The logits, (items, labels), in float32."""
        device = next(iter(self.module.state_dict().values())).device
        count = len(features if isinstance(features, np.ndarray) else features[0])
        parts = [
            self.module(gather(features, np.arange(i, min(i + ROWS_AT_A_TIME, count))).to(device))
            for i in range(0, count, ROWS_AT_A_TIME)
        ]
        return torch.cat(parts).cpu().numpy()

    def predict(self, features: Vectors) -> np.ndarray:
        """The most probable label of each item, (items,)."""
        return np.asarray(self.labels)[self.logits(features).argmax(axis=1)]

    def judge(self, features: Vectors, labels: Iterable[str]) -> Judgement:
        """Compares the predictions with the labels; an unknown label counts as wrong."""
        return Judgement.of(self.predict(features), labels)

    def nats(self, features: Vectors, labels: Iterable[str]) -> np.ndarray:
        """-ln p(label), (items,); ValueError for an unknown label (pass `names` when fitting)."""
        targets = numbers_of(labels, self.labels)
        scores = torch.from_numpy(self.logits(features))
        return F.cross_entropy(scores, targets, reduction="none").numpy()


class Standardise(nn.Module):
    """Vectors (items, ...) minus their mean, divided by their standard deviation, unit by unit."""

    def __init__(self, features: np.ndarray):
        super().__init__()
        mean, scale = moments(features)
        self.register_buffer("mean", torch.from_numpy(mean).float())
        self.register_buffer("scale", torch.from_numpy(scale).float())

    def forward(self, x: Tensor) -> Tensor:
        return (x - self.mean) / self.scale


def moments(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean and standard deviation (1 if it is 0) of each column, (width,) in float64."""
    total = square = 0.0
    middle = features[:ROWS_AT_A_TIME].mean(axis=0, dtype=np.float64)  # avoids cancellation
    for start in range(0, len(features), ROWS_AT_A_TIME):
        part = features[start : start + ROWS_AT_A_TIME].astype(np.float64) - middle
        total, square = total + part.sum(axis=0), square + (part**2).sum(axis=0)
    mean = total / len(features)
    scale = np.sqrt(np.maximum(square / len(features) - mean**2, 0.0))
    return middle + mean, np.where(scale > 1e-6, scale, 1.0)


def gather(features: Vectors, rows: np.ndarray) -> Tensor:
    """The rows, (rows, width) in float32, or (rows, layers, width) if there are several layers."""
    if isinstance(features, np.ndarray):
        return torch.from_numpy(np.asarray(features[rows], dtype=np.float32))
    return torch.stack([gather(layer, rows) for layer in features], dim=1)


def names_of(labels: Iterable[str], names: Iterable[str] | None = None) -> list[str]:
    """The labels of a probe, sorted: `names`, or all of `labels`; ValueError for fewer than two."""
    names = sorted(set(labels if names is None else names))
    if len(names) < 2:
        raise ValueError(f"expected at least two labels to tell apart, got {names}")
    return [str(name) for name in names]


def numbers_of(labels: Iterable[str], names: Sequence[str]) -> Tensor:
    """The index of each label in `names`, (items,); ValueError for an unknown label."""
    numbers = {name: number for number, name in enumerate(names)}
    labels = [str(label) for label in labels]
    unknown = sorted(set(labels) - set(numbers))
    if unknown:
        raise ValueError(
            f"expected labels out of {list(names)[:8]}, got also {unknown[:8]}; pass all labels as "
            "names= when fitting"
        )
    return torch.tensor([numbers[label] for label in labels])


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
    """Trains a probe in place in float32; returns the history of the training engine.

    Minimises the sum of nats over all items plus `penalty(module)`, with Adam in batches of
    BATCH_SIZE items, for `epochs` but at least LEAST_STEPS steps; the learning rate falls linearly
    to 0.
    """
    items, size = len(targets), min(BATCH_SIZE, len(targets))
    per_epoch = -(-items // size)
    steps = max(epochs * per_epoch, LEAST_STEPS)
    compute = device.choose() if compute is None else compute
    order = {}

    def batch(step: int) -> tuple[Tensor, Tensor]:
        epoch, index = divmod(step, per_epoch)
        if epoch not in order:
            order.clear()
            order[epoch] = torch.randperm(items, generator=generator_for(seed, epoch)).numpy()
        rows = np.sort(order[epoch][index * size : (index + 1) * size])
        return gather(features, rows), targets[rows]

    def loss(probe: nn.Module, part: tuple[Tensor, ...]) -> tuple[Tensor, int]:
        vectors, targets = part
        nats = F.cross_entropy(probe(vectors), targets, reduction="sum")
        return nats + penalty(probe) * (len(targets) / items), len(targets)

    optimizer = torch.optim.Adam(module.parameters(), lr=learning_rate)
    return training.train(
        module, loss, batch,
        steps=steps, optimizers=[optimizer], seed=seed, clip=float("inf"),
        schedule=warmup_stable_decay(steps, warmup=0, decay=1.0),
        compute=replace(compute, precision=torch.float32),
    )  # fmt: skip

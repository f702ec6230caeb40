"""Structural probes of whole trees: distance probe and depth probe (Hewitt & Manning, 2019).

A matrix B is learnt such that |B (h_i - h_j)|^2 is the number of arcs between words i and j, or
that |B h_i + b|^2 is the depth of word i. (The bias b, which does not affect distances, is our
addition: vectors are standardised first, and b moves the origin back to the roots.) Trees are given
as `heads`, counted from 1; the head of the root is 0.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from tlcourse import device, training
from tlcourse.batching import bucket_batches
from tlcourse.device import Compute
from tlcourse.probing import trees
from tlcourse.probing.fitting import Standardise
from tlcourse.probing.tree_scores import (
    DepthScore,
    Heads,
    Keep,
    TreeScore,
    judge_depths,
    judge_distances,
)
from tlcourse.training import warmup_stable_decay

BATCH_SIZE = 32  # sentences
LEAST_STEPS = 300
LEARNING_RATE = 0.01

Sentences = Sequence[np.ndarray]  # the vectors (words, width) of each sentence


@dataclass(frozen=True, eq=False)
class StructuralProbe:
    """A fitted B. `module` maps vectors (..., width) to (..., rank)."""

    module: nn.Module
    history: list[dict]

    @torch.no_grad()
    def project(self, vectors: np.ndarray) -> np.ndarray:
        """(words, width) to (words, rank): the vectors in the space of the probe."""
        device = next(self.module.parameters()).device
        projected = self.module(torch.from_numpy(np.asarray(vectors, np.float32)).to(device))
        return projected.cpu().numpy()


class DistanceProbe(StructuralProbe):
    """A probe whose squared distances between words predict their distance in the tree."""

    def distances(self, vectors: np.ndarray) -> np.ndarray:
        """The predicted distances: (words, width) to (words, words)."""
        projected = torch.from_numpy(self.project(vectors))
        return _squared_distances(projected[None])[0].numpy()

    def judge(self, vectors: Sentences, heads: Heads, *, keep: Keep = None) -> TreeScore:
        """Compares the predicted trees of sentences with the gold trees."""
        return judge_distances([self.distances(words) for words in vectors], heads, keep=keep)


class DepthProbe(StructuralProbe):
    """A probe whose squared lengths of words predict their depth in the tree."""

    def depths(self, vectors: np.ndarray) -> np.ndarray:
        """The predicted depths: (words, width) to (words,)."""
        return np.square(self.project(vectors)).sum(axis=1)

    def judge(self, vectors: Sentences, heads: Heads, *, keep: Keep = None) -> DepthScore:
        """Compares the predicted depths of words with the gold depths."""
        return judge_depths([self.depths(words) for words in vectors], heads, keep=keep)


def distance_probe(
    vectors: Sentences,
    heads: Heads,
    *,
    rank: int = 64,
    epochs: int = 10,
    seed: int = 0,
    compute: Compute | None = None,
) -> DistanceProbe:
    """Learns B (rank, width) from trees and the vectors of words (see `Features.sentences`).

    Minimises the sum over sentences of the mean over pairs of |arcs - |B (h_i - h_j)|^2|. Sentences
    of one word and those left out of the features are skipped.
    """
    gold = [trees.distances(tree) for tree in heads]
    return DistanceProbe(*_fit(vectors, gold, _squared_distances, rank, epochs, seed, compute))


def depth_probe(
    vectors: Sentences,
    heads: Heads,
    *,
    rank: int = 64,
    epochs: int = 10,
    seed: int = 0,
    compute: Compute | None = None,
) -> DepthProbe:
    """Learns B (rank, width) from trees; minimises the mean over words of |depth - |B h_i + b|^2|.

    Otherwise as `distance_probe`.
    """
    gold = [trees.depths(tree) for tree in heads]
    return DepthProbe(*_fit(vectors, gold, _squared_lengths, rank, epochs, seed, compute))


def _squared_distances(projected: Tensor) -> Tensor:
    """(sentences, words, rank) to squared distances (sentences, words, words)."""
    square = projected.square().sum(-1)
    product = projected @ projected.transpose(1, 2)
    return (square[:, :, None] + square[:, None] - 2 * product).clamp_min(0.0)


def _squared_lengths(projected: Tensor) -> Tensor:
    """(sentences, words, rank) to squared lengths (sentences, words)."""
    return projected.square().sum(-1)


def _fit(
    vectors: Sentences,
    gold: Sequence[np.ndarray],
    measure: Callable[[Tensor], Tensor],
    rank: int,
    epochs: int,
    seed: int,
    compute: Compute | None,
) -> tuple[nn.Module, list[dict]]:
    """B as a module, trained so that `measure` of projected words matches `gold`; its history."""
    chosen = _chosen(vectors, gold)
    states, targets = [vectors[number] for number in chosen], [gold[number] for number in chosen]
    steps = max(epochs * -(-len(chosen) // BATCH_SIZE), LEAST_STEPS)

    def loss(module: nn.Module, part: tuple[Tensor, ...]) -> tuple[Tensor, int]:
        padded, tree, counts = part
        errors = (measure(module(padded)) - tree).abs().nan_to_num(0.0)  # nan marks padding
        return (errors.flatten(1).sum(1) / counts ** (tree.ndim - 1)).sum(), len(counts)

    linear = nn.Linear(states[0].shape[1], rank)
    noise = torch.randn(linear.weight.shape, generator=torch.Generator().manual_seed(seed))
    with torch.no_grad():
        linear.weight.copy_(noise / noise.numel() ** 0.5)
        linear.bias.zero_()
    module = nn.Sequential(Standardise(np.concatenate(states)), linear)
    compute = device.choose() if compute is None else compute
    history = training.train(
        module, loss, _batches(states, targets, steps, seed),
        steps=steps, seed=seed, clip=float("inf"),
        optimizers=[torch.optim.Adam(module.parameters(), lr=LEARNING_RATE)],
        schedule=warmup_stable_decay(steps, warmup=0, decay=1.0),
        compute=replace(compute, precision=torch.float32),
    )  # fmt: skip
    return module, history


def _batches(
    states: Sentences, gold: Sequence[np.ndarray], steps: int, seed: int
) -> Callable[[int], tuple[Tensor, ...]]:
    """Batches of sentences of similar length: vectors, gold (padded with nan), word counts."""
    numbers: list[list[int]] = []
    for epoch in range(steps):
        numbers += bucket_batches([len(words) for words in states], BATCH_SIZE, seed, epoch)
        if len(numbers) >= steps:
            break

    def batch(step: int) -> tuple[Tensor, ...]:
        vectors = [torch.from_numpy(np.asarray(states[i], np.float32)) for i in numbers[step]]
        counts = torch.tensor([len(words) for words in vectors])
        measures = [torch.from_numpy(gold[i]).float() for i in numbers[step]]
        longest = int(counts.max())
        padded = torch.full((len(vectors), *[longest] * measures[0].ndim), torch.nan)
        for row, tree in enumerate(measures):
            padded[(row, *(slice(size) for size in tree.shape))] = tree
        return nn.utils.rnn.pad_sequence(vectors, batch_first=True), padded, counts

    return batch


def _chosen(vectors: Sentences, gold: Sequence[np.ndarray]) -> list[int]:
    """The numbers of the sentences of two words or more.

    Raises ValueError if there are none, and for a tree with another number of words.
    """
    if len(vectors) != len(gold):
        raise ValueError(f"expected a tree for each of {len(vectors)} sentences, got {len(gold)}")
    for number, (states, tree) in enumerate(zip(vectors, gold, strict=True)):
        if len(states) not in (0, len(tree)):
            raise ValueError(
                f"sentence {number}: expected a head for each of its {len(states)} words, got "
                f"{len(tree)}"
            )
    chosen = [number for number, states in enumerate(vectors) if len(states) > 1]
    if not chosen:
        raise ValueError("expected sentences of at least two words, got none")
    return chosen

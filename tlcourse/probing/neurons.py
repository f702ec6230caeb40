"""Finding neurons that correlate with a signal, and checking them on other texts.

Source: Karpathy et al. (2016), "Visualizing and Understanding Recurrent Networks", for LSTM cells.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tlcourse import device
from tlcourse.batching import pad
from tlcourse.device import Compute
from tlcourse.transformer import Transformer

TEXTS_AT_A_TIME = 16

Texts = Sequence[Sequence[int]]  # the ids of each text
Signal = Sequence[Sequence[float]]  # for each text, one number per token


def bracket_depth(tokens: Sequence[str]) -> list[int]:
    """The number of open brackets after each token."""
    depth, depths = 0, []
    for token in tokens:
        depth += sum(map(token.count, "([{")) - sum(map(token.count, ")]}"))
        depth = max(depth, 0)
        depths.append(depth)
    return depths


def inside_quotation(tokens: Sequence[str]) -> list[int]:
    """1 after each token where a double quotation mark is open, else 0."""
    return [int(count % 2) for count in np.cumsum([token.count('"') for token in tokens])]


def place(tokens: Sequence[str]) -> list[int]:
    """The position of each token in its text, from 0."""
    return list(range(len(tokens)))


SIGNALS = {"bracket depth": bracket_depth, "inside a quotation": inside_quotation, "place": place}


@dataclass(frozen=True)
class Neuron:
    """A feed-forward neuron and its correlation with a signal, in the search and on other texts."""

    block: int  # from 0
    neuron: int
    found: float  # Pearson's correlation on the texts of the search
    held_out: float  # and on the held-out texts


def find_neurons(
    model: Transformer,
    search: tuple[Texts, Signal],
    held_out: tuple[Texts, Signal],
    *,
    count: int = 5,
    compute: Compute | None = None,
) -> list[Neuron]:
    """The `count` neurons with the largest absolute correlation with a signal, best first.

    They are chosen on `search`, texts and their signal. Among thousands of neurons some correlate
    by chance, which `held_out`, other texts and their signal, reveals.
    """
    in_search = correlations(model, *search, compute=compute)
    elsewhere = correlations(model, *held_out, compute=compute)
    best = np.argsort(-np.abs(in_search), axis=None, kind="stable")[:count]
    indices = np.unravel_index(best, in_search.shape)
    neurons = zip(*(axis.tolist() for axis in indices), strict=True)
    return [Neuron(*at, float(in_search[at]), float(elsewhere[at])) for at in neurons]


def correlations(
    model: Transformer, texts: Texts, signal: Signal, *, compute: Compute | None = None
) -> np.ndarray:
    """Pearson's correlation of each neuron with the signal over all tokens, (blocks, neurons).

    0 where a neuron is constant. Raises ValueError for a constant signal, and for one without a
    number for each token.
    """
    if [len(text) for text in texts] != [len(numbers) for numbers in signal]:
        raise ValueError("expected a number for each token of each text, got other lengths")
    values = np.concatenate([np.asarray(numbers, dtype=np.float64) for numbers in signal])
    if not values.std():
        raise ValueError(f"expected a signal that changes, got {values[0]} at every token")
    mean, count = values.mean(), len(values)
    total = square = product = 0.0
    for first, end, activations in _activations(model, texts, compute):
        centred = torch.tensor([x for numbers in signal[first:end] for x in numbers]) - mean
        activations = activations.double()  # (blocks, tokens, neurons)
        total, square = total + activations.sum(1), square + activations.square().sum(1)
        product = product + torch.einsum("btn,t->bn", activations, centred.to(activations))
    spread = (square / count - (total / count).square()).clamp_min(0.0).sqrt()
    correlation = product / count / (spread * values.std())
    return torch.where(spread > 1e-9, correlation, 0.0).cpu().numpy()


@torch.no_grad()
def _activations(
    model: Transformer, texts: Texts, compute: Compute | None
) -> Iterator[tuple[int, int, Tensor]]:
    """Yields batches of texts: `first`, `end`, and all activations (blocks, tokens, neurons)."""
    compute = device.choose() if compute is None else compute
    model.to(compute.device).eval()
    layers: list[Tensor] = []

    def keep(_, inputs: tuple[Tensor, ...]) -> None:
        layers.append(inputs[0].float())

    with ExitStack() as hooks:
        for block in model.blocks:
            hooks.enter_context(block.down.register_forward_pre_hook(keep))
        for first in range(0, len(texts), TEXTS_AT_A_TIME):
            tokens, mask = pad(texts[first : first + TEXTS_AT_A_TIME])
            mask = mask.to(compute.device)
            with compute.autocast():
                model.hidden(tokens.to(compute.device), mask)
            yield first, first + len(tokens), torch.stack([layer[mask] for layer in layers])
            layers.clear()

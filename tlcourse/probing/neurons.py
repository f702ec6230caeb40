"""A neuron that counts something: found by its correlation with a signal, checked on other text.

Source: Karpathy et al. (2016), "Visualizing and Understanding Recurrent Networks", for LSTM cells.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tlcourse import device
from tlcourse.batching import pad
from tlcourse.device import Compute
from tlcourse.transformer import Transformer

TEXTS_AT_A_TIME = 16

Texts = Sequence[Sequence[int]]  # ids
Signal = Sequence[Sequence[float]]  # of each text a number a token


def bracket_depth(tokens: Sequence[str]) -> list[int]:
    """How many brackets are open after each token."""
    depth, found = 0, []
    for token in tokens:
        depth += sum(map(token.count, "([{")) - sum(map(token.count, ")]}"))
        depth = max(depth, 0)
        found.append(depth)
    return found


def inside_quotation(tokens: Sequence[str]) -> list[int]:
    """1 where a double quotation mark is open after the token, else 0."""
    return [int(count % 2) for count in np.cumsum([token.count('"') for token in tokens])]


def place(tokens: Sequence[str]) -> list[int]:
    """The number of each token in its text, from 0."""
    return list(range(len(tokens)))


SIGNALS = {"bracket depth": bracket_depth, "inside a quotation": inside_quotation, "place": place}


@dataclass(frozen=True)
class Neuron:
    """A feed-forward neuron and how it goes with a signal, where it was found and elsewhere."""

    block: int  # from 0
    neuron: int
    found: float  # Pearson's correlation where it was searched
    held_out: float  # and on text that the search did not see


def find_neurons(
    model: Transformer,
    search: tuple[Texts, Signal],
    held_out: tuple[Texts, Signal],
    *,
    count: int = 5,
    compute: Compute | None = None,
) -> list[Neuron]:
    """The `count` neurons that go most closely with a signal, up or down, best first.

    They are looked for in `search`, texts and their signal. Among thousands some fit by chance:
    `held_out`, other texts and theirs, tells.
    """
    found = correlations(model, *search, compute=compute)
    check = correlations(model, *held_out, compute=compute)
    best = np.argsort(-np.abs(found), axis=None, kind="stable")[:count]
    places = zip(*(part.tolist() for part in np.unravel_index(best, found.shape)), strict=True)
    return [Neuron(*at, float(found[at]), float(check[at])) for at in places]


def correlations(
    model: Transformer, texts: Texts, signal: Signal, *, compute: Compute | None = None
) -> np.ndarray:
    """(blocks, neurons) Pearson's correlation of each neuron with the signal, over all tokens.

    0 where a neuron never changes. Raises ValueError for a signal that never changes, or is not a
    number a token.
    """
    if [len(text) for text in texts] != [len(each) for each in signal]:
        raise ValueError("expected a number for each token of each text; other lengths came")
    wanted = np.concatenate([np.asarray(each, dtype=np.float64) for each in signal])
    if not wanted.std():
        raise ValueError(f"expected a signal that changes, got {wanted[0]} at every token")
    middle, count = wanted.mean(), len(wanted)
    total = square = product = 0.0
    for first, end, seen in _activations(model, texts, compute):
        part = torch.tensor([value for each in signal[first:end] for value in each]) - middle
        seen = seen.double()  # (blocks, tokens, neurons)
        total, square = total + seen.sum(1), square + seen.square().sum(1)
        product = product + torch.einsum("btn,t->bn", seen, part.to(seen))
    spread = (square / count - (total / count).square()).clamp_min(0.0).sqrt()
    found = product / count / (spread * wanted.std())
    return torch.where(spread > 1e-9, found, 0.0).cpu().numpy()


@torch.no_grad()
def _activations(
    model: Transformer, texts: Texts, compute: Compute | None
) -> Iterator[tuple[int, int, Tensor]]:
    """For texts `first` to `end`: what every neuron gives, (blocks, tokens, neurons)."""
    compute = device.choose() if compute is None else compute
    model.to(compute.device).eval()
    seen: list[Tensor] = []

    def keep(_, inputs: tuple[Tensor, ...]) -> None:
        seen.append(inputs[0].float())

    hooks = [block.down.register_forward_pre_hook(keep) for block in model.blocks]
    try:
        for first in range(0, len(texts), TEXTS_AT_A_TIME):
            tokens, mask = pad(texts[first : first + TEXTS_AT_A_TIME])
            mask = mask.to(compute.device)
            with compute.autocast():
                model.hidden(tokens.to(compute.device), mask)
            yield first, first + len(tokens), torch.stack([each[mask] for each in seen])
            seen.clear()
    finally:
        for hook in hooks:
            hook.remove()

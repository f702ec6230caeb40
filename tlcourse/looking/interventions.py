"""Interventions: patching in a state from another text, permuting the attention weights.

Sources: Vig et al. (2020) and Meng et al. (2022, causal tracing) for patching; Jain & Wallace
(2019, "Attention is not Explanation") for permuting, and the answer of Wiegreffe & Pinter (2019).
"""

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from tlcourse.batching import generator_for
from tlcourse.transformer import Transformer, intervening


def patching(
    model: Transformer,
    states: Tensor | np.ndarray,
    layer: int,
    *,
    places: Sequence[int] | None = None,
) -> contextlib.AbstractContextManager:
    """A context in which the output of `layer` at `places` is `states`, (places, width).

    Usually these are rows of another text's hidden states, `seen.hidden_states[layer][0, places]`
    of a `record`; layer 0 is the embeddings. All later layers read them. Without `places`, the
    states replace the first positions. Every row of a batch gets the same states. Raises ValueError
    for a layer that the model does not have, for states of another shape and, in the forward pass,
    for positions beyond the end of the text.
    """
    states = torch.as_tensor(states).detach()
    places = list(range(states.shape[0]) if places is None else places)
    if states.shape != (len(places), model.config.width):
        raise ValueError(
            f"expected states of shape {(len(places), model.config.width)}, one for each place, "
            f"got {tuple(states.shape)}"
        )

    def change(x: Tensor) -> Tensor:
        if any(not 0 <= place < x.shape[1] for place in places):
            raise ValueError(f"expected places from 0 to {x.shape[1] - 1}, got {places}")
        x = x.clone()
        x[:, places] = states.to(x)
        return x

    return intervening(model, change, layer)


@contextlib.contextmanager
def permuting(model: Transformer, generator: torch.Generator | None = None) -> Iterator[None]:
    """A context in which the attention weights of each query are on the wrong tokens.

    In every layer and head they are permuted at random among the positions that the query may
    attend to, so each head is as confident as before, but about the wrong tokens. Without a
    generator, one with seed 0 is used.
    """
    generator = generator_for(0) if generator is None else generator

    def permuted(weights: Tensor, mask: Tensor | None) -> Tensor:
        return _permuted(weights, mask, generator)

    layers = [block.attention for block in model.blocks]
    before = [(attention.kernel, attention.change) for attention in layers]
    for attention in layers:
        attention.change = permuted
        if attention.kernel == "sdpa":  # it never returns weights that could be permuted
            attention.kernel = "explicit"
    try:
        yield
    finally:
        for attention, (kernel, change) in zip(layers, before, strict=True):
            attention.kernel, attention.change = kernel, change


def _permuted(weights: Tensor, mask: Tensor | None, generator: torch.Generator) -> Tensor:
    """Weights (batch, heads, queries, keys), permuted among the keys that the mask allows.

    Sorting by a random number, plus 2 for a masked key, puts the allowed keys first, in random
    order; sorting without the random number puts them first in their own order.
    """
    draws = torch.rand(weights.shape, generator=generator).to(weights.device)
    if mask is None:
        masked = torch.zeros_like(draws)
    else:
        masked = (~mask if mask.dtype == torch.bool else mask != 0).to(draws).expand_as(draws)
    targets = masked.argsort(dim=-1, stable=True)
    sources = (draws + 2 * masked).argsort(dim=-1)
    return torch.empty_like(weights).scatter_(-1, targets, weights.gather(-1, sources))

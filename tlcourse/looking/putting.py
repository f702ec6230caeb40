"""Putting something else in: a state from another sentence, attention to the wrong tokens.

Sources: Vig et al. (2020) and Meng et al. (2022, causal tracing) for patching; Jain & Wallace
(2019, "Attention is not Explanation") for permuting, and the answer of Wiegreffe & Pinter (2019).
"""

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from tlcourse.batching import generator_for
from tlcourse.transformer import Transformer, changing


def patching(
    model: Transformer,
    states: Tensor | np.ndarray,
    layer: int,
    *,
    places: Sequence[int] | None = None,
) -> contextlib.AbstractContextManager:
    """Inside the block what `layer` gives at `places` of a text is `states`, (places, width).

    As a rule these are rows of another text's hidden states, `seen.hidden_states[layer][0, places]`
    of a `record`; layer 0 is the embeddings. All later layers see them. Without `places` they take
    all places, from the first on. Every row of a batch gets the same. Raises ValueError for a layer
    that is not there, states of another shape, and, in a pass, for places behind a text's end.
    """
    given = torch.as_tensor(states).detach()
    where = list(range(given.shape[0]) if places is None else places)
    if given.shape != (len(where), model.config.width):
        raise ValueError(
            f"expected states of shape {(len(where), model.config.width)}, one for each place, got "
            f"{tuple(given.shape)}"
        )

    def change(x: Tensor) -> Tensor:
        if any(not 0 <= place < x.shape[1] for place in where):
            raise ValueError(f"expected places from 0 to {x.shape[1] - 1}, got {where}")
        x = x.clone()
        x[:, where] = given.to(x)
        return x

    return changing(model, change, layer)


@contextlib.contextmanager
def permuting(model: Transformer, generator: torch.Generator | None = None) -> Iterator[None]:
    """Inside the block each query gives its weights to the wrong tokens, in every layer and head.

    They are permuted at random among the positions that the query may look at: each head is as
    sure as it was, and of the wrong thing. Without a generator, one of seed 0.
    """
    generator = generator_for(0) if generator is None else generator

    def permuted(weights: Tensor, mask: Tensor | None) -> Tensor:
        return _permuted(weights, mask, generator)

    layers = [block.attention for block in model.blocks]
    before = [(attention.kernel, attention.change) for attention in layers]
    for attention in layers:
        attention.change = permuted
        if attention.kernel == "sdpa":  # which has no weights to permute
            attention.kernel = "explicit"
    try:
        yield
    finally:
        for attention, (kernel, change) in zip(layers, before, strict=True):
            attention.kernel, attention.change = kernel, change


def _permuted(weights: Tensor, mask: Tensor | None, generator: torch.Generator) -> Tensor:
    """(batch, heads, queries, keys) weights, permuted where the mask of `explicit_attention` lets.

    Sorted by a random number, with a 2 added to what may not be seen, the keys that may be seen
    come first, in random order; sorted without the random number, in their own order.
    """
    draws = torch.rand(weights.shape, generator=generator).to(weights.device)
    if mask is None:
        hidden = torch.zeros_like(draws)
    else:
        hidden = (~mask if mask.dtype == torch.bool else mask != 0).to(draws).expand_as(draws)
    into = hidden.argsort(dim=-1, stable=True)
    out_of = (draws + 2 * hidden).argsort(dim=-1)
    return torch.empty_like(weights).scatter_(-1, into, weights.gather(-1, out_of))

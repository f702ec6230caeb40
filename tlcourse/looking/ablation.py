"""Does it matter? Heads, layers and halves of layers taken out while a model runs.

A judge of one's own, a loss or an accuracy, is asked inside the block and outside. Sources: Michel
et al. (2019) and Voita et al. (2019), who take heads out; Wang et al. (2023), who put their mean in
their place.
"""

import contextlib
from collections.abc import Iterable, Iterator

import numpy as np
import torch
from torch import Tensor

from tlcourse.device import Compute
from tlcourse.looking.heads import Head, by_layer, changing_heads
from tlcourse.looking.texts import Texts, as_array, read
from tlcourse.transformer import Transformer

PARTS = ("block", "attention", "feed-forward")


def ablating(
    model: Transformer, heads: Iterable[Head], *, means: np.ndarray | Tensor | None = None
) -> contextlib.AbstractContextManager:
    """Inside the block these heads, (layer, head) from 0, give 0, or at every place their mean.

    `means` (layers, heads, head_dim) is what `head_means` found. A 0 may be something that later
    layers have never met, so that it does more harm than the loss of what the head says; the mean
    is the milder question. Raises ValueError for a head that is not there and means of another
    shape.
    """
    chosen = by_layer(model, heads)
    head_dim = model.config.width // model.config.heads
    shape = (len(model.blocks), model.config.heads, head_dim)
    given = torch.zeros(shape) if means is None else torch.as_tensor(means)
    if given.shape != shape:
        raise ValueError(
            f"expected means of shape {shape}, one for each head, got {tuple(given.shape)}; "
            "`head_means` makes them"
        )

    def change(layer: int, mixed: Tensor) -> Tensor | None:
        if layer not in chosen:
            return None
        mixed = mixed.clone()
        mixed[..., chosen[layer], :] = given[layer, chosen[layer]].to(mixed)
        return mixed

    return changing_heads(model, change)


def head_means(model: Transformer, texts: Texts, *, compute: Compute | None = None) -> np.ndarray:
    """What each head gives on average over the tokens of all texts: (layers, heads, head_dim).

    Before the output layer; padding does not count.
    """
    parts: dict[int, Tensor] = {}
    total, count = 0.0, 0
    with changing_heads(model, parts.__setitem__):
        for _, _, mask in read(model, texts, compute):
            total = total + np.stack(
                [as_array(parts[layer][mask]).sum(0) for layer in range(len(model.blocks))]
            )
            count += int(mask.sum())
    return total / count


@contextlib.contextmanager
def skipping(model: Transformer, layers: Iterable[int], *, part: str = "block") -> Iterator[None]:
    """Inside the block these layers, from 0, hand on what they are given.

    With `part="attention"` or "feed-forward" only that half adds nothing to the residual stream.
    Raises ValueError for another part and a layer that is not there.
    """
    if part not in PARTS:
        raise ValueError(f"expected part= one of {', '.join(PARTS)}, got {part!r}")
    chosen = sorted({int(layer) for layer in layers})
    if any(not 0 <= layer < len(model.blocks) for layer in chosen):
        raise ValueError(f"expected layers from 0 to {len(model.blocks) - 1}, got {chosen}")
    hooks = []
    for block in (model.blocks[layer] for layer in chosen):
        if part == "block":
            hooks.append(block.register_forward_hook(lambda _, inputs, __: inputs[0]))
        else:
            half = block.attention if part == "attention" else block.down
            hooks.append(half.register_forward_hook(lambda _, __, out: torch.zeros_like(out)))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()

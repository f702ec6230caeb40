"""Ablation: heads, layers and halves of layers switched off while a model runs.

Compare a measure of your own, such as a loss or an accuracy, inside and outside the `with` block.
Sources: Michel et al. (2019) and Voita et al. (2019), who set heads to 0; Wang et al. (2023), who
replace them by their mean.
"""

import contextlib
from collections.abc import Iterable, Iterator

import numpy as np
import torch
from torch import Tensor

from tlcourse.device import Compute
from tlcourse.looking.heads import Head, heads_by_layer, intervening_on_heads
from tlcourse.looking.texts import Texts, as_array, read
from tlcourse.transformer import Transformer

PARTS = ("block", "attention", "feed-forward")


def ablating(
    model: Transformer, heads: Iterable[Head], *, means: np.ndarray | Tensor | None = None
) -> contextlib.AbstractContextManager:
    """A context in which these heads, (layer, head) from 0, give 0, or their mean at each position.

    `means` (layers, heads, head_dim) comes from `head_means`. Later layers may never have seen a
    0, so it can do more harm than the loss of what the head contributes; the mean avoids this.
    Raises ValueError for a head that the model does not have and for means of another shape.
    """
    chosen = heads_by_layer(model, heads)
    head_dim = model.config.width // model.config.heads
    shape = (len(model.blocks), model.config.heads, head_dim)
    outputs = torch.zeros(shape) if means is None else torch.as_tensor(means)
    if outputs.shape != shape:
        raise ValueError(
            f"expected means of shape {shape}, one for each head, got {tuple(outputs.shape)}; "
            "`head_means` computes them"
        )

    def change(layer: int, mixed: Tensor) -> Tensor | None:
        if layer not in chosen:
            return None
        mixed = mixed.clone()
        mixed[..., chosen[layer], :] = outputs[layer, chosen[layer]].to(mixed)
        return mixed

    return intervening_on_heads(model, change)


def head_means(model: Transformer, texts: Texts, *, compute: Compute | None = None) -> np.ndarray:
    """The mean output of each head over the tokens of all texts: (layers, heads, head_dim).

    The outputs are taken before the output layer, and padding is left out.
    """
    outputs: dict[int, Tensor] = {}
    total, count = 0.0, 0
    with intervening_on_heads(model, outputs.__setitem__):
        for _, _, mask in read(model, texts, compute):
            total = total + np.stack(
                [as_array(outputs[layer][mask]).sum(0) for layer in range(len(model.blocks))]
            )
            count += int(mask.sum())
    return total / count


@contextlib.contextmanager
def skipping(model: Transformer, layers: Iterable[int], *, part: str = "block") -> Iterator[None]:
    """A context in which these layers, counted from 0, return their input unchanged.

    With `part="attention"` or `part="feed-forward"` only that half is skipped: it adds nothing to
    the residual stream. Raises ValueError for another part and for a layer that the model does not
    have.
    """
    if part not in PARTS:
        raise ValueError(f"expected part= one of {', '.join(PARTS)}, got {part!r}")
    chosen = sorted({int(layer) for layer in layers})
    if any(not 0 <= layer < len(model.blocks) for layer in chosen):
        raise ValueError(f"expected layers from 0 to {len(model.blocks) - 1}, got {chosen}")
    with contextlib.ExitStack() as hooks:
        for block in (model.blocks[layer] for layer in chosen):
            if part == "block":
                hook = block.register_forward_hook(lambda _, inputs, __: inputs[0])
            else:
                half = block.attention if part == "attention" else block.down
                hook = half.register_forward_hook(lambda _, __, out: torch.zeros_like(out))
            hooks.enter_context(hook)
        yield

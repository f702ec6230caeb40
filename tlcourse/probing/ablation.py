"""Ablation by erasure: the effect of erasing words and neurons on a measure.

Source: Li et al. (2016), "Understanding Neural Networks through Representation Erasure".
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from tlcourse.transformer import Transformer

WAYS = ("zero", "mean")  # the values that replace the erased ones


def erase_words(
    tokens: Sequence[int], judge: Callable[[Tensor], Tensor], replacement: int
) -> np.ndarray:
    """The change of the measure when each token is erased: (length, ...).

    `judge` maps ids (rows, length) to (rows, ...), such as the loss of each token; then entry (i,
    j) is the increase of the loss of token j when token i is erased. An erased token becomes
    `replacement`, such as the id of `<mask>` or `<unk>`.
    """
    intact = torch.as_tensor(list(tokens))
    rows = intact.repeat(len(intact) + 1, 1)
    rows[torch.arange(len(intact)), torch.arange(len(intact))] = replacement
    with torch.no_grad():
        values = judge(rows).float().cpu().numpy()
    return values[:-1] - values[-1]


@contextlib.contextmanager
def erasing_neurons(
    model: Transformer, neurons: Sequence[int], block: int, *, by: str = "zero"
) -> Iterator[None]:
    """A context in which these neurons are 0 or, with `by="mean"`, their mean over the batch.

    Neurons are the `feed_forward` activations of a feed-forward layer at each position; blocks
    count from 0. If a neuron is never near 0, part of the effect of a 0 is that later layers have
    never seen one there. The mean is over all positions of the batch, including padding, so use
    texts of one length or one text at a time. Raises ValueError for another `by`.
    """
    down = model.blocks[block].down
    with down.register_forward_pre_hook(lambda _, inputs: (_erased(inputs[0], neurons, by),)):
        yield


def _erased(x: Tensor, units: Sequence[int], by: str) -> Tensor:
    """(..., width) with these units set to 0 or to their mean; ValueError for another `by`."""
    if by not in WAYS:
        raise ValueError(f"expected by= one of {', '.join(WAYS)}, got {by!r}")
    units = torch.as_tensor(units, device=x.device)
    if by == "zero":
        return x.index_fill(-1, units, 0.0)
    means = x[..., units].float().flatten(0, -2).mean(0).to(x.dtype)
    return x.index_copy(-1, units, means.expand(*x.shape[:-1], -1))

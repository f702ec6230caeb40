"""Ablation by erasure: the effect of erasing words, hidden units and neurons on a measure.

`judge` is a function without arguments that returns a number or an array for the model in its
current state: a loss, an accuracy, the probability of a label. Source: Li et al. (2016),
"Understanding Neural Networks through Representation Erasure".
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from tlcourse.transformer import Transformer, intervening

Judge = Callable[[], float | np.ndarray | Tensor]
Groups = Sequence[int | Sequence[int]]  # the units of a group are erased together
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


def erase_units(
    model: Transformer, judge: Judge, groups: Groups, *, by: str = "zero"
) -> np.ndarray:
    """The change of `judge()` when hidden units are erased: (layers, groups, ...), from layer 0.

    A unit is one of the `width` values of a layer at each position; those of a group are erased
    together. With `by="zero"` they become 0 (zero ablation). If a unit is never near 0, part of the
    effect is that later layers have never seen a 0 there. With `by="mean"` each becomes its mean
    over all positions of the batch (mean ablation), including padding, so use texts of one length
    or one text at a time. Raises ValueError for another `by`.
    """

    def without(layer: int, units: Sequence[int]) -> contextlib.AbstractContextManager:
        return intervening(model, lambda x: _erased(x, units, by), layer)

    return _effects(judge, without, range(len(model.blocks) + 1), groups)


def erase_neurons(
    model: Transformer, judge: Judge, groups: Groups, *, by: str = "zero"
) -> np.ndarray:
    """The change of `judge()` when feed-forward neurons are erased: (blocks, groups, ...).

    See `erasing_neurons`.
    """

    def without(block: int, neurons: Sequence[int]) -> contextlib.AbstractContextManager:
        return erasing_neurons(model, neurons, block, by=by)

    return _effects(judge, without, range(len(model.blocks)), groups)


@contextlib.contextmanager
def erasing_neurons(
    model: Transformer, neurons: Sequence[int], block: int, *, by: str = "zero"
) -> Iterator[None]:
    """A context in which these neurons are 0 or, with `by="mean"`, their mean over the batch.

    Neurons are the `feed_forward` activations of a feed-forward layer at each position; blocks
    count from 0. See `erase_units` for the two values of `by`.
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


@torch.no_grad()
def _effects(judge: Judge, without: Callable, layers: Sequence[int], groups: Groups) -> np.ndarray:
    """(layers, groups, ...): `judge()` within `without(layer, group)` minus `judge()` intact."""
    intact = _as_array(judge())
    effects = np.empty((len(layers), len(groups), *intact.shape))
    for row, layer in enumerate(layers):
        for column, group in enumerate(groups):
            with without(layer, np.atleast_1d(group).tolist()):
                effects[row, column] = _as_array(judge()) - intact
    return effects


def _as_array(value: float | np.ndarray | Tensor) -> np.ndarray:
    return torch.as_tensor(value).double().cpu().numpy()

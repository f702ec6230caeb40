"""What a judgement depends on: words, hidden units and single neurons erased one after the other.

A judge is a function of nothing that says a number, or an array, of the model as it is just then: a
loss, an accuracy, the probability of a label. Source: Li et al. (2016), "Understanding Neural
Networks through Representation Erasure".
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from tlcourse.transformer import Transformer, changing

Judge = Callable[[], float | np.ndarray | Tensor]
Groups = Sequence[int | Sequence[int]]  # what is erased together
WAYS = ("zero", "mean")  # what is put in the place of what is erased


def erase_words(
    tokens: Sequence[int], judge: Callable[[Tensor], Tensor], replacement: int
) -> np.ndarray:
    """How the judgement of a text changes without each of its tokens: (length, ...).

    `judge` maps ids (rows, length) to (rows, ...), such as the loss of each token: then entry
    (i, j) is what erasing token i adds to the loss of token j. Token i becomes `replacement`, such
    as `<mask>` or `<unk>`.
    """
    intact = torch.as_tensor(list(tokens))
    rows = intact.repeat(len(intact) + 1, 1)
    rows[torch.arange(len(intact)), torch.arange(len(intact))] = replacement
    with torch.no_grad():
        found = judge(rows).float().cpu().numpy()
    return found[:-1] - found[-1]


def erase_units(
    model: Transformer, judge: Judge, groups: Groups, *, by: str = "zero"
) -> np.ndarray:
    """How `judge()` changes without hidden units: (layers, groups, ...), embeddings first.

    A unit is one of the `width` numbers that a layer gives at each position; those of a group are
    erased together. With `by="zero"` they become 0 (zero ablation): where a unit is never near 0,
    what that costs is also that later layers have never met a 0 there. With "mean" each becomes its
    mean over all positions of the batch (mean ablation), padding too: judge texts of one length, or
    one at a time. Raises ValueError for another `by`.
    """

    def without(layer: int, units: Sequence[int]) -> contextlib.AbstractContextManager:
        return changing(model, lambda x: _erased(x, units, by), layer)

    return _effects(judge, without, range(len(model.blocks) + 1), groups)


def erase_neurons(
    model: Transformer, judge: Judge, groups: Groups, *, by: str = "zero"
) -> np.ndarray:
    """How `judge()` changes without feed-forward neurons: (blocks, groups, ...); see
    `erasing_neurons`.
    """

    def without(block: int, neurons: Sequence[int]) -> contextlib.AbstractContextManager:
        return erasing_neurons(model, neurons, block, by=by)

    return _effects(judge, without, range(len(model.blocks)), groups)


@contextlib.contextmanager
def erasing_neurons(
    model: Transformer, neurons: Sequence[int], block: int, *, by: str = "zero"
) -> Iterator[None]:
    """Inside the block of code these neurons give 0, or with `by="mean"` their mean over the batch.

    Neurons are what a feed-forward layer makes of `up` and the activation, `feed_forward` numbers
    at each position; blocks count from 0. See `erase_units` for the two ways.
    """
    hook = model.blocks[block].down.register_forward_pre_hook(
        lambda _, inputs: (_erased(inputs[0], neurons, by),)
    )
    try:
        yield
    finally:
        hook.remove()


def _erased(x: Tensor, units: Sequence[int], by: str) -> Tensor:
    """(..., width) with these units 0 or at their mean; ValueError for another way."""
    if by not in WAYS:
        raise ValueError(f"expected by= one of {', '.join(WAYS)}, got {by!r}")
    units = torch.as_tensor(units, device=x.device)
    if by == "zero":
        return x.index_fill(-1, units, 0.0)
    means = x[..., units].float().flatten(0, -2).mean(0).to(x.dtype)
    return x.index_copy(-1, units, means.expand(*x.shape[:-1], -1))


@torch.no_grad()
def _effects(judge: Judge, without: Callable, places: Sequence[int], groups: Groups) -> np.ndarray:
    """(places, groups, ...): what `judge()` says within `without(place, group)`, less intact."""
    intact = _numbers(judge())
    found = np.empty((len(places), len(groups), *intact.shape))
    for row, place in enumerate(places):
        for column, group in enumerate(groups):
            with without(place, np.atleast_1d(group).tolist()):
                found[row, column] = _numbers(judge()) - intact
    return found


def _numbers(judgement: float | np.ndarray | Tensor) -> np.ndarray:
    return torch.as_tensor(judgement).double().cpu().numpy()

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

from tlcourse.probing.removal import changing
from tlcourse.transformer import Transformer

Judge = Callable[[], float | np.ndarray | Tensor]
Groups = Sequence[int | Sequence[int]]  # what is erased together


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


def erase_units(model: Transformer, judge: Judge, groups: Groups) -> np.ndarray:
    """How `judge()` changes without hidden units: (layers, groups, ...), embeddings first.

    A unit is one of the `width` numbers that a layer gives at each position; those of a group are 0
    together.
    """

    def without(layer: int, units: Sequence[int]) -> contextlib.AbstractContextManager:
        return changing(model, lambda x: _zeroed(x, units), layer)

    return _effects(judge, without, range(len(model.blocks) + 1), groups)


def erase_neurons(model: Transformer, judge: Judge, groups: Groups) -> np.ndarray:
    """How `judge()` changes without feed-forward neurons: (blocks, groups, ...); see
    `erasing_neurons`.
    """

    def without(block: int, neurons: Sequence[int]) -> contextlib.AbstractContextManager:
        return erasing_neurons(model, neurons, block)

    return _effects(judge, without, range(len(model.blocks)), groups)


@contextlib.contextmanager
def erasing_neurons(model: Transformer, neurons: Sequence[int], block: int) -> Iterator[None]:
    """Inside the block of code these neurons give 0: what a feed-forward layer makes of `up` and
    the activation, `feed_forward` numbers at each position. Blocks count from 0.
    """
    hook = model.blocks[block].down.register_forward_pre_hook(
        lambda _, inputs: (_zeroed(inputs[0], neurons),)
    )
    try:
        yield
    finally:
        hook.remove()


def _zeroed(x: Tensor, units: Sequence[int]) -> Tensor:
    return x.index_fill(-1, torch.as_tensor(units, device=x.device), 0.0)


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

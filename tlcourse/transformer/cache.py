"""Keys and values that are kept, so that writing a text reads each of its tokens only once."""

import contextlib
from collections.abc import Iterator

from torch import Tensor

from tlcourse.transformer.model import Transformer


@contextlib.contextmanager
def cached(model: Transformer) -> Iterator[None]:
    """A context in which each forward pass of a causal model continues the texts of the last one.

    Give the first tokens, (batch, length) without padding, and then only those that are new: the
    logits are those of the whole texts at the new positions. Leaving the context removes the keys
    and values. Raises ValueError for a model that is not causal, whose states would change.
    """
    if not model.config.causal:
        raise ValueError("expected a causal model, since in others new tokens change old states")
    layers = [block.attention for block in model.blocks]
    for layer in layers:
        layer.cache = ()
    try:
        yield
    finally:
        for layer in layers:
            layer.cache = None


def reorder(model: Transformer, rows: Tensor) -> None:
    """Inside `cached`: row i of the texts becomes what row `rows[i]` was."""
    for block in model.blocks:
        block.attention.cache = tuple(part[rows] for part in block.attention.cache or ())

"""Changing what a model does while it does it: the other half of looking."""

import contextlib
from collections.abc import Callable, Iterator

from torch import Tensor

from tlcourse.transformer.model import Transformer


@contextlib.contextmanager
def changing(model: Transformer, change: Callable[[Tensor], Tensor], layer: int) -> Iterator[None]:
    """Inside the block what `layer` gives, (batch, length, width), passes through `change`.

    So do all later layers see it. Blocks may be nested. Raises ValueError for a layer that is not
    there.
    """
    if not 0 <= layer <= len(model.blocks):
        raise ValueError(f"expected a layer from 0 to {len(model.blocks)}, got {layer}")
    if layer == 0:
        hook = model.blocks[0].register_forward_pre_hook(
            lambda _, inputs: (change(inputs[0]), *inputs[1:])
        )
    else:
        hook = model.blocks[layer - 1].register_forward_hook(lambda *seen: change(seen[-1]))
    try:
        yield
    finally:
        hook.remove()

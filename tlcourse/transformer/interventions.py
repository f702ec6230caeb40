"""Intervening on a model's hidden states while it runs."""

import contextlib
from collections.abc import Callable, Iterator

from torch import Tensor

from tlcourse.transformer.model import Transformer


@contextlib.contextmanager
def intervening(
    model: Transformer, change: Callable[[Tensor], Tensor], layer: int
) -> Iterator[None]:
    """A context in which `change` replaces the output of `layer`, (batch, length, width).

    All later layers see the changed states; layer 0 is the embeddings. Contexts may be nested.
    Raises ValueError for a layer that the model does not have.
    """
    if not 0 <= layer <= len(model.blocks):
        raise ValueError(f"expected a layer from 0 to {len(model.blocks)}, got {layer}")
    if layer == 0:
        hook = model.blocks[0].register_forward_pre_hook(
            lambda _, inputs: (change(inputs[0]), *inputs[1:])
        )
    else:
        hook = model.blocks[layer - 1].register_forward_hook(lambda _, __, output: change(output))
    try:
        yield
    finally:
        hook.remove()

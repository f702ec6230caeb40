"""The outputs of single heads, to be read or replaced before the output layer."""

import contextlib
from collections.abc import Callable, Iterable, Iterator

from torch import Tensor

from tlcourse.transformer import Transformer

Head = tuple[int, int]  # layer and head, both from 0


@contextlib.contextmanager
def intervening_on_heads(
    model: Transformer, change: Callable[[int, Tensor], Tensor | None]
) -> Iterator[None]:
    """A context in which the head outputs of each layer are replaced by `change(layer, mixed)`.

    `mixed` (batch, length, heads, head_dim) is each head's weighted sum of the values, before the
    output layer. If `change` returns None, the outputs stay as they are. Works with every kernel.
    """

    def hook(layer: int) -> Callable:
        def pre(_, inputs: tuple[Tensor]) -> tuple[Tensor] | None:
            (mixed,) = inputs
            heads = model.config.heads
            changed = change(layer, mixed.unflatten(-1, (heads, -1)))
            return None if changed is None else (changed.flatten(-2),)

        return pre

    with contextlib.ExitStack() as hooks:
        for layer, block in enumerate(model.blocks):
            hooks.enter_context(block.attention.output.register_forward_pre_hook(hook(layer)))
        yield


def heads_by_layer(model: Transformer, heads: Iterable[Head]) -> dict[int, list[int]]:
    """The chosen heads of each layer that has any: layer to the sorted numbers of its heads.

    Raises ValueError for a head that the model does not have.
    """
    chosen: dict[int, list[int]] = {}
    layers, count = len(model.blocks), model.config.heads
    for head in sorted({tuple(map(int, head)) for head in heads}):
        if len(head) != 2 or not (0 <= head[0] < layers and 0 <= head[1] < count):
            raise ValueError(
                f"expected heads as (layer, head), layers 0 to {layers - 1} and heads 0 to "
                f"{count - 1}, got {head}"
            )
        chosen.setdefault(head[0], []).append(head[1])
    return chosen

"""What single heads give, to be read or changed on its way into the output layer."""

import contextlib
from collections.abc import Callable, Iterable, Iterator

from torch import Tensor

from tlcourse.transformer import Transformer

Head = tuple[int, int]  # layer and head, both from 0


@contextlib.contextmanager
def changing_heads(
    model: Transformer, change: Callable[[int, Tensor], Tensor | None]
) -> Iterator[None]:
    """Inside the block what the heads of each layer give passes through `change(layer, mixed)`.

    `mixed` is (batch, length, heads, head_dim): what each head mixed from the values, before the
    output layer. A change that returns None only looks. Every kernel may run.
    """

    def hook(layer: int) -> Callable:
        def pre(_, inputs: tuple[Tensor]) -> tuple[Tensor] | None:
            (mixed,) = inputs
            heads = model.config.heads
            changed = change(layer, mixed.unflatten(-1, (heads, -1)))
            return None if changed is None else (changed.flatten(-2),)

        return pre

    hooks = [
        block.attention.output.register_forward_pre_hook(hook(layer))
        for layer, block in enumerate(model.blocks)
    ]
    try:
        yield
    finally:
        for each in hooks:
            each.remove()


def by_layer(model: Transformer, heads: Iterable[Head]) -> dict[int, list[int]]:
    """The heads of each layer that has any; ValueError for what the model does not have."""
    found: dict[int, list[int]] = {}
    layers, count = len(model.blocks), model.config.heads
    for each in sorted({tuple(map(int, head)) for head in heads}):
        if len(each) != 2 or not (0 <= each[0] < layers and 0 <= each[1] < count):
            raise ValueError(
                f"expected heads as (layer, head), layers 0 to {layers - 1} and heads 0 to "
                f"{count - 1}, got {each}"
            )
        found.setdefault(each[0], []).append(each[1])
    return found

"""Looking at what a model does while it does it."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from torch import Tensor

from tlcourse.transformer.model import Transformer


@dataclass
class Record:
    """What `record` saw: one entry a layer."""

    attention: list[Tensor] = field(default_factory=list)  # (batch, heads, length, length)
    hidden_states: list[Tensor] = field(default_factory=list)  # (batch, length, width)


@contextlib.contextmanager
def record(model: Transformer) -> Iterator[Record]:
    """Keeps attention weights and hidden states of each forward pass inside the block.

    The same layers switch to the explicit kernel and back; outside the block looking costs nothing.
    `hidden_states[0]` is the embeddings, then one entry a block; a new pass replaces the old.
    """
    seen = Record()
    kernels = [block.attention.kernel for block in model.blocks]

    def start(_, inputs):
        seen.attention.clear()
        seen.hidden_states[:] = [inputs[0].detach()]

    def keep(block, _, output):
        seen.attention.append(block.attention.weights)
        seen.hidden_states.append(output.detach())
        block.attention.weights = None

    hooks = [block.register_forward_hook(keep) for block in model.blocks]
    hooks.append(model.blocks[0].register_forward_pre_hook(start))
    model.set_attention("record")
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()
        for block, kernel in zip(model.blocks, kernels, strict=True):
            block.attention.kernel = kernel

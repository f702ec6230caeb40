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
    cross_attention: list[Tensor] = field(default_factory=list)  # (…, length, source length)
    hidden_states: list[Tensor] = field(default_factory=list)  # (batch, length, width)


@contextlib.contextmanager
def record(model: Transformer) -> Iterator[Record]:
    """Keeps attention weights and hidden states of each forward pass inside the block.

    The same layers switch to the explicit kernel and back; outside the block looking costs nothing.
    `hidden_states[0]` is the embeddings, then one entry a block; a new pass replaces the old.
    """
    seen = Record()
    layers = [layer for block in model.blocks for layer in block.attentions()]
    kernels = [layer.kernel for layer in layers]

    def start(_, inputs):
        seen.attention.clear()
        seen.cross_attention.clear()
        seen.hidden_states[:] = [inputs[0].detach()]

    def keep(block, _, output):
        seen.attention.append(block.attention.weights)
        seen.hidden_states.append(output.detach())
        if block.cross_attention is not None:
            seen.cross_attention.append(block.cross_attention.weights)
        for layer in block.attentions():
            layer.weights = None

    hooks = [block.register_forward_hook(keep) for block in model.blocks]
    hooks.append(model.blocks[0].register_forward_pre_hook(start))
    model.set_attention("record")
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()
        for layer, kernel in zip(layers, kernels, strict=True):
            layer.kernel = kernel

"""Recording the attention weights and hidden states of a model while it runs."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from torch import Tensor

from tlcourse.transformer.model import Transformer


@dataclass
class Record:
    """The tensors kept by `record`, one entry per layer."""

    attention: list[Tensor] = field(default_factory=list)  # (batch, heads, length, length)
    cross_attention: list[Tensor] = field(default_factory=list)  # (…, length, source length)
    hidden_states: list[Tensor] = field(default_factory=list)  # (batch, length, width)


@contextlib.contextmanager
def record(model: Transformer) -> Iterator[Record]:
    """A context that keeps the attention weights and hidden states of the last forward pass.

    Inside, the layers use the explicit kernel; outside, recording costs nothing. `hidden_states[0]`
    is the embeddings, followed by one entry per block. Each forward pass replaces the last.
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

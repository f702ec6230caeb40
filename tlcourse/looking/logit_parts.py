"""Direct logit attribution: a logit as a sum of parts (Elhage et al., 2021; Wang et al., 2023)."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tlcourse.looking.heads import intervening_on_heads
from tlcourse.looking.texts import as_array, one_text
from tlcourse.transformer import Transformer


@dataclass(frozen=True, eq=False)
class Attribution:
    """The contribution of each part of a model to a logit at one position; their sum is the logit.

    Only direct contributions count: a head that helps a later head gets no credit for it.
    """

    embeddings: float
    heads: np.ndarray  # (layers, heads)
    biases: np.ndarray  # (layers,), of the output layers of attention
    feed_forwards: np.ndarray  # (layers,)
    rest: float  # the biases of the final norm and of the head, the same at every position

    @property
    def logit(self) -> float:
        """The sum of all parts."""
        return sum(self.parts().values())

    def parts(self) -> dict[str, float]:
        """The contributions by name, in the model's order; "head 0.2" is head 2 of layer 0."""
        parts = {"embeddings": self.embeddings}
        for layer, heads in enumerate(self.heads.tolist()):
            parts |= {f"head {layer}.{head}": value for head, value in enumerate(heads)}
            parts[f"attention bias {layer}"] = float(self.biases[layer])
            parts[f"feed-forward {layer}"] = float(self.feed_forwards[layer])
        return parts | {"rest": self.rest}


@torch.no_grad()
def attribution(
    model: Transformer, ids: Sequence[int] | Tensor, token: int, *, place: int = -1
) -> Attribution:
    """The contributions of embeddings, heads and feed-forwards to the logit of `token` at `place`.

    The residual stream is a sum, and the final norm is a linear map of it once its scale, the
    standard deviation at that position, is held fixed, so each part's contribution is its product
    with one direction. Only differences have a meaning, as between two tokens, because softmax
    ignores a constant added to all logits. Raises ValueError for a position outside the text, and
    for a model that normalises after each residual sum or has a layer before its head (BERT).
    """
    if not model.config.norm_first or model.transform is not None:
        raise ValueError(
            "expected a model that norms first and has no layer before its head, so that its "
            "logits are sums of parts, got one like BERT; use a causal model of the course"
        )
    tokens = one_text(model, ids)
    if not -tokens.shape[1] <= place < tokens.shape[1]:
        raise ValueError(f"expected a place from 0 to {tokens.shape[1] - 1}, got {place}")
    states, mixed, attention_outputs, feed_forward_outputs = _outputs(model, tokens, place)
    matrix, bias = model.output_layer
    direction = (model.norm.weight * matrix[token]).double()
    scale = (states[-1].double().var(correction=0) + model.norm.eps).sqrt()
    direction = (direction - direction.mean()) / scale  # the norm subtracts the mean

    def share(part: Tensor) -> np.ndarray:
        return as_array(part.double() @ direction)

    layers = zip(model.blocks, mixed, strict=True)
    heads = np.stack([share(_head_outputs(block, values)) for block, values in layers])
    rest = model.norm.bias.double() @ matrix[token].double()
    return Attribution(
        embeddings=float(share(states[0])),
        heads=heads,
        biases=share(torch.stack(attention_outputs)) - heads.sum(axis=1),
        feed_forwards=share(torch.stack(feed_forward_outputs)),
        rest=float(rest) + (0.0 if bias is None else float(bias[token])),
    )


def _head_outputs(block: torch.nn.Module, mixed: Tensor) -> Tensor:
    """Each head's contribution to the residual stream: (heads, head_dim) to (heads, width)."""
    alone = torch.diag_embed(mixed.T, dim1=0, dim2=1).flatten(1)  # (heads, heads * head_dim)
    return block.attention.output(alone) - block.attention.output(torch.zeros_like(alone))


def _outputs(model: Transformer, tokens: Tensor, place: int) -> tuple[list[Tensor], ...]:
    """Hidden states at a position; for each layer the outputs of heads, attention, feed-forward."""
    mixed: dict[int, Tensor] = {}
    outputs: dict[torch.nn.Module, Tensor] = {}

    def keep(module: torch.nn.Module, _, out: Tensor) -> None:
        outputs[module] = out[0, place]

    halves = [[block.attention for block in model.blocks], [block.down for block in model.blocks]]
    with ExitStack() as hooks:
        for module in (*halves[0], *halves[1]):
            hooks.enter_context(module.register_forward_hook(keep))
        hooks.enter_context(intervening_on_heads(model, mixed.__setitem__))
        states = [state[0, place] for state in model.hidden_states(tokens)]
    heads = [mixed[layer][0, place] for layer in range(len(model.blocks))]
    return states, heads, *([outputs[module] for module in half] for half in halves)

"""Who put the logit there? Direct logit attribution (Elhage et al., 2021; Wang et al., 2023)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tlcourse.looking.heads import changing_heads
from tlcourse.looking.texts import as_array, one_text
from tlcourse.transformer import Transformer


@dataclass(frozen=True, eq=False)
class Attribution:
    """What each part of a model adds to one logit at one place; together they are the logit.

    Only what goes straight to the head: a head that helps a later one does not get the credit.
    """

    embeddings: float
    heads: np.ndarray  # (layers, heads)
    biases: np.ndarray  # (layers,) of the output layers of attention
    feed_forwards: np.ndarray  # (layers,)
    rest: float  # the biases of the final norm and of the head, the same at every place

    @property
    def logit(self) -> float:
        """The sum of all parts."""
        return sum(self.parts().values())

    def parts(self) -> dict[str, float]:
        """All of them by name, in the order of the model: "head 0.2" is head 2 of layer 0."""
        found = {"embeddings": self.embeddings}
        for layer, heads in enumerate(self.heads.tolist()):
            found |= {f"head {layer}.{head}": value for head, value in enumerate(heads)}
            found[f"attention bias {layer}"] = float(self.biases[layer])
            found[f"feed-forward {layer}"] = float(self.feed_forwards[layer])
        return found | {"rest": self.rest}


@torch.no_grad()
def attribution(
    model: Transformer, ids: Sequence[int] | Tensor, token: int, *, place: int = -1
) -> Attribution:
    """What embeddings, heads and feed-forwards add to the logit of `token` at `place` of a text.

    The residual stream is a sum, and the final norm is a linear map of it once its scale, the
    standard deviation of that place, is held fixed: so each part's share is its product with one
    direction. Only differences mean something, as between two tokens: softmax takes no notice of
    what all logits have in common. Raises ValueError for a place that is not there, and for a model
    that norms after each sum or transforms before the head (BERT).
    """
    if not model.config.norm_first or model.transform is not None:
        raise ValueError(
            "expected a model that norms first and has no layer before its head, whose logits are "
            "sums of parts; this one is like BERT"
        )
    tokens = one_text(model, ids)
    if not -tokens.shape[1] <= place < tokens.shape[1]:
        raise ValueError(f"expected a place from 0 to {tokens.shape[1] - 1}, got {place}")
    states, mixed, attended, fed = _watched(model, tokens, place)
    matrix, bias = model.output_layer
    direction = (model.norm.weight * matrix[token]).double()
    scale = (states[-1].double().var(correction=0) + model.norm.eps).sqrt()
    direction = (direction - direction.mean()) / scale  # the norm takes the mean off

    def share(part: Tensor) -> np.ndarray:
        return as_array(part.double() @ direction)

    heads = np.stack([share(_of_heads(*each)) for each in zip(model.blocks, mixed, strict=True)])
    rest = model.norm.bias.double() @ matrix[token].double()
    return Attribution(
        embeddings=float(share(states[0])),
        heads=heads,
        biases=share(torch.stack(attended)) - heads.sum(axis=1),
        feed_forwards=share(torch.stack(fed)),
        rest=float(rest) + (0.0 if bias is None else float(bias[token])),
    )


def _of_heads(block: torch.nn.Module, mixed: Tensor) -> Tensor:
    """What each head, (heads, head_dim), adds to the residual stream: (heads, width)."""
    alone = torch.diag_embed(mixed.T, dim1=0, dim2=1).flatten(1)  # (heads, heads * head_dim)
    return block.attention.output(alone) - block.attention.output(torch.zeros_like(alone))


def _watched(model: Transformer, tokens: Tensor, place: int) -> tuple[list[Tensor], ...]:
    """At the place: hidden states, and for each layer mixed heads, attention and feed-forward."""
    mixed: dict[int, Tensor] = {}
    outputs: dict[torch.nn.Module, Tensor] = {}

    def keep(module: torch.nn.Module, _, out: Tensor) -> None:
        outputs[module] = out[0, place]

    halves = [[block.attention for block in model.blocks], [block.down for block in model.blocks]]
    hooks = [module.register_forward_hook(keep) for half in halves for module in half]
    try:
        with changing_heads(model, mixed.__setitem__):
            states = [state[0, place] for state in model.hidden_states(tokens)]
    finally:
        for hook in hooks:
            hook.remove()
    heads = [mixed[layer][0, place] for layer in range(len(model.blocks))]
    return states, heads, *([outputs[module] for module in half] for half in halves)

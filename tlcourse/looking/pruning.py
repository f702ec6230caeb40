"""Pruning: the importance of heads, the order in which to remove them, and a model without them.

Source: Michel et al. (2019), "Are Sixteen Heads Really Better than One?".
"""

import copy
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from tlcourse.looking.heads import Head, heads_by_layer, intervening_on_heads
from tlcourse.transformer import Transformer


def head_importance(
    model: Transformer, loss: Callable[[Any], Tensor], examples: Iterable[Any]
) -> np.ndarray:
    """The mean sensitivity of the loss to each head: (layers, heads).

    This is the mean over examples of |d loss / d gate|, where each head's output is multiplied by a
    gate of 1. `loss(example)` returns a scalar with a gradient, so it must not run under `no_grad`;
    an example is a text or a batch. Weights and their gradients are not changed. Raises ValueError
    if there is no example.
    """
    device, shape = model.embedding.weight.device, (model.config.heads, 1)
    gates = [torch.ones(shape, device=device, requires_grad=True) for _ in model.blocks]
    total, count = torch.zeros(len(gates), model.config.heads, device=device), 0
    with intervening_on_heads(model, lambda layer, mixed: mixed * gates[layer].to(mixed)):
        for example in examples:
            slopes = torch.autograd.grad(loss(example), gates)
            total += torch.stack(slopes).squeeze(-1).abs()
            count += 1
    if not count:
        raise ValueError("expected at least one example, got none")
    return (total / count).cpu().numpy()


@dataclass(frozen=True)
class Pruning:
    """The heads in the order of their removal, and the value of `judge` after each."""

    order: tuple[Head, ...]
    curve: tuple[float, ...]  # with all heads, then after each removal: one entry more than `order`

    def can_go(self, limit: float) -> int:
        """The largest number of removed heads at which the curve is at most `limit`, else 0."""
        return max((count for count, value in enumerate(self.curve) if value <= limit), default=0)


def greedy_pruning(
    judge: Callable[[frozenset[Head]], float],
    heads: Iterable[Head],
    *,
    limit: float = math.inf,
    steps: int | None = None,
) -> Pruning:
    """Removes heads one by one, each time the head whose removal does the least harm.

    `judge(removed)` returns a loss or an error rate (lower is better) of the model without these
    heads, usually inside `with ablating(model, removed)`; it is called with every candidate added
    to the heads removed so far. Among equals the first head is removed. Pruning stops when no head
    is left, after `steps`, or when every candidate would exceed `limit`. Removing all n heads takes
    n (n + 1) / 2 calls, so a few hundred texts must do; report the result on other texts, since
    these chose the heads.
    """
    left, removed = list(heads), frozenset()
    order, curve = [], [float(judge(removed))]
    for _ in range(len(left) if steps is None else min(steps, len(left))):
        harms = [float(judge(removed | {head})) for head in left]
        least = int(np.argmin(harms))
        if harms[least] > limit:
            break
        curve.append(harms[least])
        order.append(left.pop(least))
        removed |= {order[-1]}
    return Pruning(tuple(order), tuple(curve))


def prune(model: Transformer, heads: Iterable[Head]) -> Transformer:
    """A copy of the model without these heads, (layer, head) from 0: nothing reads their output.

    The columns of the output layers are set to 0, with the same result as `ablating` and no gain in
    speed. Raises ValueError for a head that the model does not have, and if an output layer has
    been replaced by another module.
    """
    chosen = heads_by_layer(model, heads)
    pruned, head_dim = copy.deepcopy(model), model.config.width // model.config.heads
    for layer, removed in chosen.items():
        output = pruned.blocks[layer].attention.output
        if type(output) is not nn.Linear:
            raise ValueError(
                f"expected a linear output layer in layer {layer}, got {type(output).__name__}; "
                "merge a LoRA into the weights, or use `ablating`"
            )
        with torch.no_grad():
            output.weight.unflatten(1, (-1, head_dim))[:, removed] = 0.0
    return pruned

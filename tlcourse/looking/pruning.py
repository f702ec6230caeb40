"""How many heads can go? Their importance, the order in which they go, and a model without them.

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

from tlcourse.looking.heads import Head, by_layer, changing_heads
from tlcourse.transformer import Transformer


def head_importance(
    model: Transformer, loss: Callable[[Any], Tensor], examples: Iterable[Any]
) -> np.ndarray:
    """How much the loss of an example moves with each head, on average: (layers, heads).

    The mean over examples of |d loss / d gate|, where what a head gives is multiplied by a gate
    that stands at 1. `loss(example)` gives one number with a gradient, so not under `no_grad`; an
    example is a text or a batch. No weight and no weight's gradient is touched. Raises ValueError
    without an example.
    """
    device, shape = model.embedding.weight.device, (model.config.heads, 1)
    gates = [torch.ones(shape, device=device, requires_grad=True) for _ in model.blocks]
    total, count = torch.zeros(len(gates), model.config.heads, device=device), 0
    with changing_heads(model, lambda layer, mixed: mixed * gates[layer].to(mixed)):
        for example in examples:
            slopes = torch.autograd.grad(loss(example), gates)
            total += torch.stack(slopes).squeeze(-1).abs()
            count += 1
    if not count:
        raise ValueError("expected at least one example, got none")
    return (total / count).cpu().numpy()


@dataclass(frozen=True)
class Pruning:
    """Heads in the order in which they went, and what the judge said on the way."""

    order: tuple[Head, ...]
    curve: tuple[float, ...]  # with all of them, then after each that went: one entry more

    def can_go(self, limit: float) -> int:
        """The most heads without which the judge says no more than `limit`; 0 if there are none."""
        return max((count for count, value in enumerate(self.curve) if value <= limit), default=0)


def greedy_pruning(
    judge: Callable[[frozenset[Head]], float],
    heads: Iterable[Head],
    *,
    limit: float = math.inf,
    steps: int | None = None,
) -> Pruning:
    """Takes one head after the other away, each time the one whose loss does least harm.

    `judge(removed)` is asked with every set of one head more, and the lower it says the better: a
    loss, an error rate; `with ablating(model, removed)` inside it does the removing. Of equals the
    first goes. It ends when all are gone, after `steps`, or where every head would bring the judge
    above `limit`. Of n heads all take n (n + 1) / 2 judgements: a few hundred texts will do, and
    the last word has a set on which nothing was chosen.
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
    """A copy whose heads, (layer, head) from 0, are gone for good: nobody reads their output.

    The columns of the output layers become 0, which gives what `ablating` gives, in no less time.
    Raises ValueError for a head that is not there, and where another module stands in an output
    layer's place.
    """
    chosen = by_layer(model, heads)
    pruned, head_dim = copy.deepcopy(model), model.config.width // model.config.heads
    for layer, gone in chosen.items():
        output = pruned.blocks[layer].attention.output
        if type(output) is not nn.Linear:
            raise ValueError(
                f"expected a linear output layer in layer {layer}, got {type(output).__name__}; "
                "merge a LoRA into the weights, or use `ablating`"
            )
        with torch.no_grad():
            output.weight.unflatten(1, (-1, head_dim))[:, gone] = 0.0
    return pruned

"""Layers of experts: many feed-forward layers in place of one, of which each token uses a few.

Sources: Shazeer et al. (2017), "Outrageously Large Neural Networks: The Sparsely-Gated
Mixture-of-Experts Layer"; Fedus et al. (2022), "Switch Transformers"; Komatsuzaki et al. (2023),
"Sparse Upcycling", for experts that start as copies of a trained layer.
"""

import contextlib
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from tlcourse.transformer.config import ACTIVATIONS, Config
from tlcourse.transformer.model import Block, Transformer


class Routes(NamedTuple):
    """Which experts compute which tokens; the tokens are the rows of all texts, one below another.

    `gates` are the factors by which the outputs of the `chosen` experts are multiplied.
    """

    probabilities: Tensor  # (tokens, experts)
    chosen: Tensor  # (tokens, k), the numbers of the most probable experts
    gates: Tensor  # (tokens, k)


class Router(nn.Module):
    """A linear layer and a softmax give each expert a probability; the k most probable are chosen.

    With k = 1 the gate is the probability (Switch). With more, the gates are the probabilities
    divided by their sum over the chosen (Shazeer et al.). With k = 1 that would always be 1, so the
    router would get no gradient.
    """

    def __init__(self, width: int, experts: int, *, k: int = 1):
        super().__init__()
        self.k = k
        self.scores = nn.Linear(width, experts, bias=False)
        nn.init.normal_(self.scores.weight, std=0.02)

    def forward(self, tokens: Tensor) -> Routes:
        """(tokens, width) to the routes of these tokens."""
        probabilities = self.scores(tokens).softmax(dim=-1)
        gates, chosen = probabilities.topk(self.k, dim=-1)
        if self.k > 1:
            gates = gates / gates.sum(dim=-1, keepdim=True)
        return Routes(probabilities, chosen, gates)


class Expert(nn.Module):
    """One feed-forward layer, as in `Block`."""

    def __init__(self, config: Config):
        super().__init__()
        self.activation = ACTIVATIONS[config.activation]
        self.up = nn.Linear(config.width, config.feed_forward)
        self.down = nn.Linear(config.feed_forward, config.width)

    def forward(self, tokens: Tensor) -> Tensor:
        """(tokens, width) to the same."""
        return self.down(self.activation(self.up(tokens)))


class Experts(nn.Module):
    """A router and several feed-forward layers, of which each token uses only `k`.

    The output is the sum of what the chosen experts return, each times its gate. Every token is
    computed, however many choose the same expert: there is no limit (capacity), and no noise is
    added to the router's scores. Padding is routed like any other token. An expert that no token
    chose gets 0 rows, so that its gradients are zero, not missing. Raises ValueError unless k is at
    least 1 and at most the number of experts.
    """

    def __init__(self, config: Config, experts: int = 4, *, k: int = 1):
        super().__init__()
        if not 1 <= k <= experts:
            raise ValueError(f"expected a k from 1 to the {experts} experts, got {k}; change one")
        self.router = Router(config.width, experts, k=k)
        self.experts = nn.ModuleList(Expert(config) for _ in range(experts))

    def forward(self, x: Tensor) -> Tensor:
        """(batch, length, width) to the same."""
        tokens = x.flatten(0, -2)
        routes = self.router(tokens)
        mixed = torch.zeros_like(tokens)
        for number, expert in enumerate(self.experts):
            token, place = (routes.chosen == number).nonzero(as_tuple=True)
            output = routes.gates[token, place, None] * expert(tokens[token])
            mixed = mixed.index_add(0, token, output.to(mixed.dtype))
        return mixed.view_as(x)


class ExpertBlock(Block):
    """A `Block` whose feed-forward layer is `Experts`, each of which starts as a copy of `block`'s.

    It has the attention and the norms of `block`, not copies of them.
    """

    def __init__(self, block: Block, config: Config, *, experts: int = 4, k: int = 1):
        super().__init__(config)
        self.experts = Experts(config, experts, k=k).to(block.up.weight)
        for expert in self.experts.experts:
            for name in ("up", "down"):
                getattr(expert, name).load_state_dict(getattr(block, name).state_dict())
        del self.up, self.down
        for name, part in block.named_children():
            if name not in ("up", "down"):
                setattr(self, name, part)
        self.train(block.training)

    def feed_forward(self, x: Tensor) -> Tensor:
        """(batch, length, width) to the same, position by position."""
        return self.dropout(self.experts(x))


def add_experts(
    model: Transformer, experts: int = 4, *, k: int = 1, layers: Collection[int] | None = None
) -> None:
    """Turns the feed-forward layers of a `Transformer` into layers of experts, in place.

    `layers` are the numbers of the blocks to change; None: all. (Switch changes every other one.)
    The experts of a layer start as copies of the old layer, and become different by learning from
    different tokens; the routers are drawn by PyTorch's own generator. With k > 1 the gates sum to
    1, so the logits are at first those of the old model; with k = 1 each layer's output is
    multiplied by a probability. Make the optimizer afterwards. Raises ValueError, before anything
    is changed, for a model that is not a `Transformer` (of an `EncoderDecoder`, give the encoder or
    the decoder), for a block that is not a plain `Block`, for a layer that the model does not have,
    and for a wrong k (see `Experts`).
    """
    if not isinstance(model, Transformer):
        raise ValueError(
            f"expected a Transformer, got {type(model).__name__}; give the encoder or the decoder "
            "of an EncoderDecoder"
        )
    chosen = range(len(model.blocks)) if layers is None else sorted(layers)
    if missing := [layer for layer in chosen if not 0 <= layer < len(model.blocks)]:
        raise ValueError(
            f"expected layers from 0 to {len(model.blocks) - 1}, got {missing}; leave them out"
        )
    for layer in chosen:
        kind = type(model.blocks[layer])
        if kind is not Block:
            raise ValueError(
                f"expected a plain Block in layer {layer}, got {kind.__name__}; choose other layers"
            )
    new = {
        layer: ExpertBlock(model.blocks[layer], model.config, experts=experts, k=k)
        for layer in chosen
    }
    for layer, block in new.items():
        model.blocks[layer] = block  # type: ignore[index]


@contextlib.contextmanager
def routing(model: nn.Module) -> Iterator[list[Routes]]:
    """A context that keeps the routes of the last forward pass, one entry for each `Router`.

    `balance_loss` can be differentiated through them. Each forward pass replaces the last. Raises
    ValueError for a model without experts.
    """
    seen: list[Routes] = []
    routers = [module for module in model.modules() if isinstance(module, Router)]
    if not routers:
        raise ValueError("expected a model with layers of experts, got none; use add_experts first")

    def keep(_, __, routes: Routes) -> None:
        seen.append(routes)

    hooks = [router.register_forward_hook(keep) for router in routers]
    hooks.append(routers[0].register_forward_pre_hook(lambda *_: seen.clear()))
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


def balance_loss(routes: Sequence[Routes], *, coefficient: float = 0.01) -> Tensor:
    """What to add to the mean loss of the tokens so that all experts are used (Fedus et al., 2022).

        coefficient · sum over layers of  N · Σ_i f_i · P_i

    for N experts, where f_i is the share of expert i among all choices, and P_i the mean of its
    probability. A layer's term is 1 if all experts are used alike, and N if one gets all tokens.
    Only P has a gradient: it lowers the probability of experts that are chosen often.
    """
    terms = []
    for probabilities, chosen, _ in routes:
        experts = probabilities.shape[-1]
        share = torch.bincount(chosen.flatten(), minlength=experts) / chosen.numel()
        terms.append(experts * (share * probabilities.mean(dim=0)).sum())
    return coefficient * torch.stack(terms).sum()

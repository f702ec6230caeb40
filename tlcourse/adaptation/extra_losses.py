"""The fourth knob: what is added to the loss.

Each takes the classifier as it stands before the first step and returns a function of classifier
and batch: nats (or a penalty) a text, which the training adds to the task's loss.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tlcourse.bpe import SPECIALS

CLS = SPECIALS.index("<cls>")
Batch = tuple[Tensor, ...]
Term = Callable[[nn.Module, Batch], Tensor]
ExtraLoss = Callable[[nn.Module], Term]


def l2_sp(strength: float = 0.01) -> ExtraLoss:
    """(strength / 2) times the squared distance of the body from where it started.

    L2-SP (Li, Grandvalet & Davoine, 2018): decay towards the pretrained weights, not towards 0.
    """

    def begin(classifier: nn.Module) -> Term:
        start = {name: p.detach().clone() for name, p in classifier.body.named_parameters()}
        return _pull(start, dict.fromkeys(start, 1.0), strength)

    return begin


def ewc(importance: Mapping[str, Tensor], strength: float) -> ExtraLoss:
    """(strength / 2) times the squared distance, each weight by its Fisher information.

    Elastic weight consolidation (Kirkpatrick et al., 2017); `importance` by the names of the body's
    parameters, as `fisher` gives it.
    """

    def begin(classifier: nn.Module) -> Term:
        start = {name: p.detach().clone() for name, p in classifier.body.named_parameters()}
        return _pull(start, importance, strength)

    return begin


def _pull(start: Mapping[str, Tensor], weights: Mapping, strength: float) -> Term:
    def term(classifier: nn.Module, batch: Batch) -> Tensor:
        return (strength / 2) * sum(
            (weights[name] * (parameter - start[name]) ** 2).sum()
            for name, parameter in classifier.body.named_parameters()
            if parameter.requires_grad
        )

    return term


def fisher(model: nn.Module, log_likelihoods: Callable[[nn.Module], Tensor]) -> dict[str, Tensor]:
    """The diagonal of the Fisher information: mean squared gradient of each log-likelihood.

    `log_likelihoods(model)` gives one number an example, (n,).
    """
    values = log_likelihoods(model)
    parameters = dict(model.named_parameters())
    total = {name: torch.zeros_like(parameter) for name, parameter in parameters.items()}
    for value in values:
        gradients = torch.autograd.grad(
            value, list(parameters.values()), retain_graph=True, allow_unused=True
        )
        for name, gradient in zip(parameters, gradients, strict=True):
            if gradient is not None:
                total[name] += gradient**2 / len(values)
    return total


def language_modelling(weight: float = 0.2) -> ExtraLoss:
    """`weight` times the causal loss of the same texts, nats a token; pads are no targets.

    Multi-task fine-tuning (Radford et al., 2018; the tutorial's `multi-task`).
    """

    def begin(classifier: nn.Module) -> Term:
        if not classifier.body.config.causal:
            raise ValueError("expected a causal body: a two-sided one sees the next token")
        return lambda model, batch: weight * causal_nats(model.body, batch[0], batch[1])

    return begin


def causal_nats(body: nn.Module, tokens: Tensor, mask: Tensor) -> Tensor:
    """Mean nats a target over padded texts with `<cls>` at their ends; neither is a target."""
    logits = body(tokens, mask)[:, :-1]
    asked = mask[:, 1:] & (tokens[:, 1:] != CLS)
    targets = tokens[:, 1:].masked_fill(~asked, -100)
    return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten(), ignore_index=-100)

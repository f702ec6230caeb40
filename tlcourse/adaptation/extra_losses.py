"""The fourth knob: what is added to the loss.

An extra loss is a value that is called with the classifier before the first step. It returns a
function of classifier and batch: nats (or a penalty) per text, which training adds to the task's
loss.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tlcourse import ranges
from tlcourse.adaptation import windows
from tlcourse.adaptation.knobs import Adaptable, Tensors, short
from tlcourse.bpe import Frame, Tokenizer
from tlcourse.checkpoints import Body

Batch = tuple[Tensor, ...]
Term = Callable[[Adaptable, Batch], Tensor]
ExtraLoss = Callable[[Adaptable], Term]


@dataclass(frozen=True)
class L2SP:
    """(strength / 2) times the squared distance of the body's weights from their start.

    L2-SP (Li, Grandvalet & Davoine, 2018): decay towards the pretrained weights instead of 0. The
    recipe's weight decay, which is towards 0, still applies to the body unless it is set to 0.
    """

    strength: float = 0.01

    def __post_init__(self) -> None:
        ranges.check(self, strength=ranges.NOT_NEGATIVE)

    def __call__(self, classifier: Adaptable) -> Term:
        """Returns the penalty on the distance from the body's present weights."""
        start = _copied(classifier.body)
        return _pull(start, dict.fromkeys(start, 1.0), self.strength)


@dataclass(frozen=True)
class EWC:
    """(strength / 2) times the squared distance, each weight times its Fisher information.

    Elastic weight consolidation (Kirkpatrick et al., 2017). `importance` maps the names of the
    body's parameters to tensors of their shapes, as `fisher` returns it; a saved classifier keeps
    its digest alone.
    """

    importance: Mapping[str, Tensor]
    strength: float

    def __post_init__(self) -> None:
        ranges.check(self, strength=ranges.NOT_NEGATIVE)
        if not isinstance(self.importance, Mapping):
            raise ValueError(
                f"importance: expected what `fisher` returns, got {short(self.importance)}"
            )
        if not isinstance(self.importance, Tensors):
            object.__setattr__(self, "importance", Tensors(self.importance))

    def __call__(self, classifier: Adaptable) -> Term:
        """Returns the penalty on the distance from the body's present weights.

        Raises ValueError for a trained parameter without importance.
        """
        trained = [name for name, p in classifier.body.named_parameters() if p.requires_grad]
        lacking = [name for name in trained if name not in self.importance]
        if lacking:
            raise ValueError(
                f"importance: expected one for each of the {len(trained)} trained tensors of the "
                f"body, got none for {len(lacking)}, first {lacking[0]}; take it from "
                "`fisher(classifier.body, ...)`, and a scheme without an edit of the body"
            )
        return _pull(_copied(classifier.body), self.importance, self.strength)


def _copied(body: nn.Module) -> dict[str, Tensor]:
    return {name: p.detach().clone() for name, p in body.named_parameters()}


def _pull(start: Mapping[str, Tensor], weights: Mapping, strength: float) -> Term:
    def term(classifier: Adaptable, batch: Batch) -> Tensor:
        return (strength / 2) * sum(
            (weights[name] * (parameter - start[name]) ** 2).sum()
            for name, parameter in classifier.body.named_parameters()
            if parameter.requires_grad
        )

    return term


def fisher(model: nn.Module, log_likelihoods: Callable[[nn.Module], Tensor]) -> dict[str, Tensor]:
    """Returns the diagonal of the Fisher information: mean squared gradients, by parameter name.

    `log_likelihoods(model)` returns the log-likelihood of each example, (n,), whose gradients are
    squared. Raises ValueError if a parameter is frozen.
    """
    frozen = [name for name, p in model.named_parameters() if not p.requires_grad]
    if frozen:
        raise ValueError(
            f"expected a model without frozen parameters, got {len(frozen)} frozen tensors, first "
            f"{frozen[0]}; call model.requires_grad_(True) before"
        )
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


@dataclass(frozen=True)
class LanguageModelling:
    """`weight` times the causal loss of the same texts, in nats per token; pads are no targets.

    Multi-task fine-tuning (Radford et al., 2018; the tutorial's `multi-task`).
    """

    weight: float = 0.2

    def __post_init__(self) -> None:
        ranges.check(self, weight=ranges.NOT_NEGATIVE)

    def __call__(self, classifier: Adaptable) -> Term:
        """Returns the loss; raises ValueError for a body that is not causal."""
        if not classifier.body.config.causal:
            raise ValueError("expected a causal body: a two-sided one sees the next token")
        frame = classifier.frame
        return lambda model, batch: (
            self.weight * causal_nats(model.body, batch[0], batch[1], frame=frame)
        )


def causal_nats(
    body: Body, tokens: Tensor, mask: Tensor, *, frame: Frame = Tokenizer.frame
) -> Tensor:
    """Returns the mean nats per target over padded texts in a frame; 0 if there is no target.

    `tokens` and `mask` (True = token) are (batch, length). Neither pads nor the frame behind a text
    are targets. Long texts are read in `windows`.
    """
    if tokens.shape[1] > body.config.max_length:
        tokens, mask, _ = windows.split(tokens, mask, body.config.max_length, frame=frame)
    logits = body(tokens, mask)[:, :-1]
    places = torch.arange(1, tokens.shape[1], device=tokens.device)
    predicted = places < (mask.sum(1) - len(frame.behind))[:, None]
    targets = tokens[:, 1:].masked_fill(~predicted, -100).flatten()
    nats = F.cross_entropy(logits.flatten(0, 1).float(), targets, reduction="sum")
    return nats / predicted.sum().clamp(min=1)

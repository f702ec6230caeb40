"""The check of own_scheme that calls the extra loss of a learner's scheme, before a training."""

import inspect
from numbers import Real
from typing import Any

import torch
from torch import Tensor, nn

from tlcourse.adaptation import Classifier
from tlcourse.batching import pad
from tlcourse.bpe import PAD
from tlcourse.exercises.adaptation._scheme_knobs import LABELS, TARGETS, TEXTS, choice, turn
from tlcourse.exercises.expect import CheckFailed, expect_type, short


def adds_to_loss(candidate) -> str | None:
    """The term is one number; the remark is for one that teaches nothing."""
    scheme = candidate()
    if scheme.extra_loss is None:
        return None
    model, _, chosen = choice(scheme)
    moving = {name for group in chosen.values() for name in group.names}
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name in moving)
    term = turn("the knob `extra_loss`", scheme.extra_loss, model)
    _expect_term(term)
    targets = torch.tensor([LABELS.index(label) for label in TARGETS])
    batch = *pad(model.encode(TEXTS), PAD), targets
    _push(model)  # what pulls to the start is 0 there
    return _remark(_number(turn("the extra loss", term, model, batch)), model)


def _expect_term(term: Any) -> None:
    """Raises CheckFailed unless this is a function of two arguments."""
    wanted = "a function of the classifier and a batch"
    if not callable(term) or isinstance(term, nn.Module):
        came = "None (is a `return` missing?)" if term is None else short(term)
        raise CheckFailed(f"the knob `extra_loss` gave {came}; expected {wanted}.")
    try:
        inspect.signature(term).bind("classifier", "batch")
    except TypeError as error:
        raise CheckFailed(f"the knob `extra_loss` gave {short(term)}; expected {wanted}.") from error
    except ValueError:
        return


def _number(value: Any) -> Tensor | Real:
    """The term's value, if it is a number; a tensor or not."""
    if isinstance(value, Tensor) and value.numel() != 1:
        raise CheckFailed(
            f"the extra loss gave a tensor of shape {tuple(value.shape)}; expected one number, the "
            "mean over the texts."
        )
    if not isinstance(value, Real):
        expect_type(value, Tensor, "the extra loss", "It holds one number.")
    return value


@torch.no_grad()
def _push(model: Classifier) -> None:
    """Moves what moves, as steps of training would."""
    draw = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=draw))


def _remark(value: Tensor | Real, model: Classifier) -> str | None:
    if not getattr(value, "requires_grad", False):
        return (
            "(A remark: the extra loss carries no gradient, so nothing is learnt from it. Leave "
            "out `.item()` and `.detach()`; does it ask anything that moves?)"
        )
    moving = [parameter for parameter in model.parameters() if parameter.requires_grad]
    gradients = torch.autograd.grad(value, moving, allow_unused=True)
    if not all(each is None or each.abs().max() <= 1e-7 for each in gradients):
        return None
    return (
        "(A remark: the extra loss has no gradient, even when the weights have moved: nothing is "
        "learnt from it. Is its start the live parameter? Keep a copy, `p.detach().clone()`.)"
    )

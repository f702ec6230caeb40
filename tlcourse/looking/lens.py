"""What a model would say if it stopped early: the logit lens (nostalgebraist, 2020)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from tlcourse.looking.texts import one_text
from tlcourse.transformer import Transformer


class Guesses(NamedTuple):
    """The likeliest tokens of each layer at each place, likeliest first."""

    ids: np.ndarray  # (layers + 1, length, count)
    probabilities: np.ndarray  # of the same shape


@torch.no_grad()
def logit_lens(model: Transformer, ids: Sequence[int] | Tensor) -> Tensor:
    """The final norm and the head on every hidden state: (layers + 1, length, vocabulary) logits.

    `ids` are those of one text; layer 0 is the embeddings, the last one gives the model's own
    logits. The norm and the head were trained for the last layer alone: that early layers say
    nothing through them does not mean that they know nothing. `lens_guesses` keeps less.
    """
    return torch.stack([_said(model, state)[0] for state in _states(model, ids)])


@torch.no_grad()
def lens_guesses(model: Transformer, ids: Sequence[int] | Tensor, *, count: int = 1) -> Guesses:
    """The `count` likeliest tokens of `logit_lens`, a layer at a time: arrays, see `Guesses`."""
    best = [_said(model, each)[0].softmax(-1).topk(count) for each in _states(model, ids)]
    parts = (torch.stack(part).cpu().numpy() for part in zip(*best, strict=True))
    probabilities, tokens = parts
    return Guesses(tokens, probabilities)


def _states(model: Transformer, ids: Sequence[int] | Tensor) -> list[Tensor]:
    return model.hidden_states(one_text(model, ids))


def _said(model: Transformer, state: Tensor) -> Tensor:
    """(1, length, width) to logits (1, length, vocabulary), as those of the last layer are made."""
    return model.logits(model.norm(state) if model.config.norm_first else state)

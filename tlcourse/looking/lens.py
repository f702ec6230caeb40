"""The logit lens: what a model would predict from an earlier layer (nostalgebraist, 2020)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from tlcourse.looking.texts import one_text
from tlcourse.transformer import Transformer


class Guesses(NamedTuple):
    """The most probable tokens of each layer at each position, the most probable first."""

    ids: np.ndarray  # (layers + 1, length, count)
    probabilities: np.ndarray  # of the same shape


@torch.no_grad()
def logit_lens(model: Transformer, ids: Sequence[int] | Tensor) -> Tensor:
    """Logits (layers + 1, length, vocabulary): the final norm and the head on every hidden state.

    `ids` are those of one text. Layer 0 is the embeddings, and the last layer gives the model's own
    logits. The norm and the head were trained for the last layer only, so an early layer may hold
    information that they cannot read. `lens_guesses` needs less memory.
    """
    return torch.stack([_logits(model, state)[0] for state in _states(model, ids)])


@torch.no_grad()
def lens_guesses(model: Transformer, ids: Sequence[int] | Tensor, *, count: int = 1) -> Guesses:
    """The `count` most probable tokens of `logit_lens`, computed one layer at a time."""
    best = [_logits(model, state)[0].softmax(-1).topk(count) for state in _states(model, ids)]
    arrays = (torch.stack(layers).cpu().numpy() for layers in zip(*best, strict=True))
    probabilities, tokens = arrays
    return Guesses(tokens, probabilities)


def _states(model: Transformer, ids: Sequence[int] | Tensor) -> list[Tensor]:
    return model.hidden_states(one_text(model, ids))


def _logits(model: Transformer, state: Tensor) -> Tensor:
    """(1, length, width) to logits (1, length, vocabulary), computed as for the last layer."""
    return model.logits(model.norm(state) if model.config.norm_first else state)

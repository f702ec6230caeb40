"""Texts as ids, in batches of about equal lengths; what two modules of this package read."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from tlcourse import device
from tlcourse.batching import pad
from tlcourse.device import Compute
from tlcourse.transformer import Transformer

TOKENS_AT_A_TIME = 2048

Texts = Iterable[Sequence[int] | Tensor | np.ndarray]  # the ids of each; rows of a tensor, too


def one_text(model: Transformer, ids: Sequence[int] | Tensor | np.ndarray) -> Tensor:
    """The ids of one text as (1, length), where the model is, which then is in evaluation mode.

    Raises ValueError for what is not the ids of one text.
    """
    tokens = torch.as_tensor(ids, device=model.eval().embedding.weight.device)
    if tokens.ndim != 1 or not len(tokens):
        raise ValueError(
            f"expected the ids of one text, at least one, got shape {tuple(tokens.shape)}"
        )
    return tokens[None]


def read(
    model: Transformer, texts: Texts, compute: Compute | None = None
) -> Iterator[tuple[list[int], Tensor, Tensor]]:
    """Runs the body on all texts, for those who look on: `record`, or hooks.

    After each batch gives the numbers of its texts, their tokens (batch, longest) and the mask,
    True = token; the longest texts first. The model is on the device of `compute` and in evaluation
    mode. Raises ValueError without a text and for an empty one.
    """
    compute = device.choose() if compute is None else compute
    model.to(compute.device).eval()
    rows = [each.tolist() if hasattr(each, "tolist") else list(each) for each in texts]
    if not rows or not all(rows):
        raise ValueError("expected at least one text and a token in each, got an empty one or none")
    numbers = sorted(range(len(rows)), key=lambda number: len(rows[number]), reverse=True)
    while numbers:
        at_once = max(1, TOKENS_AT_A_TIME // len(rows[numbers[0]]))
        batch, numbers = numbers[:at_once], numbers[at_once:]
        tokens, mask = (part.to(compute.device) for part in pad([rows[n] for n in batch]))
        with torch.no_grad(), compute.autocast():
            model.hidden(tokens, mask)
        yield batch, tokens, mask


def as_array(values: Tensor | np.ndarray) -> np.ndarray:
    """A tensor from anywhere, or an array, as float64."""
    if isinstance(values, Tensor):
        values = values.detach().cpu().double().numpy()
    return np.asarray(values, dtype=np.float64)

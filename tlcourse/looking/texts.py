"""Running a model on texts, in batches of about equal lengths."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from tlcourse import device
from tlcourse.batching import pad
from tlcourse.device import Compute
from tlcourse.transformer import Transformer

TOKENS_AT_A_TIME = 2048

Texts = Iterable[Sequence[int] | Tensor | np.ndarray]  # the ids of each text, or a tensor of rows


def one_text(model: Transformer, ids: Sequence[int] | Tensor | np.ndarray) -> Tensor:
    """The ids of one text as a tensor (1, length) on the model's device.

    The model is put into evaluation mode. Raises ValueError unless `ids` has one dimension and is
    not empty.
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
    """Runs the body on all texts, so that `record` or hooks can collect what they need.

    Yields after each batch the indices of its texts, their tokens (batch, longest) and the mask
    (True = token); the longest texts come first. Moves the model to the device of `compute` and
    puts it into evaluation mode. Raises ValueError if there is no text or an empty one.
    """
    compute = device.choose() if compute is None else compute
    model.to(compute.device).eval()
    rows = [text.tolist() if hasattr(text, "tolist") else list(text) for text in texts]
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
    """A tensor on any device, or an array, as a float64 array."""
    if isinstance(values, Tensor):
        values = values.detach().cpu().double().numpy()
    return np.asarray(values, dtype=np.float64)

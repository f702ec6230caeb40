"""Permutation language modelling: the last tokens of a random order, given those before them."""

from torch import Tensor
from torch.nn import functional as F

from tlcourse.transformer import XLNet


def permutation_loss(
    model: XLNet, tokens: Tensor, order: Tensor, *, predicted: int | None = None
) -> tuple[Tensor, int]:
    """The sum of nats of the last tokens of each order, given those before them, and their number.

    `tokens` and `order` are (batch, length); `predicted` is the number of targets in each row, from
    1 to the length. None: a sixth of the length, at least one, because the first tokens of an order
    have little to be predicted from (Yang et al., 2019, section 2.3). If all are predicted, this is
    the negative logarithm of the probability of the text under that order.
    """
    length = tokens.shape[1]
    count = max(1, length // 6) if predicted is None else predicted
    if not 1 <= count <= length:
        raise ValueError(f"expected 1 to {length} predicted positions, got {count}")
    at = order[:, length - count :]
    logits, _ = model(tokens, order=order, at=at)
    targets = tokens.gather(1, at)
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum"), at.numel()

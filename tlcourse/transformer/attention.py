"""Multi-head attention, its masks and its rotary positions (Vaswani et al., 2017)."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tlcourse.transformer.config import Config
from tlcourse.transformer.fused import can_project_jointly, joint_projection, rms_norm
from tlcourse.transformer.places import angles_of, chosen, mask_of


def causal_mask(length: int, device: torch.device | None = None) -> Tensor:
    """(length, length), True where a query (row) may attend to a key (column), up to itself."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def padding_mask(lengths: Tensor, length: int) -> Tensor:
    """(batch, length), True where there is a token, False where there is padding."""
    return torch.arange(length, device=lengths.device) < lengths[:, None]


def additive(mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """A boolean mask (True = keep) as a term of that type to add to the attention scores."""
    lowest = torch.finfo(dtype).min / 2  # half: the sum with a score stays finite
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(~mask, lowest)


def explicit_attention(query, key, value, mask, *, change=None) -> tuple[Tensor, Tensor]:
    """softmax(QK^T / sqrt(head_dim)) V, (batch, heads, length, head_dim), and the weights.

    `mask` is boolean (True = keep), or an `additive` mask of the scores' type, broadcast to (batch,
    heads, length, length), or None. A row that may attend to nothing (a padded query) gets uniform
    weights, never NaN. `change(weights, mask)` returns the weights to use instead.
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores + (additive(mask, scores.dtype) if mask.dtype == torch.bool else mask)
    weights = scores.softmax(dim=-1)
    if change is not None:
        weights = change(weights, mask)
    return weights @ value, weights


def rotary_table(
    length: int,
    head_dim: int,
    device=None,
    *,
    dtype: torch.dtype = torch.float32,
    base: float = 10_000.0,
) -> tuple[Tensor, Tensor]:
    """Cosines and signed sines of position times frequency, (length, head_dim) each.

    A pair of features is rotated to (x cos - y sin, y cos + x sin), so the first sine is negative.
    With a higher `base` the slowest pairs rotate more slowly, for longer texts (Su et al., 2021).
    """
    frequency = base ** -(torch.arange(0, head_dim, 2, device=device) / head_dim)
    angle = torch.arange(length, device=device)[:, None] * frequency
    cosine, sine = angle.cos(), angle.sin()
    return torch.cat([cosine, cosine], -1).to(dtype), torch.cat([-sine, sine], -1).to(dtype)


def rotate(x: Tensor, table: tuple[Tensor, Tensor]) -> Tensor:
    """Rotates each pair of features of (batch, heads, length, head_dim) by its position's angle.

    A pair is a feature of the first half and the corresponding feature of the second half.
    """
    cosine, signed_sine = (part.to(x.dtype) for part in table)
    return torch.addcmul(x * cosine, x.roll(x.shape[-1] // 2, -1), signed_sine)


def _with_prefix(prefix: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> tuple:
    """Keys, values and mask, each preceded by a prefix to which every query may attend."""
    first = prefix.to(key.dtype)[:, None].expand(-1, len(key), -1, -1, -1)
    if mask is not None:
        keep = True if mask.dtype == torch.bool else 0.0
        mask = F.pad(mask, (prefix.shape[2], 0), value=keep)
    return torch.cat([first[0], key], dim=2), torch.cat([first[1], value], dim=2), mask


class Attention(nn.Module):
    """Multi-head attention; `kernel` is "sdpa" (fused) or "explicit" (keeps the weights)."""

    def __init__(self, config: Config):
        super().__init__()
        self.config, self.kernel = config, "sdpa"
        self.weights: Tensor | None = None  # of the last pass, where the kernel is "record"
        self.query = nn.Linear(config.width, config.width)
        self.key = nn.Linear(config.width, config.width)
        self.value = nn.Linear(config.width, config.width)
        self.output = nn.Linear(config.width, config.width)
        self.dropout = nn.Dropout(config.dropout)
        # (2, heads, any, head_dim): keys and values that every query sees
        self.prefix: nn.Parameter | None = None
        # keys and values so far, () at the beginning; None: none are kept, see `cached`
        self.cache: tuple[Tensor, ...] | None = None
        self.change = None  # replaces the weights of the explicit kernel: see `explicit_attention`

    @property
    def past(self) -> int:
        """The number of positions whose keys and values are kept."""
        return self.cache[0].shape[2] if self.cache else 0

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None,
        table,
        at: Tensor | None = None,
        source: Tensor | None = None,
    ) -> Tensor:
        """(batch, length, width) to the same; `mask` is True = keep; `table` has the rotary angles.

        With `at` (batch,) only that position of each row is a query: the result is (batch, 1,
        width).
        With `source` (batch, source length, width) this is cross-attention: the keys and values
        are computed from the source, and the last dimension of `mask` is its length.
        """
        layers = self.query, self.key, self.value
        if at is None and source is None and can_project_jointly(x, layers):
            projected = joint_projection(x, layers)
        else:
            keys_from = x if source is None else source
            projected = self.query(chosen(x, at)), self.key(keys_from), self.value(keys_from)
        split = (len(x), -1, self.config.heads, self.config.width // self.config.heads)
        query, key, value = (part.view(split).transpose(1, 2) for part in projected)
        if self.config.qk_norm:
            query, key = rms_norm(query), rms_norm(key)
        if table is not None:
            query, key = rotate(query, angles_of(table, at)), rotate(key, table)
        if self.cache is not None:
            if self.cache:
                key, value = (
                    torch.cat(p, dim=2) for p in zip(self.cache, (key, value), strict=True)
                )
            self.cache = key, value
        mask = mask_of(mask, at)
        if self.prefix is not None:
            key, value, mask = _with_prefix(self.prefix, key, value, mask)
        if self.kernel == "sdpa":
            mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        else:
            mixed, weights = explicit_attention(query, key, value, mask, change=self.change)
            if self.kernel == "record":
                self.weights = weights.detach()
        return self.dropout(self.output(mixed.transpose(1, 2).flatten(2)))

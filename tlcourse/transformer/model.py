"""One Transformer that is GPT-2, BERT and the course's own block, by configuration alone.

Sources: Vaswani et al. (2017); Radford et al. (2019, GPT-2); Devlin et al. (2019, BERT); Su et al.
(2021, rotary positions); So et al. (2021, squared ReLU); Henry et al. (2020, query-key norm).
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tlcourse.transformer.attention import Attention, additive, causal_mask, rotary_table
from tlcourse.transformer.config import ACTIVATIONS, Config
from tlcourse.transformer.fused import is_watched
from tlcourse.transformer.places import chosen


class Block(nn.Module):
    """Attention and feed-forward, each with a residual connection; pre-norm or post-norm.

    With `cross_attention`, cross-attention to a second sequence comes in between.
    """

    def __init__(self, config: Config):
        super().__init__()
        self.norm_first, self.activation = config.norm_first, ACTIVATIONS[config.activation]
        self.attention = Attention(config)
        self.attention_norm = nn.LayerNorm(config.width, eps=config.norm_epsilon)
        self.cross_attention = Attention(config) if config.cross_attention else None
        if config.cross_attention:
            self.cross_attention_norm = nn.LayerNorm(config.width, eps=config.norm_epsilon)
        self.up = nn.Linear(config.width, config.feed_forward)
        self.down = nn.Linear(config.feed_forward, config.width)
        self.feed_forward_norm = nn.LayerNorm(config.width, eps=config.norm_epsilon)
        self.dropout = nn.Dropout(config.dropout)

    def feed_forward(self, x: Tensor) -> Tensor:
        """(batch, length, width) to the same, position by position."""
        return self.dropout(self.down(self.activation(self.up(x))))

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None,
        table,
        at: Tensor | None = None,
        source: Tensor | None = None,
        source_mask: Tensor | None = None,
    ) -> Tensor:
        """(batch, length, width) to the same; with `at` (batch,) to (batch, 1, width).

        `source` (batch, source length, width) is the input of cross-attention, if there is any.
        """
        here = chosen(x, at)
        if self.norm_first:
            here = here + self.attention(self.attention_norm(x), mask, table, at)
            if self.cross_attention is not None:
                queries = self.cross_attention_norm(here)
                here = here + self.cross_attention(queries, source_mask, None, source=source)
            return here + self.feed_forward(self.feed_forward_norm(here))
        here = self.attention_norm(here + self.attention(x, mask, table, at))
        if self.cross_attention is not None:
            mixed = self.cross_attention(here, source_mask, None, source=source)
            here = self.cross_attention_norm(here + mixed)
        return self.feed_forward_norm(here + self.feed_forward(here))

    def attentions(self) -> list[Attention]:
        """The attention layers; cross-attention, if there is any, is the last."""
        layers = [self.attention, self.cross_attention]
        return [layer for layer in layers if layer is not None]


class Transformer(nn.Module):
    """Token ids to hidden states to logits; the head shares the embedding matrix.

    `attention` is the kernel, "sdpa" or "explicit". Both give the same numbers at different speeds,
    except in rows that may attend to nothing, where they give zeros or the mean. New weights have
    a standard deviation of 0.02; in the pre-norm block the layers that write into the residual
    stream start at zero, so that each block starts as the identity.
    """

    def __init__(self, config: Config, attention: str = "sdpa"):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocabulary_size, config.width)
        self.positions = None if config.rotary else nn.Embedding(config.max_length, config.width)
        self.types = nn.Embedding(config.token_types, config.width) if config.token_types else None
        self.dropout = nn.Dropout(config.dropout)
        self.blocks: Sequence[Block] = nn.ModuleList(  # type: ignore[assignment]
            Block(config) for _ in range(config.layers)
        )
        self.norm = nn.LayerNorm(config.width, eps=config.norm_epsilon)
        self.transform = nn.Linear(config.width, config.width) if config.head_transform else None
        self.transform_norm: nn.LayerNorm | None = None
        if config.head_transform:
            self.transform_norm = nn.LayerNorm(config.width, eps=config.norm_epsilon)
        self.head_bias = (
            nn.Parameter(torch.zeros(config.vocabulary_size)) if config.head_bias else None
        )
        self.set_attention(attention)
        self.apply(self._initialise)
        if config.norm_first:
            for block in self.blocks:
                outputs = [attention.output for attention in block.attentions()]
                for layer in (*outputs, block.down):
                    nn.init.zeros_(layer.weight)

    @staticmethod
    def _initialise(module: nn.Module) -> None:
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def set_attention(self, kernel: str) -> None:
        """Sets the kernel of every layer: "sdpa", "explicit", or "record" (keeps the weights)."""
        if kernel not in ("sdpa", "explicit", "record"):
            raise ValueError(f"expected the kernel 'sdpa', 'explicit' or 'record', got {kernel!r}")
        for block in self.blocks:
            for layer in block.attentions():
                layer.kernel = kernel

    def drop_head(self) -> None:
        """Removes BERT's transform and bias, so that the head is the embedding matrix alone."""
        self.config = replace(self.config, head_transform=False, head_bias=False)
        self.transform = self.transform_norm = self.head_bias = None

    def embed(self, tokens: Tensor, types: Tensor | None = None) -> Tensor:
        """(batch, length) ids to (batch, length, width)."""
        past = self.blocks[0].attention.past
        length = past + tokens.shape[1]
        if length > self.config.max_length:
            raise ValueError(
                f"expected at most {self.config.max_length} positions, got {length}; cut the text"
            )
        x = self.embedding(tokens)
        if self.positions is not None:
            x = x + self.positions.weight[past:length]
        if self.types is not None:
            x = x + self.types(torch.zeros_like(tokens) if types is None else types)
        elif types is not None:
            raise ValueError("expected no types: this model has no token types; leave them out")
        return self.dropout(x if self.config.norm_first else self.norm(x))

    def hidden(
        self, tokens: Tensor, padding_mask: Tensor | None = None, **options: Tensor | None
    ) -> Tensor:
        """(batch, length) ids to (batch, length, width), after the last norm.

        The `options` are those of `hidden_states`.
        """
        x = self.hidden_states(tokens, padding_mask, **options)[-1]
        return self.norm(x) if self.config.norm_first else x

    def hidden_at(
        self,
        tokens: Tensor,
        padding_mask: Tensor | None = None,
        *,
        at: Tensor,
        types: Tensor | None = None,
    ) -> Tensor:
        """The hidden states at position `at` (batch,) of each row: (batch, width).

        The last block computes only these positions. It computes all of them if it has a hook, is
        being recorded, or contains a module that is not known to work position by position.
        """
        *earlier, last = self.blocks
        alone = _works_alone(last, self.norm) and not self.config.cross_attention
        if not alone or last.attention.kernel == "record":
            return chosen(self.hidden(tokens, padding_mask, types=types), at)[:, 0]
        x, mask, table = self._inputs(tokens, padding_mask, types)
        for block in earlier:
            x = block(x, mask, table)
        x = last(x, mask, table, at)
        return (self.norm(x) if self.config.norm_first else x)[:, 0]

    def hidden_states(
        self,
        tokens: Tensor,
        padding_mask: Tensor | None = None,
        *,
        types: Tensor | None = None,
        causal: Tensor | None = None,
        source: Tensor | None = None,
        source_mask: Tensor | None = None,
    ) -> list[Tensor]:
        """(batch, length) ids to states (batch, length, width) of the embeddings and each block.

        `padding_mask` is boolean, (batch, length), True = token; None if there is no padding.
        `causal` (batch,) is True for rows that attend only to the past; None leaves all rows to the
        configuration. Whole numbers (batch,) instead of booleans are the lengths of prefixes: the
        tokens of a row's prefix see one another, and each later token sees the prefix and the past
        (a prefix of 0 is causal, one of the whole length is bidirectional). Booleans (batch,
        length, length) are a mask of any kind, True where a position (row) may attend to another
        (column). A model with cross-attention also takes `source`, the states (batch, source
        length, width) of the sequence it attends to, and the padding mask of that sequence. Raises
        ValueError for another kind of mask, for more tokens than the model has positions, and for
        a source that is missing or that the model cannot use.
        """
        if (source is None) == self.config.cross_attention:
            raise ValueError(
                "expected the states of a source, since this model has cross-attention, got none"
                if source is None
                else "expected no source, since this model has no cross-attention; leave it out"
            )
        x, mask, table = self._inputs(tokens, padding_mask, types, causal)
        cross: tuple[Tensor | None, ...] = ()
        if source is not None:
            _check_mask(source_mask, source.shape[:2])
            keys = None if source_mask is None else source_mask[:, None, None, :]
            cross = None, source, self._for_kernel(keys, _precision(x))
        states = [x]
        for block in self.blocks:
            states.append(block(states[-1], mask, table, *cross))
        return states

    def _inputs(
        self,
        tokens: Tensor,
        padding_mask: Tensor | None,
        types: Tensor | None = None,
        causal: Tensor | None = None,
    ) -> tuple:
        """The inputs of the blocks: embeddings, mask and rotary table; see `hidden_states`."""
        _check_mask(padding_mask, tokens.shape)
        x = self.embed(tokens, types)
        past, head_dim = self.blocks[0].attention.past, self.config.width // self.config.heads
        length = past + tokens.shape[1]
        mask = None if padding_mask is None else padding_mask[:, None, None, :]
        if causal is not None or self.config.causal:
            allowed = causal_mask(length, tokens.device)[past:]
            if causal is not None and causal.ndim == 3:
                allowed = causal[:, None]
            elif causal is not None and causal.dtype == torch.bool:
                allowed = allowed | ~causal[:, None, None, None]
            elif causal is not None:
                in_prefix = torch.arange(length, device=tokens.device) < causal[:, None]
                allowed = allowed | in_prefix[:, None, None, :]
            mask = allowed if mask is None else mask & allowed
        precision = _precision(x)  # mask and table are cast once, for all layers
        table = None
        if self.config.rotary:  # CUDA's autocast norms queries and keys in float32
            angles = precision if x.device.type == "cpu" else torch.float32
            whole = rotary_table(length, head_dim, x.device, dtype=angles)
            table = whole[0][past:], whole[1][past:]
        return x, self._for_kernel(mask, precision), table

    def _for_kernel(self, mask: Tensor | None, precision: torch.dtype) -> Tensor | None:
        """A boolean attention mask in the form that is quickest for the kernel of the layers."""
        explicit = self.blocks[0].attention.kernel != "sdpa"
        return additive(mask, precision) if mask is not None and explicit else mask

    def transformed(self, hidden_states: Tensor) -> Tensor:
        """(..., width) to (..., width): the input of the output layer."""
        if self.transform is None or self.transform_norm is None:
            return hidden_states
        hidden_states = ACTIVATIONS[self.config.activation](self.transform(hidden_states))
        return self.transform_norm(hidden_states)

    @property
    def output_layer(self) -> tuple[Tensor, Tensor | None]:
        """The matrix (vocabulary, width), shared with the embedding, and the bias of the logits.

        Used by losses that never hold all logits at once; otherwise call `logits`.
        """
        return self.embedding.weight, self.head_bias

    def logits(self, hidden_states: Tensor) -> Tensor:
        """(..., width) hidden states, as returned by `hidden`, to (..., vocabulary) logits."""
        return F.linear(self.transformed(hidden_states), *self.output_layer)

    def forward(
        self, tokens: Tensor, padding_mask: Tensor | None = None, *, types: Tensor | None = None
    ) -> Tensor:
        """(batch, length) ids to (batch, length, vocabulary) logits."""
        return self.logits(self.hidden(tokens, padding_mask, types=types))


def _check_mask(padding_mask: Tensor | None, shape: torch.Size) -> None:
    """Raises ValueError unless the mask is None, or boolean and of that shape (batch, length)."""
    if padding_mask is None or (padding_mask.dtype, padding_mask.shape) == (torch.bool, shape):
        return
    raise ValueError(
        f"expected a boolean padding mask (True = token) of shape {tuple(shape)}, got "
        f"{padding_mask.dtype} of shape {tuple(padding_mask.shape)}; `.bool()` turns ones and "
        "zeros into one"
    )


def _precision(x: Tensor) -> torch.dtype:
    """The type of products with `x`: that of autocast if it is enabled."""
    kind = x.device.type
    on = torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)
    return torch.get_autocast_dtype(kind) if on else x.dtype


def _works_alone(*modules: nn.Module) -> bool:
    """True if all submodules work position by position and none has a hook.

    A module of your own declares this with the attribute `position_wise = True`.
    """
    position_wise = (Block, Attention, nn.Linear, nn.LayerNorm, nn.Dropout)
    return all(
        (type(part) in position_wise or getattr(part, "position_wise", False))
        and not is_watched(part)
        for module in modules
        for part in module.modules()
    )

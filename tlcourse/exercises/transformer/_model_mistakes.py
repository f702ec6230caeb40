"""Help for the exercise on the model: steps done otherwise, with the sentences they earn."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.transformer.combined_mask import combined_mask
from tlcourse.transformer import rotary_table


def products(s, hidden):
    """The right logits."""
    return hidden @ s.embedding.weight.T


def in_a_list(s, config):
    blocks = list(s.blocks)
    del s.blocks
    s.blocks = blocks


def with_a_head(s, config):
    s.head = nn.Linear(config.width, config.vocabulary_size, bias=False)


class Steps(NamedTuple):
    """The steps of a model from first to last; the right ones, where nothing is said."""

    init: Callable = lambda s, config: None  # what is done otherwise when it is built
    mask: Callable = combined_mask
    rotates: Callable = lambda config: config.rotary
    table: Callable = rotary_table
    start: Callable = lambda x: x
    order: Callable = lambda blocks: blocks
    end: Callable = lambda s, x: s.norm(x)
    logits: Callable = products


NUMBERS = "the package's numbers"
NO_TABLE = "The blocks get None in the place of the table."
MISTAKES = [
    (NUMBERS, NO_TABLE, Steps(rotates=lambda config: True)),
    (
        "the parts",
        "All layers are one and the same block: `[Block(config)] * layers` makes one. Build each: "
        "`nn.ModuleList(Block(config) for _ in range(config.layers))`.",
        Steps(init=lambda s, c: setattr(s, "blocks", nn.ModuleList([s.blocks[0]] * c.layers))),
    ),
    (
        "the parts",
        "A plain list hides its modules from PyTorch; `nn.ModuleList(…)` does not.",
        Steps(init=in_a_list),
    ),
    (
        "the parts",
        "The head has a matrix of its own; here it is tied: the embedding's, used again.",
        Steps(init=with_a_head, logits=lambda s, hidden: s.head(hidden)),
    ),
    (
        "the parts", "the model does not keep its configuration",
        Steps(init=lambda s, config: delattr(s, "config")),
    ),
    (
        "a new model knows nothing",
        "`nn.Embedding` draws with a standard deviation of 1: "
        "`nn.init.normal_(self.embedding.weight, std=0.02)`.",
        Steps(init=lambda s, config: nn.init.normal_(s.embedding.weight)),
    ),
    (
        "shapes", "`hidden` ends after the last norm; logits are made from it.",
        Steps(end=lambda s, x: products(s, s.norm(x))),
    ),
    (
        "shapes", "`logits` multiplies with the embedding's matrix, transposed.",
        Steps(logits=lambda s, hidden: hidden),
    ),
    (
        "who sees whom", "The model sees the future: is the mask handed to the blocks?",
        Steps(mask=lambda is_token, causal: combined_mask(is_token, False)),
    ),
    (
        "who sees whom",
        "It is causal although `config.causal` is False: hand that on to your mask.",
        Steps(mask=lambda is_token, causal: combined_mask(is_token)),
    ),
    (
        "padding", "`padding_mask` is not used: every pad is looked at.",
        Steps(mask=lambda is_token, causal: combined_mask(torch.ones_like(is_token), causal)),
    ),
    (NUMBERS, "The last norm is missing.", Steps(end=lambda s, x: x)),
    (
        NUMBERS, "Positions are missing: no table was handed to the blocks.",
        Steps(table=lambda *given: None),
    ),
    (NUMBERS, "The blocks come in the wrong order.", Steps(order=lambda blocks: blocks[::-1])),
    (NUMBERS, "One block is left out.", Steps(order=lambda blocks: blocks[1:])),
    (
        NUMBERS, "The embeddings are normed before the first block; only the last sum is.",
        Steps(start=lambda x: F.layer_norm(x, x.shape[-1:])),
    ),
    (
        NUMBERS, "The logits are divided by something; they are plain products.",
        Steps(logits=lambda s, hidden: products(s, hidden) / math.sqrt(12)),
    ),
    (
        "on the device of the tokens", "made on the CPU wherever the tokens are",
        Steps(table=lambda length, size, device: rotary_table(length, size)),
    ),
]  # fmt: skip

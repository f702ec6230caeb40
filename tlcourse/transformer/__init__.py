"""One Transformer that is GPT-2, BERT and the course's own block."""

from tlcourse.transformer.attention import (
    Attention,
    causal_mask,
    explicit_attention,
    padding_mask,
    rotary_table,
    rotate,
)
from tlcourse.transformer.config import (
    ACTIVATIONS,
    Config,
    bert,
    count_parameters,
    flops_per_token,
    gpt2,
)
from tlcourse.transformer.model import Block, Record, Transformer, record

__all__ = [
    "ACTIVATIONS",
    "Attention",
    "Block",
    "Config",
    "Record",
    "Transformer",
    "bert",
    "causal_mask",
    "count_parameters",
    "explicit_attention",
    "flops_per_token",
    "gpt2",
    "padding_mask",
    "record",
    "rotary_table",
    "rotate",
]

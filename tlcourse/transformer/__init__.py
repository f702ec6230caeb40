"""One Transformer that is GPT-2, BERT and the course's own block.

The configuration decides which; attention weights are kept only while they are recorded.

    import torch
    from tlcourse.transformer import (
        Config, EncoderDecoder, Transformer, bert, count_parameters, gpt2, record,
    )

    model = Transformer(Config(vocabulary_size=300, width=32, layers=2, heads=4, feed_forward=128))
    tokens = torch.randint(300, (2, 9))
    logits = model(tokens)                              # (2, 9, 300)
    assert torch.equal(logits, model.logits(model.hidden(tokens)))
    with record(model) as seen:                         # the same model, recorded
        model(tokens)
    seen.attention[0]                                   # (2, 4, 9, 9): batch, heads, query, key
    count_parameters(gpt2())["total"], count_parameters(bert())["total"]

Optimizers, losses and the training engine use only `config`, `blocks`, `hidden`, `transformed`,
`output_layer`, `logits` and `set_attention` of a model. `EncoderDecoder` has these, too, so the
same engine trains it; its losses pass it a second sequence:

    translator = EncoderDecoder(Config(300, 32, layers=2, heads=4, feed_forward=128))
    translator(tokens, source=tokens.flip(1))           # (2, 9, 300)
"""

from tlcourse.transformer.attention import (
    Attention,
    causal_mask,
    explicit_attention,
    padding_mask,
    rotary_table,
    rotate,
)
from tlcourse.transformer.cache import cached, reorder
from tlcourse.transformer.config import (
    ACTIVATIONS,
    Config,
    bert,
    count_parameters,
    flops_per_token,
    gpt2,
)
from tlcourse.transformer.drafts import shapes_alone
from tlcourse.transformer.encoder_decoder import EncoderDecoder, Initialised
from tlcourse.transformer.growing import grow_types, grow_vocabulary
from tlcourse.transformer.interventions import intervening
from tlcourse.transformer.model import Block, Transformer
from tlcourse.transformer.own import EngineMethods, as_transformer, take_weights
from tlcourse.transformer.recording import Record, record

__all__ = [
    "ACTIVATIONS",
    "Attention",
    "Block",
    "Config",
    "EncoderDecoder",
    "EngineMethods",
    "Initialised",
    "Record",
    "Transformer",
    "as_transformer",
    "bert",
    "cached",
    "causal_mask",
    "count_parameters",
    "explicit_attention",
    "flops_per_token",
    "gpt2",
    "grow_types",
    "grow_vocabulary",
    "intervening",
    "padding_mask",
    "record",
    "reorder",
    "rotary_table",
    "rotate",
    "shapes_alone",
    "take_weights",
]

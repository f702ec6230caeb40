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
    count_parameters(model)["blocks"]                   # of any model, each parameter once

Optimizers, losses and the training engine use only `config`, `blocks`, `hidden`, `transformed`,
`output_layer`, `logits` and `set_attention` of a model. `EncoderDecoder` has these, too, so the
same engine trains it; its losses pass it a second sequence:

    translator = EncoderDecoder(Config(300, 32, layers=2, heads=4, feed_forward=128))
    translator(tokens, source=tokens.flip(1))           # (2, 9, 300)

`TransformerXL` and `XLNet` have relative positions and a memory, and return both logits and the
next memory:

    from tlcourse.transformer import RelativeConfig, TransformerXL, XLNet

    shape = dict(vocabulary_size=300, width=32, layers=2, heads=4, feed_forward=64)
    reader = TransformerXL(RelativeConfig(**shape))
    logits, memory = reader(tokens)                     # (2, 9, 300), 2 layers of (2, 9, 32)
    logits, memory = reader(tokens, memory=memory)      # the next segment; memory: (2, 18, 32)
    xlnet = XLNet(RelativeConfig(**shape, causal=False, activation="gelu", head_bias=True))
    order = torch.rand(2, 9).argsort(-1)                # each row is a permutation
    logits, _ = xlnet(tokens, order=order)              # each token from those before it in order

`Albert` and `Deberta` are variants of the one `Transformer`, with its methods:

    from tlcourse.transformer import Albert, Deberta

    shape = bert(vocabulary_size=300, width=32, layers=2, heads=4, feed_forward=64)
    Albert(shape, embedding_width=8)(tokens)            # (2, 9, 300); its layers share all weights
    Deberta(shape, reach=4)(tokens)                     # (2, 9, 300); distances clipped to 4

`T5` is a variant of `EncoderDecoder`, with positions that are only added to attention scores:

    from tlcourse.transformer import T5, t5_base

    shape = t5_base(vocabulary_size=300, width=32, layers=2, heads=4, feed_forward=64)
    T5(shape)(tokens, source=tokens.flip(1))            # (2, 9, 300)

`add_experts` turns the feed-forward layers of a `Transformer` into layers of experts:

    from tlcourse.transformer import add_experts, balance_loss, routing

    add_experts(model, experts=4, k=2)
    with routing(model) as routes:
        model(tokens)                                   # each token is computed by 2 of 4 experts
    routes[0].chosen                                    # (18, 2): tokens, k
    balance_loss(routes)                                # to add to the loss: 0.01 a layer, or more
"""

from tlcourse.transformer.albert import Albert
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
from tlcourse.transformer.disentangled import (
    Deberta,
    DisentangledAttention,
    clipped_distances,
)
from tlcourse.transformer.drafts import shapes_alone
from tlcourse.transformer.encoder_decoder import EncoderDecoder, Initialised
from tlcourse.transformer.experts import (
    Expert,
    ExpertBlock,
    Experts,
    Router,
    Routes,
    add_experts,
    balance_loss,
    routing,
)
from tlcourse.transformer.growing import grow_types, grow_vocabulary
from tlcourse.transformer.interventions import intervening
from tlcourse.transformer.model import Block, Transformer
from tlcourse.transformer.own import EngineMethods, as_transformer, take_weights
from tlcourse.transformer.recording import Record, record
from tlcourse.transformer.relative import (
    RelativeAttention,
    RelativeConfig,
    TransformerXL,
    relative_shift,
    sinusoids,
)
from tlcourse.transformer.t5 import T5, T5Block, T5Stack, position_buckets, t5_base
from tlcourse.transformer.two_streams import XLNet, order_masks

__all__ = [
    "ACTIVATIONS",
    "T5",
    "Albert",
    "Attention",
    "Block",
    "Config",
    "Deberta",
    "DisentangledAttention",
    "EncoderDecoder",
    "EngineMethods",
    "Expert",
    "ExpertBlock",
    "Experts",
    "Initialised",
    "Record",
    "RelativeAttention",
    "RelativeConfig",
    "Router",
    "Routes",
    "T5Block",
    "T5Stack",
    "Transformer",
    "TransformerXL",
    "XLNet",
    "add_experts",
    "as_transformer",
    "balance_loss",
    "bert",
    "cached",
    "causal_mask",
    "clipped_distances",
    "count_parameters",
    "explicit_attention",
    "flops_per_token",
    "gpt2",
    "grow_types",
    "grow_vocabulary",
    "intervening",
    "order_masks",
    "padding_mask",
    "position_buckets",
    "record",
    "relative_shift",
    "reorder",
    "rotary_table",
    "rotate",
    "routing",
    "shapes_alone",
    "sinusoids",
    "t5_base",
    "take_weights",
]

"""Formulas for parameters and operations against the real model and published sizes."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from tlcourse import checkpoints
from tlcourse.bpe import Tokenizer
from tlcourse.transformer import (
    T5,
    Albert,
    Config,
    Deberta,
    EncoderDecoder,
    RelativeConfig,
    Transformer,
    TransformerXL,
    XLNet,
    add_experts,
    bert,
    count_parameters,
    flops_per_token,
    gpt2,
    t5_base,
)

SMALL = dict(vocabulary_size=60, width=24, layers=3, heads=3, feed_forward=40, max_length=16)
CONFIGS = {
    "shipped": Config(),
    "small": Config(**SMALL),
    "gpt2": gpt2(**SMALL),
    "bert": bert(**SMALL),
    "head": Config(**SMALL, head_transform=True, head_bias=True, token_types=3),
}
# Radford et al. (2019) give 117M, 345M, 762M, 1542M; the counts are those of the released weights.
GPT2_SIZES = [
    (768, 12, 12, 124_439_808),
    (1024, 24, 16, 354_823_168),
    (1280, 36, 20, 774_030_080),
    (1600, 48, 25, 1_557_611_200),
]
# Encoder with pooler, as released; our class has the masked-language head in place of the pooler.
BERT_SIZES = [(768, 12, 12, 109_482_240), (1024, 24, 16, 335_141_888)]


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_parameters_are_those_of_the_model(config: Config) -> None:
    with torch.device("meta"):
        model = Transformer(config)
    counted = count_parameters(config)
    assert counted["total"] == sum(p.numel() for p in model.parameters())
    assert counted["blocks"] == sum(p.numel() for p in model.blocks.parameters())
    assert sum(counted.values()) == 2 * counted["total"]
    of_model = count_parameters(model)
    assert of_model["total"] == counted["total"] and of_model["blocks"] == counted["blocks"]
    assert of_model["embedding"] == counted["token embedding"]


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_operations_are_those_of_a_pass(config: Config) -> None:
    length = 16
    with torch.device("meta"):
        model, tokens = Transformer(config, "explicit"), torch.zeros(2, length, dtype=torch.long)
    with FlopCounterMode(display=False) as counter:
        model(tokens)
    assert counter.get_total_flops() == 2 * length * flops_per_token(config, length)


@pytest.mark.parametrize(("width", "layers", "heads", "published"), GPT2_SIZES)
def test_sizes_of_gpt2(width: int, layers: int, heads: int, published: int) -> None:
    config = gpt2(width=width, layers=layers, heads=heads, feed_forward=4 * width)
    assert count_parameters(config)["total"] == published


@pytest.mark.parametrize(("width", "layers", "heads", "published"), BERT_SIZES)
def test_sizes_of_bert(width: int, layers: int, heads: int, published: int) -> None:
    config = bert(width=width, layers=layers, heads=heads, feed_forward=4 * width)
    pooler = width**2 + width
    parts = count_parameters(config)
    assert parts["total"] - parts["head"] + pooler == published


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"heads": 5}, "multiple of the 5 heads"),
        ({"heads": 0}, "heads: expected at least 1, got 0"),
        ({"max_length": -1}, "max_length: expected at least 1, got -1"),
        ({"width": 12, "heads": 4}, "even width per head"),
        ({"activation": "swish"}, "gelu_tanh"),
    ],
)
def test_impossible_shapes_are_refused(changes: dict, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Config(**changes)


def test_an_odd_width_per_head_is_fine_without_rotation() -> None:
    assert Config(width=12, heads=4, rotary=False).width == 12


# The variants, by formula: V ids, width d, L layers, H heads, f inner units, P positions, 2 types.

V, D, L, H, F, P = 60, 24, 3, 3, 40, 16
LINEARS = 2 * D * F + F + D  # a feed-forward layer with biases
BLOCK = 4 * (D**2 + D) + LINEARS + 2 * 2 * D  # and attention and two norms with biases
RELATIVE = dict(vocabulary_size=V, width=D, layers=L, heads=H, feed_forward=F)


def with_experts(layers: list[int]) -> Transformer:
    model = Transformer(Config(**SMALL))
    add_experts(model, experts=4, k=2, layers=layers)
    return model


def head(width: int) -> int:
    """BERT's transform from width D to `width`, its norm, and the bias of the logits."""
    return D * width + width + 2 * width + V


def albert(width: int, layers: int) -> int:
    embeddings = (V + P + 2 + 2) * width  # tokens, positions, types, norm
    widen = 0 if width == D else width * D + D
    return embeddings + widen + layers * BLOCK + head(width)


def t5(*, matrices: int, heads: int) -> int:
    """With that many matrices in a feed-forward layer, and that many embeddings or heads."""
    inner = matrices * D * F
    encoder, decoder = (4 * D**2 + inner + 2 * D), (8 * D**2 + inner + 3 * D)
    return heads * V * D + L * (encoder + decoder) + 2 * D + 2 * 32 * H


VARIANTS = {
    "albert": (lambda: Albert(bert(**SMALL), embedding_width=8), albert(8, 1)),
    "albert, not shared": (
        lambda: Albert(bert(**SMALL), embedding_width=8, shared=False),
        albert(8, L),
    ),
    "albert, not factorised": (lambda: Albert(bert(**SMALL), embedding_width=None), albert(D, 1)),
    "deberta": (
        lambda: Deberta(bert(**SMALL), reach=4),
        # two further matrices for distances, one of them with a bias; keys have none
        (V + 2 + 2 + P + 2 * 4) * D + L * (BLOCK + 2 * D**2) + head(D),
    ),
    "encoder-decoder": (
        lambda: EncoderDecoder(Config(**SMALL)),
        V * D + 2 * L * BLOCK + L * (4 * (D**2 + D) + 2 * D) + 2 * 2 * D,
    ),
    "t5": (lambda: T5(t5_base(**SMALL)), t5(matrices=2, heads=1)),
    "t5, version 1.1": (
        lambda: T5(t5_base(**SMALL), gated=True, tied=False),
        t5(matrices=3, heads=2),
    ),
    "experts": (
        lambda: with_experts([0, 1, 2]),
        V * D + L * (BLOCK + 3 * LINEARS + 4 * D) + 2 * D,
    ),
    "experts in one layer": (
        lambda: with_experts([1]),
        V * D + L * BLOCK + (3 * LINEARS + 4 * D) + 2 * D,
    ),
    "transformer-xl": (  # u and v of each layer are the two further rows
        lambda: TransformerXL(RelativeConfig(**RELATIVE)),
        V * D + L * (5 * D**2 + 2 * D + LINEARS + 2 * 2 * D),
    ),
    "xlnet": (
        lambda: XLNet(RelativeConfig(**RELATIVE, causal=False, head_bias=True)),
        V * D + L * (5 * D**2 + 2 * D + LINEARS + 2 * 2 * D) + D + V,
    ),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_parameters_of_variants(name: str) -> None:
    make, expected = VARIANTS[name]
    with torch.device("meta"):
        counted = count_parameters(make())
    assert counted["total"] == expected
    assert sum(counted.values()) == 2 * expected


def test_shared_parameters_count_for_the_first_part() -> None:
    with torch.device("meta"):
        counted = count_parameters(EncoderDecoder(Config(**SMALL)))
    assert counted["encoder"] == count_parameters(Config(**SMALL))["total"]
    decoder = Config(**SMALL, cross_attention=True)
    assert counted["decoder"] == count_parameters(decoder)["total"] - V * D
    with torch.device("meta"):
        counted = count_parameters(Albert(bert(**SMALL), embedding_width=8))
    assert counted["embedding"] == V * 8 and counted["widen"] == 8 * D + D
    assert counted["blocks"] == BLOCK


def test_sizes_of_t5_and_xlnet() -> None:
    with torch.device("meta"):
        assert count_parameters(T5(t5_base()))["total"] == 222_903_552
        shape = RelativeConfig(32_000, 768, 12, 12, 3072, causal=False)
        segments = 12 * 3 * 768  # two encodings and a bias in each layer, which we leave out
        assert count_parameters(XLNet(shape))["total"] + segments == 116_718_336


@pytest.mark.parametrize("name", VARIANTS)
def test_a_checkpoint_of_a_variant_is_refused(name: str, tmp_path) -> None:
    model = VARIANTS[name][0]()
    kind = "ExpertBlock" if "experts" in name else type(model).__name__
    tokenizer = Tokenizer.train(["the rain"], 270)
    with pytest.raises(ValueError, match=f"Transformer of plain blocks, .* got {kind}; keep its"):
        checkpoints.save(tmp_path, model, tokenizer)
    assert not [*tmp_path.iterdir()]

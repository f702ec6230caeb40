"""Formulas for parameters and operations against the real model and published sizes."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from tlcourse.transformer import Config, Transformer, bert, count_parameters, flops_per_token, gpt2

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

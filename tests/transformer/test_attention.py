"""Attention against the libraries, and its masks and positions against their definitions."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.transformer import (
    Attention,
    Config,
    causal_mask,
    explicit_attention,
    padding_mask,
    rotary_table,
    rotate,
)

BATCH, HEADS, LENGTH, HEAD_DIM = 2, 3, 5, 8


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def projected() -> tuple[torch.Tensor, ...]:
    return tuple(draw(BATCH, HEADS, LENGTH, HEAD_DIM, seed=seed) for seed in range(3))


def test_causal_mask_is_itself_and_before() -> None:
    mask = causal_mask(4)
    assert mask.dtype == torch.bool
    assert [[bool(mask[q, k]) for k in range(4)] for q in range(4)] == [
        [k <= q for k in range(4)] for q in range(4)
    ]


def test_padding_mask_is_true_at_tokens() -> None:
    mask = padding_mask(torch.tensor([0, 1, 3]), 3)
    assert mask.tolist() == [[False] * 3, [True, False, False], [True] * 3]


@pytest.mark.parametrize("masked", [False, True])
def test_explicit_attention_is_the_librarys(masked: bool) -> None:
    query, key, value = projected()
    mask = causal_mask(LENGTH) if masked else None
    mixed, weights = explicit_attention(query, key, value, mask)
    expected = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    assert torch.allclose(mixed, expected, atol=1e-6)
    assert torch.allclose(weights.sum(-1), torch.ones(BATCH, HEADS, LENGTH))
    if masked:
        assert (weights[..., ~mask] == 0).all()


def test_the_layer_is_multihead_attention() -> None:
    config = Config(width=24, heads=HEADS, rotary=False, qk_norm=False)
    ours, theirs = Attention(config), nn.MultiheadAttention(24, HEADS, batch_first=True)
    with torch.no_grad():
        joint = [getattr(ours, name) for name in ("query", "key", "value")]
        theirs.in_proj_weight.copy_(torch.cat([layer.weight for layer in joint]))
        theirs.in_proj_bias.copy_(torch.cat([layer.bias for layer in joint]))
        theirs.out_proj.load_state_dict(ours.output.state_dict())
    x, tokens = draw(BATCH, LENGTH, 24), padding_mask(torch.tensor([5, 2]), LENGTH)
    keep = causal_mask(LENGTH) & tokens[:, None, None, :]
    drop = ~causal_mask(LENGTH), ~tokens  # theirs mean the opposite
    expected, weights = theirs(
        x, x, x, attn_mask=drop[0], key_padding_mask=drop[1], average_attn_weights=False
    )
    ours.kernel = "record"
    assert torch.allclose(ours(x, keep, None), expected, atol=1e-6)
    assert torch.allclose(ours.weights, weights, atol=1e-6)


def test_rotation_is_multiplication_of_complex_numbers() -> None:
    x = draw(1, 1, LENGTH, HEAD_DIM)
    half = HEAD_DIM // 2
    frequency = torch.tensor([10_000 ** (-2 * i / HEAD_DIM) for i in range(half)])
    angle = torch.arange(LENGTH)[:, None] * frequency
    numbers = torch.complex(x[..., :half], x[..., half:]) * torch.polar(torch.ones(()), angle)
    expected = torch.cat([numbers.real, numbers.imag], dim=-1)
    assert torch.allclose(rotate(x, rotary_table(LENGTH, HEAD_DIM)), expected, atol=1e-5)


def test_rotation_is_that_of_the_halves_up_to_gradients() -> None:
    table = rotary_table(LENGTH, HEAD_DIM, dtype=torch.float64)
    cosine, sine = table[0][:, : HEAD_DIM // 2], table[1][:, HEAD_DIM // 2 :]
    gradients, x = [], draw(BATCH, HEADS, LENGTH, HEAD_DIM).double().requires_grad_()
    first, second = x.chunk(2, dim=-1)
    halves = [first * cosine - second * sine, second * cosine + first * sine]
    for turned in (rotate(x, table), torch.cat(halves, dim=-1)):
        torch.testing.assert_close(turned, torch.cat(halves, dim=-1), rtol=0, atol=1e-14)
        gradients += torch.autograd.grad(turned.tanh().sum(), x, retain_graph=True)
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-14)


@pytest.mark.parametrize("precision", [torch.float16, torch.bfloat16, torch.float32])
def test_a_row_that_may_look_nowhere_is_uniform_in_every_precision(precision):
    key = torch.full((1, 1, 4, 8), 20.0, dtype=precision)  # every score is far below 0
    _, weights = explicit_attention(-key, key, key, torch.zeros(4, 4, dtype=torch.bool))
    assert (weights == 0.25).all()
    _, weights = explicit_attention(-key, key, key, causal_mask(4))
    assert (weights[..., ~causal_mask(4)] == 0).all() and torch.isfinite(weights).all()


def test_a_change_gets_the_weights_and_gives_those_that_are_used() -> None:
    query, key, value = projected()
    plain = explicit_attention(query, key, value, causal_mask(LENGTH))
    seen = []

    def first_only(weights, mask):
        seen.append((weights, mask))
        return torch.eye(LENGTH)[0].expand_as(weights)

    mixed, weights = explicit_attention(query, key, value, causal_mask(LENGTH), change=first_only)
    assert torch.equal(seen[0][0], plain[1]) and torch.equal(seen[0][1], causal_mask(LENGTH))
    assert torch.allclose(mixed, value[:, :, :1].expand_as(value)) and (weights[..., 0] == 1).all()


def test_a_higher_base_slows_the_slowest_pair_and_leaves_the_first():
    (usual, _), (slow, _) = rotary_table(8, 8), rotary_table(8, 8, base=1e6)
    assert torch.equal(usual[:, 0], slow[:, 0])
    angles = torch.arange(8) * 1e6 ** (-6 / 8)
    assert torch.allclose(slow[:, 3], angles.cos())

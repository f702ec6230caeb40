"""Operations with a backward pass of their own against PyTorch's, which are right in any case."""

import pytest
import torch
from torch.nn import functional as F

from tlcourse.transformer import Attention, Config
from tlcourse.transformer.fused import can_project_jointly, joint_projection, relu2, rms_norm

PAIRS = {
    "rms_norm": (rms_norm, lambda x: F.rms_norm(x, x.shape[-1:])),
    "relu2": (relu2, lambda x: F.relu(x).square()),
}
each_pair = pytest.mark.parametrize(("ours", "theirs"), PAIRS.values(), ids=PAIRS)


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@each_pair
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e3])
@pytest.mark.parametrize(
    ("dtype", "error"), [(torch.float64, 1e-14), (torch.float32, 1e-6), (torch.bfloat16, 2e-2)]
)
def test_values_and_gradients_are_the_librarys(ours, theirs, scale, dtype, error) -> None:
    made = (scale * draw(2, 5, 3, 8)).to(dtype)
    made[0, 0] = 0.0
    found = []
    for function in (ours, theirs):
        x = made.clone().requires_grad_()
        y = function(x.transpose(1, 2))  # as attention has it: not contiguous
        assert y.dtype == dtype
        upstream = draw(*y.shape, seed=1).to(dtype)
        found.append([y, *torch.autograd.grad(y, x, upstream)])
    for mine, right in zip(*found, strict=True):
        assert (mine - right).abs().max() <= error * right.abs().max()


@each_pair
def test_a_second_derivative_is_refused_and_not_wrong(ours, theirs) -> None:
    x = draw(3, 8).requires_grad_()
    (slope,) = torch.autograd.grad(ours(x).sin().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


def attention() -> Attention:
    torch.manual_seed(0)
    return Attention(Config(width=24, heads=3))


def test_one_product_is_the_three_up_to_gradients() -> None:
    layer, x = attention().double(), draw(2, 5, 24)
    parts, found = [layer.query, layer.key, layer.value], []
    weights = [each for part in parts for each in part.parameters()]
    for products in (joint_projection(x, parts), [part(x) for part in parts]):
        total = sum((product * draw(24, seed=i)).sum() for i, product in enumerate(products))
        found.append([*products, *torch.autograd.grad(total, weights)])
    for one, three in zip(*found, strict=True):
        torch.testing.assert_close(one, three, atol=1e-13, rtol=0)


def test_products_are_joined_under_autocast_alone_and_where_nobody_would_notice() -> None:
    layer, x, seen = attention(), draw(2, 5, 24).float(), []
    layers = [layer.query, layer.key, layer.value]
    assert not can_project_jointly(x, layers)
    plain = layer(x, None, None)
    with torch.autocast("cpu", torch.bfloat16):
        assert can_project_jointly(x, layers)
        together = layer(x, None, None)
        layer.key.register_forward_hook(lambda *_: seen.append("key"))
        assert not can_project_jointly(x, layers)
        apart = layer(x, None, None)
        assert seen == ["key"]
        assert not can_project_jointly(x, [layer.query, torch.nn.Identity()])
        assert not can_project_jointly(x, [torch.nn.Linear(24, 24, bias=False)])
    for half in (together, apart):
        assert (half - plain).abs().max() < 2e-2 * plain.abs().max()

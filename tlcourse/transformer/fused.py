"""Two operations with a backward pass of their own, and three products in one.

On the CPU PyTorch takes the backward pass of both in many steps. The compiler joins steps by
itself, so it is given the plain form.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

PARTS = ("weight", "bias")
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def rms_norm(x: Tensor) -> Tensor:
    """(..., width) divided by the root of its mean square (Zhang & Sennrich, 2019)."""
    if x.device.type != "cpu" or torch.compiler.is_compiling():
        return F.rms_norm(x, x.shape[-1:])
    return _RMSNorm.apply(x)


def relu2(x: Tensor) -> Tensor:
    """The square of what is above 0 (So et al., 2021)."""
    if torch.compiler.is_compiling():
        return F.relu(x).square()
    return _ReLU2.apply(x)


def joint(x: Tensor, layers: Sequence[nn.Linear]) -> tuple[Tensor, ...]:
    """What each of the layers makes of x, in one product."""
    weight, bias = (torch.cat([getattr(layer, part) for layer in layers]) for part in PARTS)
    return F.linear(x, weight, bias).split([layer.out_features for layer in layers], dim=-1)


def joins(x: Tensor, layers: Sequence[nn.Module]) -> bool:
    """Whether `joint` pays, which it does where autocast would cast x anew for each layer.

    Not where another module stands in a layer's place, or a hook waits for what it gives.
    """
    kind = x.device.type
    return (
        torch.amp.is_autocast_available(kind)
        and torch.is_autocast_enabled(kind)
        and not torch.compiler.is_compiling()
        and all(type(each) is nn.Linear and each.bias is not None for each in layers)
        and not any(map(is_watched, layers))
    )


def is_watched(module: nn.Module) -> bool:
    """Whether a hook waits for what goes into the module or comes out, forwards or backwards."""
    return any(getattr(module, kind) for kind in HOOKS)


class _RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        precise = torch.promote_types(x.dtype, torch.float32)
        root = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=precise)
        root /= math.sqrt(x.shape[-1])
        scale = root.square_().add_(torch.finfo(precise).eps).rsqrt_().to(x.dtype)
        normed = x * scale
        ctx.save_for_backward(normed, scale)
        return normed

    @staticmethod
    @once_differentiable
    def backward(ctx, upstream):
        normed, scale = ctx.saved_tensors
        along = (upstream * normed).mean(dim=-1, keepdim=True)  # what would only change the length
        return torch.addcmul(upstream, normed, along, value=-1).mul_(scale)


class _ReLU2(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        positive = F.relu(x)
        ctx.save_for_backward(positive)
        return positive.square()

    @staticmethod
    @once_differentiable
    def backward(ctx, upstream):
        (positive,) = ctx.saved_tensors
        return (upstream * positive).mul_(2)

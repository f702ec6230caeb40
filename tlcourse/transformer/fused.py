"""Fused operations: RMS norm and squared ReLU with their own backward pass, and joint projections.

On the CPU, PyTorch's backward pass of both takes many steps. A compiler fuses these steps by
itself, so it gets the plain form.
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
    """x (..., width) divided by the root of its mean square (Zhang & Sennrich, 2019)."""
    if x.device.type != "cpu" or torch.compiler.is_compiling():
        return F.rms_norm(x, x.shape[-1:])
    return _RMSNorm.apply(x)


def relu2(x: Tensor) -> Tensor:
    """The square of the positive part of x (So et al., 2021)."""
    if torch.compiler.is_compiling():
        return F.relu(x).square()
    return _ReLU2.apply(x)


def joint_projection(x: Tensor, layers: Sequence[nn.Linear]) -> tuple[Tensor, ...]:
    """The outputs of all the layers for x, computed in one product."""
    weight, bias = (torch.cat([getattr(layer, part) for layer in layers]) for part in PARTS)
    return F.linear(x, weight, bias).split([layer.out_features for layer in layers], dim=-1)


def can_project_jointly(x: Tensor, layers: Sequence[nn.Module]) -> bool:
    """True if `joint_projection` is faster, that is, if autocast would cast x for each layer.

    False if a layer has been replaced by another module or is watched by a hook.
    """
    kind = x.device.type
    return (
        torch.amp.is_autocast_available(kind)
        and torch.is_autocast_enabled(kind)
        and not torch.compiler.is_compiling()
        and all(type(layer) is nn.Linear and layer.bias is not None for layer in layers)
        and not any(map(is_watched, layers))
    )


def is_watched(module: nn.Module) -> bool:
    """True if the module has a hook on its inputs or outputs, forward or backward."""
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
        along = (upstream * normed).mean(dim=-1, keepdim=True)  # would change only the length of x
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

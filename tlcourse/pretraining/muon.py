"""Muon for hardware without bfloat16."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor


class Muon(torch.optim.Muon):
    """`torch.optim.Muon` with updates as large as AdamW's, orthogonalised in `precision`.

    PyTorch's Muon always orthogonalises in bfloat16. On a CPU without bfloat16 that takes longer
    than the rest of a step of a small model. Source: Jordan et al. (2024); the scale, 0.2 times the
    square root of the longer side: Liu et al. (2025).
    """

    def __init__(
        self,
        matrices: Iterable[Tensor],
        lr: float,
        precision: torch.dtype,
        weight_decay: float = 0.1,
    ):
        super().__init__(matrices, lr=lr, weight_decay=weight_decay, adjust_lr_fn="match_rms_adamw")
        self.precision = precision

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Takes one step; returns the loss of `closure`, which recomputes it and the gradients."""
        if self.precision == torch.bfloat16:
            return super().step(closure)
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            by_shape = defaultdict(list)  # matrices of one shape are orthogonalised together
            for matrix in (p for p in group["params"] if p.grad is not None):
                state = self.state[matrix]
                if "momentum_buffer" not in state:
                    state["momentum_buffer"] = torch.zeros_like(matrix.grad)
                buffer = state["momentum_buffer"]
                buffer.lerp_(matrix.grad, 1 - group["momentum"])
                update = matrix.grad.lerp(buffer, group["momentum"])
                by_shape[matrix.shape].append((matrix, update))
            for shape, pairs in by_shape.items():
                updates = torch.stack([update for _, update in pairs])
                updates = orthogonal(updates, group["ns_coefficients"], group["ns_steps"])
                for (matrix, _), update in zip(pairs, updates, strict=True):
                    matrix.mul_(1 - group["lr"] * group["weight_decay"])
                    matrix.add_(update, alpha=-group["lr"] * 0.2 * math.sqrt(max(shape)))
        return loss


def orthogonal(matrices: Tensor, coefficients: tuple[float, float, float], steps: int) -> Tensor:
    """The matrices (n, rows, columns) with singular values of about 1 (between 0.5 and 1.5).

    The quintic Newton-Schulz iteration of Jordan et al. (2024).
    """
    a, b, c = coefficients
    tall = matrices.shape[1] > matrices.shape[2]
    x = matrices.mT if tall else matrices
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    for _ in range(steps):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.mT if tall else x

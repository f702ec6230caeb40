"""Help for the exercise on the training loop: a line with four weights, and its true steps."""

import numpy as np
import torch
from torch import Tensor, nn

from tlcourse.exercises.expect import CheckFailed, real_number, short


class Line(nn.Module):
    """y = w x + b, with weights that are always the same."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([0.5, -1.0, 2.0]))
        self.bias = nn.Parameter(torch.tensor([0.25]))

    def forward(self, x):
        return x @ self.weight + self.bias


def points(step: int) -> tuple[Tensor, Tensor, Tensor]:
    """Points, what is wanted of each, and which of them count: a batch of this step."""
    drawn = torch.Generator().manual_seed(1000 + step)
    count = 5 + step % 4
    x, y = torch.randn(count, 3, generator=drawn), torch.randn(count, generator=drawn)
    asked = torch.rand(count, generator=drawn) < 0.6
    asked[0] = True
    return x, y, asked


def squares(model: nn.Module, batch: tuple) -> tuple[Tensor, int]:
    """A sum of losses, and of how many targets: not of all rows."""
    x, y, asked = batch
    return (0.5 * (model(x) - y).square())[asked].sum(), int(asked.sum())


def trained(candidate, steps, rates, clip):
    """The losses of the steps, and where the four weights are then; `rates` by the step.

    The optimizer has a group for the weight and one for the bias, at learning rates of their own.
    """
    model = Line()
    groups = [{"params": [model.weight], "lr": 0.6}, {"params": [model.bias], "lr": 0.9}]
    optimizer = torch.optim.SGD(groups)
    more = () if clip is None else (clip,)
    got = candidate(model, squares, points, optimizer, rates.__getitem__, range(*steps), *more)
    losses = numbers(got, len(range(*steps)))
    return [*losses, *model.weight.tolist(), *model.bias.tolist()]


def numbers(got, count: int) -> list[float]:
    """The losses of so many steps as numbers."""
    if isinstance(got, Tensor) and not got.requires_grad and got.dim() == 1:
        got = got.tolist()
    if not isinstance(got, list | tuple):
        came = "None (is a `return` missing?)" if got is None else short(got)
        raise CheckFailed(f"expected a list with the loss of every step; got {came}.")
    if any(getattr(each, "requires_grad", False) for each in got):
        raise CheckFailed(
            "a loss that is returned still holds its graph, and with it the memory of its step. "
            "Keep a number: `nats.item() / targets`."
        )
    found = [real_number(each) for each in got]
    if len(found) != count or None in found:
        raise CheckFailed(f"{count} steps gave {short(got)}; expected {count} numbers, one for each.")
    return found


def truth(steps, rates, clip):
    """What `trained` sees, in NumPy."""
    at, losses = np.array([0.5, -1.0, 2.0, 0.25]), []
    for step in range(*steps):
        x, y, asked = (part.double().numpy() for part in points(step))
        x = np.concatenate([x, np.ones((len(x), 1))], axis=1)
        off, count = (x @ at - y) * asked, asked.sum()
        losses.append(0.5 * (off**2).sum() / count)
        slope = x.T @ off / count
        length = np.sqrt((slope**2).sum())
        at = at - rates[step] * slope * min(1.0, (1.0 if clip is None else clip) / length)
    return [*losses, *at]

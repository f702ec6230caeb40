"""Small models for tests, and the plain way to compute with them."""

import torch

from tlcourse.device import Compute
from tlcourse.transformer import Config, Transformer

PLAIN = Compute(torch.device("cpu"), torch.float32, "explicit", False)


def noisy(
    config: Config, noise: float = 0.2, attention: str = "sdpa", seed: int = 0
) -> Transformer:
    """A model in which every parameter is random: no zero bias, no unit gain hides a mistake."""
    torch.manual_seed(seed)
    model = Transformer(config, attention)
    for parameter in model.parameters():
        parameter.data.add_(noise * torch.randn_like(parameter))
    return model.eval()

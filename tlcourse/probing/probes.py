"""The probes: linear, one hidden layer, and a learnt mix of layers.

A probe is fitted on vectors (items, width) and their labels, and evaluated with `predict`, `judge`
and `nats`. Sources: Alain & Bengio (2016); Hewitt & Liang (2019); Peters et al. (2018).
"""

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from tlcourse.device import Compute
from tlcourse.probing.fitting import Probe, Standardise, fit, names_of, numbers_of


def linear_probe(
    features: np.ndarray,
    labels: Iterable[str],
    *,
    l2: float = 1.0,
    epochs: int = 4,
    names: Iterable[str] | None = None,
    seed: int = 0,
    compute: Compute | None = None,
) -> Probe:
    """Multinomial logistic regression on standardised vectors.

    Minimises the sum of nats plus l2 / 2 times the squared weights (scikit-learn's C is 1 / l2);
    the biases have no penalty. `names` lists all possible labels if some do not occur in `labels`.
    The weights start at zero, so the seed affects only the order of the items.
    """
    labels = list(labels)
    classes = names_of(labels, names)
    module = nn.Sequential(Standardise(features), _from_zero(features, classes))
    history = fit(
        module, features, numbers_of(labels, classes),
        penalty=lambda probe: l2 / 2 * probe[1].weight.square().sum(),
        learning_rate=0.02, epochs=epochs, seed=seed, compute=compute,
    )  # fmt: skip
    return Probe(module, classes, history)


def _from_zero(features: np.ndarray, labels: Sequence[str]) -> nn.Linear:
    """The linear layer of a probe, initialised to zeros."""
    head = nn.Linear(features.shape[1], len(labels))
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    return head


def hidden_probe(
    features: np.ndarray,
    labels: Iterable[str],
    *,
    hidden: int = 256,
    l2: float = 1.0,
    epochs: int = 4,
    names: Iterable[str] | None = None,
    seed: int = 0,
    compute: Compute | None = None,
) -> Probe:
    """A probe with a hidden layer of `hidden` ReLU units; otherwise as `linear_probe`."""
    labels = list(labels)
    classes = names_of(labels, names)
    with torch.random.fork_rng(devices=[]):  # leaves the caller's random state unchanged
        torch.manual_seed(seed)
        layers = nn.Linear(features.shape[1], hidden), nn.ReLU(), nn.Linear(hidden, len(classes))
    module = nn.Sequential(Standardise(features), *layers)
    history = fit(
        module, features, numbers_of(labels, classes),
        penalty=lambda probe: l2 / 2 * sum(probe[i].weight.square().sum() for i in (1, 3)),
        learning_rate=0.003, epochs=epochs, seed=seed, compute=compute,
    )  # fmt: skip
    return Probe(module, classes, history)


class ScalarMix(nn.Module):
    """The scaled weighted sum of layers: (items, layers, width) to (items, width).

    Source: Peters et al. (2018).
    """

    def __init__(self, features: Sequence[np.ndarray]):
        super().__init__()
        self.norms = nn.ModuleList(Standardise(layer) for layer in features)
        self.scores = nn.Parameter(torch.zeros(len(features)))
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, layers: Tensor) -> Tensor:
        normed = [norm(layers[:, number]) for number, norm in enumerate(self.norms)]
        return self.scale * torch.einsum("l,lnw->nw", self.scores.softmax(0), torch.stack(normed))


class MixProbe(Probe):
    """A linear probe of a learnt mix of layers; its input is one array of vectors per layer."""

    @property
    def weights(self) -> np.ndarray:
        """The weight of each layer, (layers,); they sum to 1."""
        return self.module[0].scores.detach().softmax(0).cpu().numpy()


def mix_probe(
    features: Sequence[np.ndarray],
    labels: Iterable[str],
    *,
    l2: float = 1.0,
    epochs: int = 4,
    names: Iterable[str] | None = None,
    seed: int = 0,
    compute: Compute | None = None,
) -> MixProbe:
    """A linear probe of a softmax-weighted sum of layers, trained together with the weights.

    `features` has one array (items, width) per layer. Each layer is standardised first, so that its
    weight does not depend on the scale of its values. All `weights` start equal; otherwise as
    `linear_probe`.
    """
    labels = list(labels)
    classes = names_of(labels, names)
    module = nn.Sequential(ScalarMix(features), _from_zero(features[0], classes))
    history = fit(
        module, list(features), numbers_of(labels, classes),
        penalty=lambda probe: l2 / 2 * probe[1].weight.square().sum(),
        learning_rate=0.02, epochs=epochs, seed=seed, compute=compute,
    )  # fmt: skip
    return MixProbe(module, classes, history)

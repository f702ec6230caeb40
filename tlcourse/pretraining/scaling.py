"""Loss as a power law of parameters and tokens."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np


@dataclass(frozen=True)
class Law:
    """loss = floor + (parameters_scale / N) ** a + (tokens_scale / D) ** b, in nats per token.

    N parameters, D tokens. The terms of model size and of text are added (Hoffmann et al., 2022).
    """

    floor: float
    parameters_scale: float
    a: float
    tokens_scale: float
    b: float

    def loss(self, parameters, tokens):
        """The loss in nats per token, for numbers or arrays."""
        from_size = (self.parameters_scale / np.asarray(parameters)) ** self.a
        return self.floor + from_size + (self.tokens_scale / np.asarray(tokens)) ** self.b


def fit_law(parameters: Sequence[float], tokens: Sequence[float], losses: Sequence[float]) -> Law:
    """The law with the least Huber loss on log losses, over a grid of starting points.

    Raises ValueError for fewer than five runs (the law has five numbers), or if sizes or tokens do
    not vary: then one of its terms cannot be distinguished from the floor.
    """
    n, d, nats = (np.asarray(part, dtype=float) for part in (parameters, tokens, losses))
    if len(nats) < 5 or len(set(n)) < 2 or len(set(d)) < 2:
        raise ValueError(
            f"expected at least 5 runs of at least 2 sizes and 2 budgets, got {len(nats)} runs, "
            f"{len(set(n))} sizes, {len(set(d))} budgets"
        )

    starts = [
        np.log([floor, n.mean() * scale, 0.3, d.mean() * scale, 0.3])
        for floor in (0.5, 1.5, 2.5)
        for scale in (0.1, 1.0, 10.0)
    ]
    return _fit(n, d, nats, starts)


def _fit(n: np.ndarray, d: np.ndarray, losses: np.ndarray, starts: list[np.ndarray]) -> Law:
    """The best of the fits that begin at `starts`, the logarithms of the law's numbers."""
    from scipy.optimize import minimize  # takes half a second to import, for this function alone

    def huber(x: np.ndarray) -> float:
        residual = np.abs(np.log(Law(*np.exp(x)).loss(n, d)) - np.log(losses))
        delta = 1e-3  # as in Hoffmann et al.: outliers count linearly
        quadratic, linear = residual**2 / 2, delta * (residual - delta / 2)
        return np.where(residual < delta, quadratic, linear).sum() * 1e6

    options = {"maxiter": 4000, "maxfev": 8000, "xatol": 1e-6, "fatol": 1e-9}
    fits = [minimize(huber, x, method="Nelder-Mead", options=options) for x in starts]
    return Law(*map(float, np.exp(min(fits, key=lambda fit: fit.fun).x)))


def bootstrap(
    parameters: Sequence[float],
    tokens: Sequence[float],
    losses: Sequence[float],
    *,
    at: tuple[float, float] | None = None,
    law: Law | None = None,
    repeats: int = 200,
    seed: int = 0,
) -> tuple[float, float]:
    """The bootstrap 95 % interval of the law's loss at `at` = (parameters, tokens).

    Runs are drawn with replacement. `at` defaults to the largest of both, `law`, the law of all
    runs, to a fit. Draws without five different runs, two sizes and two budgets are repeated.
    """
    columns = [np.asarray(part, dtype=float) for part in (parameters, tokens, losses)]
    at = (max(parameters), max(tokens)) if at is None else at
    start = np.log(astuple(fit_law(parameters, tokens, losses) if law is None else law))
    generator = np.random.default_rng(seed)
    drawn: list[float] = []
    while len(drawn) < repeats:
        rows = generator.integers(len(losses), size=len(losses))
        n, d, sample = (column[rows] for column in columns)
        if len(set(rows)) >= 5 and len(set(n)) > 1 and len(set(d)) > 1:
            drawn.append(float(_fit(n, d, sample, [start]).loss(*at)))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)

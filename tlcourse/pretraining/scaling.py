"""Loss as a power law of parameters and tokens."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np


@dataclass(frozen=True)
class Law:
    """loss = floor + (parameters_scale / N) ** a + (tokens_scale / D) ** b, in nats a token.

    N parameters, D tokens. What a larger model saves and what more text saves are added (Hoffmann
    et al., 2022).
    """

    floor: float
    parameters_scale: float
    a: float
    tokens_scale: float
    b: float

    def loss(self, parameters, tokens):
        """Nats a token; numbers or arrays."""
        from_size = (self.parameters_scale / np.asarray(parameters)) ** self.a
        return self.floor + from_size + (self.tokens_scale / np.asarray(tokens)) ** self.b


def fit_law(parameters: Sequence[float], tokens: Sequence[float], losses: Sequence[float]) -> Law:
    """The law with the least Huber loss on log losses, over a grid of starts.

    Raises ValueError for fewer than five runs (the law has five numbers) or when sizes or tokens do
    not vary: then one of its terms cannot be told from the floor.
    """
    n, d, found = (np.asarray(part, dtype=float) for part in (parameters, tokens, losses))
    if len(found) < 5 or len(set(n)) < 2 or len(set(d)) < 2:
        raise ValueError(
            f"expected at least 5 runs of at least 2 sizes and 2 budgets, got {len(found)} runs, "
            f"{len(set(n))} sizes, {len(set(d))} budgets"
        )

    starts = [
        np.log([floor, n.mean() * scale, 0.3, d.mean() * scale, 0.3])
        for floor in (0.5, 1.5, 2.5)
        for scale in (0.1, 1.0, 10.0)
    ]
    return _fit(n, d, found, starts)


def _fit(n: np.ndarray, d: np.ndarray, found: np.ndarray, starts: list[np.ndarray]) -> Law:
    """The best of the fits that begin at `starts`, logarithms of the law's numbers."""
    from scipy.optimize import minimize  # takes half a second to import, for this function alone

    def miss(x: np.ndarray) -> float:
        residual = np.abs(np.log(Law(*np.exp(x)).loss(n, d)) - np.log(found))
        bend = 1e-3  # as in Hoffmann et al.: outliers count linearly
        return np.where(residual < bend, residual**2 / 2, bend * (residual - bend / 2)).sum() * 1e6

    options = {"maxiter": 4000, "maxfev": 8000, "xatol": 1e-6, "fatol": 1e-9}
    fits = [minimize(miss, x, method="Nelder-Mead", options=options) for x in starts]
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
    """95 % interval of the law's loss at `at` = (parameters, tokens): runs drawn with replacement.

    `at` None: at the largest of both. `law` is that of all runs; None fits it first.
    Draws without five different runs, two sizes and two budgets are drawn again.
    """
    columns = [np.asarray(part, dtype=float) for part in (parameters, tokens, losses)]
    at = (max(parameters), max(tokens)) if at is None else at
    start = np.log(astuple(fit_law(parameters, tokens, losses) if law is None else law))
    generator = np.random.default_rng(seed)
    drawn: list[float] = []
    while len(drawn) < repeats:
        rows = generator.integers(len(losses), size=len(losses))
        n, d, found = (column[rows] for column in columns)
        if len(set(rows)) >= 5 and len(set(n)) > 1 and len(set(d)) > 1:
            drawn.append(float(_fit(n, d, found, [start]).loss(*at)))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)

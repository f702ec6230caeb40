"""The learning rate over the steps of a run."""

from collections.abc import Callable


def warmup_stable_decay(steps: int, warmup: int, decay: float) -> Callable[[int], float]:
    """Returns the factor of the learning rate by step: linear warm-up, constant, linear decay.

    The decay to 0 takes the share `decay` of the steps; with 1 there is no constant part. (Hu et
    al., 2024, MiniCPM.)
    """
    start = max(warmup, round(steps * (1 - decay)))

    def factor(step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        if step < start:
            return 1.0
        return (steps - step) / max(1, steps - start)

    return factor

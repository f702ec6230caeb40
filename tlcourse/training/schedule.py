"""How the learning rate goes over the steps of a run."""

from collections.abc import Callable


def warmup_stable_decay(steps: int, warmup: int, decay: float) -> Callable[[int], float]:
    """Factor of the learning rate at a step: up, flat, then linear to 0 over the share `decay`.

    With `decay` = 1 it is linear warm-up, linear decay. (Hu et al., 2024, MiniCPM.)
    """
    start = max(warmup, round(steps * (1 - decay)))

    def factor(step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        if step < start:
            return 1.0
        return (steps - step) / max(1, steps - start)

    return factor

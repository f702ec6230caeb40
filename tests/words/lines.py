"""Lines of made-up words for tests."""

import numpy as np


def random_lines(*, lines: int, size: int, seed: int) -> list[str]:
    """Lines of 0 to 29 of `size` words, whose frequencies fall as 1 / rank."""
    generator = np.random.default_rng(seed)
    shares = 1 / np.arange(1, size + 1)
    names = [f"word{number}" for number in range(size)]
    lengths = generator.integers(30, size=lines)
    return [" ".join(generator.choice(names, n, p=shares / shares.sum())) for n in lengths]

"""Help for the exercise on sampling: many draws, and what is seen of them."""

import torch
from torch import Tensor

from tlcourse.exercises.expect import CheckFailed, real_number, short

DRAWS = 600  # where shares are asked for: four standard deviations are then at most 0.08
FEW = 100  # where it is asked which tokens come at all: the rarest has a share of 0.2


def drawn(candidate, logits: Tensor, settings: dict, seed: int = 0) -> int:
    """One token; raises CheckFailed where it is no whole number."""
    generator = torch.Generator().manual_seed(seed)
    handed = logits.clone()
    got = candidate(handed, **settings, generator=generator)
    if not handed.equal(logits):
        raise CheckFailed("your function changed `logits`, which it was given.")
    return token_of(got, len(logits))


def token_of(got, entries: int) -> int:
    number = real_number(got)
    if number is None or number != int(number) or not 0 <= number < entries:
        came = "None (is a `return` missing?)" if got is None else short(got)
        raise CheckFailed(f"{entries} logits gave {came}; expected the id of a token, 0 to {entries - 1}")
    return int(number)


def shares(candidate, probabilities: list[float], settings: dict, seed: int = 0) -> list[float]:
    """How often each token comes, of so many draws, where these are its probabilities."""
    logits = torch.tensor(probabilities).log() + 1.5
    generator = torch.Generator().manual_seed(seed)
    counts = [0] * len(probabilities)
    for _ in range(DRAWS):
        got = candidate(logits, **settings, generator=generator)
        counts[token_of(got, len(probabilities))] += 1
    return [count / DRAWS for count in counts]


def those_that_come(candidate, probabilities: list[float], settings: dict) -> list[int]:
    """The tokens that come in a hundred draws."""
    logits, generator = torch.tensor(probabilities).log(), torch.Generator().manual_seed(1)
    found = {
        token_of(candidate(logits, **settings, generator=generator), len(probabilities))
        for _ in range(FEW)
    }
    return sorted(found)


def told(probabilities: list[float], settings: dict) -> str:
    """What a probe is about, in words."""
    given = " ".join(f"{each:g}" for each in probabilities)
    return f"probabilities {given}, {', '.join(f'{k}={v}' for k, v in settings.items())}"

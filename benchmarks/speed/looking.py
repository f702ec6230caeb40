"""What looking costs: a forward pass inside `record` against the same one outside.

causal-small reads 1 text or 8 of 128 random tokens, in the precision and with the attention kernel
that this device gets, alternately alone and recorded. A row's `ratio` is the time inside `record`
divided by the time outside: above 1, looking is slower. `difference` is the largest of a logit.
"""

import statistics
from collections.abc import Callable

import torch

from benchmarks import runner
from benchmarks.speed import harness
from tlcourse import checkpoints, device, sizes
from tlcourse.batching import generator_for
from tlcourse.bpe import SPECIALS
from tlcourse.transformer import record

TEXTS, LENGTH = (1, 8), 128
ROUNDS = {"tiny": 2, "small": 15, "full": 15}
PASSES = {"tiny": 1, "small": 10, "full": 50}  # of each in a round
COLUMNS = {
    "texts": "texts",
    "outside": "ms outside",
    "inside": "ms inside",
    "ratio": "times as long",
    "range": "in rounds",
}


@torch.no_grad()
def measure() -> dict:
    """A row for each number of texts: milliseconds a pass, medians over rounds, and their ratio."""
    compute, size = device.choose(), sizes.current().name
    model, _ = checkpoints.load("causal-small", compute)
    rows = []
    for texts in TEXTS:
        generator, most = generator_for(0), model.config.vocabulary_size
        tokens = torch.randint(len(SPECIALS), most, (texts, LENGTH), generator=generator)
        tokens = tokens.to(compute.device)

        def outside(tokens: torch.Tensor = tokens) -> torch.Tensor:
            with compute.autocast():
                return model(tokens).float()

        def inside(outside: Callable[[], torch.Tensor] = outside) -> torch.Tensor:
            with record(model):
                return outside()

        row = {"job": "looking", "texts": texts}
        row["difference"] = float((outside() - inside()).abs().max())
        works = {"outside": outside, "inside": inside}
        seconds = harness.alternate(works, ROUNDS[size], passes=PASSES[size])
        row |= {name: 1000 * statistics.median(times) for name, times in seconds.items()}
        rows.append(row | harness.ratio(seconds["inside"], seconds["outside"]))
    note = f"{LENGTH} random tokens a text, causal-small, attention {compute.attention}"
    return {"job": "looking", **runner.provenance(note), "rows": rows}

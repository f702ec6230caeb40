"""How the time of a bag of words, a CNN, a BiLSTM and attention grows with the length of a text.

`python -m benchmarks encoder_speeds`: the bodies of the study `encoders` read random ids on one
thread, one after the other in each round. For each length there is one text alone ("one text"), and
as many texts as have TOKENS tokens together ("batch"). A pass forward computes the states of the
body; "training" adds the pass backward. A row's `ratio` is its processor time divided by that of
attention at the same length: above 1, it is slower than attention.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks import markdown, runner
from benchmarks.speed import harness
from benchmarks.studies.encoders import ENCODERS, PAIRS, body_of
from tlcourse import sizes

MODES = ("one text", "batch", "training")
COLUMNS = {
    "encoder": "encoder",
    "mode": "mode",
    "length": "tokens",
    "ms": "ms",
    "ratio": "times as long",
    "range": "in rounds",
}


@dataclass(frozen=True)
class Scale:
    """What is measured at a size."""

    width: int = 128
    lengths: tuple[int, ...] = (16, 32, 64, 128, 256, 512)
    tokens: int = 2_048  # of a batch
    rounds: int = 9


SCALES = {"tiny": Scale(16, (8, 16), 32, 2), "small": Scale(), "full": Scale()}


def measure() -> dict:
    """A row for each mode, length and encoder, measured in a process of one thread."""
    return runner.in_parallel(_measured, [SCALES[sizes.current().name]])[0]


def _measured(scale: Scale) -> dict:
    torch.manual_seed(0)
    bodies = {name: body_of(name, scale.width, longest=max(scale.lengths)) for name in ENCODERS}
    cases = product(MODES, scale.lengths)
    rows = [row for mode, length in cases for row in _rows(bodies, mode, length, scale)]
    return {
        "job": "encoder_speeds",
        **runner.provenance("random ids", note="one thread"),
        "scale": asdict(scale),
        "rows": rows,
    }


def _rows(bodies: dict[str, nn.Module], mode: str, length: int, scale: Scale) -> list[dict]:
    texts = 1 if mode == "one text" else max(1, scale.tokens // length)
    tokens = torch.randint(8192, (texts, length))
    works = {name: work_of(body, mode, tokens) for name, body in bodies.items()}
    for work in works.values():
        work()  # does not count
    seconds = harness.alternate(works, scale.rounds, clock=runner.processor_clock())
    return [
        {
            "mode": mode,
            "length": length,
            "texts": texts,
            "encoder": name,
            "ms": 1000 * median(seconds[name]),
            **harness.ratio(seconds[name], seconds[PAIRS]),
        }
        for name in bodies
    ]


def work_of(body: nn.Module, mode: str, tokens: Tensor) -> Callable[[], Any]:
    """A pass over the tokens (texts, length): forward in evaluation mode, or with the backward."""
    if mode == "training":
        return partial(_train, body, tokens)
    return partial(_read, body, tokens)


@torch.no_grad()
def _read(body: nn.Module, tokens: Tensor) -> Tensor:
    return body.eval().hidden(tokens)


def _train(body: nn.Module, tokens: Tensor) -> None:
    body.train().zero_grad()
    body.hidden(tokens).square().mean().backward()


def section(study: dict[str, Any]) -> str:
    """For RESULTS.md: a row for each mode and length, a column for each encoder."""
    scale, rows = study["scale"], study["rows"]
    cells = [
        [mode, f"{length}", *(_cell(rows, mode, length, encoder) for encoder in ENCODERS)]
        for mode in MODES
        for length in scale["lengths"]
    ]
    return markdown.section(
        "### How their time grows with the length of a text",
        f"Milliseconds of processor time on one thread, medians of {scale['rounds']} rounds; in "
        "brackets the ratio to attention in the same run. “One text” is a pass forward over one "
        f"text, “batch” over texts of {scale['tokens']:,} tokens together, and “training” is a "
        f"pass forward and backward over these. {markdown.source(study, 'lesson 11b')}",
        markdown.table(["", "tokens", *ENCODERS], cells),
    )


def _cell(rows: list[dict], mode: str, length: int, encoder: str) -> str:
    key = (mode, length, encoder)
    row = next(r for r in rows if (r["mode"], r["length"], r["encoder"]) == key)
    return f"{row['ms']:.1f} ({row['ratio']:.2f})"

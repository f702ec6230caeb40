"""Where a run starts: a checkpoint, or the shipped shape with weights that have read nothing."""

from pathlib import Path

from benchmarks import runner
from tlcourse import checkpoints, device
from tlcourse.bpe import Tokenizer
from tlcourse.transformer import Transformer

SCRATCH = "from scratch"
SHAPE = "causal-small"  # whose shape and vocabulary the one from scratch has


def body_of(model: str | Path) -> tuple[Transformer, Tokenizer]:
    """A body and its tokenizer; from scratch it is drawn from PyTorch's own generator."""
    compute = device.choose()
    body, tokenizer = checkpoints.load(SHAPE if model == SCRATCH else model, compute)
    if model == SCRATCH:
        body = Transformer(body.config, compute.attention)
    return body, tokenizer


def weights_of(model: str | Path) -> str:
    """The digest of the checkpoint, or that there is none."""
    return "none" if model == SCRATCH else runner.digest(model)

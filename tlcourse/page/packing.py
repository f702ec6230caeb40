"""The files of models as a page has them: weights in 8 bits, and every file in gzip.

This is the description of that form. Python writes it here, and the browser reads it in `files.js`
(which unpacks files) and `safetensors.js` (which reads the weights).

- A model's file FILE is FILE.gz in the page: in the folder of its model, or, in a page that is one
  file, in base64 as the element with the id MODEL/FILE.gz.
- Unpacked, config.json, tokenizer.json and classifier.json are what they were.
- model.safetensors has the same format and the same tensors, but each matrix NAME of shape (rows,
  columns) has type I8, and there is a tensor NAME.scale of shape (rows) and type F32. A row of
  weights is scale · q, where q are whole numbers from -127 to 127: its scale is the row's largest
  absolute weight divided by 127, so that no weight changes by more than half a scale. Vectors
  (biases, the weights of norms) are unchanged.

Python can compute what the page computes with such weights: `load_rounded` gives a model that has
them, and `round_matrices` changes any model in place. `python -m benchmarks eight_bits` measures
what the rounding changes.
"""

import gzip
from pathlib import Path

import torch
from safetensors.torch import load
from safetensors.torch import save as to_bytes
from torch import Tensor, nn

from tlcourse import checkpoints
from tlcourse.checkpoints import AnyTokenizer
from tlcourse.device import Compute
from tlcourse.transformer import Transformer

WEIGHTS = "model.safetensors"
ENDING = ".gz"
SCALE = ".scale"
LARGEST = 127  # the largest whole number
PLAIN = Compute(torch.device("cpu"), torch.float32, "explicit", False)


def packed(file: str, content: bytes) -> bytes:
    """The content of FILE.gz, the same bytes each time, from that of FILE."""
    if file == WEIGHTS:
        content = in_8_bits(content)
    return gzip.compress(content, mtime=0)


def in_8_bits(content: bytes) -> bytes:
    """The content of model.safetensors with its matrices in 8 bits."""
    tensors = {}
    for name, tensor in load(content).items():
        if tensor.ndim == 2:
            tensors[name], tensors[name + SCALE] = quantised(tensor)
        else:
            tensors[name] = tensor
    return to_bytes(tensors)


def quantised(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix of shape (rows, columns) as whole numbers of that shape (int8) and scales (rows)."""
    matrix = matrix.float()
    scale = matrix.abs().amax(1) / LARGEST
    steps = torch.where(scale > 0, scale, 1.0)  # a row of zeros stays one
    return (matrix / steps[:, None]).round().to(torch.int8), scale


def rounded(matrix: Tensor) -> Tensor:
    """The matrix, in float32, that the page makes of a matrix of shape (rows, columns)."""
    whole, scale = quantised(matrix)
    return whole * scale[:, None]


@torch.no_grad()
def round_matrices(model: nn.Module) -> None:
    """Replaces each matrix among a model's parameters by what the page makes of it."""
    for parameter in model.parameters():
        if parameter.ndim == 2:
            parameter.copy_(rounded(parameter))


def load_rounded(name: str | Path) -> tuple[Transformer, AnyTokenizer]:
    """The model, as the page computes it in float32, and the tokenizer of a checkpoint.

    Raises what `checkpoints.load` raises.
    """
    model, tokenizer = checkpoints.load(name, PLAIN)
    round_matrices(model)
    return model, tokenizer

"""The frozen hidden states of words in every layer: computed once, stored in half precision."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import tlcourse
from tlcourse import device, files
from tlcourse.batching import pad
from tlcourse.device import Compute
from tlcourse.probing.alignment import Aligned, Words, align
from tlcourse.transformer import Transformer
from tlcourse.transformer.fused import is_watched
from tlcourse.wording import number_of

POOLINGS = ("mean", "first", "last")  # of a word's tokens
TOKENS_AT_A_TIME = 4096
Shape = tuple[int, int]  # words, width


@dataclass(frozen=True, eq=False)
class Features:
    """The hidden states of words, one row per word, in the order of the sentences.

    `layers[0]` is the embeddings and `layers[k]` the output of block k; in a pre-norm model that is
    the residual stream before the last norm. Each is (words, width) in half precision; the layers
    of a recurrent model may have several widths. The rows of sentence s are `starts[s]` to
    `starts[s + 1]`. A sentence that was left out has no rows but keeps its number.
    """

    layers: tuple[np.ndarray, ...]
    starts: np.ndarray  # (sentences + 1,)
    left_out: tuple[int, ...] = ()  # sentences with more tokens than the model has positions

    def __len__(self) -> int:
        return int(self.starts[-1])

    def sentence(self, number: int, layer: int) -> np.ndarray:
        """The vectors of the words of one sentence, (words, width); no rows if it was left out."""
        return self.layers[layer][self.starts[number] : self.starts[number + 1]]

    def sentences(self, layer: int) -> list[np.ndarray]:
        """The vectors of each sentence, as `sentence` returns them."""
        return [self.sentence(number, layer) for number in range(len(self.starts) - 1)]

    def holds(self, sentences: np.ndarray) -> np.ndarray:
        """(items,) True where the sentence with that number was not left out."""
        return np.diff(self.starts)[sentences] > 0

    def rows(self, sentences: np.ndarray, words: np.ndarray) -> np.ndarray:
        """The rows of words, (items,), given their sentences and their numbers there, from 0.

        Raises ValueError for a word that its sentence does not have.
        """
        sentences, words = np.asarray(sentences), np.asarray(words)
        wrong = (words < 0) | (words >= np.diff(self.starts)[sentences])
        if wrong.any():
            number = int(sentences[wrong][0])
            raise ValueError(
                f"expected words 0 to {np.diff(self.starts)[number] - 1} of sentence {number}, "
                f"got word {int(words[wrong][0])}; pass the sentences given to `extract`"
            )
        return self.starts[sentences] + words

    def places(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The sentence of each row and the number of its word there: the inverse of `rows`."""
        sentences = np.searchsorted(self.starts, rows, side="right") - 1
        return sentences, np.asarray(rows) - self.starts[sentences]


@torch.no_grad()
def extract(
    model: Transformer,
    tokenizer: Any,
    sentences: Sequence[Words],
    *,
    space_after: Sequence[Sequence[bool]] | None = None,
    pooling: str = "mean",
    folder: str | Path | None = None,
    compute: Compute | None = None,
) -> Features:
    """The hidden states of each word in each layer: the "mean", "first" or "last" of its tokens.

    See `align` for sentences and tokenizers. A sentence with more tokens than the model has
    positions is left out; a printed line gives the number of these, and `left_out` lists them. With
    `folder` the layers are stored there and memory-mapped, and a later call with the same weights,
    tokens, pooling, precision and code reads them. Without it they are held in memory.

    Raises ValueError for what `align` refuses, another pooling, states beyond half precision, and,
    with `folder`, for a model with hooks, because hooks are not part of the key.
    """
    if pooling not in POOLINGS:
        raise ValueError(f"expected a pooling out of {', '.join(POOLINGS)}, got {pooling!r}")
    if folder is not None and any(is_watched(module) for module in model.modules()):
        raise ValueError("expected a model without hooks to keep its features; leave folder out")
    compute = device.choose() if compute is None else compute
    model.to(compute.device).eval()
    aligned = align(tokenizer, sentences, space_after=space_after)
    fits = [len(sentence.tokens) <= model.config.max_length for sentence in aligned]
    words = [len(sentence.spans) * fit for sentence, fit in zip(aligned, fits, strict=True)]
    starts = np.concatenate([[0], np.cumsum(words, dtype=np.int64)])
    left_out = tuple(number for number, fit in enumerate(fits) if not fit)
    if left_out:
        count = f"{number_of(len(left_out), 'sentence')} of {len(sentences):,}"
        print(f"[left out] {count}: more than {model.config.max_length} tokens")
    if not starts[-1]:
        raise ValueError("expected at least one sentence that the model can read, got none")
    shapes = [(int(starts[-1]), width) for width in model.config.widths]
    batches = _pooled(model, aligned, fits, pooling, compute)
    if folder is None:
        layers = [np.empty(shape, np.float16) for shape in shapes]
        _fill(layers, batches, starts)
        return Features(tuple(layers), starts, left_out)
    kept = Path(folder) / _key(model, aligned, pooling, compute)
    if not kept.is_dir():
        _keep(kept, shapes, batches, starts)
    return Features(_open(kept, shapes), starts, left_out)


def _pooled(
    model: Transformer, aligned: list[Aligned], fits: list[bool], pooling: str, compute: Compute
) -> Iterator[tuple[list[int], list[Tensor]]]:
    """Batches of about equal lengths: sentence numbers and, for each layer, their word vectors."""
    numbers = [number for number, fit in enumerate(fits) if fit]
    numbers.sort(key=lambda number: len(aligned[number].tokens), reverse=True)
    while numbers:
        at_once = max(1, TOKENS_AT_A_TIME // len(aligned[numbers[0]].tokens))
        batch, numbers = numbers[:at_once], numbers[at_once:]
        tokens, mask = pad([aligned[number].tokens for number in batch])
        pairs = _pairs([aligned[number] for number in batch], tokens.shape[1], pooling)
        word, token, share = (part.to(compute.device) for part in pairs)
        with compute.autocast():
            states = model.hidden_states(tokens.to(compute.device), mask.to(compute.device))
        vectors = []
        for state in states:
            weighted = state.flatten(0, 1).float()[token] * share[:, None]
            pooled = weighted.new_zeros(int(word[-1]) + 1, weighted.shape[1])
            vectors.append(pooled.index_add_(0, word, weighted).cpu())
        yield batch, vectors


def _pairs(batch: list[Aligned], length: int, pooling: str) -> tuple[Tensor, Tensor, Tensor]:
    """Pairs of a word and a token of it: word, token in the flat batch, weight, (pairs,) each."""
    word, token, share = [], [], []
    count = 0
    for row, sentence in enumerate(batch):
        for first, end in sentence.spans:
            first, end = {"first": (first, first + 1), "last": (end - 1, end)}.get(
                pooling, (first, end)
            )
            word += [count] * (end - first)
            token += range(row * length + first, row * length + end)
            share += [1 / (end - first)] * (end - first)
            count += 1
    return torch.tensor(word), torch.tensor(token), torch.tensor(share)


def _fill(layers: list[np.ndarray], batches: Iterator, starts: np.ndarray) -> None:
    for numbers, vectors in batches:
        rows = np.concatenate([np.arange(starts[i], starts[i + 1]) for i in numbers])
        for layer, (states, vector) in enumerate(zip(layers, vectors, strict=True)):
            states[rows] = half = vector.half().numpy()
            if not np.isfinite(half).all():
                raise ValueError(
                    f"expected hidden states within half precision (65,504), got "
                    f"{float(vector.abs().max()):.3g} in layer {layer}"
                )


def _key(model: Transformer, aligned: list[Aligned], pooling: str, compute: Compute) -> str:
    """The first digits of a sha256 of everything that determines the features."""
    total = hashlib.sha256(Path(__file__).read_bytes())
    settings = (tlcourse.__version__, model.config, model, pooling, compute.precision)
    total.update(repr(settings).encode())
    for name, tensor in model.state_dict().items():
        total.update(name.encode())
        total.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    for sentence in aligned:
        total.update(repr((sentence.tokens, sentence.spans)).encode())
    return total.hexdigest()[:24]


def _keep(kept: Path, shapes: list[Shape], batches: Iterator, starts: np.ndarray) -> None:
    with files.new_folder(kept, overwrite=True) as temporary:
        layers = [
            np.lib.format.open_memmap(_file(temporary, layer), "w+", np.float16, shape)
            for layer, shape in enumerate(shapes)
        ]
        _fill(layers, batches, starts)
        del layers  # Windows cannot rename a folder with an open memory map


def _open(kept: Path, shapes: list[Shape]) -> tuple[np.ndarray, ...]:
    try:
        layers = tuple(np.load(_file(kept, i), mmap_mode="r") for i in range(len(shapes)))
    except (ValueError, OSError) as error:
        raise ValueError(f"expected kept features in {kept}, but {error}; remove it") from None
    if [layer.shape for layer in layers] != shapes:
        raise ValueError(f"expected kept features of shapes {shapes} in {kept}; remove it")
    return layers


def _file(folder: Path, layer: int) -> Path:
    return folder / f"layer-{layer}.npy"

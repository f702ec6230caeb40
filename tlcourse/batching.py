"""Padding, length buckets, encoding of articles, and token files."""

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tlcourse import files
from tlcourse.bpe import EOS, Tokenizer


def generator_for(*numbers: int) -> torch.Generator:
    """A random generator that depends only on `numbers`, such as (seed, step, rank).

    Trailing zeros have no effect, so give a second kind of draws a 1 at the end, not a 0.
    """
    state = np.random.SeedSequence(numbers).generate_state(2, np.uint32)
    return torch.Generator().manual_seed(int(state[0]) << 31 ^ int(state[1]))


def pad(sequences: Sequence[Sequence[int]], pad_id: int = 0) -> tuple[Tensor, Tensor]:
    """Padded tokens (batch, longest) and their padding mask, True = token.

    Raises ValueError for an empty sequence, because a row without tokens has nothing to attend to.
    """
    lengths = [len(sequence) for sequence in sequences]
    if not lengths or min(lengths) == 0:
        raise ValueError(f"expected at least one token in every sequence, got lengths {lengths}")
    longest = max(lengths)
    mask = torch.arange(longest) < torch.tensor(lengths)[:, None]
    padded = [[*row, *[pad_id] * (longest - len(row))] for row in sequences]
    return torch.tensor(padded), mask


def bucket_batches(lengths: Sequence[int], batch_size: int, *seed: int) -> list[list[int]]:
    """The indices of sequences in batches of similar length, in random order.

    Shuffles, sorts chunks of 50 batches by length, splits them into batches and shuffles these, so
    that there is little padding but each seed composes different batches.
    """
    generator = generator_for(*seed)
    order = torch.randperm(len(lengths), generator=generator).tolist()
    batches = []
    for start in range(0, len(order), 50 * batch_size):
        chunk = sorted(order[start : start + 50 * batch_size], key=lengths.__getitem__)
        batches += [chunk[i : i + batch_size] for i in range(0, len(chunk), batch_size)]
    return [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]


def encode_articles(articles: Iterable[str], tokenizer: Tokenizer) -> Iterator[list[int]]:
    """The ids of each article, with `<unk>` as one special token and `<eos>` at the end."""
    library = tokenizer.to_library()
    library.encode_special_tokens = False
    iterator = iter(articles)
    while group := list(itertools.islice(iterator, 256)):
        for encoding in library.encode_batch_fast(group):
            yield [*encoding.ids, EOS]


def write_tokens(path: str | Path, documents: Iterable[Sequence[int]]) -> int:
    """Writes documents of ids as consecutive little-endian uint16; returns the number of ids.

    Raises ValueError for ids that do not fit into 16 bits, and if there are none.
    """
    count = 0
    with files.atomic(path) as temporary, open(temporary, "wb") as out:
        for document in documents:
            ids = np.asarray(document)
            if len(ids) and not 0 <= ids.min() <= ids.max() < 2**16:
                raise ValueError(f"expected ids from 0 to 65535, got {ids.min()} to {ids.max()}")
            out.write(ids.astype("<u2").tobytes())
            count += len(ids)
        if count == 0:
            raise ValueError(f"expected tokens to write to {path}, got none; use another corpus")
    return count


class TokenFile:
    """A memory-mapped file of uint16 ids."""

    def __init__(self, path: str | Path):
        self.ids = np.memmap(path, dtype="<u2", mode="r")

    def __len__(self) -> int:
        return len(self.ids)

    def digest(self) -> str:
        """The first digits of the sha256 of all ids, which identify the text."""
        return hashlib.sha256(memoryview(self.ids)).hexdigest()[:16]

    def windows(self, step: int, *, batch_size: int, length: int, seed: int = 0) -> Tensor:
        """The windows of a training step: ids (batch_size, length), determined by the arguments.

        An epoch is a random order of all windows at one random offset; `step` counts from 0 over
        all epochs.
        """
        per_epoch = (len(self.ids) - length) // length
        if per_epoch < 1:
            raise ValueError(
                f"expected at least {2 * length} tokens for windows of {length}, "
                f"got {len(self.ids)}; use shorter windows or more text"
            )
        starts = []
        for number in range(step * batch_size, (step + 1) * batch_size):
            epoch, index = divmod(number, per_epoch)
            offset, order = epoch_order(per_epoch, length, seed=seed, epoch=epoch)
            starts.append(offset + length * int(order[index]))
        rows = np.stack([self.ids[start : start + length] for start in starts])
        return torch.from_numpy(rows.astype(np.int64))


@lru_cache(maxsize=4)
def epoch_order(
    windows: int, length: int, *, seed: int = 0, epoch: int = 0
) -> tuple[int, np.ndarray]:
    """The offset of the first window of an epoch, and the order of its windows.

    The offset is below `length`; the order is a permutation of 0 to `windows` - 1.
    """
    generator = np.random.default_rng((seed, epoch))
    return int(generator.integers(length)), generator.permutation(windows)

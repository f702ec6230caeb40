"""The one place for padding, length buckets, articles as ids, and token files."""

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
    """A random generator that depends on `numbers` alone, such as (seed, step, rank).

    Zeros at the end change nothing: who needs two kinds of draws tells them apart by a 1.
    """
    state = np.random.SeedSequence(numbers).generate_state(2, np.uint32)
    return torch.Generator().manual_seed(int(state[0]) << 31 ^ int(state[1]))


def pad(sequences: Sequence[Sequence[int]], pad_id: int = 0) -> tuple[Tensor, Tensor]:
    """Lists of ids to (batch, longest) tokens and a padding mask, True = token.

    Raises ValueError on an empty sequence: a row without a token has nothing to attend to.
    """
    lengths = [len(sequence) for sequence in sequences]
    if not lengths or min(lengths) == 0:
        raise ValueError(f"expected at least one token in every sequence, got lengths {lengths}")
    longest = max(lengths)
    mask = torch.arange(longest) < torch.tensor(lengths)[:, None]
    padded = [[*row, *[pad_id] * (longest - len(row))] for row in sequences]
    return torch.tensor(padded), mask


def bucket_batches(lengths: Sequence[int], batch_size: int, *seed: int) -> list[list[int]]:
    """Indices in batches of about equal lengths, batches in random order.

    Shuffles, sorts chunks of 50 batches by length, cuts, shuffles the batches: little padding, and
    still another composition for each seed.
    """
    generator = generator_for(*seed)
    order = torch.randperm(len(lengths), generator=generator).tolist()
    batches = []
    for start in range(0, len(order), 50 * batch_size):
        chunk = sorted(order[start : start + 50 * batch_size], key=lengths.__getitem__)
        batches += [chunk[i : i + batch_size] for i in range(0, len(chunk), batch_size)]
    return [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]


def encode_articles(articles: Iterable[str], tokenizer: Tokenizer) -> Iterator[list[int]]:
    """The ids of each article, `<unk>` as one special token, `<eos>` at the end."""
    library = tokenizer.to_library()
    library.encode_special_tokens = False
    iterator = iter(articles)
    while group := list(itertools.islice(iterator, 256)):
        for encoding in library.encode_batch_fast(group):
            yield [*encoding.ids, EOS]


def write_tokens(path: str | Path, documents: Iterable[Sequence[int]]) -> int:
    """Writes documents of ids one after the other as little-endian uint16; returns the count.

    Raises ValueError on ids that do not fit, or when there is no token at all.
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
            raise ValueError(f"no token to write to {path}: the corpus is empty")
    return count


class TokenFile:
    """A file of uint16 ids, memory-mapped: nothing is read before it is used."""

    def __init__(self, path: str | Path):
        self.ids = np.memmap(path, dtype="<u2", mode="r")

    def __len__(self) -> int:
        return len(self.ids)

    def digest(self) -> str:
        """The start of the sha256 of all ids: which text this is."""
        return hashlib.sha256(memoryview(self.ids)).hexdigest()[:16]

    def windows(self, step: int, *, batch_size: int, length: int, seed: int = 0) -> Tensor:
        """(batch_size, length) ids: the windows of a training step, by the arguments alone.

        An epoch is a random order of all windows at one random offset; `step` counts from 0 and
        runs on through the epochs.
        """
        per_epoch = (len(self.ids) - length) // length
        if per_epoch < 1:
            raise ValueError(
                f"expected at least {2 * length} tokens for windows of {length}, "
                f"got {len(self.ids)}; use shorter windows or more text"
            )
        starts = []
        for number in range(step * batch_size, (step + 1) * batch_size):
            epoch, place = divmod(number, per_epoch)
            offset, order = epoch_order(per_epoch, length, seed=seed, epoch=epoch)
            starts.append(offset + length * int(order[place]))
        rows = np.stack([self.ids[start : start + length] for start in starts])
        return torch.from_numpy(rows.astype(np.int64))


@lru_cache(maxsize=4)
def epoch_order(
    windows: int, length: int, *, seed: int = 0, epoch: int = 0
) -> tuple[int, np.ndarray]:
    """Where the windows of an epoch begin, and in which order they come: (offset, order).

    The offset is below `length`, the order a permutation of 0 to `windows` - 1.
    """
    generator = np.random.default_rng((seed, epoch))
    return int(generator.integers(length)), generator.permutation(windows)

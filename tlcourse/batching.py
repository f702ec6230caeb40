"""Padding, length buckets, encoding of articles, and token files."""

import hashlib
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
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


LEAST_SHARE = 1e-6  # of the rows of a `Mixture`


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
        all epochs. Raises ValueError for a file of fewer than two windows.
        """
        numbers = range(step * batch_size, (step + 1) * batch_size)
        rows = np.stack([self.row(number, length=length, seed=seed) for number in numbers])
        return torch.from_numpy(rows.astype(np.int64))

    def row(self, number: int, *, length: int, seed: int = 0) -> np.ndarray:
        """The window with that number, counted from 0 over all epochs: uint16 ids (length,)."""
        epoch, index = divmod(number, self.per_epoch(length))
        offset, order = epoch_order(self.per_epoch(length), length, seed=seed, epoch=epoch)
        start = offset + length * int(order[index])
        return self.ids[start : start + length]

    def per_epoch(self, length: int) -> int:
        """The number of windows of an epoch; raises ValueError if there is none."""
        count = (len(self.ids) - length) // length
        if count < 1:
            raise ValueError(
                f"expected at least {2 * length} tokens for windows of {length}, "
                f"got {len(self.ids)}; use shorter windows or more text"
            )
        return count


class Mixture:
    """Several token files as one, of which each gives a share of the rows (Brown et al., 2020).

        file = Mixture({"wiki": wiki, "books": books}, {"wiki": 3, "books": 1})

    `files` are by name, and `weights` have the same names; only their ratios matter. So a small
    file with a large weight is read again while a large one is still new. The rows of a file come
    in the order that the file alone would have, so none comes back before the file's epoch ends.

    The shares are exact, not drawn: rows come in blocks of `block` rows, and at the end of each
    block every file has given its share of all rows so far, rounded up or down. Which rows of a
    block belong to which file is random. Raises ValueError for no files, names that differ, weights
    that are not positive and finite, and a share below LEAST_SHARE.
    """

    def __init__(self, files: Mapping[str, TokenFile], weights: Mapping[str, float]):
        if not files or set(files) != set(weights):
            raise ValueError(
                f"expected a weight for each of the files {sorted(files)}, got weights for "
                f"{sorted(weights)}; leave none out, and give at least one"
            )
        if wrong := {name: w for name, w in weights.items() if not 0 < w < math.inf}:
            raise ValueError(
                f"expected weights that are positive and finite, got {wrong}; leave out a file "
                "that is not to be read"
            )
        self.files, total = dict(files), math.fsum(weights.values())
        self.shares = {name: weights[name] / total for name in files}  # of the rows
        name, least = min(self.shares.items(), key=lambda item: item[1])
        if least < LEAST_SHARE:
            raise ValueError(
                f"expected at least one row in {1 / LEAST_SHARE:,.0f} of each file, got a share of "
                f"{least:.1e} for {name}; give it more weight, or leave it out"
            )
        self.block = math.ceil(2 / least)  # with fewer rows, rounding could take one back

    def __len__(self) -> int:
        return sum(map(len, self.files.values()))

    def digest(self) -> str:
        """The first digits of a sha256, which identify the texts and their shares."""
        parts = [(name, file.digest(), self.shares[name]) for name, file in self.files.items()]
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]

    def windows(self, step: int, *, batch_size: int, length: int, seed: int = 0) -> Tensor:
        """The windows of a training step: ids (batch_size, length), determined by the arguments.

        See `TokenFile.windows`. Raises ValueError for a file of fewer than two windows.
        """
        rows = []
        for number in range(step * batch_size, (step + 1) * batch_size):
            name, own = self.source(number, seed=seed)
            try:
                rows.append(self.files[name].row(own, length=length, seed=seed))
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
        return torch.from_numpy(np.stack(rows).astype(np.int64))

    def source(self, number: int, *, seed: int = 0) -> tuple[str, int]:
        """The file that row `number` comes from, and the number of the row in that file."""
        block, place = divmod(number, self.block)
        shares = tuple(self.shares.values())
        owners, rows = _block_of_rows(shares, self.block, seed=seed, block=block)
        return [*self.files][owners[place]], int(rows[place])

    def epochs(self, rows: int, *, length: int) -> dict[str, float]:
        """How often each file has been read after that many rows of `length` tokens."""
        return {
            name: rows * self.shares[name] / file.per_epoch(length)
            for name, file in self.files.items()
        }


@lru_cache(maxsize=4)
def _block_of_rows(
    shares: tuple[float, ...], size: int, *, seed: int, block: int
) -> tuple[np.ndarray, np.ndarray]:
    """For each row of a block, the number of its file, and the number of the row in that file."""
    ends = np.cumsum([0.0, *shares])
    given = [np.floor(size * blocks * ends + 0.5).astype(int) for blocks in (block, block + 1)]
    first, last = (each[1:] - each[:-1] for each in given)  # rows before the block, and after it
    owners = np.repeat(np.arange(len(shares)), last - first)
    rows = np.concatenate([np.arange(*both) for both in zip(first, last, strict=True)])
    order = np.argsort(np.random.default_rng((seed, block, 2)).permutation(owners), kind="stable")
    mixed = np.empty_like(owners), np.empty_like(rows)
    mixed[0][order], mixed[1][order] = owners, rows
    return mixed


@lru_cache(maxsize=32)
def epoch_order(
    windows: int, length: int, *, seed: int = 0, epoch: int = 0
) -> tuple[int, np.ndarray]:
    """The offset of the first window of an epoch, and the order of its windows.

    The offset is below `length`; the order is a permutation of 0 to `windows` - 1.
    """
    generator = np.random.default_rng((seed, epoch))
    return int(generator.integers(length)), generator.permutation(windows)

"""Variants: the checks of an exercise on other random inputs, which no learner has seen.

    with variant(7):                          # 7 is the seed of the variant
        hidden = drawn_anew("bpe.count_pairs")
        report = check(hidden, answer)

An exercise draws the inputs of its cases with seeds that have gone through `varying`, and its truth
computes what is expected, so that one file describes the cases of every variant.
"""

import contextlib
import zlib
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

from tlcourse.exercises import listing

_variants: list[tuple[int, list[int]]] = []  # the open blocks: seed, and what each yields


def varying(seed: int) -> int:
    """The seed with which to draw the input of a case: `seed`, or another one in each variant."""
    if not _variants:
        return seed
    of_variant, drawn = _variants[-1]
    drawn.append(seed)
    return zlib.crc32(f"{of_variant} {seed}".encode())


@contextlib.contextmanager
def variant(seed: int) -> Iterator[list[int]]:
    """Inside the block, exercises draw the inputs of this variant.

    Yields the list of the seeds with which they have drawn, empty at first.
    """
    drawn: list[int] = []
    _variants.append((seed, drawn))
    try:
        yield drawn
    finally:
        _variants.pop()


def drawn_anew(id: str) -> Any:
    """An exercise whose file has been executed again, so that its inputs are drawn again."""
    spec = spec_from_file_location(f"{__package__}.{id}", listing.place(id))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.task

"""Every number that depends on the machine, at three sizes: tiny, small, full.

`tiny` is what continuous integration runs (seconds a lesson), `small` is a laptop without a GPU,
`full` is the scale of the 2019 tutorial on a real GPU. The size changes numbers, never the code
path. `TLCOURSE_SIZE` chooses; `small` is the default.
"""

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """One column of the table of sizes; every field says its unit."""

    name: str


TINY = Size(
    name="tiny",
)
SMALL = Size(
    name="small",
)
FULL = Size(
    name="full",
)
SIZES = {size.name: size for size in (TINY, SMALL, FULL)}


def get(name: str) -> Size:
    """The size called `name`; raises ValueError that lists the sizes there are."""
    if name not in SIZES:
        raise ValueError(f"expected a size out of {', '.join(SIZES)}, got {name!r}")
    return SIZES[name]


def current() -> Size:
    """The size named by `TLCOURSE_SIZE` (`small` where it is not set)."""
    return get(os.environ.get("TLCOURSE_SIZE") or "small")


def cap(wanted: int, available: int, what: str) -> int:
    """`wanted`, or `available` if that is less; then one printed line says so.

    A size is a ceiling: the bundled samples are smaller than the real data.
    """
    if wanted <= available:
        return wanted
    print(f"[size] {wanted:,} {what} wanted, {available:,} there: using {available:,}")
    return available

"""Builds the whole course as a web site that also opens from disk."""

import time
from pathlib import Path
from types import SimpleNamespace

from tlcourse import files
from tlcourse.cli.options import Option

OPTIONS = [Option("--out", "the new folder", Path, Path("site"))]


def run(arguments: SimpleNamespace) -> int:
    """Builds the site, names each part as it comes, and prints its place, size and time."""
    files.refuse_occupied(arguments.out)
    start = time.monotonic()
    from tlcourse.site import build

    index = build(arguments.out)
    size = sum(path.stat().st_size for path in arguments.out.rglob("*") if path.is_file()) / 1e6
    seconds = time.monotonic() - start
    print(
        f"wrote {index} ({size:.1f} MB, in {seconds:.0f} seconds); it opens from disk, without a "
        "network"
    )
    return 0


def left(arguments: SimpleNamespace) -> str:
    """Returns what is left behind by a command that was stopped."""
    return f"there is no {arguments.out}, because the site was not complete"

"""Builds the whole course as a web site that also opens from disk."""

from pathlib import Path
from types import SimpleNamespace

from tlcourse import files
from tlcourse.cli.options import Option

OPTIONS = [Option("--out", "the new folder", Path, Path("site"))]


def run(arguments: SimpleNamespace) -> int:
    """Builds the site, names each part as it comes, and prints the file to open."""
    files.refuse_occupied(arguments.out)
    from tlcourse.site import build

    print(f"wrote {build(arguments.out)}; it opens from disk, without a network")
    return 0


def left(arguments: SimpleNamespace) -> str:
    """Returns what is left behind by a command that was stopped."""
    return f"there is no {arguments.out}, because the site was not complete"

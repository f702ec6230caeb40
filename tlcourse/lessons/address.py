"""For maintainers: sets the repository's address, `python -m tlcourse.lessons.address URL`.

The address is written into `pyproject.toml`, the citation, the first cell and Colab badge of every
lesson, and the README; the page reads it when it is built.
"""

import argparse
import re

from tlcourse import files
from tlcourse.lessons import finding, first_cell, readme

FILES = "pyproject.toml", "CITATION.cff"  # the other places are generated from the first


def set_to(url: str) -> None:
    """Writes the address everywhere.

    Raises ValueError unless `url` has the form https://HOST/OWNER/NAME.
    """
    if not re.fullmatch(r"https://[\w.-]+/[\w.-]+/[\w.-]+", url):
        raise ValueError(
            "expected the address of a repository, such as https://github.com/you/tlcourse, "
            f"got {url!r}"
        )
    old, root = first_cell.address(), files.root()
    for name in FILES:
        text = (root / name).read_text(encoding="utf-8")
        files.write_text(root / name, text.replace(f'"{old}"', f'"{url}"'))
    first_cell.conform_files(lesson.path for lesson in finding.every())
    readme.main()


def main() -> None:
    """Reads the address from the command line and sets it."""
    parser = argparse.ArgumentParser(
        prog="python -m tlcourse.lessons.address", description="Sets the repository's address."
    )
    parser.add_argument("url", help="https://HOST/OWNER/NAME")
    try:
        set_to(parser.parse_args().url.rstrip("/"))
    except ValueError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()

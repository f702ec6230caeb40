"""Which libraries the lessons need in this Python, and whether it is the Python of Google Colab.

It imports nothing but the standard library, so it works where the libraries are missing.
"""

import re
from importlib import metadata

# Colab shows notebooks itself, and `pip install jupyterlab` would replace parts of its server.
# Formulas become MathML only in the pages that `tlcourse html` writes.
NOT_FOR_COLAB = ("jupyterlab", "latex2mathml")


def on_colab() -> bool:
    """Returns whether this Python is Colab's; `!tlcourse` runs in the same one."""
    return _there("google-colab")


def requirements() -> list[str]:
    """Returns what the package's metadata asks for, such as "torch>=2.9", without the extras.

    On Colab the list lacks NOT_FOR_COLAB. Raises PackageNotFoundError if tlcourse is not installed.
    """
    asked = [each for each in metadata.requires("tlcourse") or [] if ";" not in each]
    unneeded = NOT_FOR_COLAB if on_colab() else ()
    return [each for each in asked if name(each) not in unneeded]


def name(requirement: str) -> str:
    """Returns the name in a requirement: "torch" of "torch>=2.9"."""
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0]


def missing() -> list[str]:
    """Returns those of the requirements that are not installed."""
    try:
        return [each for each in requirements() if not _there(name(each))]
    except metadata.PackageNotFoundError:  # a clone that is on the path, but not installed
        return []


def lacking(them: list[str], do: str, pip: str) -> str:
    """Returns a message that names missing libraries, says what to do, and gives the command."""
    listed = " ".join(f'"{each}"' for each in them)
    return (
        "expected the libraries that the course imports, but this Python lacks "
        f"{', '.join(map(name, them))}; {do} (it may download 2 GB){pip} install {listed}"
    )


def refuse_missing() -> None:
    """Raises ImportError that names the libraries which are not installed, and how to install them.

    A notebook elsewhere than on Colab gets the package without its libraries from its first cell.
    """
    if them := missing():
        do = "run the line below in a new cell, restart the kernel, and run this cell again"
        raise ImportError(lacking(them, do, ":\n\n    %pip"))


def _there(distribution: str) -> bool:
    try:
        metadata.distribution(distribution)
    except metadata.PackageNotFoundError:
        return False
    return True

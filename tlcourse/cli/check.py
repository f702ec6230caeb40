"""Tests whether this machine is ready for the course.

Every failure says what to do.
"""

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from types import SimpleNamespace

from packaging.requirements import Requirement
from packaging.version import Version

from tlcourse import environment, files, sizes
from tlcourse.cli.console import report
from tlcourse.cli.options import Option

OPTIONS: list[Option] = []
ENOUGH_MEMORY = 3.5  # GiB; the lessons at size small stay below 2


def run(arguments: SimpleNamespace) -> int:
    """Reports a line per check; returns 1 if one of them failed."""
    checked = results()
    for result in checked:
        report(str(result))
    failed = sum(not result.good for result in checked)
    ready = (
        "Ready. Next: open a lesson in Colab"
        if environment.on_colab()
        else "Ready. Next: `tlcourse lab`"
    )
    print(f"{failed} of {len(checked)} failed" if failed else ready)
    return min(failed, 1)


@dataclass(frozen=True)
class Result:
    """One line of the report."""

    good: bool
    what: str
    do: str = ""

    def __str__(self) -> str:
        if self.good:
            return f"[OK]   {self.what}"
        return f"[FAIL] {'; '.join(filter(None, (self.what, self.do)))}"


def results() -> list[Result]:
    """Returns the results: environment, versions, kernel, device, precision, memory and data."""
    machine = (_python, _versions, _kernel, _size, _compute, _waiting, _memory)
    checks = (*machine, _bundled, _data, _released, _my)
    return [result for check in checks for result in check()]


def _python() -> Iterator[Result]:
    version = ".".join(map(str, sys.version_info[:3]))
    separate = sys.prefix != sys.base_prefix or "CONDA_PREFIX" in os.environ
    where = "an environment of its own" if separate else "the system's Python"
    yield Result(
        sys.version_info >= (3, 11),
        f"Python {version} in {where}",
        "install Python 3.11 or newer and make the environment with it",
    )


def _versions() -> Iterator[Result]:
    """Yields a result for each library that the package's metadata requires."""
    try:
        requirements = environment.requirements()
    except metadata.PackageNotFoundError:
        yield Result(False, "tlcourse is not installed", "run: python -m pip install -e .")
        return
    yield from map(version_result, map(Requirement, requirements))


def version_result(requirement: Requirement) -> Result:
    """Returns whether a distribution is installed in a version that the requirement allows.

    A preview of a version counts as that version: vendors ship builds of PyTorch called 2.9.0a0.
    """
    install, name = f'run: python -m pip install "{requirement}"', requirement.name
    try:
        installed = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Result(False, f"{name} is not installed", install)
    specifier = requirement.specifier
    good = specifier.contains(Version(installed).base_version)
    needed = f" ({specifier})".replace(">=", "at least ") if specifier else ""
    return Result(good, f"{name} {installed}{needed}", install)


def _kernel() -> Iterator[Result]:
    """Yields whether the notebook kernel is this Python, and not one registered earlier."""
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    repair = "run: python -m ipykernel install --sys-prefix"
    try:
        program = KernelSpecManager().get_kernel_spec("python3").argv[0]
    except NoSuchKernel:
        yield Result(False, "there is no notebook kernel called python3", repair)
        return
    same = os.path.basename(program) == program or _together(program, sys.executable)
    yield Result(same, "the notebook kernel python3 is this Python", repair)


def _together(program: str, other: str) -> bool:
    """True if two programs are in one folder: environments may link to the same Python."""
    folders = (os.path.realpath(os.path.dirname(path)) for path in (program, other))
    return os.path.exists(program) and len(set(folders)) == 1


def _size() -> Iterator[Result]:
    yield _attempt(
        lambda: f"size {sizes.current().name}",
        f"set TLCOURSE_SIZE to one of {', '.join(sizes.SIZES)}",
    )


def _compute() -> Iterator[Result]:
    from tlcourse import device

    def describe() -> str:
        compute = device.choose()
        text = f"{device.describe(compute)}; attention: {compute.attention}"
        return text + (" (Apple's GPU is left alone)" if sys.platform == "darwin" else "")

    yield _attempt(describe)


def _waiting() -> Iterator[Result]:
    """Yields how threads wait for each other, a setting that libgomp reads, on Linux."""
    spins = os.environ.get("GOMP_SPINCOUNT", "as they like")
    yield Result(True, f"waiting threads spin {spins} times (GOMP_SPINCOUNT)")


def _memory() -> Iterator[Result]:
    from tlcourse import device

    memory = device.memory_in_gib()
    good = not memory < ENOUGH_MEMORY  # true for nan, which stands for an unknown size
    yield Result(good, f"{memory:.1f} GiB of memory", "close programs, use TLCOURSE_SIZE=tiny")


def _bundled() -> Iterator[Result]:
    def describe(folder: str) -> str:
        return f"{folder} at {files.bundled(folder)}"

    for folder in ("notebooks", "data/samples"):
        yield _attempt(partial(describe, folder))


def _data() -> Iterator[Result]:
    from tlcourse import corpora

    yield _attempt(lambda: corpora.describe("trec"))


def _released() -> Iterator[Result]:
    """Yields which released models are at hand; the lessons work without them."""
    from tlcourse import released

    known = released.KNOWN | released.CHAT
    here = [f"{name} {place}" for name in known if (place := released.at_hand(name))]
    yield Result(True, f"released models: {', '.join(here) or 'none, and none is needed'}")


def _my() -> Iterator[Result]:
    from tlcourse.cli import lab

    folder = files.my_folder()

    def describe() -> str:
        lab.refuse_unwritable(folder)
        return f"your copy and answers are in {folder}"

    yield _attempt(describe)


def _attempt(describe: Callable[[], str], do: str = "") -> Result:
    """Returns what `describe` returns as a result; `do` completes errors that name no remedy."""
    try:
        return Result(True, describe())
    except (ValueError, OSError) as error:
        return Result(False, str(error), do)

"""The table of data sets: one for each module of this folder that defines a `CORPUS`."""

import pkgutil
import re
from collections.abc import Iterable
from importlib import import_module

from tlcourse.corpora.checks import DataError
from tlcourse.corpora.corpus import Corpus
from tlcourse.wording import nearest

BUNDLED = " (bundled sample)"  # in a log, behind the name of a data set of which no more was read
OWN = re.compile(r"(.+) [0-9a-f]{16}")  # in a log, one's own text: its name and a digest


def own_name(label: str) -> str | None:
    """Returns the name of one's own text, by its label in a log; None for a data set."""
    own = OWN.fullmatch(label)
    return own[1] if own else None


def collect(folders: Iterable[str]) -> dict[str, Corpus]:
    """The data sets whose modules lie in `folders`, by name, in the order of the lessons."""
    names = {f"{__package__}.{module.name}" for module in pkgutil.iter_modules(folders)}
    others = {__name__, f"{__package__}.splits"}  # the latter loads `datasets`
    modules = map(import_module, sorted(names - others))
    corpora = [module.CORPUS for module in modules if hasattr(module, "CORPUS")]
    corpora.sort(key=lambda corpus: (corpus.lesson, corpus.name))
    return {corpus.name: corpus for corpus in corpora}


CORPORA = collect(import_module(__package__).__path__)


def get(name: str) -> Corpus:
    """The data set called `name`; raises DataError, listing all names, if there is none."""
    if name not in CORPORA:
        near = nearest(name, CORPORA)
        raise DataError(f"expected a data set out of {', '.join(CORPORA)}, got {name!r}{near}")
    return CORPORA[name]

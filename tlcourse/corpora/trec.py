"""TREC question classification (Li & Roth, 2002): rows, a dev split, nested subsets, duplicates."""

from collections.abc import Iterable, Iterator

from tlcourse.corpora.checks import DataError

FINE = {
    "ABBR": "abb exp",
    "DESC": "def desc manner reason",
    "ENTY": "animal body color cremat currency dismed event food instru lang letter other plant "
    "product religion sport substance symbol techmeth termeq veh word",
    "HUM": "desc gr ind title",
    "LOC": "city country mount other state",
    "NUM": "code count date dist money ord other perc period speed temp volsize weight",
}
TREC_LABELS = tuple(FINE)
TREC_FINE_LABELS = tuple(f"{coarse}:{fine}" for coarse in FINE for fine in FINE[coarse].split())


def canonical(text: str) -> str:
    """A question with white space collapsed; byte 0xF0 (a slip in the file) is a space."""
    return " ".join(text.replace("\xf0", " ").split())


def row(fine: str, text: str, where: str) -> dict[str, str]:
    """A row of columns text, label (the coarse name) and fine; raises DataError, saying where."""
    if fine not in TREC_FINE_LABELS or not canonical(text):
        raise DataError(
            f"{where}: expected one of TREC's 50 labels, such as LOC:city, and a question, got "
            f"{fine!r} and {text!r}; replace the data by the published ones"
        )
    return {"text": canonical(text), "label": fine.split(":")[0], "fine": fine}


def parse(lines: Iterable[str], where: str) -> Iterator[dict[str, str]]:
    """Rows from the lines `COARSE:fine question ?` of the published files."""
    for number, line in enumerate(lines, start=1):
        fine, _, text = line.strip().partition(" ")
        yield row(fine, text, f"{where}, line {number}")

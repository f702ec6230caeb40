"""What a prepared corpus was made of, and whether that is what is wanted now."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from tlcourse.bpe import Tokenizer
from tlcourse.corpora.catalogue import CORPORA
from tlcourse.pretraining import own_text

VOCABULARY = 8192  # entries, where no other number is asked for and the text has words for them


def label(name: str) -> str:
    """A data set's name, or a file's with the digest of what it holds."""
    if name in CORPORA or not Path(name).exists():
        return name
    return f"{Path(name).resolve().name} {own_text.digest(Path(name))}"


def checked(
    folder: Path,
    found: dict,
    labels: Sequence[str],
    *,
    tokens: float,
    size: int | None,
    known: Tokenizer | None,
) -> Tokenizer:
    """The vocabulary that is there; ValueError that says in what it is not what is wanted."""
    tokenizer = Tokenizer.load(folder / "tokenizer.json")
    there = _named(found["corpus"])
    entries = found["vocabulary"] if size else found.get("at_most", found["vocabulary"])
    wrong = []
    if found["corpus"] != labels:
        same = there == _named(labels)
        wrong.append("which has changed since" if same else f"not from {_named(labels)}")
    if entries != (size or VOCABULARY):
        wrong.append(f"not with one of {size or VOCABULARY:,}")
    if known is not None and known.merges != tokenizer.merges:
        wrong.append("with another vocabulary than that of the start")
    if found["tokens"] < tokens and not found["whole"]:
        wrong.append(f"not for {tokens:,} tokens")
    if wrong:
        raise ValueError(
            f"{folder} was made from {there} with a vocabulary of {found['vocabulary']:,} entries "
            f"for {found['tokens']:,} tokens: {', '.join(wrong)}; use another --out or --prepared, "
            "or remove this one"
        )
    return tokenizer


def _named(labels: Iterable[str]) -> str:
    """What the corpora of labels are called, without the digests."""
    return ", ".join(label.rpartition(" ")[0] or label for label in labels)

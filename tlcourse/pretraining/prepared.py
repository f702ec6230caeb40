"""What a prepared corpus was made of, and whether that is what is wanted now."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from tlcourse.bpe import Tokenizer
from tlcourse.corpora.catalogue import CORPORA, own_name

VOCABULARY = 8192  # entries, where no other number is asked for and the text has words for them


def gone(names: Sequence[str], labels: Sequence[str]) -> dict[str, str]:
    """Those of one's own texts that are not there any more, and their labels when they were."""
    return {
        name: label
        for name, label in zip(names, labels, strict=False)
        if name not in CORPORA
        and not Path(name).exists()
        and Path(name).resolve().name == label.rpartition(" ")[0]
    }


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
    there = named(found["corpus"])
    entries = found["vocabulary"] if size else found.get("at_most", found["vocabulary"])
    wrong = []
    if found["corpus"] != labels:
        same = there == named(labels)
        wrong.append("which has changed since" if same else f"not from {named(labels)}")
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


def named(labels: Iterable[str]) -> str:
    """What the corpora of labels are called, without the digests."""
    return ", ".join(own_name(label) or label for label in labels)

"""Checks that a prepared corpus is the one that is wanted now."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from tlcourse.bpe import Tokenizer
from tlcourse.corpora.catalogue import CORPORA, own_name

VOCABULARY = 8192  # entries by default, if the text has words for them


def deleted(names: Sequence[str], labels: Sequence[str]) -> dict[str, str]:
    """The user's texts that no longer exist, with their labels in the record."""
    return {
        name: label
        for name, label in zip(names, labels, strict=False)
        if name not in CORPORA
        and not Path(name).exists()
        and Path(name).resolve().name == label.rpartition(" ")[0]
    }


def checked_tokenizer(
    folder: Path,
    record: dict,
    labels: Sequence[str],
    *,
    tokens: float,
    size: int | None,
    required: Tokenizer | None,
) -> Tokenizer:
    """The tokenizer of a prepared corpus; raises ValueError that lists how the corpus differs."""
    tokenizer = Tokenizer.load(folder / "tokenizer.json")
    corpus = without_digests(record["corpus"])
    entries = record["vocabulary"] if size else record.get("at_most", record["vocabulary"])
    differences = []
    if record["corpus"] != labels:
        wanted = without_digests(labels)
        differences.append("which has changed since" if corpus == wanted else f"not from {wanted}")
    if entries != (size or VOCABULARY):
        differences.append(f"not with one of {size or VOCABULARY:,}")
    if required is not None and required.merges != tokenizer.merges:
        differences.append("with another vocabulary than that of the start")
    if record["tokens"] < tokens and not record["whole"]:
        differences.append(f"not for {tokens:,} tokens")
    if differences:
        raise ValueError(
            f"{folder} was made from {corpus} with a vocabulary of {record['vocabulary']:,} "
            f"entries for {record['tokens']:,} tokens: {', '.join(differences)}; use another --out "
            "or --prepared, or remove this one"
        )
    return tokenizer


def without_digests(labels: Iterable[str]) -> str:
    """The names of the corpora in `labels`, without the digests."""
    return ", ".join(own_name(label) or label for label in labels)

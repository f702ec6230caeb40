"""Short sentences with a word that has two senses, written for this course.

In each sentence the word occurs once, in the same form and in lower case, so that only the words
around it tell its sense (the company is called *apple*, too).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tlcourse import files

if TYPE_CHECKING:
    import datasets


def word_senses() -> datasets.DatasetDict:
    """The splits train and test with the columns word, sense and text, 60 sentences each.

    There are six words with two senses each, and five sentences of each sense in a split.
    """
    import datasets

    path = files.bundled("data/examples/word-senses.tsv")
    lines = path.read_text(encoding="utf-8").splitlines()
    rows: dict[str, list[dict]] = {"train": [], "test": []}
    for line in lines:
        split, word, sense, text = line.split("\t")
        rows[split].append({"word": word, "sense": sense, "text": text})
    return datasets.DatasetDict(
        {split: datasets.Dataset.from_list(each) for split, each in rows.items()}
    )

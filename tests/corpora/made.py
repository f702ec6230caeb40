"""Made-up data with exactly the counts of the published sets, and a folder laid out as a mirror."""

from pathlib import Path

from tlcourse.corpora import blimp, catalogue, trec

LABELLED = ("sst-2", "imdb", "rte", "mrpc")  # those of the form of labelled texts


def questions(split: str) -> list[tuple[str, str]]:
    """(fine label, question) with the rows, words and labels of TREC's split."""
    facts = catalogue.get("trec").facts[split]
    entities = [name for name in trec.TREC_FINE_LABELS if name.startswith("ENTY")]
    left_out = entities[: 50 - facts.fine_labels]
    names = [name for name in trec.TREC_FINE_LABELS if name not in left_out]
    fine = []
    for coarse, count in facts.labels.items():
        of = [name for name in names if name.startswith(coarse)]
        fine += [of[number % len(of)] for number in range(count)]
    return list(zip(fine, lines(facts.rows, facts.words), strict=True))


def lines(rows: int, words: int) -> list[str]:
    """Different lines, `words` words together."""
    short, longer = divmod(words, rows)
    return [f"w{row}" + " w" * (short - 1 + (row < longer)) for row in range(rows)]


def pairs() -> list[dict[str, str | int]]:
    """BLiMP's 67,000 rows with its counts of words, paradigms and phenomena."""
    facts = catalogue.get("blimp").facts["test"]
    sentences = lines(2 * facts.rows, facts.words)
    return [
        dict(zip(blimp.COLUMNS, (good, bad, name, blimp.PARADIGMS[name], row % 1000), strict=True))
        for row, (good, bad) in enumerate(zip(sentences[::2], sentences[1::2], strict=True))
        for name in [sorted(blimp.PARADIGMS)[row // 1000]]
    ]


def examples(name: str, split: str) -> list[dict[str, str]]:
    """Rows of one of LABELLED with the rows, words and labels of the split, labels in turn."""
    facts, columns = catalogue.get(name).facts[split], tuple(catalogue.get(name).columns)
    text = iter(lines((len(columns) - 1) * facts.rows, facts.words))
    labels = [label for label, count in facts.labels.items() for _ in range(count)]
    return [
        dict(zip(columns, (*(next(text) for _ in columns[1:]), label), strict=True))
        for label in labels
    ]


def wikitext_rows(name: str, split: str) -> list[str]:
    """Rows of the Hub's form with the counts of a WikiText split; every third line is blank."""
    facts = catalogue.get(name).facts[split]
    full = facts.rows - facts.rows // 3
    text = iter(lines(full, facts.words - facts.rows))
    return [f" {next(text)} \n" if row % 3 != 2 else "" for row in range(facts.rows)]


def write_label_files(folder: Path) -> None:
    """TREC's two files as published, from made-up questions."""
    folder.mkdir(parents=True)
    for split, name in catalogue.get("trec").files.items():
        text = "".join(f"{fine} {question}\n" for fine, question in questions(split))
        (folder / name).write_text(text, encoding="latin-1")

"""Made-up data with exactly the counts of the published sets, and a folder laid out as a mirror."""

from pathlib import Path

from tlcourse.corpora import catalogue, trec


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


def examples(name: str, split: str) -> list[dict[str, str]]:
    """Rows with the rows, words and labels of a split of labelled texts, labels in turn."""
    facts, columns = catalogue.get(name).facts[split], tuple(catalogue.get(name).columns)
    text = iter(lines((len(columns) - 1) * facts.rows, facts.words))
    labels = [label for label, count in facts.labels.items() for _ in range(count)]
    return [
        dict(zip(columns, (*(next(text) for _ in columns[1:]), label), strict=True))
        for label in labels
    ]


def write_label_files(folder: Path) -> None:
    """TREC's two files as published, from made-up questions."""
    folder.mkdir(parents=True)
    for split, name in catalogue.get("trec").files.items():
        text = "".join(f"{fine} {question}\n" for fine, question in questions(split))
        (folder / name).write_text(text, encoding="latin-1")

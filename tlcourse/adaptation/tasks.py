"""Tasks other than labels of texts: how their files are read, scored, and asked on a command line.

Words and tags are read from CoNLL files, questions from JSON in SQuAD's form, pairs and choices
from CSV files. What is wrong with a file becomes a line that says where.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tlcourse import files, spans
from tlcourse.adaptation import tables
from tlcourse.adaptation.bi_encoder import BiEncoder
from tlcourse.adaptation.chooser import Chooser
from tlcourse.adaptation.knobs import short
from tlcourse.adaptation.similarity import Similarity
from tlcourse.adaptation.span_reader import SpanReader
from tlcourse.adaptation.tables import Columns
from tlcourse.adaptation.tagger import Tagger
from tlcourse.adaptation.task_model import TaskModel
from tlcourse.device import Compute

DOCUMENT = "-DOCSTART-"  # a line of CoNLL-2003 between documents
CHOICE = re.compile(r"choice\s*(\d+)")  # columns with the candidates


@dataclass(frozen=True)
class Rows:
    """What a file holds: texts and answers, as the task's model takes them."""

    path: Path
    texts: list[Any]
    answers: list[Any]


@dataclass(frozen=True)
class Task:
    """A task: its model, and `options`, the arguments of the model that a training file gives.

    `score` returns shares and correlations by their names, the one to look at first. `asked`
    returns the texts that words on a command line mean, `shown` a line for each.
    """

    model: type[TaskModel]
    read: Callable[[Path, Columns], Rows]
    score: Callable[[Any, Rows, Compute], dict[str, float]]
    asked: Callable[[Sequence[str]], list[Any]]
    shown: Callable[[Any, list[Any], Compute], list[str]]
    options: Callable[[Rows], dict[str, Any]] = lambda rows: {}


# words and tags


def read_conll(path: Path, columns: Columns) -> Rows:
    """Returns sentences and tags: a word a line, its tag last, an empty line after a sentence.

    Entities in IOB1 become BIO. Raises ValueError for a file without sentences, and for a line
    without a tag.
    """
    sentences: list[list[str]] = [[]]
    tags: list[list[str]] = [[]]
    for number, line in enumerate(tables.content_of(path).splitlines(), start=1):
        parts = line.split("\t") if "\t" in line else line.split()
        parts = [part.strip() for part in parts]
        if not any(parts) or parts[0] == DOCUMENT:
            sentences.append([])
            tags.append([])
        elif len(parts) < 2 or not (parts[0] and parts[-1]):
            raise ValueError(
                f"expected a word, white space and a tag in {path}, line {number}, got "
                f"{short(line)}"
            )
        else:
            sentences[-1].append(parts[0])
            tags[-1].append(parts[-1])
    texts = [words for words in sentences if words]
    if not texts:
        raise ValueError(f"expected lines with a word and its tag in {path}, got none")
    return Rows(path, texts, [spans.to_bio(row) for row in tags if row])


def _tagged(model: Tagger, rows: Rows, compute: Compute) -> dict[str, float]:
    predicted = model.predict(rows.texts, compute=compute)
    pairs = [
        pair for row in zip(rows.answers, predicted, strict=True) for pair in zip(*row, strict=True)
    ]
    accuracy = sum(gold == tag for gold, tag in pairs) / len(pairs)
    if not model.of_entities:
        return {"accuracy": accuracy}
    score = spans.entity_score(rows.answers, predicted)
    return {"F1": score.f1, "precision": score.precision, "recall": score.recall}


def _show_tags(model: Tagger, texts: list[list[str]], compute: Compute) -> list[str]:
    return [
        " ".join(f"{word}/{tag}" for word, tag in zip(words, tags, strict=True))
        for words, tags in zip(texts, model.predict(texts, compute=compute), strict=True)
    ]


# questions and paragraphs


def read_squad(path: Path, columns: Columns) -> Rows:
    """Returns (question, paragraph) pairs, and answers (text, first character) or None.

    Of several answers the first is taken. Raises ValueError, naming the question, for a file in
    another form, and for an answer that is not in its paragraph where it should be.
    """
    texts, answers = [], []
    for where, question, paragraph, found in _questions(files.read_object(path), path):
        answer = found[0] if found else None
        if answer and paragraph[answer[1] : answer[1] + len(answer[0])] != answer[0]:
            raise ValueError(
                f"{where}: expected {answer[0]!r} at character {answer[1]} of its paragraph, got "
                f"{paragraph[answer[1] : answer[1] + len(answer[0])]!r}"
            )
        texts.append((question, paragraph))
        answers.append(answer)
    if not texts:
        raise ValueError(f"expected questions in {path}, got none")
    return Rows(path, texts, answers)


def _questions(content: dict[str, Any], path: Path) -> Iterator[tuple[str, str, str, list]]:
    """Yields where a question stands, its text, its paragraph, and its answers."""
    where = str(path)
    try:
        for document in content["data"]:
            for paragraph in document["paragraphs"]:
                for number, asked in enumerate(paragraph["qas"], start=1):
                    where = f"{path}, question {asked.get('id', number)}"
                    found = [(a["text"], int(a["answer_start"])) for a in asked["answers"]]
                    yield where, str(asked["question"]), str(paragraph["context"]), found
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(
            f"{where}: expected SQuAD's form, data → paragraphs → context and qas → question and "
            f"answers → text and answer_start, but {error!r}"
        ) from None


def _answered(model: SpanReader, rows: Rows, compute: Compute) -> dict[str, float]:
    pairs = [
        (found, [] if gold is None else [gold[0]])
        for found, gold in zip(
            model.predict(rows.texts, compute=compute), rows.answers, strict=True
        )
    ]
    scores = {"F1": spans.answer_f1, "exact match": spans.exact_match}
    return {
        name: sum(score(*pair) for pair in pairs) / len(pairs) for name, score in scores.items()
    }


def _show_answers(model: SpanReader, texts: list, compute: Compute) -> list[str]:
    return [answer or "(no answer)" for answer in model.predict(texts, compute=compute)]


# pairs and choices


def _read_pairs(path: Path, columns: Columns) -> Rows:
    table, numbers = tables.read(path), []
    pair = Columns(columns.text, columns.pair or "pair", columns.label)
    texts = tables.texts(table, pair)
    for line, field in zip(table.lines, table.filled(pair.label), strict=True):
        try:
            numbers.append(float(field))
        except ValueError:
            raise ValueError(
                f"expected a number in column {pair.label!r} of {path}, line {line}, got {field!r}"
            ) from None
    return Rows(path, texts, numbers)


def _correlated(model: Similarity | BiEncoder, rows: Rows, compute: Compute) -> dict[str, float]:
    from scipy.stats import pearsonr, spearmanr

    found = model.predict(rows.texts, compute=compute)
    return {
        "Spearman": float(spearmanr(found, rows.answers).statistic),
        "Pearson": float(pearsonr(found, rows.answers).statistic),
    }


def _read_choices(path: Path, columns: Columns) -> Rows:
    table = tables.read(path)
    names = sorted(
        (int(match[1]), name) for name in table.columns if (match := CHOICE.fullmatch(name))
    )
    if len(names) < 2:
        raise ValueError(
            f"expected columns choice1, choice2, … in {path}, got {', '.join(table.columns)}"
        )
    candidates = list(zip(*(table.filled(name) for _, name in names), strict=True))
    right = []
    for line, field in zip(table.lines, table.filled(columns.label), strict=True):
        if field.strip() not in [str(number) for number, _ in names]:
            raise ValueError(
                f"expected the number of a choice, 1 to {len(names)}, in column {columns.label!r} "
                f"of {path}, line {line}, got {field!r}"
            )
        right.append(int(field) - 1)
    return Rows(path, list(zip(table.filled(columns.text), candidates, strict=True)), right)


def _chosen(model: Chooser, rows: Rows, compute: Compute) -> dict[str, float]:
    found = model.predict(rows.texts, compute=compute)
    right = sum(one == other for one, other in zip(found, rows.answers, strict=True))
    return {"accuracy": right / len(found)}


def _show_choices(model: Chooser, texts: list, compute: Compute) -> list[str]:
    chosen = zip(texts, model.probabilities(texts, compute=compute), strict=True)
    return [
        "\n".join(
            f"{share:.3f}\t{candidate}" for candidate, share in zip(c, p.tolist(), strict=True)
        )
        for (_, c), p in chosen
    ]


def _two(words: Sequence[str]) -> list[tuple[str, str]]:
    if len(words) % 2 or not words:
        raise ValueError(f"expected two texts for each line of output, got {len(words)}")
    return list(zip(words[::2], words[1::2], strict=True))


def _one_choice(words: Sequence[str]) -> list[tuple[str, list[str]]]:
    if len(words) < 3:
        raise ValueError(f"expected a text and at least two candidates, got {len(words)} texts")
    return [(words[0], list(words[1:]))]


TASKS = {
    Tagger.task: Task(
        Tagger,
        read_conll,
        _tagged,
        lambda texts: [text.split() for text in texts],
        _show_tags,
        lambda rows: {"tags": sorted({tag for row in rows.answers for tag in row})},
    ),
    SpanReader.task: Task(
        SpanReader,
        read_squad,
        _answered,
        _two,
        _show_answers,
        lambda rows: {"unanswerable": None in rows.answers},
    ),
    **{
        kind.task: Task(
            kind,
            _read_pairs,
            _correlated,
            _two,
            lambda model, texts, compute: [
                f"{number:.3f}" for number in model.predict(texts, compute=compute)
            ],
            lambda rows: {"low": min(rows.answers), "high": max(rows.answers)},
        )
        for kind in (Similarity, BiEncoder)
    },
    Chooser.task: Task(Chooser, _read_choices, _chosen, _one_choice, _show_choices),
}

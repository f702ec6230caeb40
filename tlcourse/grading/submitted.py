"""Finds the submissions in a folder, and in each the source of every answer."""

import ast
import io
import json
import re
import tokenize
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tlcourse.exercises import answers, source, task

LARGEST = 50_000_000  # bytes of a submission
KINDS = (".ipynb", ".zip")
CALLED = re.compile(r'exercise\(\s*["\']([\w.]+)["\']')


@dataclass(frozen=True)
class Answer:
    """The source of one answer and the name that it defines; `fault` says why there is none."""

    id: str
    name: str = ""
    text: str = ""
    fault: str = ""


@dataclass
class Submission:
    """What one student handed in: answers by the id of the exercise; `fault` of the whole file."""

    student: str
    answers: dict[str, Answer] = field(default_factory=dict)
    fault: str = ""


def submissions(folder: str | Path, lesson: str) -> list[Submission]:
    """The submissions in `folder`: notebooks, and zip files of `tlcourse answers export`.

    A student is named after the file, or after the folder in which it lies alone. Every exercise of
    the lesson has an answer, which may be empty. Raises ValueError for a folder without submissions
    and for a lesson without exercises.
    """
    folder = Path(folder)
    ids = [id for id in task.ids() if task.facts(id).lesson == lesson]
    if not ids:
        raise ValueError(f"expected a lesson with exercises, got {lesson!r}")
    paths = sorted(path for path in folder.rglob("*") if path.suffix in KINDS)
    paths = [path for path in paths if ".ipynb_checkpoints" not in path.parts]
    if not paths:
        raise ValueError(f"expected notebooks or zip files of answers in {folder}, got none")
    names = [path.relative_to(folder).with_suffix("").as_posix() for path in paths]
    return [_read(path, name, ids) for path, name in zip(paths, names, strict=True)]


def _read(path: Path, student: str, ids: list[str]) -> Submission:
    """One submission; what is wrong with the file is its fault, and raises nothing."""
    found: dict[str, Answer] = {}
    fault = ""
    try:
        if path.stat().st_size > LARGEST:
            raise ValueError(f"larger than {LARGEST // 10**6} MB; clear its outputs")
        found = _of_zip(path) if path.suffix == ".zip" else of_notebook(path.read_bytes())
    except (OSError, ValueError, TypeError, KeyError, RecursionError, zipfile.BadZipFile) as error:
        fault = f"cannot be read: {error}"[:200]
    return Submission(student, {id: found.get(id, Answer(id)) for id in ids}, fault)


def _of_zip(path: Path) -> dict[str, Answer]:
    found = {}
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if info.filename.endswith(".py") and info.file_size < LARGEST:
                id = Path(info.filename).stem
                kept = answers.parsed(archive.read(info))
                found[id] = Answer(id, kept.name, kept.text)
    return found


def of_notebook(content: bytes) -> dict[str, Answer]:
    """The answers in a notebook, by exercise; raises ValueError if it is not one.

    An answer is what the last call `exercise(id, NAME)` hands in: the latest definition of NAME
    before it, in whatever cell, with the imports, definitions and plain values that it uses.
    """
    book = json.loads(content.decode("utf-8-sig"))
    cells = book.get("cells") if isinstance(book, dict) else None
    if not isinstance(cells, list):
        raise ValueError("it is not a notebook")
    sources = [_source(cell) for cell in cells if isinstance(cell, dict)]
    found: dict[str, Answer] = {}
    before: list[str] = []  # the source of each statement so far
    for cell in sources:
        try:
            statements = ast.parse(cell).body
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", 0)
            for id in CALLED.findall(cell):
                found[id] = Answer(id, fault=f"line {line} of its cell is not valid Python")
            continue
        for node in statements:
            for id, handed_in in _handed_in(node):
                found[id] = _answer(id, handed_in, before)
            before.append(ast.get_source_segment(cell, _with_decorators(node)) or "")
    return found


def _source(cell: dict[str, Any]) -> str:
    """The code of a cell without the lines that only IPython understands."""
    if cell.get("cell_type") != "code":
        return ""
    text = cell.get("source", "")
    text = "".join(text) if isinstance(text, list) else str(text)
    if text.lstrip().startswith("%%"):
        return ""
    return "\n".join("" if re.match(r"\s*[%!?]", line) else line for line in text.split("\n"))


def _with_decorators(node: ast.stmt) -> ast.AST:
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
    ends = {"end_lineno": node.end_lineno, "end_col_offset": node.end_col_offset}
    return ast.Pass(lineno=first, col_offset=node.col_offset, **ends)


def _handed_in(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """The exercises that a statement hands in, each with the expression handed in."""
    for node in ast.walk(statement):
        if not isinstance(node, ast.Call) or len(node.args) != 2:
            continue
        named = isinstance(node.func, ast.Name) and node.func.id == "exercise"
        if named and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
            yield node.args[0].value, node.args[1]


def _answer(id: str, handed_in: ast.expr, before: list[str]) -> Answer:
    """The source of an answer: `NAME = EXPRESSION` and what it uses, latest definitions first."""
    name, text = "answer_", f"answer_ = {ast.unparse(handed_in)}\n"
    if isinstance(handed_in, ast.Name):
        name, text = handed_in.id, ""
    wanted = source.reads(text) if text else {name}
    pieces: dict[int, str] = {}
    defined = _built_on(id)
    while wanted:
        more = _defining(wanted, before)
        defined |= wanted
        pieces |= more
        wanted = {read for piece in more.values() for read in source.reads(piece)} - defined
    if not (pieces or text):
        return Answer(id)
    return Answer(id, name, "\n\n".join([*(pieces[at] for at in sorted(pieces)), text]) + "\n")


def _built_on(id: str) -> set[str]:
    """The names of answers that the exercise builds on: `exercise` hands back a right one."""
    return {task.get(other).name for other in task.get(id).builds_on} if id in task.ids() else set()


def _defining(wanted: set[str], before: list[str]) -> dict[int, str]:
    """The latest statement that defines each of the names, by its place."""
    found: dict[int, str] = {}
    missing = set(wanted)
    for at in range(len(before) - 1, -1, -1):
        body = ast.parse(before[at]).body
        if body and source.is_part(body[0]) and source.defines(body[0]) & missing:
            found[at] = before[at]
            missing -= source.defines(body[0])
    return found


def tidied(text: str) -> str:
    """A text that is equal for answers that differ only in names, comments, layout and types."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return text
    for node in ast.walk(tree):
        _strip(node)
    names: dict[str, str] = {}
    stored = {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    stored |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    stored |= {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    for node in ast.walk(tree):
        for attribute in ("id", "arg", "name"):
            value = getattr(node, attribute, None)
            if value in stored and not isinstance(node, ast.keyword):
                setattr(node, attribute, names.setdefault(value, f"v{len(names)}"))
    return ast.dump(tree)


def _strip(node: ast.AST) -> None:
    """Removes docstrings, imports, annotations, and second names such as `mine = attention`."""
    body = getattr(node, "body", None)
    if isinstance(body, list) and isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
        kept = [
            each
            for each in body
            if not isinstance(each, ast.Import | ast.ImportFrom)
            and not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
            and not (isinstance(node, ast.Module) and _is_second_name(each))
        ]
        node.body = kept or [ast.Pass()]
    if isinstance(node, ast.arg):
        node.annotation = None
    if isinstance(node, ast.FunctionDef):
        node.returns = None


def _is_second_name(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name)


def words_of(text: str) -> set[str]:
    """The names and attributes in a text; empty if it is not valid Python."""
    try:
        steps = tokenize.generate_tokens(io.StringIO(text).readline)
        return {step.string for step in steps if step.type == tokenize.NAME}
    except (tokenize.TokenError, SyntaxError):
        return set()

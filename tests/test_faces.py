"""The grammar of what a user imports: data first, little by position, examples that hold.

A face is a package's `__init__`, or a flat module that a lesson imports from.
"""

import ast
import inspect
import pkgutil
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

import tlcourse
from tests.notebooks import imports_of, lessons_code
from tlcourse import corpora

POSITIONAL = 3  # parameters that may be given by position, at most
IN_THE_FIELDS_ORDER = {"explicit_attention"}  # query, key, value, mask
SLOW = {
    "cli",
    "corpora",
    "exercises",
    "milestones",
    "page",
    "site",
    "views",
}  # whose examples take longer than seconds
PACKAGES = sorted(m.name for m in pkgutil.iter_modules(tlcourse.__path__) if m.ispkg)
FLAT = sorted(
    {module.split(".")[1] for code in lessons_code().values() for module, _ in imports_of(code)}
    - set(PACKAGES)
)


def exported(face: ModuleType) -> dict[str, Any]:
    """The names of a package's `__all__`, or the public functions and classes of a flat module."""
    if hasattr(face, "__path__"):
        return {name: getattr(face, name) for name in face.__all__}
    return {
        name: value
        for name, value in vars(face).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == face.__name__
    }


def is_value(thing: Any) -> bool:
    """A class whose constructor just takes its fields, or is not ours (an error's, a parser's)."""
    inherited = not getattr(thing.__init__, "__module__", "").startswith("tlcourse.")
    return is_dataclass(thing) or hasattr(thing, "_fields") or inherited


def offences(function: Callable) -> Iterator[str]:
    """How the signature of a function or a constructor breaks the grammar."""
    parameters = inspect.signature(function).parameters.values()
    kinds = [parameter.kind for parameter in parameters]
    by_keyword = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
    if sum(kind not in by_keyword for kind in kinds) > POSITIONAL:
        yield f"more than {POSITIONAL} can be given by position"
    if {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD} <= set(kinds):
        yield "the signature is hidden"
    for parameter in parameters:
        needs = parameter.kind == inspect.Parameter.KEYWORD_ONLY or parameter.name == "compute"
        if needs and parameter.default is inspect.Parameter.empty:
            yield f"{parameter.name} has no default"


@pytest.mark.parametrize("name", PACKAGES + FLAT)
def test_signatures(name: str) -> None:
    wrong = {
        export: found
        for export, thing in exported(import_module(f"tlcourse.{name}")).items()
        if callable(thing) and not (inspect.isclass(thing) and is_value(thing))
        if export not in IN_THE_FIELDS_ORDER
        if (found := list(offences(thing)))
    }
    assert wrong == {}


def examples(face: ModuleType) -> list[str]:
    """The indented blocks of a module's docstring, as code."""
    paragraphs = (face.__doc__ or "").split("\n\n")
    code, said = "", []
    for paragraph in paragraphs:
        if paragraph.startswith("    "):
            code += textwrap.dedent(paragraph) + "\n\n"
        elif code:
            said, code = [*said, code], ""
    return [*said, code] if code else said


@pytest.mark.parametrize("name", PACKAGES)
def test_the_docstring_of_a_face_shows_it_in_use(name: str) -> None:
    face = import_module(f"tlcourse.{name}")
    code = "\n".join(examples(face))
    assert code, f"tlcourse.{name} shows no example"
    used = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    used |= {node.attr for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Attribute)}
    assert used & set(face.__all__)
    for module, imported in imports_of(code):
        of = import_module(module)
        assert imported is None or imported in exported(of), f"{module} has no {imported}"


@pytest.mark.parametrize("name", sorted({*PACKAGES} - SLOW))
def test_the_example_runs_as_written(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = "\n".join(examples(import_module(f"tlcourse.{name}")))
    if name == "adaptation":  # which takes seconds on all questions
        few = {split: rows.select(range(24)) for split, rows in corpora.load("trec").items()}
        monkeypatch.setattr(corpora, "load", {"trec": few}.get)
    exec(compile(code, f"the docstring of tlcourse.{name}", "exec"), {})


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (lambda a, b, c, d: a, ["more than 3 can be given by position"]),
        (lambda *arguments, **more: arguments, ["the signature is hidden"]),
        (lambda a, *, compute: a, ["compute has no default"]),
        (lambda model, texts, labels, *, compute=None, **options: model, []),
    ],
)
def test_the_guard_sees_what_is_wrong(function: Callable, found: list[str]) -> None:
    assert list(offences(function)) == found


def test_the_guard_looks_at_every_face() -> None:
    assert set(PACKAGES) >= {"bpe", "corpora", "exercises", "objectives", "views"}
    assert set(FLAT) >= {"device", "metrics", "sizes"}

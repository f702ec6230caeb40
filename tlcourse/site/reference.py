"""The reference: what each face exports, with signatures and docstrings, as Markdown."""

import inspect
import re
import textwrap
from collections.abc import Iterator
from importlib import import_module
from typing import Any

FACES = (
    *("bpe", "words", "transformer", "recurrent", "encoders", "corpora", "batching"),
    *("objectives", "metrics", "checkpoints", "huggingface", "training", "pretraining"),
    *("evaluation", "adaptation", "probing", "looking", "views", "exercises", "lessons", "page"),
)
EXAMPLE = re.compile(r"(?:^ {4}.*\n?|^\n(?= {4}))+", re.MULTILINE)
WIDTH = 88  # of a signature on one line


def pages() -> dict[str, str]:
    """The Markdown of each page of the reference, by its name."""
    found = {face: _page(face) for face in FACES}
    lines = [f"- [`tlcourse.{face}`]({face}.md): {_first(face)}" for face in FACES]
    intro = "What each part of the package offers. A lesson imports only names that stand here."
    contents = "\n".join(["```{toctree}", ":hidden:", *FACES, "```"])
    return {"index": "\n\n".join(["# Reference", intro, "\n".join(lines), contents, ""])} | found


def _first(face: str) -> str:
    return (inspect.getdoc(import_module(f"tlcourse.{face}")) or "").split("\n")[0]


def _page(face: str) -> str:
    module = import_module(f"tlcourse.{face}")
    names = getattr(module, "__all__", None) or _own(module)
    parts = [f"# `tlcourse.{face}`", _documented(module)]
    return "\n\n".join([*parts, *(_entry(name, getattr(module, name)) for name in names), ""])


def _own(module: Any) -> list[str]:
    """The public functions and classes that a module without `__all__` defines."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
    ]


def _entry(name: str, value: Any) -> str:
    """A heading, the signature and the docstring of one name, and its public methods."""
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        return f"## `{name}`\n\n{_constant(value)}"
    parts = [f"## `{name}`", _signature(name, value), _documented(value)]
    if inspect.isclass(value):
        parts += (_method(*each) for each in _methods(value))
    return "\n\n".join(filter(None, parts))


def _constant(value: Any) -> str:
    text = textwrap.shorten(repr(value), 300, placeholder=" …")
    return f"```python\n{textwrap.fill(text, WIDTH)}\n```"


def _methods(kind: type) -> Iterator[tuple[str, Any]]:
    for name, value in vars(kind).items():
        function = getattr(value, "__func__", value)
        if not name.startswith("_") and inspect.isfunction(function) and function.__doc__:
            yield f"{kind.__name__}.{name}", function


def _method(name: str, function: Any) -> str:
    return f"### `{name}`\n\n{_signature(name, function)}\n\n{_documented(function)}"


def _signature(name: str, value: Any) -> str:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):  # of an enumeration, or of a class written in C
        return ""
    plain = re.sub(r"<(?:object|function|class) [^>]*>", "...", str(signature))
    text = f"{name}{plain}"
    if len(text) > WIDTH:
        given = [str(each) for each in signature.parameters.values()]
        rows = ",\n    ".join(re.sub(r"<[^>]*>", "...", each) for each in given)
        text = f"{name}(\n    {rows},\n)"
    return f"```python\n{text}\n```"


def _documented(value: Any) -> str:
    """A docstring as Markdown: indented examples become blocks of Python."""

    def fenced(match: re.Match) -> str:
        return f"```python\n{textwrap.dedent(match[0]).strip()}\n```\n\n"

    return EXAMPLE.sub(fenced, inspect.getdoc(value) or "")

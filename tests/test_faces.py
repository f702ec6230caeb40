"""What the faces of packages say of themselves runs as written, and their grammar is one."""

import importlib
import inspect
import textwrap

import pytest

FACES = ("bpe", "pretraining", "training", "transformer")
# Flat modules that lessons read; they have the grammar of the faces.
FLAT = ("batching", "checkpoints", "generation", "huggingface", "memory", "objectives")
MOST = 3  # positional arguments
# Arguments whose order is the field's.
KNOWN = {"explicit_attention": "query, key, value, mask"}


@pytest.mark.parametrize("name", FACES)
def test_the_example_in_the_docstring_runs_as_written(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(f"tlcourse.{name}")
    lines = [line for line in module.__doc__.splitlines() if line.startswith("    ") or not line]
    code = textwrap.dedent("\n".join(lines))
    assert f"tlcourse.{name}" in code or f"import {name}" in code
    exec(compile(code, f"the docstring of tlcourse.{name}", "exec"), {})


@pytest.mark.parametrize("name", FACES)
def test_a_face_exports_what_it_says(name):
    module = importlib.import_module(f"tlcourse.{name}")
    assert list(module.__all__) == sorted(module.__all__, key=_order)
    assert all(hasattr(module, each) for each in module.__all__)


def _order(name: str) -> tuple[int, str]:
    """Constants, classes, functions, as ruff sorts them."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


@pytest.mark.parametrize("name", FACES + FLAT)
def test_at_most_three_arguments_are_positional_and_compute_is_never_demanded(name):
    module, offenders = importlib.import_module(f"tlcourse.{name}"), []
    exported = getattr(module, "__all__", None) or [
        each
        for each, value in vars(module).items()
        if getattr(value, "__module__", "") == module.__name__ and not each.startswith("_")
    ]
    functions = {each: getattr(module, each) for each in exported}
    for each, function in functions.items():
        if inspect.isfunction(function) and each not in KNOWN:
            parameters = inspect.signature(function).parameters
            positional = [p for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
            compute = parameters.get("compute")
            if len(positional) > MOST or (compute and compute.default is inspect.Parameter.empty):
                offenders.append(f"{each}{inspect.signature(function)}")
    assert not offenders
